"""Nothing large is imported once a search's time is taken."""

import subprocess
import sys

import pytest

SCRIPT = """
import sys

import numpy as np

from aggopt import partition, repair
from aggopt.core.deadline import Deadline

TIME = 0.7281  # whose clock it is
running, before = [], set()
LIBRARIES = ("cvxpy", "highspy", "numba")
started = Deadline.__post_init__


def start(own):
    started(own)
    if own.seconds == TIME and not running:
        running.append(own)
        before.update(sys.modules)


Deadline.__post_init__ = start
rng = np.random.default_rng(0)
X = rng.random((ROWS, 2))
CALL
assert running
late = set(sys.modules) - before
print([name for name in LIBRARIES if name in late])
"""
PROMISE = "confidential=rng.random(len(X)), t=0.3"
REPAIR = "repair.closeness(X, rng.random(len(X)), partition.mdav(X, 3), 3, 0.2"
CALLS = {
    "optimal": (60, "partition.optimal(X, 3, time_limit=TIME)"),
    "optimal, many": (10_001, "partition.optimal(X, 3, time_limit=TIME)"),
    "local search": (60, "partition.local_search(X, 3, time_limit=TIME)"),
    "annealing": (6000, "partition.local_search(X, 8, time_limit=TIME)"),
    "promise": (60, f"partition.local_search(X, 3, time_limit=TIME, {PROMISE})"),
    "blocked": (6000, "partition.blocked(X, 3, time_limit=TIME, jobs=1)"),
    "blocked, k = 8": (6000, "partition.blocked(X, 8, time_limit=TIME, jobs=1)"),
    "one column": (600, "partition.blocked(X[:, :1], 3, time_limit=TIME, jobs=1)"),
    "swap": (60, f"{REPAIR}, method='swap', time_limit=TIME)"),
    "sweep": (60, f"{REPAIR}, method='sweep', time_limit=TIME, solver='highs')"),
    "merge-ilp": (60, f"{REPAIR}, method='merge-ilp', time_limit=TIME)"),
}


@pytest.mark.slow  # a process each
@pytest.mark.parametrize("call", CALLS)
def test_nothing_large_is_imported_when_the_clock_runs(call) -> None:
    rows, code = CALLS[call]
    script = SCRIPT.replace("ROWS", str(rows)).replace("CALL", code)
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert not run.stderr
    assert run.stdout == "[]\n"
