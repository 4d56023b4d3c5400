"""A bound is never beyond 0 where the terms of an objective cannot pass it."""

from typing import Any

import cvxpy as cp
import numpy as np
import pyomo.environ as pyo
import pytest
from conftest import require_solver

from aggopt.solvers import solve

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
