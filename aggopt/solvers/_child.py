"""Ask a solver for one model's data in a process of its own."""

import pickle
from collections.abc import Mapping
from functools import partial
from typing import Any

from aggopt.core.validation import Floats
from aggopt.solvers import _pool
from aggopt.solvers._answer import Answer, answer_here
from aggopt.solvers._apart import dumps, seconds_of, unanswered
from aggopt.solvers._pool import GRACE as GRACE
from aggopt.solvers._solver import Solver


def answer_apart(
    model: Any,
    data: Any,
    solver: Solver,
    start: Floats | None,
    time_limit: float | None,
    options: Mapping[str, Any] | None,
) -> Answer:
    """Return what `answer_here` returns, or raises, in another process.

    A solver that aborts has failed; one that does not end in time, or takes no limit,
    is killed.  A model of the user's is built here, and its program sent.
    """
    if _pool.is_here() or (model.origin is not None and solver.run is None):
        return answer_here(model, data, solver, start, time_limit, options)
    inner = time_limit if solver.limited else None
    named = (options or {}).get(solver.time_limit or "")
    try:
        found: Answer = _pool.call(
            answer_here,
            *(model, data, solver, start, inner, dict(options or {})),
            solver=solver.name,
            limit=seconds_of(time_limit if time_limit is not None else named),
            modules=_modules(solver),
            dumps=partial(dumps, own=solver.run) if solver.run else pickle.dumps,
        )
    except _pool.NoAnswer as none:
        return Answer(None, unanswered(none), None, solver.name, none.seconds)
    return found


def _modules(solver: Solver) -> tuple[str, ...]:
    """Return what is imported before the limit of time begins."""
    if solver.run is not None:
        return ("aggopt.solvers._own",)
    if solver.language:
        return (f"aggopt.solvers._{solver.language}",)
    return (f"aggopt.algorithms.{solver.native}",)
