"""Processes are killed in each step, by signal 9: the same bytes, or nothing."""

import json
import os
import signal
from contextlib import suppress

import psutil
import pytest
from folders import ROLES, digest, masked, persons, put

import aggopt
from aggopt.engine.executors import dask_cluster as dask_engine
from aggopt.engine.steps import write as passes_out

pytestmark = pytest.mark.slow

STEPS = ["describe", "scatter", "group", "state", "solve", "publish"]
STEPS += ["write", "sort", "recount", "hash"]
PER_FILE = 700  # records: several files, so that each step has several tasks
ASKED = {
    "roles": ROLES,
    "privacy": {"k": 4},
    "aggregation": {"method": "p3m"},
    "engine": {"name": "local", "block": 500},
}
DRIVER = f"""
import json, os, signal, sys
import aggopt
from aggopt.engine.steps import write as passes_out
folder, out, step, asked = sys.argv[1:]
passes_out.PER_FILE = {PER_FILE}
def end(now, share):
    if now == step and share > 0:
        os.kill(os.getpid(), signal.SIGKILL)
aggopt.mask(folder, aggopt.Job(**json.loads(asked)), out=out, progress=end)
"""


@pytest.fixture(autouse=True)
def several_files(monkeypatch):
    """Have several files in a release of a small table."""
    monkeypatch.setattr(passes_out, "PER_FILE", PER_FILE)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Four parts."""
    tables = (persons(1000, seed=part) for part in range(4))
    return put(tmp_path_factory.mktemp("killed") / "in", *tables)


@pytest.fixture(scope="module")
def whole(folder, tmp_path_factory):
    """The digest of a release that nobody disturbs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(passes_out, "PER_FILE", PER_FILE)
        to = tmp_path_factory.mktemp("whole") / "out"
        return digest(masked(folder, by(), to).path)


def by(**engine):
    """Return the job, to be carried out by an engine."""
    return aggopt.Job(**ASKED | {"engine": ASKED["engine"] | engine})


class Killer:
    """Listens to progress, and kills one of `workers` once in each step."""

    def __init__(self, workers):
        self.workers, self.killed = workers, []

    def __call__(self, step, share):
        there = self.workers()
        if share < 1 and step not in self.killed and there:
            with suppress(ProcessLookupError):  # it has ended by now: the next call
                os.kill(there[0], signal.SIGKILL)
                self.killed.append(step)


def spawned():
    """Return the processes of a pool of this one."""
    found = []
    for child in psutil.Process().children():
        with suppress(psutil.Error):  # it has ended by now
            if "spawn_main" in " ".join(child.cmdline()):
                found.append(child.pid)
    return found


@pytest.mark.alone
def test_a_process_killed_in_each_step_changes_no_byte(folder, whole, tmp_path):
    killer = Killer(spawned)
    found = masked(folder, by(jobs=2), tmp_path / "out", progress=killer)
    last = killer.killed[1 - len(STEPS) :]  # it may be too late for the first
    assert last == STEPS[1:]
    assert digest(found.path) == whole


@pytest.mark.alone
def test_a_worker_killed_in_each_step_changes_no_byte(folder, whole, tmp_path):
    pytest.importorskip("distributed", reason="pip install 'aggopt[dask]'")
    with dask_engine._start_cluster(2) as client:
        nannies = client.cluster.workers.values()
        killer = Killer(lambda: [nanny.pid for nanny in nannies if nanny.pid])
        how = {"client": client, "progress": killer}
        found = masked(folder, by(name="dask"), tmp_path / "out", **how)
    assert killer.killed == ["find workers", "footers", *STEPS]
    assert digest(found.path) == whole


@pytest.mark.parametrize("step", STEPS)
def test_a_run_whose_driver_is_killed_goes_on_to_the_same_bytes(
    folder, tmp_path, step, forked
):
    out = tmp_path / "out"
    words = ["", str(folder), str(out), step, json.dumps(ASKED)]
    ended = forked(f"import sys; sys.argv = {words}\n{DRIVER}")
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    assert not out.exists()
    seen = []
    found = aggopt.mask(
        folder,
        by(resume=True),
        out=out,
        progress=lambda step, share: seen.append(step) if share > 0 else None,
    )
    assert list(dict.fromkeys(seen)) == STEPS[STEPS.index(step) :]
    assert {path.name for path in tmp_path.iterdir()} == {"out", "out.private"}
    secret = found.manifest["output"]["secret"]
    again = aggopt.mask(folder, by(), out=tmp_path / "again", secret=secret)
    assert digest(found.path) == digest(again.path)
