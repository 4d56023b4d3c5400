"""Every installed solver passes the same checks; absent ones say how to get them."""

import cvxpy as cp
import numpy as np
import pytest
from conftest import require_solver

from aggopt.errors import JobError, SolverError, UnknownNameError
from aggopt.solvers import SOLVERS, Certificate, Status, choose, solve
from aggopt.solvers import _table as table

LINEAR = [name for name, s in SOLVERS.items() if "LP" in s.solves]
NONLINEAR = [name for name, s in SOLVERS.items() if "NLP" in s.solves]


def circle() -> cp.Problem:
    """Farthest point of the unit circle in direction (1, 1); value -sqrt 2."""
    x = cp.Variable(2, name="x", value=np.array([0.9, 0.1]))
    return cp.Problem(cp.Minimize(-cp.sum(x)), [cp.sum_squares(x) == 1])


@pytest.mark.parametrize("name", LINEAR)
def test_a_linear_program_is_solved_to_optimality(name):
    require_solver(name)
    x = cp.Variable(2, nonneg=True)
    problem = cp.Problem(cp.Minimize(2 * x[0] + x[1]), [cp.sum(x) >= 3])
    outcome = solve(problem, name, time_limit=30)
    assert outcome.status is Status.OPTIMAL
    assert outcome.solver == name
    assert problem.value == pytest.approx(3)


@pytest.mark.parametrize("name", LINEAR)
def test_infeasible_is_a_result(name):
    require_solver(name)
    x = cp.Variable()
    problem = cp.Problem(cp.Minimize(x), [x >= 1, x <= 0])
    assert solve(problem, name).status is Status.INFEASIBLE


@pytest.mark.parametrize("name", NONLINEAR)
def test_a_local_solver_claims_no_more_than_a_local_optimum(name):
    require_solver(name)
    problem = circle()
    assert solve(problem, name, time_limit=30).status is Status.LOCAL
    assert problem.value == pytest.approx(-np.sqrt(2), abs=1e-6)


@pytest.mark.parametrize("name", NONLINEAR)
def test_a_local_solver_cannot_prove_infeasibility(name):
    require_solver(name)
    x = cp.Variable(2, value=np.ones(2))
    problem = cp.Problem(cp.Minimize(x[0]), [cp.sum_squares(x) == -1])
    assert not solve(problem, name, time_limit=10).status.usable
    assert solve(problem, name, time_limit=10).status is not Status.INFEASIBLE


@pytest.mark.parametrize("name", SOLVERS)
def test_an_unknown_option_is_refused_by_name(name):
    require_solver(name)
    problem = circle()
    if name in LINEAR:
        x = cp.Variable()
        problem = cp.Problem(cp.Minimize(x), [x >= 0])
    with pytest.raises(JobError, match=r"refused one of its options.*no_such"):
        solve(problem, name, options={"no_such": 1})


@pytest.mark.parametrize(
    ("name", "option"),
    [("cvxpy:ipopt", "max_iter"), ("cvxpy:uno", "max_iterations")],
)
def test_options_reach_the_solver(name, option):
    require_solver(name)
    assert solve(circle(), name, options={option: 1}).status is Status.LIMIT


@pytest.mark.parametrize("name", NONLINEAR)
def test_a_time_limit_is_a_result(name):
    require_solver(name)
    assert solve(circle(), name, time_limit=1e-9).status is Status.LIMIT


def test_a_time_limit_must_be_positive():
    with pytest.raises(JobError, match="time_limit = 0"):
        solve(circle(), "uno", time_limit=0)


def test_the_bare_word_names_the_solver():
    assert choose("uno", "NLP").name == "cvxpy:uno"


def test_a_misspelt_solver_suggests_the_right_one():
    with pytest.raises(UnknownNameError, match="did you mean 'ipopt'"):
        choose("ipotp", "NLP")


def test_an_unfit_solver_names_those_that_fit():
    with pytest.raises(JobError, match="choose one of cvxpy:ipopt, cvxpy:uno"):
        choose("highs", "NLP")


@pytest.fixture
def absent(monkeypatch):
    """Make a package look absent."""

    def hide(*packages):
        real = table.find_spec
        monkeypatch.setattr(
            table, "find_spec", lambda name: None if name in packages else real(name)
        )

    return hide


def test_a_missing_solver_is_not_replaced_unasked(absent):
    absent("cyipopt")
    with pytest.raises(SolverError, match=r"To fix: run apt-get install coinor"):
        choose("ipopt", "NLP")


def test_without_a_name_the_first_installed_one_is_taken(absent):
    absent("cyipopt")
    assert choose(None, "NLP").name == "cvxpy:uno"


def test_without_any_the_error_says_how_to_get_one(absent):
    absent("cyipopt", "unopy")
    with pytest.raises(SolverError, match="or run pip install unopy"):
        choose(None, "NLP")


def test_gap_is_relative_to_the_objective_and_at_least_to_one():
    def gap(objective, bound):
        return Certificate(Status.OPTIMAL, objective, bound, 0, "s", 0).gap

    assert gap(200.0, 100.0) == 0.5
    assert gap(0.5, 0.25) == 0.25
    assert gap(1.0, None) is None
