"""Solve a declared problem with the solver that was named."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from aggopt.core.deadline import LONGEST
from aggopt.core.html import HtmlFields
from aggopt.core.types import Floats
from aggopt.errors import JobError
from aggopt.solvers.certificate import Status
from aggopt.solvers.options import make_native_options
from aggopt.solvers.process_pool import is_here
from aggopt.solvers.registry import LANGUAGES, choose_solver
from aggopt.solvers.separate_process import run_language_apart
from aggopt.solvers.solver import Solver
from aggopt.solvers.solver_log import redirect_output
from aggopt.solvers.termination import Ended, judge_termination

LEAST = 0.1  # seconds of a second attempt


@dataclass(frozen=True)
class Outcome(HtmlFields):
    """Result of a solve; the point itself stays in the problem that was solved.

    `bound` is proven, or None: no point does better.  It is a lower bound if the
    objective is minimised, an upper bound if it is maximised.  The status is OPTIMAL
    only if the bound shows it, up to 1e-6 of the objective.  It is LOCAL if the solver
    reports an optimum that no bound proves, and UNPROVEN if its report is not trusted.
    It is LIMIT if the solver stopped at a limit, of time or its own.  An unbounded
    problem has FAILED.
    `iterations` and `multipliers` are as in a `Certificate`, if the solve has a point.
    """

    status: Status
    bound: float | None
    solver: str
    seconds: float
    iterations: int | None = None
    multipliers: Mapping[str, Floats] | None = field(
        default=None, repr=False, compare=False
    )


def solve(
    problem: Any,
    solver: str | Solver | None = None,
    *,
    time_limit: float | None = None,
    options: Mapping[str, Any] | None = None,
) -> Outcome:
    """Solve `problem` in place and return its result, also if the solve failed.

    For a linear program, or one whose costs are single squares, the bound is recomputed
    from multipliers.  For any other program, the solver's bound, and its report that
    the problem is infeasible, are trusted only if all numbers are moderate.
    Coefficients of rows must be between 1e-6 and 1e6, costs and sides up to 1e6.  Each
    variable must stay within 1e6 of 0, by its bounds or by the rows.  Solvers silently
    take 1e-9 for 0, and huge numbers for infinity.

    Parameters
    ----------
    problem
        The problem that a model's `build` returned, in the solver's language.
    solver
        A name of `SOLVERS`, or of any solver of the language ("cvxpy:OSQP"), whose
        results prove nothing.  When omitted, the first installed solver of `SOLVERS`
        that takes problems of this class in this language.
    time_limit
        Seconds; 600 when omitted.  The solver runs in another process, which is killed
        2.5 seconds after its limit.  The status then records that the solver did not
        answer, and the problem's variables are unchanged.  The limit includes sending
        the problem; it excludes starting the process and compiling.
    options
        Passed to the solver under its own names.  With an option that may make the
        solver's bound false, such as a tolerance, only a recomputed bound is returned.

    Raises
    ------
    UnknownNameError, JobError, SolverError
        The solver is unknown, unfit or missing, or does not have an option.  Or
        `problem` is not a problem, has parts that solvers do not receive, such as a
        disjunction of Pyomo, or breaks cvxpy's rules for non-convex problems.

    Examples
    --------
    >>> import cvxpy as cp
    >>> x = cp.Variable()
    >>> solve(cp.Problem(cp.Minimize(x), [x >= 2]), "highs").status.value
    'optimal'
    >>> float(x.value)
    2.0
    """
    language = _import_language(problem)
    kind = language.find_problem_class(problem)
    chosen = choose_solver(solver, kind, language=language.NAME)
    native = make_native_options(chosen, time_limit, options)
    if chosen.time_limit is not None:
        native.setdefault(chosen.time_limit, LONGEST)
    ended = _run(language, problem, chosen, native, kind, time_limit)
    loosened = chosen.loosened.get(kind, frozenset()) - (options or {}).keys()
    if ended.status is Status.FAILED and loosened:
        native = {name: v for name, v in native.items() if name not in loosened}
        left = None if time_limit is None else max(time_limit - ended.seconds, LEAST)
        ended = _run(language, problem, chosen, native, kind, left)
    status, bound = judge_termination(ended, chosen, careful=chosen.is_careful(native))
    return Outcome(
        status,
        bound,
        chosen.name,
        ended.seconds,
        ended.iterations,
        ended.multipliers if status.usable else None,
    )


def _run(
    language: Any,
    problem: Any,
    solver: Solver,
    native: Mapping[str, Any],
    kind: str,
    time_limit: float | None,
) -> Ended:
    """Return the result of `solver`, run in another process unless this is a worker."""
    if not is_here():
        limit = native.get(solver.time_limit or "", time_limit)
        return run_language_apart(language, problem, solver, native, kind, limit)
    with redirect_output(solver.name):
        ended: Ended = language.run(problem, solver, native, kind)
        return ended


def find_problem_class(problem: object) -> str:
    """Return the class of a problem, one of `CLASSES`; raises as `solve`."""
    return str(_import_language(problem).find_problem_class(problem))


def _import_language(problem: object) -> Any:
    """Return the module of the language that a problem is declared in."""
    homes = {base.__module__.partition(".")[0] for base in type(problem).__mro__}
    for name in LANGUAGES:
        if name in homes:
            language = import_module(f"aggopt.solvers._{name}")
            if language.is_problem(problem):
                return language
    raise JobError(
        f"problem is a {type(problem).__name__}, and no problem that can be solved.",
        fix="pass a cvxpy.Problem, or a ConcreteModel of Pyomo.",
    )
