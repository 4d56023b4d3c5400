"""Run a solver on one model's data in another process."""

import pickle
from collections.abc import Mapping
from functools import partial
from typing import Any

from aggopt.core.validation import Floats
from aggopt.solvers import process_pool as _pool
from aggopt.solvers.answer import Answer, answer_here
from aggopt.solvers.process_pool import GRACE as GRACE
from aggopt.solvers.separate_process import dumps, seconds_of, unanswered
from aggopt.solvers.solver import Solver


def answer_apart(
    model: Any,
    data: Any,
    solver: Solver,
    start: Floats | None,
    time_limit: float | None,
    options: Mapping[str, Any] | None,
) -> Answer:
    """Run `answer_here` in another process; return its result or raise its error.

    A solver that aborts has failed.  A solver that exceeds its limit, or takes none, is
    killed at the limit.  A user's model is built in this process, which sends the
    program.
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
    """Return the modules that are imported before the time limit begins."""
    if solver.run is not None:
        return ("aggopt.solvers.user_solver",)
    if solver.language:
        return (f"aggopt.solvers._{solver.language}",)
    return (f"aggopt.algorithms.{solver.native}",)
