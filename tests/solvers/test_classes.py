"""Solvers obey the laws of `aggopt.checks`, and are chosen by language and class."""

from typing import Any

import cvxpy as cp
import pyomo.environ as pyo
import pytest
from conftest import require_solver
from refusals import refused

from aggopt.checks import _solvers as programs
from aggopt.checks import parametrize_with_checks
from aggopt.errors import JobError, SolverError
from aggopt.models import MODELS
from aggopt.solvers import SOLVERS, Status, choose_solver, solve
from aggopt.solvers import _cvxpy as in_cvxpy
from aggopt.solvers import _pyomo as in_pyomo
from aggopt.solvers.registry import NONE, list_able_solvers
from aggopt.solvers.solver import CLASSES

LANGUAGES = {"cvxpy": in_cvxpy, "pyomo": in_pyomo}


def declared(language: str, kind: str, *, maximised: bool = False) -> Any:
    """Return a problem of a class, of two variables that add up to 1."""
    return programs.build_known_program(language, kind, maximised=maximised)


@pytest.mark.parametrize("maximised", [False, True])
@pytest.mark.parametrize("kind", CLASSES)
def test_a_program_has_one_class_in_both_languages(kind, maximised):
    for language, module in LANGUAGES.items():
        if (language, kind) != ("pyomo", "SDP"):
            problem = declared(language, kind, maximised=maximised)
            assert module.find_problem_class(problem) == kind


@parametrize_with_checks(*SOLVERS.values())
def test_laws(check):
    check()


@pytest.mark.parametrize("name", SOLVERS)
def test_no_law_is_left_out_where_a_solver_is_promised(name):
    require_solver(name)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("kind", CLASSES)
def test_without_a_name_the_first_of_language_and_class_is_taken(language, kind):
    fit = list_able_solvers(kind, language=language)
    if language == "pyomo" and kind == "SDP":
        return  # it has no semidefinite matrices
    if not fit:
        with pytest.raises(JobError, match=f"class {kind} declared in {language}"):
            solve(declared(language, kind))
    elif not any(s.installed for s in fit):
        with refused(SolverError, "is installed"):
            solve(declared(language, kind))
    else:
        first = next(s.name for s in fit if s.installed)
        assert solve(declared(language, kind)).solver == first


def test_a_refusal_suggests_what_reads_and_takes_the_problem():
    with refused(JobError, "SOCP") as refusal:
        solve(declared("cvxpy", "SOCP"), "cvxpy:highs")
    assert str(refusal.value).endswith(f"choose one of cvxpy:clarabel{NONE}.")
    with refused(JobError) as no:
        solve(declared("pyomo", "LP"), "cvxpy:highs")
    assert str(no.value).endswith(f"choose one of pyomo:highs, pyomo:scip{NONE}.")
    assert choose_solver("highs", "LP", language="pyomo").name == "pyomo:highs"


def test_quadratic_rows_are_convex_or_not():
    problem = pyo.ConcreteModel()
    x = problem.x = pyo.Var([0, 1])
    problem.cost = pyo.Objective(expr=x[0])
    form = x[0] ** 2 + 3 * x[0] * x[1] + x[1] ** 2
    problem.row = pyo.Constraint(expr=form <= 1)
    assert in_pyomo.find_problem_class(problem) == "NLP"  # eigenvalues -1 and 5
    problem.row.set_value(form + 2 * x[1] ** 2 <= 1)
    assert in_pyomo.find_problem_class(problem) == "SOCP"
    problem.row.set_value(form + 2 * x[1] ** 2 >= 1)
    assert in_pyomo.find_problem_class(problem) == "NLP"
    problem.row.set_value(-form - 2 * x[1] ** 2 >= -1)
    assert in_pyomo.find_problem_class(problem) == "SOCP"
    problem.row.deactivate()
    assert in_pyomo.find_problem_class(problem) == "LP"


def test_an_exponential_is_smooth_and_no_cone():
    x = cp.Variable()
    assert in_cvxpy.find_problem_class(cp.Problem(cp.Minimize(cp.exp(x) - x))) == "NLP"


@pytest.mark.parametrize(
    "junk",
    [object(), 3, "model.lp", None, cp.Variable(), pyo.Var(), pyo.AbstractModel()],
)
def test_what_is_no_problem_is_refused_in_words(junk):
    with refused(JobError):
        solve(junk)


def test_a_problem_with_no_or_two_objectives_is_refused():
    problem = declared("pyomo", "LP")
    problem.other = pyo.Objective(expr=problem.x[1])
    with refused(JobError):
        solve(problem)
    problem.other.deactivate()
    assert solve(problem).status is Status.OPTIMAL


def test_options_in_a_group_may_not_write_either():
    options = {"highs_options": {"log_file": "here.txt"}}
    with refused(JobError, "'log_file'"):
        solve(declared("cvxpy", "LP"), "highs", options=options)


def test_multipliers_are_left_in_the_problem_and_the_user_s_suffix_stays():
    require_solver("pyomo:scip")
    problem = declared("pyomo", "LP")
    solve(problem, "pyomo:highs")
    assert problem.dual[problem.one] is not None
    assert solve(problem, "pyomo:scip").status is Status.OPTIMAL
    assert problem.dual.import_enabled()


def test_each_solver_has_a_name_of_its_time_limit_or_takes_no_option():
    names = {name: solver.time_limit for name, solver in SOLVERS.items()}
    without = {name for name, limit in names.items() if limit is None}
    assert without == {"dynamic", "shortest_path", "procrustes"}


def test_the_class_decides_who_bounds_a_t_close_partition():
    fit = [s.name for s in SOLVERS.values() if s.fits(MODELS["closeness_bound"].kind)]
    assert fit == ["cvxpy:clarabel"]
