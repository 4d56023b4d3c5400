"""Run a solver on one model's data, in this process or in another one.

This package's own methods run here; all other code may never return.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from aggopt.core.deferred_signals import reraise_interrupts
from aggopt.core.validation import Floats
from aggopt.solvers.answer import Answer, answer_here
from aggopt.solvers.certificate import Status
from aggopt.solvers.child_process import answer_apart
from aggopt.solvers.solver import Solver

MISSED = 1e-6  # what an answer may miss a constraint by


def answer(
    model: Any,
    data: Any,
    solver: Solver,
    start: Floats | None,
    *,
    time_limit: float | None = None,
    options: Mapping[str, Any] | None = None,
) -> Answer:
    """Return the answer of `solver` for `data` of `model`; it begins at `start`."""
    ask = answer_apart if solver.is_foreign else answer_here
    with reraise_interrupts():
        return ask(model, data, solver, start, time_limit, options)


def hard_limited(
    model: Any,
    data: Any,
    solver: Solver,
    time_limit: float | None,
    options: Mapping[str, Any] | None,
) -> Answer:
    """Return the answer of `solver`; its process is killed at the limit.

    A user's solver runs in this process, without options, and with the limit if it
    takes one.  It has failed if its answer violates a constraint.
    """
    if solver.origin is None:
        return answer_apart(model, data, solver, None, time_limit, options)
    limit = time_limit if solver.limited else None
    found = answer(model, data, solver, None, time_limit=limit)
    if found.reading is None:
        return found
    if model.violation(data, model.point(data, found.reading)) <= MISSED:
        return found
    return replace(found, reading=None, status=Status.FAILED)
