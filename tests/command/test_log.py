"""--log notes stages and the end of a command, as lines of JSON without any value."""

import json
import re
import signal
import stat
from datetime import datetime

import pytest
from tables import GRID, MEANS, ROLES_AND_K, people, put_partitioner

from aggopt.command import log, progress
from aggopt.core import guardian_process

MASK = ("mask", "people.csv", "job.toml", "--out", "masked.csv")
KEYS = {"time", "level", "stage", "message", "seconds"}


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with a table and a job, as working directory."""
    monkeypatch.chdir(tmp_path)
    people().to_csv("people.csv", index=False)
    (tmp_path / "job.toml").write_text(MEANS)
    return tmp_path


def lines(path="run.jsonl"):
    """Return what a log has."""
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def test_stages_and_the_end_are_lines_of_a_private_file(here, aggopt):
    code, _, err = aggopt(*MASK, "--log", "run.jsonl")
    first, *between, last = lines()
    assert (code, err) == (0, "")
    assert first["message"].endswith(", mask")
    assert [each["stage"] for each in between][:2] == ["read", "group"]
    assert (last["exit"], last["cause"], last["level"]) == (0, "done", "info")
    assert all(set(each) == KEYS for each in (first, *between))
    assert set(last) == KEYS | {"exit", "cause"}
    seconds = [each["seconds"] for each in lines()]
    assert seconds == sorted(seconds)
    assert all(datetime.fromisoformat(each["time"]).tzinfo for each in lines())
    assert stat.S_IMODE((here / "run.jsonl").stat().st_mode) == 0o600


def test_shares_are_noted_now_and_then(tmp_path, monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(log, "EVERY", progress.EVERY)
    monkeypatch.setattr(log.time, "monotonic", lambda: clock[0])
    made = log.Log()
    made.open(tmp_path / "run.jsonl", "mask")
    for now, share in [(1, 0.0), (2, 0.1), (12, 0.5), (13, 0.6), (23, 0.7)]:
        clock[0] = now
        made.record_stage("group", share)
    made.close(0)
    said = [each["message"] for each in lines(tmp_path / "run.jsonl")]
    assert said[1:-1] == ["begun", "50 % done", "70 % done"]


@pytest.mark.parametrize(
    ("words", "code", "cause"),
    [
        (("mask", "none.csv", "job.toml", "--out", "m.csv"), 2, "input or job"),
        (("assess", "people.csv", "flat.csv", "job.toml", "--same-order"), 1, "no"),
        (("check", "people.csv", "no-job.toml"), 2, "input or job"),
    ],
)
def test_the_end_says_the_cause(here, aggopt, words, code, cause):
    people().drop(columns="name").to_csv("flat.csv", index=False)
    assert aggopt(*words, "--log", "run.jsonl")[0] == code
    assert (lines()[-1]["exit"], lines()[-1]["cause"]) == (code, cause)


@pytest.mark.parametrize(
    ("error", "code", "cause"),
    [
        (KeyError("Ms Secret"), 5, "internal error"),
        (MemoryError(), 3, "resources"),
        (KeyboardInterrupt(), 130, "Ctrl-C"),
        (SystemExit(143), 143, "SIGTERM"),
    ],
)
def test_the_end_says_what_went_wrong(here, aggopt, monkeypatch, error, code, cause):
    def fail(*_, **__):
        raise error

    put_partitioner(monkeypatch, "mdav", fail)
    assert aggopt(*MASK, "--log", "run.jsonl")[0] == code
    last = lines()[-1]
    assert (last["exit"], last["cause"], last["level"]) == (code, cause, "error")
    assert (last["stage"], bool(last["fix"])) == ("group", True)
    assert "Secret" not in (here / "run.jsonl").read_text()


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
def test_a_signal_that_no_handler_hears_is_in_the_last_line(here, forked, name):
    ended = forked(DEAF.format(name=name, words=[*MASK, "--log", "run.jsonl"]))
    number = getattr(signal, name)
    assert ended.returncode == 128 + number
    assert lines()[-1]["exit"] == 128 + number
    assert "no release was written" in lines()[-1]["message"]


DEAF = """
import hashlib, os, signal, sys, threading
from functools import partial
from aggopt.command import cli
from aggopt.pipeline.partition import partition_table as partition_step

def partition_blocks(*_, **__):
    told = os.getpid(), signal.{name}
    threading.Timer(0.1, os.kill, told).start()
    hashlib.pbkdf2_hmac("sha256", b"", b"", 10**8)

cli.monitor_signals = partial(cli.monitor_signals, grace=0.2)
partition_step.partition_blocks = partition_blocks
sys.argv = ["aggopt", *{words!r}]
cli.run_app()
"""


def test_the_guardian_ends_the_log_of_a_command_that_it_kills(tmp_path, monkeypatch):
    told = []
    monkeypatch.setattr(log.guardian, "send_message", lambda *said: told.append(said))
    log.Log().open(tmp_path / "run.jsonl", "mask")
    guardian = guardian_process.Guardian(0, -1, -1, 1.5)
    guardian._handle_message(
        "sentence \x1b[?25hInterrupted: ended at once, nothing is there.\n"
    )
    guardian._handle_message(" ".join(told[-1]))
    guardian._end_log()
    last = lines(tmp_path / "run.jsonl")[-1]
    assert set(last) == KEYS | {"exit", "cause"}
    assert (last["exit"], last["cause"]) == (137, "killed")
    assert last["message"] == "Interrupted: ended at once, nothing is there."


@pytest.mark.parametrize(
    ("file", "code", "says"),
    [
        ("people.csv", 2, "is named twice"),
        ("masked.csv", 2, "is named twice"),
        ("old.jsonl", 2, "The log old.jsonl cannot be made: File exists."),
        ("no/run.jsonl", 2, "No such file or directory"),
        ("people.csv/run.jsonl", 3, "Not a directory"),
        ("x" * 300, 3, "File name too long"),
    ],
)
def test_a_log_that_cannot_be_is_refused_before_all_work(
    here, aggopt, file, code, says
):
    (here / "old.jsonl").write_text("mine")
    before = {path.name for path in here.iterdir()}
    ended, out, err = aggopt(*MASK, "--overwrite", "--log", file)
    assert (ended, out) == (code, "")
    assert says in err
    assert {path.name for path in here.iterdir()} == before
    assert (here / "old.jsonl").read_text() == "mine"


def test_a_disk_that_gets_full_ends_the_log_and_not_the_work(here, aggopt, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(log.os, "write", full)
    assert aggopt(*MASK, "--log", "run.jsonl")[0] == 0
    assert (here / "masked.csv").exists()
    assert (here / "run.jsonl").read_text() == ""


MARK = re.compile(r"Zzq|7{3}\d*7{3}")


def marked(n=40):
    """Return persons every value of whom can be found again in a text."""
    table = people(n)
    for name in table:
        if table[name].dtype == object or str(table[name].dtype) == "str":
            table[name] = "Zzq" + table[name].astype(str)
        else:
            table[name] = 777_000_777 + 1000 * table[name]
    return table


@pytest.mark.parametrize(
    "words",
    [
        MASK,
        ("mask", "parts", "engine.toml", "--out", "out", "--engine", "local"),
        ("mask", "broken.csv", "job.toml", "--out", "masked.csv"),
        ("convert", "people.csv", "parquet"),
        ("convert", "broken.csv", "parquet", "--numbers", "age"),
        ("check", "broken.csv", "job.toml"),
        ("init", "people.csv", "--out", "new.toml"),
        ("risk", "people.csv", "job.toml"),
        ("assess", "people.csv", "people.csv", "job.toml", "--same-order"),
    ],
)
def test_no_log_has_a_value(here, aggopt, words):
    table = marked()
    table.to_csv("people.csv", index=False)
    (here / "engine.toml").write_text(ROLES_AND_K)
    (here / "parts").mkdir()
    table.to_parquet("parts/a.parquet")
    text = table.astype({"age": object})
    text.loc[7, "age"] = "Zzq no number"
    text.to_csv("broken.csv", index=False)
    aggopt(*words, "--log", "run.jsonl")
    said = (here / "run.jsonl").read_text()
    assert MARK.search((here / "people.csv").read_text())
    assert not MARK.search(said)
    assert "exit" in lines()[-1]


def test_no_log_of_an_experiment_has_a_value(here, aggopt, monkeypatch):
    marked().to_csv("people.csv", index=False)
    (here / "grid.toml").write_text(GRID)
    words = ("experiment", "grid.toml", "--out", "rows.csv", "--log", "run.jsonl")
    assert aggopt(*words)[0] == 0
    assert not MARK.search((here / "run.jsonl").read_text())
    how = f'{MEANS}[aggregation]\nmethod = "p3m"\nsolver = "lagrangian"\n'
    (here / "job.toml").write_text(how)
    grid = ("--alpha", "0.5", "--delta", "0.1", "--jobs", "1", "--out", "s")
    code, _, _ = aggopt("sweep", "people.csv", "job.toml", *grid, "--log", "s.jsonl")
    assert code == 0
    assert not MARK.search((here / "s.jsonl").read_text())
    assert lines("s.jsonl")[-1]["cause"] == "done"
