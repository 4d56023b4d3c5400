"""Solve a declared problem with the solver that was named."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from aggopt.errors import JobError
from aggopt.solvers._certificate import Status
from aggopt.solvers._table import SOLVERS, choose


@dataclass(frozen=True)
class Outcome:
    """How a solve ended; the point itself stays in the problem that was solved."""

    status: Status
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
    from aggopt.solvers import _cvxpy

    chosen = choose(solver, _cvxpy.problem_class(problem))
    if time_limit is not None and not time_limit > 0:
        raise JobError(
            f"time_limit = {time_limit}.", fix="allow a positive number of seconds."
        )
    native = {**chosen.fixed, **(options or {})}
    if time_limit is not None:
        native[chosen.time_limit] = float(time_limit)  # Ipopt refuses an int
    status, seconds = _cvxpy.run(problem, SOLVERS[chosen.name], native)
    return Outcome(status, chosen.name, seconds)
