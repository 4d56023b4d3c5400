"""`solve` on problems that are none of this package's models: all of it, or a word."""

from typing import Any

import cvxpy as cp
import pyomo.environ as pyo
import pytest
from conftest import require_solver
from pyomo import gdp, mpec
from refusals import refused

from aggopt.errors import JobError
from aggopt.solvers import SOLVERS, Status, solve
from aggopt.solvers import _pyomo as in_pyomo

PYOMO = ["pyomo:highs", "pyomo:scip"]


def two(*, whole: bool = False, sense: Any = pyo.maximize) -> Any:
    """Return a model of two variables in 0..1, their sum its objective."""
    problem = pyo.ConcreteModel()
    domain = pyo.Binary if whole else pyo.Reals
    x = problem.x = pyo.Var([1, 2], bounds=(0, 1), domain=domain)
    problem.cost = pyo.Objective(expr=x[1] + x[2], sense=sense)
    return problem


def with_sos(problem: Any) -> None:
    problem.part = pyo.SOSConstraint(var=problem.x, sos=1)


def with_disjunction(problem: Any) -> None:
    problem.one, problem.other = gdp.Disjunct(), gdp.Disjunct()
    problem.one.row = pyo.Constraint(expr=problem.x[1] <= 0)
    problem.other.row = pyo.Constraint(expr=problem.x[2] <= 0)
    problem.part = gdp.Disjunction(expr=[problem.one, problem.other])


def with_logic(problem: Any) -> None:
    problem.b = pyo.BooleanVar()
    problem.part = pyo.LogicalConstraint(expr=pyo.lnot(problem.b))


def with_complementarity(problem: Any) -> None:
    pair = mpec.complements(problem.x[1] >= 0, problem.x[2] >= 0)
    problem.part = mpec.Complementarity(expr=pair)


@pytest.mark.parametrize("solver", [None, *PYOMO, "pyomo:ripopt"])
@pytest.mark.parametrize(
    "add", [with_sos, with_disjunction, with_logic, with_complementarity]
)
def test_what_no_solver_hears_of_is_refused_by_its_kind(add, solver):
    problem = two()
    add(problem)
    with refused(JobError):
        solve(problem, solver)
    problem.part.deactivate()
    for name in ("one", "other"):
        if hasattr(problem, name):
            getattr(problem, name).deactivate()
    assert solve(problem).bound == pytest.approx(2)


def test_a_disjunction_that_is_made_of_constraints_is_solved():
    problem = two()
    with_disjunction(problem)
    pyo.TransformationFactory("gdp.bigm").apply_to(problem, bigM=1)
    assert solve(problem).bound == pytest.approx(1)


@pytest.mark.parametrize("name", PYOMO)
def test_variables_are_those_of_what_is_active(name):
    require_solver(name)
    problem = pyo.ConcreteModel()
    problem.b = pyo.Block()
    problem.b.x = pyo.Var(bounds=(0, 4.5), domain=pyo.Integers)
    problem.b.deactivate()
    problem.row = pyo.Constraint(expr=problem.b.x <= 3.7)
    problem.cost = pyo.Objective(expr=problem.b.x, sense=pyo.maximize)
    outcome = solve(problem, name)
    assert (outcome.status, problem.b.x.value) == (Status.OPTIMAL, 3)
    assert outcome.bound == pytest.approx(3)


@pytest.mark.parametrize("name", PYOMO)
@pytest.mark.parametrize("domain", [pyo.Integers, pyo.Reals], ids=["whole", "real"])
def test_a_block_may_use_what_its_parent_declares(name, domain):
    require_solver(name)
    whole = pyo.ConcreteModel()
    whole.x = pyo.Var(bounds=(0, 4.5), domain=domain)
    whole.b = pyo.Block()
    whole.b.row = pyo.Constraint(expr=whole.x <= 3.7)
    whole.b.cost = pyo.Objective(expr=whole.x, sense=pyo.maximize)
    outcome = solve(whole.b, name)
    assert outcome.status is Status.OPTIMAL
    assert whole.x.value == pytest.approx(3 if domain is pyo.Integers else 3.7)


@pytest.mark.parametrize("name", ["cvxpy:highs", *PYOMO])
@pytest.mark.parametrize("whole", [False, True])
def test_an_endless_program_has_failed(name, whole):
    require_solver(name)
    if SOLVERS[name].language == "cvxpy":
        v = cp.Variable(integer=whole)
        problem: Any = cp.Problem(cp.Minimize(v), [v <= 3])
    else:
        problem = two(whole=False, sense=pyo.minimize)
        problem.x[1].setlb(None)
        problem.x[1].domain = pyo.Integers if whole else pyo.Reals
    outcome = solve(problem, name)
    assert (outcome.status, outcome.bound) == (Status.FAILED, None)


def test_a_whole_variable_that_is_fixed_between_is_refused():
    problem = two(whole=True)
    problem.x[1].fix(1)
    assert solve(problem).bound == pytest.approx(2)
    problem.x[1].fix(0.5, skip_validation=True)
    with refused(JobError):
        solve(problem)


def test_a_parameter_without_a_value_is_refused_in_words():
    p, x = cp.Parameter(), cp.Variable()
    problem = cp.Problem(cp.Minimize(x), [x >= p])
    with refused(JobError, "value = 3"):
        solve(problem)
    p.value = 2
    assert solve(problem).bound == pytest.approx(2)


@pytest.mark.parametrize("solver", [None, *PYOMO])
def test_a_pyomo_problem_without_variables_is_refused(solver):
    problem = two()
    problem.x.fix(1)
    with refused(JobError):
        solve(problem, solver)


@pytest.mark.parametrize("solver", [None, "cvxpy:highs", "cvxpy:clarabel"])
def test_a_cvxpy_problem_without_variables_is_refused(solver):
    with refused(JobError):
        solve(cp.Problem(cp.Minimize(cp.Constant(3))), solver)


def test_a_limit_of_time_is_given_once():
    problem, options = two(), {"time_limit": 5}
    with refused(JobError, "time_limit = 1"):
        solve(problem, "pyomo:highs", time_limit=1, options=options)
    assert solve(problem, "pyomo:highs", options=options).status is Status.OPTIMAL


@pytest.mark.parametrize(
    ("whole", "name", "options", "limit"),
    [
        (True, "pyomo:highs", None, 600),
        (True, "pyomo:highs", {"time_limit": 5}, 5),
        (False, "pyomo:highs", None, 600),
        (False, "pyomo:scip", None, 600),
    ],
)
def test_every_solver_has_a_limit(monkeypatch, whole, name, options, limit):
    require_solver(name)
    seen, real = [], in_pyomo.run

    def watched(problem: Any, solver: Any, native: Any, kind: str) -> Any:
        seen.append(native.get(solver.time_limit))
        return real(problem, solver, native, kind)

    monkeypatch.setattr(in_pyomo, "run", watched)
    assert solve(two(whole=whole), name, options=options).status is Status.OPTIMAL
    assert seen == [limit]
