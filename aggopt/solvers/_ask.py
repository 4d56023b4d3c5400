"""Ask a solver for one model's data, here or in a process of its own."""

from collections.abc import Mapping
from typing import Any

from aggopt.core.signals import heeded
from aggopt.core.validation import Floats
from aggopt.solvers._answer import Answer, answer_here
from aggopt.solvers._child import answer_apart
from aggopt.solvers._solver import Solver


def answer(
    model: Any,
    data: Any,
    solver: Solver,
    start: Floats | None,
    *,
    time_limit: float | None = None,
    options: Mapping[str, Any] | None = None,
) -> Answer:
    """Return what `solver` finds for `data` of `model`, setting out from `start`."""
    ask = answer_apart if solver.aborts else answer_here
    with heeded():
        return ask(model, data, solver, start, time_limit, options)
