"""A solver's word is taken where all numbers are moderate, and no bound is false."""

from typing import Any

import cvxpy as cp
import numpy as np
import pyomo.environ as pyo
import pytest
from conftest import require_solver
from scipy.sparse import csr_array

from aggopt.partition import univariate
from aggopt.solvers import SOLVERS, Status, solve
from aggopt.solvers._linear_bound import (
    LinearProgram,
    prove_bound,
    solve_for_multipliers,
)
from aggopt.solvers._pyomo_program import scale_of_problem
from aggopt.solvers.termination import (
    LEAST,
    MOST,
    Ended,
    ProgramScale,
    judge_termination,
    scale_of,
)

SOLVED = ["cvxpy:highs", "cvxpy:clarabel", "pyomo:highs", "pyomo:scip"]
WHOLE = ["cvxpy:highs", "pyomo:highs", "pyomo:scip"]
CASES = [*((name, False) for name in SOLVED), *((name, True) for name in WHOLE)]


def program(name: str, whole: bool, cost: Any, row: Any, least: float, most: float):
    """Minimise cost over row >= least, 0 <= x <= most, 0 <= y, 0 <= z <= 3.

    `cost` and `row` are coefficients of x, y, z; z is whole where asked.
    """
    if SOLVERS[name].language == "cvxpy":
        x, y, z = cp.Variable(), cp.Variable(), cp.Variable(integer=whole)
        total = [a * v for a, v in zip(row, (x, y, z), strict=True) if a]
        paid = [c * v for c, v in zip(cost, (x, y, z), strict=True) if c]
        box = [x >= 0, x <= most, y >= 0, y <= 9, z >= 0, z <= 3]
        return cp.Problem(cp.Minimize(cp.sum(paid)), [cp.sum(total) >= least, *box])
    problem = pyo.ConcreteModel()
    problem.x, problem.y = pyo.Var(bounds=(0, most)), pyo.Var(bounds=(0, 9))
    domain = pyo.Integers if whole else pyo.Reals
    problem.z = pyo.Var(bounds=(0, 3), domain=domain)
    every = problem.x, problem.y, problem.z
    total = sum(a * v for a, v in zip(row, every, strict=True) if a)
    paid = sum(c * v for c, v in zip(cost, every, strict=True) if c)
    problem.row = pyo.Constraint(expr=total >= least)
    problem.cost = pyo.Objective(expr=paid)
    return problem


@pytest.mark.parametrize(("name", "whole"), CASES)
@pytest.mark.parametrize(
    ("cost", "row", "least", "most", "best"),
    [
        ((0, 1, 1), (1e-10, 1, 0), 1, 1e10, 0.0),
        ((-1e-10, 0, 1), (0, 1, 0), 1, 1e11, -10.0),
        ((0, 0, 1), (0.99e-9, 0, 1), 0.5, 1e9, 0.0),
        ((0, 0, 1), (5e-10, 0, 1), 0.0005, 1e6, 0.0),
    ],
    ids=["a tiny coefficient", "a tiny cost", "a row of z", "a short row of z"],
)
def test_what_solvers_drop_makes_no_bound_false(
    name, whole, cost, row, least, most, best
):
    require_solver(name)
    outcome = solve(program(name, whole, cost, row, least, most), name)
    assert outcome.bound is None or outcome.bound <= best + 1e-9
    assert outcome.status is not Status.INFEASIBLE


@pytest.mark.parametrize(("name", "whole"), CASES)
def test_a_problem_is_not_said_to_be_infeasible_for_a_dropped_coefficient(name, whole):
    require_solver(name)
    problem = program(name, whole, (1, 0, 1), (1e-10, 0, 0), 1, 1e11)
    assert solve(problem, name).status is not Status.INFEASIBLE


@pytest.mark.parametrize(("name", "whole"), CASES)
def test_a_moderate_one_is_said_to_be_infeasible(name, whole):
    require_solver(name)
    problem = program(name, whole, (1, 0, 1), (1, 1, 1), 100, 5)
    assert solve(problem, name).status is Status.INFEASIBLE


@pytest.mark.parametrize("name", ["pyomo:highs", "pyomo:scip"])
def test_a_problem_at_what_solvers_call_infinity_has_failed(name):
    require_solver(name)
    problem = pyo.ConcreteModel()
    x = problem.x = pyo.Var(bounds=(None, 1e25))
    problem.row = pyo.Constraint(expr=x >= 1e21)
    problem.cost = pyo.Objective(expr=x)
    assert solve(problem, name).status is Status.FAILED


@pytest.mark.parametrize("name", ["pyomo:highs", "pyomo:scip"])
@pytest.mark.parametrize(("less", "far"), [(4e-10, 1e12), (9e-10, 1e9), (5e-10, 1e5)])
def test_no_bound_is_above_a_point_that_costs_hardly_less(name, less, far):
    require_solver(name)
    problem = pyo.ConcreteModel()
    x = problem.x = pyo.Var([0, 1], bounds=(0, far), domain=pyo.Integers)
    problem.row = pyo.Constraint(expr=x[0] + x[1] == far)
    problem.cost = pyo.Objective(expr=(1 - less) * x[0] + x[1] - far)
    outcome = solve(problem, name, time_limit=5)
    x[0].set_value(far)
    x[1].set_value(0)
    assert outcome.bound is None or outcome.bound <= pyo.value(problem.cost)


@pytest.mark.parametrize("maximised", [False, True])
def test_a_bound_that_the_point_disproves_is_none(maximised):
    sign = -1 if maximised else 1
    said = Ended(Status.OPTIMAL, sign * 1.0, sign * 2.0, maximised=maximised)
    said = Ended(**{**vars(said), "scale": ProgramScale(1.0, 0.0, 0.0)})
    highs = SOLVERS["pyomo:highs"]
    assert judge_termination(said, highs, careful=True) == (Status.UNPROVEN, None)
    near = Ended(**{**vars(said), "missed": 1e-5})  # no point of the program
    assert judge_termination(near, highs, careful=True)[1] is not None
    fine = Ended(**{**vars(said), "bound": sign * 1.0})
    status, bound = judge_termination(fine, highs, careful=True)
    assert (status, bound) == (Status.OPTIMAL, pytest.approx(sign - sign * 1e-7))


def test_a_bound_allows_for_what_the_constant_hides():
    assert ProgramScale(0.0, 0.0, -1e6).allowance(0.0) == pytest.approx(0.1)
    assert ProgramScale(5e6, 2.0, 0.0).allowance(0.0) == pytest.approx(2.5)


def linear(
    a: float = 1, c: float = 1, side: float = 1, far: float = 5
) -> LinearProgram:
    no, low = np.zeros(2), np.array([side])
    row = csr_array([[a, 1.0]])
    box = np.zeros(2), np.array([far, 5.0])
    return LinearProgram(np.array([c, 1]), no, 0.0, row, low, np.array([np.inf]), *box)


def test_what_is_moderate():
    assert scale_of(linear()) is not None
    assert scale_of(linear(a=LEAST)) is not None
    assert scale_of(linear(a=LEAST / 2)) is None
    assert scale_of(linear(a=1e-14)) is not None  # not beyond the rounding
    assert scale_of(linear(a=1e-14, far=1e5)) is None
    assert scale_of(linear(a=2 * MOST)) is None
    assert scale_of(linear(c=2 * MOST)) is None
    assert scale_of(linear(side=2 * MOST)) is None
    assert scale_of(linear(far=2 * MOST)) is None
    assert scale_of(linear(far=np.inf)) is None
    assert scale_of(linear(side=-np.inf)) is not None


def test_a_tiny_cost_is_taken_off_the_bound():
    found = scale_of(linear(c=-1e-7, far=1e5))
    assert found.lost == pytest.approx(1e-7 * 1e5 + 1e-9 * (1e5 + 5))


def quadratic(rows: Any, cost: Any) -> Any:
    problem = pyo.ConcreteModel()
    x = problem.x = pyo.Var(range(3))
    problem.rows = pyo.ConstraintList()
    for row in rows(x):
        problem.rows.add(row)
    problem.cost = pyo.Objective(expr=cost(x))
    return problem


def test_rows_narrow_what_squares_and_products_reach():
    def rows(x: Any) -> Any:
        yield x[0] ** 2 - 2 * x[0] + 3 * x[1] ** 2 <= 3  # x0 in -1..3, x1 to 1.15
        yield (-2, x[2] + x[0], 4)  # x2 in -5..5

    found = scale_of_problem(quadratic(rows, lambda x: 2 * x[0] * x[2]))
    assert found.largest == pytest.approx(2 * 3 * 5)
    assert scale_of_problem(quadratic(lambda x: [], lambda x: x[0])) is None
    assert scale_of_problem(quadratic(rows, lambda x: x[0] ** 3)) is None


def test_points_that_are_worse_than_one_that_is_reached_do_not_matter():
    problem = quadratic(lambda x: [], lambda x: (x[0] - 3) ** 2 + 0 * x[1])
    assert scale_of_problem(problem) is None
    found = scale_of_problem(problem, 4)  # x0 in 1..5
    assert found.largest == pytest.approx(6 * 5)
    problem.cost.sense = pyo.maximize
    assert scale_of_problem(problem, 4) is None


@pytest.mark.parametrize("curve", [[0, 0, 0, 0], [0, 1.5, 2, 0]])
def test_a_bound_is_proven_anew(curve):
    rng = np.random.default_rng(0)
    A, at, c = rng.normal(size=(2, 4)), rng.uniform(size=4), rng.normal(size=4)
    bent, sides = np.array(curve, float), (A @ at, A @ at + 1)
    box = np.zeros(4), np.ones(4)
    x = cp.Variable(4, bounds=[0, 1])
    cost = c @ x + cp.sum(cp.multiply(bent / 2, cp.square(x))) + 5
    rows = [A @ x >= sides[0], A @ x <= sides[1]]
    best = cp.Problem(cp.Minimize(cost), rows).solve(solver="CLARABEL")
    stated = LinearProgram(c, bent, 5.0, csr_array(A), *sides, *box)
    found = prove_bound(stated, solve_for_multipliers(stated, 10))
    assert found == pytest.approx(best, abs=1e-6)
    assert found <= best + 1e-7


def test_a_bound_of_scip_is_recomputed_where_it_can_be():
    require_solver("pyomo:scip")
    problem = program("pyomo:scip", False, (3, 1, 1), (1, 1, 1), 4, 5)
    outcome = solve(problem, "pyomo:scip")
    assert outcome.status is Status.OPTIMAL
    assert 4 - 1e-12 < outcome.bound <= 4  # SCIP's own would be less by 1e-7


def test_a_model_proves_its_own_bound_by_multipliers_found_for_scip():
    require_solver("pyomo:scip")
    x = np.sort(np.random.default_rng(0).normal(size=30))
    found = univariate(x, 3, solver="pyomo:scip").certificate
    assert found.status is Status.OPTIMAL
    assert 0 <= found.gap <= 1e-6
