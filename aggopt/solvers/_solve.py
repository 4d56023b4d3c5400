"""Solve a declared problem with the solver that was named."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from aggopt.errors import JobError
from aggopt.solvers._certificate import Status
from aggopt.solvers._choose import choose
from aggopt.solvers._options import native_options


@dataclass(frozen=True)
class Outcome:
    """How a solve ended; the point itself stays in the problem that was solved.

    `bound` is what the solver proved of the objective, None if nothing.
    """

    status: Status
    bound: float | None
    solver: str
    seconds: float


def solve(
    problem: Any,
    solver: str | None = None,
    *,
    time_limit: float | None = None,
    options: Mapping[str, Any] | None = None,
) -> Outcome:
    """Return how solving `problem` in place ended; a failed solve is a result.

    Parameters
    ----------
    problem
        What a model's `build` returned, in the solver's language.
    solver
        A name of `SOLVERS`; the first installed one that takes the problem when
        omitted.
    time_limit
        Seconds; none by default.
    options
        Handed to the solver under its own names.

    Raises
    ------
    UnknownNameError, JobError, SolverError
        Unknown, unfit or missing solver, or an option it does not have.

    Examples
    --------
    >>> import cvxpy as cp
    >>> x = cp.Variable()
    >>> solve(cp.Problem(cp.Minimize(x), [x >= 2]), "highs").status.value
    'optimal'
    >>> float(x.value)
    2.0
    """
    language = _language(problem)
    kind = language.problem_class(problem)
    chosen = choose(solver, kind)
    if chosen.language != language.NAME:
        raise JobError(
            f"{chosen.name} cannot read a problem declared in {language.NAME}.",
            fix=f"declare it in {chosen.language or 'a model of aggopt.models'}, or "
            f"choose a solver that starts with {language.NAME}:.",
        )
    native = native_options(chosen, time_limit, options)
    status, bound, seconds = language.run(problem, chosen, native, kind)
    return Outcome(status, bound, chosen.name, seconds)


def _language(problem: Any) -> Any:
    if type(problem).__module__.startswith("pyomo."):
        from aggopt.solvers import _pyomo

        return _pyomo
    from aggopt.solvers import _cvxpy

    return _cvxpy
