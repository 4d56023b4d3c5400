"""A solver's process: what it refuses, and that its folder goes with its parent."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from conftest import require_solver

from aggopt.core import guardian
from aggopt.errors import AggoptError
from aggopt.models import univariate
from aggopt.solvers import SOLVERS
from aggopt.solvers import process_pool as _pool
from aggopt.solvers import run_solver as _child

ORPHAN = """
import subprocess, sys, time
from aggopt.core import guardian
guardian.start()
program = subprocess.Popen(["sleep", "1000"], start_new_session=True)
guardian.send_message("group", program.pid)
guardian.send_message("file", sys.argv[1])
print(program.pid, flush=True)
time.sleep(1000)
"""


@pytest.mark.usefixtures("own_process")
def test_a_refusal_there_is_one_here() -> None:
    require_solver("pyomo:scip")
    data = univariate.Data(np.arange(6.0) ** 2, 2, "sse")
    scip, options = SOLVERS["pyomo:scip"], {"nonsense": 1}
    with pytest.raises(AggoptError, match="nonsense"):
        _child.run_apart(univariate.MODEL, data, scip, None, None, options)


def test_what_a_killed_process_left_ends_and_goes(tmp_path) -> None:
    folder = tmp_path / "aggopt-x"
    folder.mkdir()
    (folder / "program.nl").write_text("values")
    words = [sys.executable, "-c", ORPHAN, str(folder)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as killed:
        assert killed.stdout is not None
        program = int(killed.stdout.readline())
        killed.kill()
    gone = time.monotonic() + 600
    while folder.exists() or is_there(program):
        assert time.monotonic() < gone


def is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    with open(f"/proc/{pid}/stat") as stat:
        return stat.read().rpartition(")")[2].split()[0] != "Z"


FULL = """
import os, signal
from aggopt.command.interrupt import interrupts
from aggopt.core import guardian
unread, full = os.pipe()
os.set_blocking(full, False)
try:
    while True:
        os.write(full, b"x")
except BlockingIOError:
    os.set_blocking(full, True)
os.dup2(full, 2)
"""
KILLED = """
wakeups, woken = os.pipe()
heard, forward = os.pipe()
guardian.start(wakeups, forward, grace=0.1)
guardian.send_message("sentence", "Ended.")
os.write(woken, bytes([signal.SIGTERM]))
signal.pause()
"""
TWICE = """
interrupts.register_handlers()
try:
    signal.raise_signal(signal.SIGINT)
except KeyboardInterrupt:
    signal.raise_signal(signal.SIGINT)
"""


@pytest.mark.parametrize(("ending", "code"), [(KILLED, -9), (TWICE, 130)])
def test_a_command_ends_though_no_one_reads_its_errors(forked, ending, code):
    assert forked(FULL + ending).returncode == code


def test_a_guardian_that_does_not_run_is_killed(own_process, monkeypatch) -> None:
    monkeypatch.setattr(guardian, "PATIENCE", 0.1)
    assert guardian.start()
    process = guardian._state.process
    process.send_signal(signal.SIGSTOP)
    guardian.stop()
    assert process.returncode == -signal.SIGKILL


def test_a_worker_is_not_used_after_its_guardian_stopped(own_process) -> None:
    """The guardian kills it: it may seem to live for a moment, and give no answer."""
    first = _pool.call(os.getpid, solver="own", limit=9)
    guardian.send_message("ended", first)  # so that the test is not a race
    guardian.stop()
    assert _pool.call(os.getpid, solver="own", limit=9) != first
    with pytest.raises(ProcessLookupError):
        os.kill(first, 0)


def test_a_fork_has_no_guardian(own_process) -> None:
    assert guardian.start()
    pid = os.fork()
    if pid == 0:
        os._exit(guardian._state.pipe is not None)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    guardian.send_message("sentence", "it lives")
    assert guardian._state.process is not None
    assert guardian._state.process.poll() is None
