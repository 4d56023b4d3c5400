"""Whatever step a signal comes at, exit code and words agree with what is on disk."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from itertools import count
from math import inf

import pytest
from tables import GRID, MEANS, ROLES_AND_K, people

from aggopt.command.interrupt import monitor_signals
from aggopt.core import guardian
from aggopt.core.deferred_signals import DeferredSignals

STEPS = ("link", "replace", "rename", "unlink", "chmod", "fsync", "rmdir")
TABLE = {"masked.csv", "masked.manifest.json", "masked.private.csv"}
MASK = ("mask", "people.csv", "job.toml", "--out", "masked.csv")
COMMANDS = {
    "mask": ((*MASK, "--report", "masked.html"), {*TABLE, "masked.html"}),
    "folder": (
        ("mask", "parts", "engine.toml", "--out", "out", "--engine", "local"),
        {"out", "out.private"},
    ),
    "convert": (("convert", "people.csv", "made"), {"made"}),
    "init": (("init", "people.csv", "--out", "new.toml"), {"new.toml"}),
    "export": (
        ("export", "people.csv", "p3m.toml", "--attribute", "age", "--out", "age.nl"),
        {"age.nl", "age.nl.key.json"},
    ),
    "experiment": (("experiment", "grid.toml", "--out", "rows.csv"), {"rows.csv"}),
}


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with tables and jobs, as working directory."""
    monkeypatch.chdir(tmp_path)
    people().to_csv("people.csv", index=False)
    (tmp_path / "parts").mkdir()
    people().to_parquet("parts/a.parquet")
    (tmp_path / "job.toml").write_text(MEANS)
    (tmp_path / "engine.toml").write_text(ROLES_AND_K)
    (tmp_path / "p3m.toml").write_text(f'{MEANS}[aggregation]\nmethod = "p3m"\n')
    (tmp_path / "grid.toml").write_text(GRID)
    return tmp_path


class Hooked:
    """Sends a signal before one of the steps by which files appear and go."""

    def __init__(self, monkeypatch, at, number):
        self.at, self.number, self.steps = at, number, 0
        for name in STEPS:
            monkeypatch.setattr(os, name, self.hooked(getattr(os, name)))

    def hooked(self, step):
        def run(*args, **how):
            self.steps += 1
            if self.steps == self.at:
                signal.raise_signal(self.number)
            return step(*args, **how)

        return run


def runs(here, aggopt, monkeypatch, words, number, every=1):
    """Yield code, words and names that are new, for a signal at each of the steps.

    Or at one of some, `every` so many.
    """
    before = {path.name for path in here.iterdir()}
    for at in count(1, every):
        with monkeypatch.context() as patch:
            hooked = Hooked(patch, at, number)
            code, _, err = aggopt(*words)
        made = {path.name for path in here.iterdir()} - before
        yield code, err, made
        if hooked.steps < at:
            return
        remove(here, before)


def remove(folder, kept):
    """Remove what is there and not among what is kept."""
    for path in sorted(folder.rglob("*"), reverse=True):
        if path.relative_to(folder).parts[0] not in kept:
            path.rmdir() if path.is_dir() else path.unlink()


@pytest.mark.parametrize(
    ("name", "number", "every"),
    [
        *((name, signal.SIGINT, 1) for name in COMMANDS if name != "folder"),
        *((name, signal.SIGTERM, 1) for name in COMMANDS if name != "folder"),
        ("folder", signal.SIGTERM, 5),
        pytest.param("folder", signal.SIGTERM, 1, marks=pytest.mark.slow),
        pytest.param("folder", signal.SIGINT, 1, marks=pytest.mark.slow),
    ],
)
def test_at_each_step_a_signal_ends_with_all_files_or_says_that_none_is_there(
    here, aggopt, monkeypatch, name, number, every
):
    words, files = COMMANDS[name]
    ended, last = set(), None
    for code, err, made in runs(here, aggopt, monkeypatch, words, number, every):
        last = code, err, made
        ended.add(code)
        if code == 0:
            assert (err, made) == ("", files)
            continue
        assert code == 128 + number
        assert not files & made
        assert "is written" not in err
        assert "is whole" not in err
        if made:  # an engine's, which it names
            assert all(each in err for each in made)
            assert "was kept" in err or "is kept" in err
    assert last == (0, "", files)
    assert ended == {0, 128 + number}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_at_each_step_a_choice_says_whether_its_page_is_there(
    here, aggopt, monkeypatch, number
):
    words = ("choose", "people.csv", "job.toml", "--out", "c.html", "--k", "4")
    words, files = (*words, "--jobs", "1"), {"c.html", "c.csv"}
    for code, err, made in runs(here, aggopt, monkeypatch, words, number):
        assert made in (files, set())
        if code == 0:
            assert (err, made) == ("", files)
        else:
            assert code == 128 + number
            assert ("points that are done are in c.html" in err) == bool(made)
            assert ("no c.html was written" in err) != bool(made)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_at_each_step_a_signal_leaves_the_old_files_or_all_new_ones(
    here, aggopt, monkeypatch, number
):
    assert aggopt(*MASK)[0] == 0
    old = {name: (here / name).read_bytes() for name in TABLE}
    names = {path.name for path in here.iterdir()}
    words = (*MASK, "--overwrite")
    for code, err, made in runs(here, aggopt, monkeypatch, words, number):
        assert not made
        same = {name for name in TABLE if (here / name).read_bytes() == old[name]}
        if code == 0:
            assert (err, same) == ("", set())
            old = {name: (here / name).read_bytes() for name in TABLE}
        else:
            assert (code, same) == (128 + number, TABLE)
            assert "no release was written" in err
    assert {path.name for path in here.iterdir()} == names


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_that_was_lost_before_the_names_is_heard(
    here, aggopt, monkeypatch, number
):
    real, forgotten = os.fsync, []

    def lost(*args):
        if not forgotten:
            forgotten.append(True)
            with suppress(KeyboardInterrupt, SystemExit):
                signal.raise_signal(number)
        return real(*args)

    monkeypatch.setattr(os, "fsync", lost)
    code, _, err = aggopt(*MASK)
    assert code == 128 + number
    assert "no release was written" in err
    assert not TABLE & {path.name for path in here.iterdir()}


def test_a_signal_while_the_interpreter_ends_does_not_deny_the_files(here, aggopt):
    assert aggopt(*MASK)[0] == 0
    handlers = {signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)}
    assert handlers == {signal.SIG_IGN}  # the interpreter resets all others


def test_the_guardian_would_say_what_is_true(here, aggopt, monkeypatch):
    told = []

    def tell(word, rest=""):
        told.append((word, str(rest), {path.name for path in here.iterdir()} >= TABLE))

    monkeypatch.setattr(guardian, "send_message", tell)
    assert aggopt(*MASK)[0] == 0
    said, holds = "", 0
    for word, rest, is_there in told:
        holds += {"hold": 1, "free": -1}.get(word, 0)
        said = rest if word == "sentence" else said
        if holds == 0:
            assert ("the release is written" in said) == is_there
            assert ("no release was written" in said) != is_there


def test_interrupted_twice_a_choice_says_that_it_is_not_written(here, forked):
    (here / "mine.py").write_text(TWICE)
    words = ("choose", "people.csv", "job.toml", "--out", "c.html", "--k", "3,4")
    words = (*words, "--method", "mine.py:split", "--trust", "mine.py", "--jobs", "1")
    ended = forked(f'import sys\nsys.argv = ["aggopt", *{words!r}]\n{MAIN}')
    assert ended.returncode == 130
    assert "Interrupted twice: ended at once, no c.html was written." in ended.stderr
    assert not (here / "c.html").exists()


MAIN = "from aggopt.command.cli import run_app\nrun_app()"
TWICE = """
import ctypes, signal
import numpy as np

def split(X, k):
    if k == 4:
        for _ in range(2):
            ctypes.CFUNCTYPE(None)(lambda: signal.raise_signal(signal.SIGINT))()
    return np.minimum(np.argsort(np.argsort(X[:, 0])) // k, len(X) // k - 1)
"""


# --- ctrl-C and SIGTERM end a command while code spins with the interpreter's lock


OWN = """
import collections, itertools, pathlib

def spin(*data):
    pathlib.Path(__file__).with_name("began").touch()
    collections.deque(itertools.repeat(1), maxlen=0)

def solver(model, data):
    spin()

def partitioner(X, k):
    spin()
"""
JOB = """
[roles]
quasi_identifier = ["a", "b"]
[privacy]
k = 3
"""
SOLVER = '[aggregation]\nmethod = "p3m"\nsolver = "own.py:solver"\n'
PARTITIONER = '[partition]\nmethod = "own.py:partitioner"\n'


@pytest.mark.slow
@pytest.mark.parametrize(
    ("section", "number", "code"),
    [
        (SOLVER, signal.SIGINT, 130),
        (SOLVER, signal.SIGTERM, 143),
        (PARTITIONER, signal.SIGINT, -signal.SIGKILL),
        (PARTITIONER, signal.SIGTERM, -signal.SIGKILL),
    ],
)
def test_a_signal_ends_a_command_that_spins(tmp_path, section, number, code):
    (tmp_path / "own.py").write_text(OWN)
    (tmp_path / "job.toml").write_text(JOB + section)
    rows = "".join(f"{i * i % 17},{i * 7 % 13}\n" for i in range(40))
    (tmp_path / "table.csv").write_text(f"a,b\n{rows}")
    before = {*tmp_path.iterdir()}
    words = [sys.executable, "-m", "aggopt", "mask", "table.csv", "job.toml"]
    with subprocess.Popen(
        [*words, "--out", "out.csv", "--trust", "own.py", "--log", "run.jsonl"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
    ) as command:
        while not (tmp_path / "began").exists() and command.poll() is None:
            time.sleep(0.05)
        command.send_signal(number)
        said = command.communicate()[1]
    assert command.returncode == code
    assert "no release was written" in said
    log = tmp_path / "run.jsonl"
    last = json.loads(log.read_text().splitlines()[-1])
    assert last["exit"] == (137 if code == -signal.SIGKILL else code)
    assert "no release was written" in last["message"] + last.get("fix", "")
    assert {*tmp_path.iterdir()} - before <= {tmp_path / "began", log}


# --- what no handler hears ends the command, and nothing else does


NUMBER, LAST = signal.SIGTERM, signal.SIGHUP
GRACE = 0.3


def endings_of(heard, handler) -> list[int]:
    """Return which of two signals ended it: the last one has no handler that hears."""
    ended, over = [], threading.Event()

    def end(number: int) -> None:
        ended.append(number)
        if number == LAST:
            over.set()

    signal.signal(NUMBER, handler)
    signal.signal(LAST, lambda *_: None)
    with monitor_signals(heard, end, GRACE):
        signal.raise_signal(NUMBER)
        signal.raise_signal(LAST)
        over.wait()
    return ended


@pytest.mark.parametrize(
    ("hears", "known", "ends"),
    [(False, True, [NUMBER]), (True, True, []), (False, False, [])],
)
def test_a_signal_ends_what_does_not_hear_it(hears, known, ends) -> None:
    heard = {NUMBER: -inf, LAST: -inf} if known else {LAST: -inf}

    def handler(*_: object) -> None:
        if hears:
            heard[NUMBER] = time.monotonic()

    assert endings_of(heard, handler) == [*ends, LAST]


def test_a_signal_that_waits_for_files_ends_nothing() -> None:
    heard = {NUMBER: -inf, LAST: -inf}
    assert endings_of(heard, DeferredSignals()) == [LAST]


def test_what_comes_at_the_end_ends_nothing_and_nothing_is_left() -> None:
    ended, before = [], {*threading.enumerate()}
    signal.signal(NUMBER, lambda *_: None)
    with monitor_signals({NUMBER: -inf}, ended.append, grace=3600.0):
        (listener,) = {*threading.enumerate()} - before
        signal.raise_signal(NUMBER)
    listener.join()
    assert ended == []
    assert signal.set_wakeup_fd(-1) == -1


def test_another_thread_leaves_signals_to_the_main_one() -> None:
    seen = []

    def work() -> None:
        with monitor_signals({NUMBER: -inf}, seen.append):
            seen.append(signal.getsignal(NUMBER))

    other = threading.Thread(target=work)
    other.start()
    other.join()
    assert seen == [signal.getsignal(NUMBER)]
