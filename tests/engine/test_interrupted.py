"""Ctrl-C and SIGTERM keep what a run has done, until one goes on with it."""

import json
import os
import shlex
import signal
import stat
from contextlib import contextmanager
from pathlib import Path

import pytest
from folders import ROLES, SECRET, digest, job, masked, persons, put

import aggopt
from aggopt.core import stale_files as leftovers
from aggopt.engine.executors import dask_cluster as dask_engine

STEPS = ["scatter", "publish", "sort", "hash"]
JOB = f"""
[roles]
{chr(10).join(f"{role} = {json.dumps(names)}" for role, names in ROLES.items())}
[privacy]
k = 4
[engine]
block = 100
"""
COMMAND = """
import os, signal, sys
from aggopt.command import cli
from aggopt.engine.runs import journal
number, step = int(sys.argv[1]), sys.argv[2]
sys.argv[1:] = sys.argv[3:]
note = journal.Journal.note
def ending(self, done, results):
    note(self, done, results)
    if done == step:
        os.kill(os.getpid(), number)
journal.Journal.note = ending
cli.run_app()
"""


@pytest.fixture
def folder(tmp_path):
    """A folder of two files."""
    return put(tmp_path / "in", persons(200), persons(200, seed=1))


def left(folder: Path) -> list[Path]:
    """Return the folders that are there for a moment."""
    return sorted(folder.glob("aggopt-*"))


def interrupted(folder, out, step, error=KeyboardInterrupt, **how):
    """Leave what a run leaves that a signal ends in this step; return its error."""

    def end(now, share):
        if now == step:
            raise error

    with pytest.raises(error) as ended:
        aggopt.mask(folder, how.pop("job", job()), out=out, progress=end, **how)
    return ended.value


@contextmanager
def one(asked=job):
    """This process."""
    yield {"job": asked()}


@contextmanager
def two(asked=job):
    """Two processes."""
    yield {"job": asked(engine={"jobs": 2})}


@contextmanager
def dask(asked=job):
    """Workers of Dask."""
    pytest.importorskip("distributed", reason="pip install 'aggopt[dask]'")
    with dask_engine._start_cluster(2) as client:
        yield {"job": asked(engine={"name": "dask"}), "client": client}


@pytest.mark.parametrize("step", STEPS)
def test_a_run_goes_on_in_the_step_that_was_interrupted(folder, tmp_path, step):
    interrupted(folder, tmp_path / "out", step)
    assert not (tmp_path / "out").exists()
    seen = []
    how = {"resume": True, "progress": lambda now, share: seen.append(now)}
    found = aggopt.mask(folder, job(), out=tmp_path / "out", **how)
    assert next(now for now in seen if now != "footers") == step
    assert left(tmp_path) == []
    secret = found.manifest["output"]["secret"]
    again = aggopt.mask(folder, job(), out=tmp_path / "again", secret=secret)
    assert digest(found.path) == digest(again.path)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("engine", "steps"),
    [
        (two, ["scatter"]),
        (dask, ["scatter", "recount"]),
        pytest.param(two, ["scatter", "recount"], marks=pytest.mark.slow),
    ],
)
def test_so_it_does_whoever_carries_it_out(folder, tmp_path, engine, steps):
    whole = masked(folder, job(), tmp_path / "whole")
    with engine() as how:
        for step in steps:
            kept = {"secret": SECRET, "resume": True} | how
            interrupted(folder, tmp_path / "out", step, **kept)
            assert len(left(tmp_path)) == 2
        asked = how.pop("job")
        found = masked(folder, asked, tmp_path / "out", resume=True, **how)
    assert digest(found.path) == digest(whole.path)
    assert left(tmp_path) == []


def test_what_is_kept_is_private_and_named(folder, tmp_path):
    (tmp_path / "work").mkdir()
    asked = job(engine={"work": str(tmp_path / "work")})
    error = interrupted(folder, tmp_path / "out", "write", SystemExit, job=asked)
    (work,), (stage,) = left(tmp_path / "work"), left(tmp_path)
    assert error.__notes__ == [
        f"What was done is kept in {work} and {stage}, which hold originals: "
        "resume=True goes on with it, resume=False discards it."
    ]
    for at in (work, stage):
        assert stat.S_IMODE(at.stat().st_mode) == 0o700
    for path in (*work.iterdir(), *(stage / "private").iterdir()):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_another_run_leaves_it_alone_and_discard_removes_it(folder, tmp_path):
    interrupted(folder, tmp_path / "out", "group")
    kept = left(tmp_path)
    table = persons(50)
    release = aggopt.mask(table, aggopt.Job(roles=ROLES, privacy={"k": 4}))
    release.write(tmp_path / "table.csv")  # which removes what killed ones left
    masked(folder, job(), tmp_path / "other")
    assert left(tmp_path) == kept
    masked(folder, job(), tmp_path / "out", resume=False)
    assert left(tmp_path) == []


def test_another_machine_goes_on_with_it(folder, tmp_path, monkeypatch):
    interrupted(folder, tmp_path / "out", "group")
    monkeypatch.setattr(leftovers, "_read_machine_id", lambda: 12 * "0")
    masked(folder, job(), tmp_path / "again")
    with pytest.raises(aggopt.errors.EngineError, match="go on with it"):
        aggopt.mask(folder, job(), out=tmp_path / "out")
    aggopt.mask(folder, job(), out=tmp_path / "out", resume=True)
    assert left(tmp_path) == []


def test_what_an_error_ends_and_what_has_done_nothing_is_removed(folder, tmp_path):
    interrupted(folder, tmp_path / "out", "group", ZeroDivisionError)
    assert left(tmp_path) == []
    interrupted(folder, tmp_path / "out", "describe")
    assert left(tmp_path) == []


@pytest.mark.parametrize(
    ("number", "code", "said", "step"),
    [
        (signal.SIGINT, 130, "Interrupted.", "sort"),
        (signal.SIGTERM, 143, "Ended by SIGTERM.", "group"),
    ],
    ids=["Ctrl-C", "SIGTERM"],
)
def test_the_command_says_the_folders_and_how_it_goes_on(
    folder, tmp_path, number, code, said, step, forked, aggopt, monkeypatch
):
    (tmp_path / "job.toml").write_text(JOB)
    words = f"mask in job.toml --out out --engine local --jobs {1 + (step == 'group')}"
    started = ["aggopt", str(int(number)), step, *words.split()]
    ended = forked(f"import sys; sys.argv = {started}\n{COMMAND}", cwd=tmp_path)
    assert ended.returncode == code, ended.stderr
    stage, work = sorted(left(tmp_path), key=lambda path: -len(path.name))
    assert f"Error: {said}\n" in ended.stderr
    go_on = f"aggopt {words} --resume"
    assert f"what was done is kept in {tmp_path}" in ended.stderr
    for name in (work.name, stage.name, f"Go on with it: {go_on}. Or begin anew:"):
        assert name in ended.stderr
    monkeypatch.chdir(tmp_path)
    code, _, errors = aggopt(*shlex.split(go_on)[1:])
    assert code == 0, errors
    assert left(tmp_path) == []
    assert os.listdir(tmp_path / "out") == ["part-00000.parquet"]
