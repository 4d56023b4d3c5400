"""Every installed solver passes the same checks; absent ones say how to get them."""

import contextlib
import os
import shutil
import signal
import stat
from typing import Any

import cvxpy as cp
import numpy as np
import pyomo.environ as pyo
import pytest
from conftest import require_solver
from refusals import refused

from aggopt.core.deferred_signals import reraise_interrupts
from aggopt.errors import JobError, SolverError, UnknownNameError
from aggopt.solvers import SOLVERS, Certificate, Status, choose_solver, solve
from aggopt.solvers import solver as known
from aggopt.solvers.registry import list_able_solvers

DECLARED = {name: s for name, s in SOLVERS.items() if s.language}
LINEAR = [name for name, s in DECLARED.items() if s.fits("LP")]
NONLINEAR = [name for name, s in DECLARED.items() if s.fits("NLP")]
LOCAL = [name for name in NONLINEAR if not SOLVERS[name].is_global]
ITERATIONS = {
    "cvxpy:ipopt": "max_iter",
    "cvxpy:uno": "max_iterations",
    "pyomo:ripopt": "max_iter",
    "pyomo:ipopt": "max_iter",
}


def linear(name: str, least: float = 3.0, most: float = 9.0) -> Any:
    """Minimise 2 x + y over least <= x + y <= most, x, y >= 0; value `least`."""
    if SOLVERS[name].language == "cvxpy":
        x = cp.Variable(2, nonneg=True)
        total = cp.sum(x)
        return cp.Problem(cp.Minimize(2 * x[0] + x[1]), [total >= least, total <= most])
    problem = pyo.ConcreteModel()
    problem.x = pyo.Var([0, 1], domain=pyo.NonNegativeReals)
    total = problem.x[0] + problem.x[1]
    problem.low = pyo.Constraint(expr=total >= least)
    problem.high = pyo.Constraint(expr=total <= most)
    problem.cost = pyo.Objective(expr=2 * problem.x[0] + problem.x[1])
    return problem


def circle(name: str, squared: float = 1.0, size: int = 2) -> Any:
    """Farthest point of a circle in direction (1, 1); value -sqrt 2 for radius 1.

    A sphere in `size` dimensions, and the direction (1, ..., 1).
    """
    start = np.linspace(0.9, 0.1, size)
    if SOLVERS[name].language == "cvxpy":
        x = cp.Variable(size, value=start)
        return cp.Problem(cp.Minimize(-cp.sum(x)), [cp.sum_squares(x) == squared])
    problem = pyo.ConcreteModel()
    problem.x = pyo.Var(range(size), initialize=dict(enumerate(start.tolist())))
    norm = pyo.quicksum(x**2 for x in problem.x.values())
    problem.on = pyo.Constraint(expr=norm == squared)
    problem.cost = pyo.Objective(expr=-pyo.quicksum(problem.x.values()))
    return problem


def value(problem: Any) -> float:
    return float(
        problem.value if isinstance(problem, cp.Problem) else pyo.value(problem.cost)
    )


@pytest.mark.smoke
@pytest.mark.parametrize("name", LINEAR)
def test_a_linear_program_is_solved_to_optimality(name):
    require_solver(name)
    problem = linear(name)
    outcome = solve(problem, name, time_limit=600)
    assert outcome.status is Status.OPTIMAL
    assert outcome.solver == name
    assert value(problem) == pytest.approx(3)
    assert outcome.bound == pytest.approx(3)


@pytest.mark.smoke
@pytest.mark.parametrize("name", LINEAR)
def test_infeasible_is_a_result(name):
    require_solver(name)
    assert solve(linear(name, 3, 2), name).status is Status.INFEASIBLE


@pytest.mark.smoke
@pytest.mark.parametrize("name", NONLINEAR)
def test_a_nonlinear_program_is_solved(name):
    require_solver(name)
    problem = circle(name)
    outcome = solve(problem, name, time_limit=600)
    assert value(problem) == pytest.approx(-np.sqrt(2), abs=1e-6)
    if name in LOCAL:
        assert outcome.status is Status.LOCAL
        assert outcome.bound is None
    else:
        assert outcome.status is Status.OPTIMAL
        assert outcome.bound == pytest.approx(-np.sqrt(2), abs=1e-5)


@pytest.mark.parametrize("name", LOCAL)
def test_a_local_solver_cannot_prove_infeasibility(name):
    require_solver(name)
    status = solve(circle(name, -1.0), name, time_limit=600).status
    assert not status.usable or status is Status.LIMIT
    assert status is not Status.INFEASIBLE


@pytest.mark.smoke
@pytest.mark.parametrize("name", DECLARED)
def test_an_unknown_option_is_refused_by_name(name):
    require_solver(name)
    problem = linear(name) if name in LINEAR else circle(name)
    with refused(JobError, "no_such"):
        solve(problem, name, options={"no_such": 1})


@pytest.mark.parametrize("name", ITERATIONS)
def test_options_reach_the_solver(name):
    require_solver(name)
    outcome = solve(circle(name), name, options={ITERATIONS[name]: 1})
    assert outcome.status is Status.LIMIT


@pytest.mark.parametrize("name", LOCAL)
def test_a_time_limit_is_a_result(name):
    require_solver(name)
    # IPOPT's clock ticks every 10 ms: a small program has ended before it moves
    size = 20_000 if name.endswith(":ipopt") else 2
    limited = solve(circle(name, size=size), name, time_limit=1e-9)
    assert limited.status is Status.LIMIT


@pytest.mark.parametrize(
    "option", ["output_file", "print_level", "verbose", "gp", "file_print_level"]
)
def test_what_makes_a_solver_write_is_refused(option):
    with pytest.raises(JobError, match=f"The option '{option}' is not allowed"):
        solve(circle("cvxpy:uno"), "uno", options={option: 1})


def test_a_time_limit_must_be_positive():
    with refused(JobError, "time_limit = 0"):
        solve(circle("cvxpy:uno"), "uno", time_limit=0)


def test_a_solver_of_another_language_is_refused():
    require_solver("pyomo:scip")
    with refused(JobError):
        solve(circle("cvxpy:uno"), "pyomo:scip")


def test_gams_gets_its_options_as_statements_in_a_private_folder(tmp_path):
    from aggopt.solvers import _pyomo
    from aggopt.solvers.options import make_native_options

    gams = SOLVERS["pyomo:gams"]
    native = make_native_options(gams, 5, None)
    how = _pyomo._make_arguments(gams, native, tmp_path / "log")
    assert how["tmpdir"] == str(tmp_path / "gams")
    assert how["add_options"] == ["option nlp=conopt;", "option reslim=5.0;"]
    problem = circle("pyomo:gams")
    problem.write(
        str(tmp_path / "model.gms"), io_options={"add_options": how["add_options"]}
    )
    text = (tmp_path / "model.gms").read_text()
    assert text.index("option nlp=conopt;") < text.lower().index("solve ")


def test_what_is_handed_over_in_files_is_removed_and_private(monkeypatch):
    require_solver("pyomo:ripopt")
    from aggopt.solvers import _pyomo

    seen = []

    def watched(*arguments, real=_pyomo._run_solver):
        folder = arguments[-1].parent
        seen.append((folder, stat.S_IMODE(folder.stat().st_mode)))
        return real(*arguments)

    monkeypatch.setattr(_pyomo, "_run_solver", watched)
    solve(circle("pyomo:ripopt"), "pyomo:ripopt")
    ((folder, mode),) = seen
    assert mode == 0o700
    assert not folder.exists()


def test_the_bare_word_names_the_solver():
    assert choose_solver("uno", "NLP").name == "cvxpy:uno"


def test_a_misspelt_solver_suggests_the_right_one():
    with refused(UnknownNameError, "'ipopt'"):
        choose_solver("ipotp", "NLP")


@pytest.mark.parametrize(
    ("name", "near"), [("gurobi", ""), ("a:b", ""), ("ripop", "ripopt")]
)
def test_solvers_are_listed_once_by_their_whole_names(name, near):
    with pytest.raises(UnknownNameError) as no:
        choose_solver(name, "p3m", "NLP")
    hint, _, names = no.value.fix.rstrip(".").partition("The known names are ")
    assert hint == (f"did you mean {near!r}? " if near else "")
    lists = [part.split(", ") for part in names.split("; not installed: ")]
    every = [name for part in lists for name in part]
    assert {"ipopt", "pyomo:ipopt"} < set(every) <= set(SOLVERS)
    assert all(part == sorted(set(part)) for part in lists)
    assert len(every) == len(set(every))


def test_an_unfit_solver_names_those_that_fit():
    with pytest.raises(JobError) as error:
        choose_solver("highs", "NLP")
    here, _, absent = error.value.fix.partition("; not installed: ")
    assert "cvxpy:uno" in here
    able = list_able_solvers("NLP")
    for solver in able:
        assert solver.name in (here if solver.installed else absent)
    assert here.startswith(f"choose one of {next(s.name for s in able if s.installed)}")


@pytest.fixture
def absent(monkeypatch):
    """Make packages and programs look absent."""

    def hide(*names):
        real, found = known.find_spec, shutil.which
        monkeypatch.setattr(
            known, "find_spec", lambda name: None if name in names else real(name)
        )
        monkeypatch.setattr(
            known.shutil, "which", lambda name: None if name in names else found(name)
        )

    return hide


def test_a_missing_solver_is_not_replaced_unasked(absent):
    absent("cyipopt")
    with refused(SolverError):
        choose_solver("cvxpy:ipopt", "NLP")


def test_a_missing_program_is_named(absent):
    absent("gams")
    with refused(SolverError, "PATH"):
        choose_solver("pyomo:gams", "NLP")


def test_without_a_name_the_first_installed_one_is_taken(absent):
    absent("cyipopt")
    assert choose_solver(None, "NLP").name == "cvxpy:uno"


def test_without_any_the_error_says_how_to_get_one(absent):
    absent(*(need for s in SOLVERS.values() for need in (*s.needs, s.program)))
    with refused(SolverError):
        choose_solver(None, "NLP")


def test_the_gap_is_relative_to_the_objective():
    def gap(objective, bound):
        return Certificate(Status.OPTIMAL, objective, bound, 0, "s", 0).gap

    assert gap(200.0, 100.0) == 0.5
    assert gap(0.5, 0.25) == 0.5
    assert gap(5e-10, 2.5e-10) == 0.5
    assert gap(0.0, 0.0) == 0.0
    assert gap(1.0, None) is None


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_that_a_solver_swallows_is_raised_after_it(number):
    class Ended(Exception):
        pass

    def end(*_):
        raise Ended

    def swallowing():
        with contextlib.suppress(Ended):
            os.kill(os.getpid(), number)

    def solving():
        with reraise_interrupts():
            swallowing()

    before = signal.signal(number, end)
    try:
        with pytest.raises(Ended):
            solving()
        assert signal.getsignal(number) is end
    finally:
        signal.signal(number, before)
