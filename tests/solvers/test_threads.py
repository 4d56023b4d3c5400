"""Solvers in several threads at once say what they say alone."""

import logging
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from conftest import require_solver
from pyomo.common.tempfiles import TempfileManager
from shift_instances import instance

from aggopt.models import p3m
from aggopt.solvers import SOLVERS
from aggopt.solvers.run_solver import run_here

THREADS, CALLS = 4, 8


@pytest.mark.parametrize("name", ["pyomo:ripopt", "cvxpy:uno", "ipopt"])
def test_threads_find_what_one_finds(name):
    require_solver(name)
    data = [instance(p3m, seed, n=8, m=3) for seed in range(CALLS)]

    def solved(one):
        found = run_here(p3m.MODEL, one, SOLVERS[name], None, 20, None)
        return found.status, found.reading

    alone = [solved(one) for one in data]
    filters = list(warnings.filters)
    handlers = list(logging.getLogger("pyomo").handlers)
    with ThreadPoolExecutor(THREADS) as pool:
        together = list(pool.map(solved, data))
    for (status, reading), (also, other) in zip(alone, together, strict=True):
        assert status is also
        assert reading == pytest.approx(other, abs=1e-6)
    assert np.array_equal([id(h) for h in handlers], _handlers())
    assert warnings.filters == filters
    assert TempfileManager.tempdir is None


def _handlers():
    return [id(handler) for handler in logging.getLogger("pyomo").handlers]
