"""Solvers are chosen by language and class, and solve each class that they claim."""

from typing import Any

import cvxpy as cp
import numpy as np
import pyomo.environ as pyo
import pytest
from conftest import require_solver

from aggopt.errors import JobError, SolverError
from aggopt.models import MODELS
from aggopt.solvers import SOLVERS, Status, choose, solve
from aggopt.solvers import _cvxpy as in_cvxpy
from aggopt.solvers import _pyomo as in_pyomo
from aggopt.solvers._solver import CLASSES

BEST = {  # of the problems below
    "LP": -4.0,
    "QP": 0.02,
    "SOCP": -0.2,
    "SDP": 2.0,
    "MILP": -4.0,
    "MIQP": 0.52,
    "NLP": -24.0,
    "MINLP": -24.0,
}
LANGUAGES = {"cvxpy": in_cvxpy, "pyomo": in_pyomo}


def declared(language: str, kind: str, *, maximised: bool = False) -> Any:
    """Return a problem of a class, of two variables that add up to 1."""
    return (_cvxpy if language == "cvxpy" else _pyomo)(kind, -1 if maximised else 1)


def _cvxpy(kind: str, sign: int) -> Any:
    whole = kind.startswith("MI")
    x = cp.Variable(2, integer=whole, bounds=[-5, 5], value=[3.0, -2.0])
    rows = [cp.sum(x) == 1]
    cost: Any = x[0]
    if kind in ("QP", "MIQP"):
        cost = cp.sum_squares(x - 0.4)
    elif kind in ("NLP", "MINLP"):
        cost = x[0] * x[1] + x[0]
    elif kind == "SOCP":
        rows.append(cp.sum_squares(x - 0.4) <= 1)
    elif kind == "SDP":
        z = cp.Variable((2, 2), PSD=True)
        cost, rows = cp.trace(z), [z[0, 1] == 1]
    sense = cp.Minimize if sign > 0 else cp.Maximize
    return cp.Problem(sense(sign * cost), rows)


def _pyomo(kind: str, sign: int) -> Any:
    problem = pyo.ConcreteModel()
    domain = pyo.Integers if kind.startswith("MI") else pyo.Reals
    x = problem.x = pyo.Var([0, 1], domain=domain, bounds=(-5, 5), initialize=0)
    x[0], x[1] = 3, -2
    square = (x[0] - 0.4) ** 2 + (x[1] - 0.4) ** 2
    problem.one = pyo.Constraint(expr=x[0] + x[1] == 1)
    cost = x[0]
    if kind in ("QP", "MIQP"):
        cost = square
    elif kind in ("NLP", "MINLP"):
        cost = x[0] * x[1] + x[0]
    elif kind == "SOCP":
        problem.ball = pyo.Constraint(expr=square <= 1)
    sense = pyo.minimize if sign > 0 else pyo.maximize
    problem.cost = pyo.Objective(expr=sign * cost, sense=sense)
    return problem


def value(problem: Any) -> float:
    if isinstance(problem, cp.Problem):
        return float(problem.objective.value)
    return float(pyo.value(problem.cost))


@pytest.mark.parametrize("maximised", [False, True])
@pytest.mark.parametrize("kind", CLASSES)
def test_a_program_has_one_class_in_both_languages(kind, maximised):
    for language, module in LANGUAGES.items():
        if (language, kind) != ("pyomo", "SDP"):
            problem = declared(language, kind, maximised=maximised)
            assert module.problem_class(problem) == kind


CLAIMS = [
    (name, kind)
    for name, solver in SOLVERS.items()
    if solver.language
    for kind in CLASSES
    if solver.fits(kind)
]


@pytest.mark.parametrize(("name", "kind"), CLAIMS)
@pytest.mark.parametrize("maximised", [False, True])
def test_a_solver_solves_each_class_that_it_takes(name, kind, maximised):
    require_solver(name)
    solver, sign = SOLVERS[name], -1 if maximised else 1
    problem = declared(solver.language, kind, maximised=maximised)
    outcome = solve(problem, name, time_limit=30)
    assert outcome.status in (Status.OPTIMAL, Status.LOCAL)
    if solver.is_global or kind != "NLP":
        assert value(problem) == pytest.approx(sign * BEST[kind], abs=1e-4)
    if outcome.bound is not None:
        assert solver.is_global
        assert sign * outcome.bound <= BEST[kind] + 1e-7
        assert sign * outcome.bound == pytest.approx(BEST[kind], abs=1e-4)
    if solver.is_global and kind in ("LP", "MILP", "MIQP"):
        assert outcome.status is Status.OPTIMAL


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("kind", CLASSES)
def test_without_a_name_the_first_of_language_and_class_is_taken(language, kind):
    fit = [s for s in SOLVERS.values() if s.language == language and s.fits(kind)]
    if language == "pyomo" and kind == "SDP":
        return  # it has no semidefinite matrices
    if not fit:
        with pytest.raises(JobError, match=f"class {kind} declared in {language}"):
            solve(declared(language, kind))
    elif not any(s.installed for s in fit):
        with pytest.raises(SolverError, match="is installed"):
            solve(declared(language, kind))
    else:
        first = next(s.name for s in fit if s.installed)
        assert solve(declared(language, kind)).solver == first


def test_a_refusal_suggests_what_reads_and_takes_the_problem():
    with pytest.raises(JobError, match="class SOCP") as refusal:
        solve(declared("cvxpy", "SOCP"), "cvxpy:highs")
    assert str(refusal.value).endswith("choose one of cvxpy:clarabel.")
    with pytest.raises(JobError, match="cannot read a problem declared in pyomo") as no:
        solve(declared("pyomo", "LP"), "cvxpy:highs")
    assert str(no.value).endswith("choose one of pyomo:highs, pyomo:scip.")
    assert choose("highs", "LP", language="pyomo").name == "pyomo:highs"


def test_quadratic_rows_are_convex_or_not():
    problem = pyo.ConcreteModel()
    x = problem.x = pyo.Var([0, 1])
    problem.cost = pyo.Objective(expr=x[0])
    form = x[0] ** 2 + 3 * x[0] * x[1] + x[1] ** 2
    problem.row = pyo.Constraint(expr=form <= 1)
    assert in_pyomo.problem_class(problem) == "NLP"  # eigenvalues -1 and 5
    problem.row.set_value(form + 2 * x[1] ** 2 <= 1)
    assert in_pyomo.problem_class(problem) == "SOCP"
    problem.row.set_value(form + 2 * x[1] ** 2 >= 1)
    assert in_pyomo.problem_class(problem) == "NLP"
    problem.row.set_value(-form - 2 * x[1] ** 2 >= -1)
    assert in_pyomo.problem_class(problem) == "SOCP"
    problem.row.deactivate()
    assert in_pyomo.problem_class(problem) == "LP"


def test_an_exponential_is_smooth_and_no_cone():
    x = cp.Variable()
    assert in_cvxpy.problem_class(cp.Problem(cp.Minimize(cp.exp(x) - x))) == "NLP"


@pytest.mark.parametrize(
    "junk",
    [object(), 3, "model.lp", None, cp.Variable(), pyo.Var(), pyo.AbstractModel()],
)
def test_what_is_no_problem_is_refused_in_words(junk):
    with pytest.raises(JobError, match=r"no problem that can be solved.\n.*cvxpy.Prob"):
        solve(junk)


def test_a_problem_with_no_or_two_objectives_is_refused():
    problem = declared("pyomo", "LP")
    problem.other = pyo.Objective(expr=problem.x[1])
    with pytest.raises(JobError, match="has 2 active objectives"):
        solve(problem)
    problem.other.deactivate()
    assert solve(problem).status is Status.OPTIMAL


def test_options_in_a_group_may_not_write_either():
    options = {"highs_options": {"log_file": "here.txt"}}
    with pytest.raises(JobError, match="'log_file' is not allowed"):
        solve(declared("cvxpy", "LP"), "highs", options=options)


def test_multipliers_are_left_in_the_problem_and_the_user_s_suffix_stays():
    require_solver("pyomo:scip")
    problem = declared("pyomo", "LP")
    solve(problem, "pyomo:highs")
    assert problem.dual[problem.one] is not None
    assert solve(problem, "pyomo:scip").status is Status.OPTIMAL
    assert problem.dual.import_enabled()


def knapsack(language: str) -> Any:
    """Return an integer program that takes solvers more than a moment."""
    rng = np.random.default_rng(0)
    weights, worth = rng.integers(1, 99, (20, 60)), rng.integers(1, 99, 60)
    most = weights.sum(axis=1) // 3
    if language == "cvxpy":
        x = cp.Variable(60, boolean=True)
        return cp.Problem(cp.Maximize(worth @ x), [weights @ x <= most])
    problem = pyo.ConcreteModel()
    x = problem.x = pyo.Var(range(60), domain=pyo.Binary)
    rows = [dict(enumerate(row)) for row in weights.tolist()]
    problem.rows = pyo.Constraint(
        range(20), rule=lambda _, i: pyo.sum_product(rows[i], x) <= int(most[i])
    )
    total = pyo.sum_product(dict(enumerate(worth.tolist())), x)
    problem.cost = pyo.Objective(expr=total, sense=pyo.maximize)
    return problem


def correlations() -> cp.Problem:
    """Return a semidefinite program of several iterations."""
    X = cp.Variable((30, 30), PSD=True)
    cost = cp.sum(cp.multiply(np.random.default_rng(0).normal(size=(30, 30)), X))
    return cp.Problem(cp.Minimize(cost), [cp.diag(X) == 1])


@pytest.mark.parametrize("name", ["cvxpy:highs", "pyomo:highs", "pyomo:scip"])
def test_a_limit_stops_a_solver_that_branches(name):
    require_solver(name)
    problem = knapsack(SOLVERS[name].language)
    outcome = solve(problem, name, time_limit=0.05)
    assert outcome.status is Status.LIMIT or not outcome.status.usable
    assert outcome.seconds < 10


def test_a_limit_stops_clarabel_after_an_iteration():
    require_solver("cvxpy:clarabel")
    outcome = solve(correlations(), "clarabel", time_limit=1e-4)
    assert outcome.status is Status.LIMIT
    assert outcome.bound is None


def test_each_solver_has_a_name_of_its_time_limit_or_takes_no_option():
    names = {name: solver.time_limit for name, solver in SOLVERS.items()}
    without = {name for name, limit in names.items() if limit is None}
    assert without == {"dynamic", "shortest_path", "procrustes"}


@pytest.mark.parametrize("name", MODELS)
def test_a_model_is_of_the_class_that_it_states(name):
    model = MODELS[name]
    for language in model.languages:
        problem = model.build(model.example(), language)
        assert LANGUAGES[language].problem_class(problem) == model.kind


def test_the_class_decides_who_bounds_a_t_close_partition():
    fit = [s.name for s in SOLVERS.values() if s.fits(MODELS["closeness_bound"].kind)]
    assert fit == ["cvxpy:clarabel"]
