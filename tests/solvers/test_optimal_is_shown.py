"""A certificate says optimal only where its own bound shows it, whoever solved."""

from dataclasses import replace

import numpy as np
import pytest
from conftest import require_solver

from aggopt.aggregate import p3m, p3m_onesided, satisfaction
from aggopt.aggregate import shifted_means as _shifted
from aggopt.partition import univariate
from aggopt.solvers import Status

X = np.random.default_rng(0).normal(size=(9, 2))[:, 1:]
LABELS = [0, 0, 0, 1, 1, 1, 2, 2, 2]
AGGREGATIONS = [p3m, p3m_onesided, satisfaction]
LOOSE = [
    ("lagrangian", {}),
    ("lagrangian", {"gap_tol": 0.3}),
    ("pyomo:scip", {}),
    ("pyomo:scip", {"limits/gap": 0.3}),
    ("pyomo:scip", {"numerics/feastol": 1e-3}),
]


def asked(aggregation, solver, options):
    wish = {"delta": 0.3, "importance": 0.5, "time_limit": 600}
    return aggregation(X, LABELS, solver=solver, options=options, **wish).certificates


@pytest.mark.parametrize(("solver", "options"), LOOSE)
@pytest.mark.parametrize("aggregation", AGGREGATIONS, ids=lambda f: f.__name__)
def test_of_shifted_centroids(aggregation, solver, options):
    require_solver(solver)
    best = [c.objective for c in asked(aggregation, "lagrangian", {})]
    for found, reached in zip(asked(aggregation, solver, options), best, strict=True):
        assert found.bound is None or found.bound <= reached + 1e-9
        assert found.status is not Status.OPTIMAL or abs(found.gap) <= 1e-6


def test_a_gap_that_is_allowed_is_no_proof():
    first = asked(p3m, "lagrangian", {"gap_tol": 0.3})[0]
    assert first.status is Status.UNPROVEN
    assert first.gap > 1e-3


def test_a_bound_that_the_point_disproves_is_dropped(monkeypatch):
    real = _shifted.run_solver

    def lying(*given, **settings):
        found = real(*given, **settings)
        return replace(found, bound=found.bound + 1)

    monkeypatch.setattr(_shifted, "run_solver", lying)
    first = asked(p3m, "lagrangian", {})[0]
    assert (first.status, first.bound) == (Status.UNPROVEN, None)


@pytest.mark.parametrize(
    ("solver", "options"),
    [
        ("cvxpy:clarabel", {"tol_gap_rel": 0.9, "tol_gap_abs": 10.0, "tol_feas": 0.1}),
        ("cvxpy:highs", {"dual_feasibility_tolerance": 0.1}),
        ("cvxpy:highs", {"dual_feasibility_tolerance": 10.0}),
        ("pyomo:highs", {"dual_feasibility_tolerance": 10.0}),
    ],
)
def test_of_a_linear_program_that_is_solved_loosely(solver, options):
    require_solver(solver)
    x = np.random.default_rng(0).gamma(2, size=200)
    best = univariate(x, 5).certificate
    found = univariate(x, 5, solver=solver, options=options).certificate
    assert found.status is Status.UNPROVEN
    assert found.gap > 1e-6
    assert found.bound <= best.objective <= found.objective


@pytest.mark.parametrize("solver", ["cvxpy:highs", "cvxpy:clarabel", "pyomo:highs"])
@pytest.mark.parametrize("cost", ["sse", "sae", "maxdist"])
def test_a_linear_program_is_proven_as_it_is(solver, cost):
    require_solver(solver)
    x = np.random.default_rng(1).normal(size=150)
    found = univariate(x, 4, solver=solver, cost=cost).certificate
    best = univariate(x, 4, cost=cost).certificate
    assert found.status is Status.OPTIMAL
    assert 0 <= found.gap <= 1e-6
    assert found.objective == pytest.approx(best.objective)
