"""Dask gives the bytes that one process gives, and nobody else can listen."""

import os
import signal
from pathlib import Path

import pytest
from folders import digest, job, masked, persons, put
from refusals import refused

from aggopt.engine.executors import dask_cluster as dask_engine
from aggopt.engine.executors.dask_cluster import DaskExecutor, connect_to_dask
from aggopt.engine.validate.executors import require_secure
from aggopt.errors import EngineError, JobError
from aggopt.job.engine_section import Engine

distributed = pytest.importorskip(
    "distributed", reason="pip install 'aggopt[dask]' to run these"
)


@pytest.mark.parametrize(
    "address",
    ["tls://node-1:8786", "tcp://127.0.0.1:8786", "localhost:8786", "inproc://x/1"],
)
def test_schedulers_that_nobody_else_reaches_are_taken(address):
    require_secure(address, False)


def test_a_scheduler_in_clear_is_refused_unless_it_is_allowed():
    require_secure("tcp://10.0.0.1:8786", True)
    with refused(JobError, "10.0.0.1"):
        require_secure("tcp://10.0.0.1:8786", False)


def test_dask_is_named_once():
    with refused(JobError, "workers = 2", "[engine]", "HOST"):
        connect_to_dask(Engine(name="dask"), None).__enter__()
    with refused(JobError, "[engine]"):
        connect_to_dask(Engine(name="dask", workers=1), object()).__enter__()


def test_what_is_no_client_is_refused():
    with refused(JobError):
        connect_to_dask(Engine(name="dask"), object()).__enter__()


def test_a_scheduler_that_is_not_there_is_told(monkeypatch):
    monkeypatch.setattr(dask_engine, "PATIENCE", "0.2s")
    engine = Engine(name="dask", scheduler="tcp://127.0.0.1:9")
    with refused(EngineError, "127.0", "0.1"):
        connect_to_dask(engine, None).__enter__()


@pytest.mark.parametrize(
    ("named", "told"),
    [
        ({"workers": 2}, "start workers"),
        ({"scheduler": "tcp://127.0.0.1:9"}, "find workers"),
    ],
    ids=["here", "a scheduler"],
)
def test_that_workers_start_is_told_before_they_do(tmp_path, monkeypatch, named, told):
    def begin(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(dask_engine, "connect_to_dask", begin)
    steps, asked = [], job(engine={"name": "dask", **named})
    with pytest.raises(KeyboardInterrupt):
        masked(tmp_path, asked, tmp_path / "out", progress=lambda *s: steps.append(s))
    assert steps == [(told, 0.0)]


@pytest.mark.slow
def test_a_cluster_gives_the_same_bytes_though_a_worker_is_killed(tmp_path):
    folder = put(tmp_path / "in", persons(230), persons(170, seed=1))
    one = masked(folder, job(), tmp_path / "one")
    with dask_engine._start_cluster(2) as client:
        workers = client.run(os.getpid)
        assert all(worker.startswith("tcp://127.0.0.1") for worker in workers)
        assert "127.0.0.1" in client.dashboard_link
        asked = job(engine={"name": "dask", "block": 100})
        two = masked(folder, asked, tmp_path / "two", client=client)
        steps = []

        def kill(step, share):
            if step == "group" and step not in steps:
                os.kill(next(iter(workers.values())), signal.SIGKILL)
            steps.append(step)

        how = {"client": client, "progress": kill}
        third = masked(folder, asked, tmp_path / "third", **how)
    assert "group" in steps
    assert digest(one.path) == digest(two.path) == digest(third.path)


@pytest.mark.smoke
@pytest.mark.slow
def test_workers_of_its_own_are_begun_and_ended(tmp_path):
    folder = put(tmp_path / "in", persons(60))
    found = masked(folder, job(engine={"name": "dask", "workers": 1}), tmp_path / "out")
    assert found.audit.holds


def away():
    """Work in another folder from here on, as workers of a cluster do."""
    os.chdir("/")


def test_names_from_this_folder_on_are_those_of_every_worker(tmp_path, monkeypatch):
    put(tmp_path / "in", persons(60))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path)
    asked = job(engine={"name": "dask", "block": 30, "work": "work"})
    with dask_engine._start_cluster(1) as client:
        client.run(away)
        masked("in", asked, "out", client=client)
    alone = masked("in/*.parquet", job(engine={"block": 30, "work": "work"}), "alone")
    assert digest(tmp_path / "out") == digest(alone.path)
    assert list((tmp_path / "work").iterdir()) == []


def test_a_worker_says_which_folder_it_does_not_see(tmp_path, monkeypatch):
    own = Path("/proc/self/cwd")  # names another folder in each process
    if not own.exists():
        pytest.skip("only Linux has /proc, by which a folder is one process's alone")
    put(tmp_path / "in", persons(60))
    monkeypatch.chdir(tmp_path)
    steps = []
    with dask_engine._start_cluster(1) as client:
        client.run(away)
        (worker,) = client.scheduler_info()["workers"]
        asked = job(engine={"name": "dask"})
        how = {"client": client, "progress": lambda step, share: steps.append(step)}
        with pytest.raises(EngineError) as error:
            masked(own / "in", asked, tmp_path / "out", **how)
    assert error.value.problem == (
        f"1 of 1 worker cannot see folders of this run. {worker}: {own / 'in'}."
    )
    assert error.value.fix.startswith("mount them under the same names on the machines")
    assert set(steps) == {"find workers", "footers"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in"]


@pytest.mark.slow
def test_a_scheduler_that_lost_all_workers_is_not_waited_for_without_end(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(dask_engine, "WORKERLESS", 0.2)
    monkeypatch.setattr(dask_engine, "EVERY", 0.1)
    with (
        dask_engine._start_cluster(0) as client,
        refused(EngineError, "0.2 seconds"),
    ):
        DaskExecutor(client).each("hash", 2, tmp_path, lambda share: None)
