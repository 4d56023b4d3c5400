"""A solver's process: what it refuses, and that its folder goes with its parent."""

import os
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
from aggopt.solvers import child_process as _child

ORPHAN = """
import subprocess, sys, time
from aggopt.core import guardian
guardian.start()
program = subprocess.Popen(["sleep", "1000"], start_new_session=True)
guardian.tell("group", program.pid)
guardian.tell("file", sys.argv[1])
print(program.pid, flush=True)
time.sleep(1000)
"""


@pytest.mark.usefixtures("own_process")
def test_a_refusal_there_is_one_here() -> None:
    require_solver("pyomo:scip")
    data = univariate.Data(np.arange(6.0) ** 2, 2, "sse")
    scip, options = SOLVERS["pyomo:scip"], {"nonsense": 1}
    with pytest.raises(AggoptError, match="nonsense"):
        _child.answer_apart(univariate.MODEL, data, scip, None, None, options)


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


def test_a_fork_has_no_guardian(own_process) -> None:
    assert guardian.start()
    pid = os.fork()
    if pid == 0:
        os._exit(guardian._state.pipe is not None)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    guardian.tell("sentence", "it lives")
    assert guardian._state.process is not None
    assert guardian._state.process.poll() is None
