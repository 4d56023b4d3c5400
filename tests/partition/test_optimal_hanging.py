"""`optimal` returns its best groups where HiGHS or a solver never does."""

import hanging
import numpy as np
import pytest
from conftest import require_solver

from aggopt.partition import optimal
from aggopt.solvers import Status
from aggopt.solvers import process_pool as _pool

pytestmark = pytest.mark.usefixtures("short_grace")


@pytest.fixture(autouse=True)
def highs():
    require_solver("cvxpy:highs")


def records(n, seed=3):
    return np.random.default_rng(seed).normal(size=(n, 3))


@pytest.mark.parametrize(("hangs", "after"), hanging.ways(5, 0))
def test_groups_are_returned_where_highs_hangs(tmp_path, monkeypatch, hangs, after):
    hanging.hang_highs(tmp_path, monkeypatch, hangs, after)
    X = records(60)
    found = optimal(X, 3, time_limit=2)
    start = optimal(X, 3, time_limit=0)
    assert found.certificate.status is Status.UNANSWERED
    assert found.certificate.objective < start.certificate.objective
    assert found.certificate.bound >= start.certificate.bound - 1e-6
    assert np.bincount(found.labels).min() >= 3


def test_groups_are_returned_where_highs_aborts(tmp_path, monkeypatch):
    hanging.hang_highs(tmp_path, monkeypatch, "aborts")
    found = optimal(records(60), 3)
    assert found.certificate.status is Status.FAILED
    assert not _pool._pool.idle


def test_the_same_groups_in_a_process_of_its_own_and_it_is_ready_again(monkeypatch):
    X = records(60)
    apart = optimal(X, 3)
    (worker,) = _pool._pool.idle
    again = optimal(X, 3)
    assert [worker] == _pool._pool.idle
    monkeypatch.setattr(_pool.inside, "is_worker", True)
    here = optimal(X, 3)
    for found in (apart, again):
        assert (found.labels == here.labels).all()
        assert found.certificate.bound == here.certificate.bound
        assert found.certificate.status is Status.OPTIMAL


@pytest.mark.slow
@pytest.mark.parametrize("solver", hanging.SOLVERS)
def test_groups_are_returned_where_the_integer_solver_hangs(solver):
    found = optimal(records(60), 10, solver=solver, time_limit=20)
    certificate = found.certificate
    assert certificate.status in (Status.UNANSWERED, Status.OPTIMAL)
    assert certificate.bound <= certificate.objective
    assert np.bincount(found.labels).min() >= 10
