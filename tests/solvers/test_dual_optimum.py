"""The maximum of the dual function, where Newton's method stalls and where not."""

import numpy as np
import pytest
from scipy.optimize import minimize

from aggopt.algorithms.lagrangian import dual_optimum as module
from aggopt.algorithms.lagrangian.branch_and_bound import with_cardinality_row
from aggopt.algorithms.lagrangian.dual_function import bound_dual
from aggopt.algorithms.lagrangian.dual_optimum import (
    DualOptimum,
    maximise,
    maximise_by_ellipsoids,
    maximise_dual,
)
from aggopt.algorithms.lagrangian.piecewise_quartics import build_separable_program
from aggopt.algorithms.lagrangian.program import compute_implied_box
from aggopt.algorithms.lagrangian.solve import solve_separable
from aggopt.models import p3m, p3m_onesided, satisfaction
from aggopt.solvers import Status

ENOUGH = 1e-9


def standard(x):
    return (x - x.mean()) / x.std()


def outlier(delta=0.1):
    """59 equal values and one that is not: 19 of 20 groups are alike."""
    x, labels = standard(np.r_[np.zeros(59), 1.0]), np.arange(60) // 3
    return build_separable_program(
        p3m.Data(x, labels, np.full(60, delta), np.full(60, 0.001), 0.5)
    )


def table(model, seed=1):
    rng = np.random.default_rng(seed)
    x, labels = standard(rng.normal(size=24)), np.arange(24) % 6
    wishes = rng.uniform(0, 1, 24), rng.uniform(0, 0.9, 24)
    return build_separable_program(model.Data(x, labels, *wishes, 0.5))


def with_third_row():
    program = table(p3m)
    alike = np.array([1.0, 1.0, 1.0, 1.0, 2.0, 0.0])
    split = with_cardinality_row(program, np.zeros(6), alike)
    return split._replace(cardinality=3.0)


def by_nelder_mead(program):
    box = compute_implied_box(program)

    def fall(y):
        return -bound_dual(program, box, np.array([*y, 0.0]))

    fine = {"xatol": 1e-10, "fatol": 1e-10}
    return -minimize(fall, np.zeros(2), method="Nelder-Mead", options=fine).fun


def cold(program):
    return 0.01 * float(np.median(program.terms)) + 1e-9


@pytest.mark.parametrize("delta", [0.05, 0.1])
def test_equal_values_and_an_outlier_have_their_bound(delta):
    program = outlier(delta)
    box, start = compute_implied_box(program), np.zeros(3)
    assert not maximise(program, box, start, cold(program), ENOUGH, 400).converged
    found, reached = maximise_dual(program, box, start, cold(program), ENOUGH, np.inf)
    assert found.converged
    assert reached == bound_dual(program, box, found.y)
    assert reached == pytest.approx(by_nelder_mead(program), rel=1e-8)


@pytest.mark.parametrize("delta", [0.05, 0.1])
def test_equal_values_and_an_outlier_are_solved(delta):
    found = solve_separable(outlier(delta))
    assert found.status is Status.OPTIMAL
    assert found.nodes <= 10


@pytest.mark.parametrize(
    "program",
    [
        pytest.param(table(p3m), id="p3m"),
        pytest.param(table(p3m_onesided), id="p3m_onesided"),
        pytest.param(table(satisfaction), id="satisfaction"),
        pytest.param(with_third_row(), id="third row"),
    ],
)
@pytest.mark.parametrize("radius", [0.01, 100.0])
def test_ellipsoids_reach_what_newton_reaches(program, radius):
    """From a ball that does not hold the maximum, too."""
    box = compute_implied_box(program)
    newton = maximise(program, box, np.zeros(3), 1.0, ENOUGH, 1000)
    assert newton.converged
    y = np.array([0.3, -0.2, 0.0])
    taken = maximise_by_ellipsoids(program, box, y, radius, ENOUGH, np.inf, 2000)
    assert 10 < taken < 1000
    high = bound_dual(program, box, newton.y)
    assert bound_dual(program, box, y) == pytest.approx(high, rel=1e-7)


def test_ellipsoids_stop_at_a_ceiling_and_at_a_limit():
    program, few, low = outlier(), np.zeros(3), np.zeros(3)
    box = compute_implied_box(program)
    assert maximise_by_ellipsoids(program, box, few, 100.0, ENOUGH, np.inf, 7) == 7
    taken = maximise_by_ellipsoids(program, box, low, 100.0, ENOUGH, 300.0, 2000)
    assert 300 <= bound_dual(program, box, low) < 341
    assert taken < 40


def test_what_reaches_the_ceiling_is_not_climbed():
    program = outlier()
    box, start = compute_implied_box(program), np.zeros(3)
    first = maximise(program, box, start, cold(program), ENOUGH, 400)
    low = bound_dual(program, box, first.y)
    assert maximise_dual(program, box, start, cold(program), ENOUGH, low)[1] == low
    between = maximise_dual(program, box, start, cold(program), ENOUGH, low + 1)
    assert low + 1 <= between[1] < 341.2
    assert not between[0].converged
    assert between[0].evaluations > first.evaluations


def test_shares_that_are_not_found_lose_no_bound(monkeypatch):
    program = outlier()
    box, start = compute_implied_box(program), np.zeros(3)
    stalled = DualOptimum(start, 1.0, 5, False)
    monkeypatch.setattr(module, "maximise", lambda *given: stalled)
    found, reached = maximise_dual(program, box, start, 1.0, ENOUGH, np.inf)
    assert reached == bound_dual(program, box, found.y)
    assert reached == pytest.approx(by_nelder_mead(program), rel=1e-8)
    assert found.evaluations > 10
