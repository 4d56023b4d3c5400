"""Small programs: quartics, a row of cardinality, a bound of zero."""

from typing import Any

import cvxpy as cp
import numpy as np
import pyomo.environ as pyo
import pytest
from conftest import require_solver
from joint_instances import instance

from aggopt.algorithms.lagrangian.branch_and_bound import find_level_ends
from aggopt.algorithms.lagrangian.piecewise_quartics import build_separable_program
from aggopt.algorithms.stiefel.cost import Cost, evaluate_quartics
from aggopt.algorithms.stiefel.kernels import (
    Cells,
    Penalty,
    descend_quartics,
    smooth_quartics,
)
from aggopt.models import p3m
from aggopt.solvers import solve

seeds = pytest.mark.parametrize("seed", range(5))


def one_cell(a: np.ndarray, *allowed: float) -> Cells:
    """Return one group's quartic about 0, of one record among five."""
    values = np.reshape(allowed or (np.nan, np.nan), (2, 1, 1))
    return Cells(
        a.reshape(5, 1, 1), np.zeros((1, 1)), values, np.ones(1), np.full(1, 2.0)
    )


def least_of(cells: Cells, soft: float = 1e-9) -> tuple[float, float, float]:
    first, second = np.empty((1, 1)), np.empty((1, 1))
    value = smooth_quartics(cells, np.zeros((1, 1)), np.zeros(1), soft, first, second)
    return value, first.item(), second.item()


@seeds
def test_minima_are_the_least_of_the_roots(seed):
    rng = np.random.default_rng(seed)
    for _ in range(40):
        a = rng.normal(size=5) * [1, 5, 5, 1, 1]
        a[4] = abs(a[4]) + 0.1
        t = np.roots([4 * a[4], 3 * a[3], 2 * a[2], a[1]])
        real = t[abs(t.imag) < 1e-9].real
        least = min(evaluate_quartics(a, t) for t in real)
        value, c, square = least_of(one_cell(a))
        assert value == pytest.approx(least, rel=1e-9)
        assert (evaluate_quartics(a, c), c**2) == (
            pytest.approx(least),
            pytest.approx(square),
        )


def test_a_tie_of_two_minima_is_smoothed():
    value, c, square = least_of(one_cell(np.array([1.0, 0, -2, 0, 1])), soft=0.5)
    assert value == pytest.approx(-0.5 * np.log(2))
    assert (c, square) == (pytest.approx(0), pytest.approx(1))


def test_minima_where_no_quartic_is_left():
    assert least_of(one_cell(np.array([1.0, -4, 2, 0, 0]))) == (-1, 1, 1)
    value, _, square = least_of(one_cell(np.array([1.0, 1, -1, 0, 0])))
    assert (value, square) == (-5, 4)  # the end that the variance leaves


def test_demanded_centroids_have_one_of_their_values():
    a = np.array([0.0, 0, 1, 0, 1])
    assert least_of(one_cell(a, 0.5, -0.25)) == (
        evaluate_quartics(a, -0.25),
        -0.25,
        0.0625,
    )


@seeds
def test_a_pass_never_costs_more_and_keeps_its_sums(seed):
    data = instance(seed, n=40, d=3, m=10)
    rng = np.random.default_rng(seed)
    cost, n, S = Cost.of(data), data.sizes[:, None], data.covariance
    c, L, mu = data.means.copy(), rng.normal(size=(3, 3)), rng.normal(size=3)
    L, rho = L + L.T, 0.3

    def parts(c: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return c.T @ (n * c) - S, np.sum(n * c, axis=0)

    def all_in(c: np.ndarray) -> float:
        off, mean = parts(c)
        penalty = rho / 2 * (np.sum(off**2) + np.sum(mean**2))
        return cost.value(c) + np.sum(L * off) + mu @ mean + penalty

    for _ in range(4):
        before, begun = all_in(c), c.copy()
        price = Penalty(*parts(c), L, mu, rho)
        descend_quartics(cost.cells, c, price, rng.permutation(c.size)[:1])
        assert price.off == pytest.approx(parts(c)[0], abs=1e-9)
        assert price.mean == pytest.approx(parts(c)[1], abs=1e-9)
        assert all_in(c) <= before
        (j,), (a,) = np.nonzero(c != begun)
        for other in np.linspace(-4, 4, 101):  # no other value of it is better
            moved = c.copy()
            moved[j, a] = other
            assert all_in(c) <= all_in(moved) + 1e-9


# --- where groups of one level end, and those of the other begin


BELOW, ABOVE = np.nextafter(0.5, 0), np.nextafter(0.5, 1)


def test_levels_end_a_rounding_from_the_cut_but_points_stay():
    x, wishes = np.tile([-1.0, 1.0], 6), np.full(12, 0.5)
    program = build_separable_program(
        p3m.Data(x, np.arange(12) // 3, wishes, wishes, 0.5)
    )
    program.low[2] = program.high[2] = 0.5
    assert find_level_ends(program, 1, 0.5) == (BELOW, ABOVE)
    assert find_level_ends(program, 2, 0.5) == (BELOW, 0.5)
    assert find_level_ends(program, 3, 0.5) == (BELOW, ABOVE)


# --- a bound is never beyond 0 where the terms of an objective cannot pass it


N = 20
LANGUAGES = ["cvxpy", "pyomo"]
SIGNS = pytest.mark.parametrize("sign", [1, -1], ids=["minimised", "maximised"])


def deviations(sign: int) -> cp.Problem:
    """Return a linear program: absolute deviations, or what lies below 0 by them."""
    rng = np.random.default_rng(0)
    A, b, y = rng.normal(size=(N, 6)), rng.normal(size=N), cp.Variable(6)
    sense = cp.Minimize if sign > 0 else cp.Maximize
    return cp.Problem(sense(sign * cp.sum(cp.abs(A @ y - b))), [y <= 1, y >= -1])


def halves(language: str, sign: int) -> Any:
    """Return how far apart the sums of two halves are: 0 where halves may be parts."""
    sizes = np.random.default_rng(1).integers(10_000, 100_000, N) / 1e4
    if language == "cvxpy":
        y, apart = cp.Variable(N, boolean=True), cp.Variable(nonneg=True)
        rows = [apart >= sizes @ (2 * y - 1), apart >= -sizes @ (2 * y - 1)]
        sense = cp.Minimize if sign > 0 else cp.Maximize
        return cp.Problem(sense(sign * apart), [*rows, apart <= 1000])
    problem = pyo.ConcreteModel()
    problem.y = pyo.Var(range(N), domain=pyo.Binary)
    problem.apart = pyo.Var(bounds=(0, 1000))
    off = sum(sizes[j] * (2 * problem.y[j] - 1) for j in range(N))
    problem.above = pyo.Constraint(expr=problem.apart >= off)
    problem.below = pyo.Constraint(expr=problem.apart >= -off)
    sense = pyo.minimize if sign > 0 else pyo.maximize
    problem.cost = pyo.Objective(expr=sign * problem.apart, sense=sense)
    return problem


@SIGNS
def test_of_a_linear_program_that_was_stopped(sign):
    require_solver("cvxpy:clarabel")
    found = solve(deviations(sign), "cvxpy:clarabel", options={"max_iter": 2})
    assert found.bound == 0.0


@SIGNS
@pytest.mark.parametrize("language", LANGUAGES)
def test_of_an_integer_program_that_was_stopped(language, sign):
    name = f"{language}:highs"
    require_solver(name)
    found = solve(halves(language, sign), name, options={"mip_max_nodes": 1})
    assert found.bound == 0.0


def test_costs_that_may_be_negative_have_any_bound():
    require_solver("cvxpy:highs")
    y = cp.Variable(2)
    problem = cp.Problem(cp.Minimize(y[0] + 2 * y[1]), [cp.abs(y - 0.25) <= 1])
    found = solve(problem, "cvxpy:highs")
    assert found.bound == pytest.approx(-2.25)
