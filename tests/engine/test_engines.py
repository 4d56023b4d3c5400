"""Processes give the bytes that one process gives, whatever becomes of them."""

import os
import signal
import subprocess
import sys
import time
import warnings
from concurrent.futures import ThreadPoolExecutor as Threads
from multiprocessing import active_children
from threading import Event

import numpy as np
import psutil
import pytest
from folders import ROLES, digest, job, masked, persons, put
from refusals import refused

from aggopt.engine.executors import local as engines
from aggopt.engine.executors import tasks
from aggopt.engine.executors.local import ProcessExecutor, SerialExecutor
from aggopt.engine.executors.tasks import run_step
from aggopt.engine.storage import scratch_files as shares_module
from aggopt.engine.storage.scratch_files import save_state, stop_on_request
from aggopt.errors import EngineError, TableError
from aggopt.partition.shared.result import INTERRUPTED


@pytest.fixture
def known(tmp_path):
    """What tasks of these tests are told: a folder."""
    save_state(tmp_path / "known", tmp_path)
    return tmp_path / "known"


def square(number, folder):
    """Return a square, and that it was asked for."""
    (folder / f"asked-{number}").touch()
    return number**2


def test_results_come_in_the_order_of_the_numbers(known, monkeypatch):
    monkeypatch.setitem(tasks.TASKS, "square", square)
    shares = []
    assert SerialExecutor().each("square", 4, known, shares.append) == [0, 1, 4, 9]
    assert shares == [0.25, 0.5, 0.75, 1.0]
    assert len(list(known.parent.glob("asked-*"))) == 4


def half(number, folder):
    """Do half of the work, and say so."""
    told = stop_on_request(folder, 2)
    for share in (0.0, 1.0, 0.0):
        told(share)


def test_what_a_task_here_has_done_is_told(known, monkeypatch):
    monkeypatch.setitem(tasks.TASKS, "half", half)
    shares = []
    SerialExecutor().each("half", 2, known, shares.append)
    assert shares == [0, 0.25, 0.25, 0.5, 0.5, 0.75, 0.75, 1.0]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_error_of_who_is_told_is_raised_as_it_is(known, monkeypatch, error):
    def told(share):
        raise error("of the caller")

    monkeypatch.setitem(tasks.TASKS, "half", half)
    with pytest.raises(error, match="of the caller"):
        SerialExecutor().each("half", 2, known, told)


def test_what_tasks_elsewhere_have_done_is_looked_up(known, monkeypatch):
    told, shares = Event(), []

    def wait(number, folder):
        stop_on_request(folder)(0.5)
        assert told.wait(600)

    def note(share):
        shares.append(share)
        if share == 0.5:
            told.set()

    monkeypatch.setattr(engines, "ProcessPoolExecutor", lambda *_, **how: Threads(2))
    monkeypatch.setattr(shares_module, "EVERY", 0.0)
    monkeypatch.setitem(tasks.TASKS, "wait", wait)
    (known.parent / "share-1").write_text("1.0")  # of an earlier step
    carrier = ProcessExecutor(2)
    carrier.each("wait", 2, known, note)
    carrier.close()
    assert set(shares) <= {0.0, 0.25, 0.5, 0.75, 1.0}
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


def test_a_share_that_is_half_written_is_none(tmp_path):
    (tmp_path / "share-0").write_text("0.25")
    (tmp_path / "share-1").write_text("")
    assert shares_module.sum_shares(tmp_path, range(3)) == 0.25


def test_a_search_that_ctrl_c_ends_ends_its_task_without_a_warning(known, monkeypatch):
    def search(number, folder):
        warnings.warn("something else" if number else INTERRUPTED, stacklevel=2)
        return number

    monkeypatch.setitem(tasks.TASKS, "search", search)
    with pytest.raises(KeyboardInterrupt):
        run_step("search", 0, known)
    with pytest.warns(UserWarning, match="something else"):
        assert run_step("search", 1, known) == 1


def test_what_an_error_says_is_not_repeated(known, monkeypatch):
    def fail(number, folder):
        raise ValueError("Mary earns 42")

    monkeypatch.setitem(tasks.TASKS, "fail", fail)
    with refused(EngineError, "'fail'") as error:
        run_step("fail", 3, known)
    assert "Mary" not in str(error.value)
    assert error.value.__cause__ is error.value.__context__ is None


@pytest.mark.parametrize(
    "raised",
    [MemoryError(), OSError(28, "No space left on device")],
    ids=["memory", "disk"],
)
def test_a_machine_that_is_full_is_told(known, monkeypatch, raised):
    def fail(number, folder):
        raise raised

    monkeypatch.setitem(tasks.TASKS, "fail", fail)
    with refused(EngineError):
        run_step("fail", 0, known)


def test_errors_of_this_package_are_told_as_they_are(known, monkeypatch):
    def fail(number, folder):
        raise TableError("in-1.parquet: bad.", fix="mend it.")

    monkeypatch.setitem(tasks.TASKS, "fail", fail)
    with refused(TableError, "in-1.parquet"):
        run_step("fail", 0, known)


class Dying:
    """A process pool of which the process dies, so many times."""

    def __init__(self, times):
        self.left = times

    def __call__(self, *args, **how):
        self.pool = POOL(*args, **how)
        if self.left:
            self.left -= 1
            self.pool.submit(os.kill, os.getpid(), 0).result()
            (pid,) = self.pool._processes
            os.kill(pid, signal.SIGKILL)
        return self.pool


class Deaf(Dying):
    """A pool of two processes: one dies, the other ignores SIGTERM and works on."""

    def __call__(self, *args, **how):
        pool = POOL(2, *args[1:], **how)
        pool.submit(signal.signal, signal.SIGTERM, signal.SIG_IGN).result()
        (deaf,) = pool._processes
        for _ in range(2):
            pool.submit(time.sleep, 3600)
        (other,) = set(pool._processes) - {deaf}
        os.kill(other, signal.SIGKILL)
        return pool


POOL = engines.ProcessPoolExecutor


@pytest.mark.slow
def test_an_interrupt_ends_processes_in_the_middle_of_their_tasks(tmp_path):
    begun = []

    def stop(step, share):
        begun[:] = [p for p in active_children() if "Spawn" in p.name]
        if step == "group" and share > 0:
            raise KeyboardInterrupt

    folder = put(tmp_path / "in", persons(300))
    with pytest.raises(KeyboardInterrupt):
        masked(folder, job(engine={"jobs": 2}), tmp_path / "out", progress=stop)
    assert {process.exitcode for process in begun} == {-signal.SIGKILL}
    kept = {path.name for path in tmp_path.iterdir()} - {"in"}
    assert len(kept) == 2  # what was done, and what was to be published
    assert all(name.startswith("aggopt-run-kept-") for name in kept)


@pytest.mark.slow
def test_two_processes_and_a_killed_one_give_the_same_bytes(tmp_path, monkeypatch):
    weights = np.random.default_rng(0).gamma(2.0, size=400) + 1
    tables = (
        persons(230).assign(w=weights[:230]),
        persons(170, 1).assign(w=weights[230:]),
    )
    folder = put(tmp_path / "in", *tables)
    asked = {
        "roles": {**ROLES, "other": [], "stratum": ["note"], "weight": "w"},
        "privacy": {"t": 0.3, "distance": "equal", "repair": "merge"},
    }
    both = job(**asked, engine={"jobs": 2})
    one = masked(folder, job(**asked), tmp_path / "one")
    two = masked(folder, both, tmp_path / "two")
    monkeypatch.setattr(engines, "ProcessPoolExecutor", Dying(1))
    killed = masked(folder, both, tmp_path / "killed")
    assert digest(one.path) == digest(two.path) == digest(killed.path)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [Dying, Deaf])
def test_processes_that_always_die_are_given_up(known, monkeypatch, kind):
    monkeypatch.setattr(engines, "ProcessPoolExecutor", kind(engines.TRIES))
    with refused(EngineError, "'describe'", "__name__", "__main__"):
        ProcessExecutor(1).each("describe", 1, known, lambda share: None)


@pytest.mark.slow
def test_processes_end_with_the_one_that_began_them(tmp_path):
    words = (
        "import time\nfrom aggopt.engine.executors.local import ProcessExecutor\n"
        "if __name__ == '__main__':\n"
        "    pool = ProcessExecutor(1)._running()\n"
        "    pool.submit(time.sleep, 0).result()\n"
        "    print(next(iter(pool._processes)), flush=True)\n"
        "    time.sleep(600)\n"
    )
    (tmp_path / "driver.py").write_text(words)
    command = [sys.executable, tmp_path / "driver.py"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as driver:
        worker = int(driver.stdout.readline())
        process = psutil.Process(worker)
        driver.kill()
    assert process.wait(timeout=600) is None or not process.is_running()


STARTS_INTERRUPTED = """
import os, signal, sys
if "--multiprocessing-fork" in sys.orig_argv:
    os.kill(os.getpid(), signal.SIGINT)
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="signals of POSIX")
def test_ctrl_c_does_not_reach_a_process_that_starts(tmp_path, monkeypatch, capfd):
    (tmp_path / "sitecustomize.py").write_text(STARTS_INTERRUPTED)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    folder = put(tmp_path / "in", persons(60))
    masked(folder, job(engine={"jobs": 2}), tmp_path / "out")
    assert "KeyboardInterrupt" not in capfd.readouterr().err
