"""`closeness` returns groups that are t-close where HiGHS or a solver never returns."""

import hanging
import numpy as np
import pytest
from conftest import require_solver

from aggopt.partition import mdav
from aggopt.partition.shared import promised_bound
from aggopt.repair import closeness
from aggopt.repair._problem import create_problem, make_close
from aggopt.solvers import Status
from aggopt.solvers import process_pool as _pool

pytestmark = pytest.mark.usefixtures("short_grace")


@pytest.fixture(autouse=True)
def highs(monkeypatch):
    require_solver("cvxpy:highs")
    monkeypatch.setattr(promised_bound, "GRACE", 3.0)


def task(n=48):
    X = np.random.default_rng(3).normal(size=(n, 2))
    return X, np.arange(n) % 8, mdav(X, 3).labels


def repaired(**how):
    """Return groups that were made t-close, and what merging alone loses."""
    X, pay, labels = task()
    problem = create_problem(X, pay, 3, 0.2, "distinct")
    found = closeness(X, pay, labels, 3, 0.2, **how)
    assert problem.holds(found.labels)
    return found, problem.sse(make_close(problem, labels))


@pytest.mark.parametrize(
    ("hangs", "solver", "limit", "status"),
    [
        ("keeps the lock", hanging.keeps_the_lock, 3, Status.UNANSWERED),
        ("aborts", hanging.aborts, 60, Status.FAILED),
    ],
    ids=["hangs", "aborts"],
)
def test_merged_groups_are_returned_where_highs_and_the_solver_end_badly(
    tmp_path, monkeypatch, hangs, solver, limit, status
):
    monkeypatch.setattr(
        promised_bound, "PIECES", ()
    )  # whose solver is another, and slow
    hanging.hang_highs(tmp_path, monkeypatch, hangs)
    found, merged = repaired(time_limit=limit, solver=solver)
    assert found.certificate.status is status
    assert found.certificate.objective <= merged


@pytest.mark.slow
@pytest.mark.parametrize(("hangs", "after"), hanging.ways(0, 3))
def test_merged_groups_are_returned_where_highs_hangs(
    tmp_path, monkeypatch, hangs, after
):
    hanging.hang_highs(tmp_path, monkeypatch, hangs, after)
    found, merged = repaired(time_limit=2, solver="cvxpy:highs")
    proven = bool(after) and found.merging.status is Status.OPTIMAL
    assert proven or found.merging.status is Status.UNANSWERED
    assert proven or found.certificate.status is Status.UNANSWERED
    assert found.certificate.objective <= merged


@pytest.mark.slow
def test_merged_groups_are_returned_where_highs_aborts(tmp_path, monkeypatch):
    hanging.hang_highs(tmp_path, monkeypatch, "aborts")
    found, merged = repaired(time_limit=2)
    assert found.certificate.status is Status.FAILED
    assert found.certificate.objective <= merged


def test_the_same_groups_in_a_process_of_its_own(monkeypatch):
    apart, _ = repaired()
    monkeypatch.setattr(_pool.inside, "is_worker", True)
    here, _ = repaired()
    assert (apart.labels == here.labels).all()
    assert apart.merging.bound == here.merging.bound
    assert apart.merging.status is here.merging.status


@pytest.mark.slow
@pytest.mark.parametrize("solver", hanging.SOLVERS)
def test_merged_groups_are_returned_where_the_solver_hangs(solver):
    found, merged = repaired(time_limit=4, solver=solver)
    assert found.certificate.status in (Status.UNANSWERED, Status.LOCAL)
    assert found.certificate.objective <= merged
