"""Solve one model's data with any solver that takes it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from aggopt.core.validation import Floats
from aggopt.solvers._certificate import Status
from aggopt.solvers._options import native_options
from aggopt.solvers._solve import solve
from aggopt.solvers._solver import Solver


@dataclass(frozen=True)
class Answer:
    """What a solver found, as its model's reader gives it, and what is proven.

    `reading` is centroids (m,), or labels (n,); None where it found nothing.
    """

    reading: Any = field(repr=False)
    status: Status
    bound: float | None
    solver: str
    seconds: float


def answer_here(
    model: Any,
    data: Any,
    solver: Solver,
    start: Floats | None,
    time_limit: float | None,
    options: Mapping[str, Any] | None,
) -> Answer:
    """Return what `solver` finds for `data` of `model`, in this process."""
    if solver.language is None:
        native = native_options(solver, time_limit, options)
        own = import_module(f"aggopt.solvers.{solver.native}")
        found: Answer = own.run(data, solver, native, start)
        return found
    begin = {} if start is None else {"start": start}
    problem = model.build(data, solver.language, **begin)
    outcome = solve(problem, solver.name, time_limit=time_limit, options=options)
    usable = outcome.status.usable
    return Answer(
        model.reader(problem, data) if usable else None,
        outcome.status,
        _best(outcome.bound, _own_bound(model, problem, data)) if usable else None,
        outcome.solver,
        outcome.seconds,
    )


def _own_bound(model: Any, problem: Any, data: Any) -> float | None:
    """Return what the model itself proves by the multipliers that were found."""
    if model.multipliers is None or model.proven is None:
        return None
    found = model.multipliers(problem, data)
    return None if found is None else float(model.proven(data, found))


def _best(one: float | None, other: float | None) -> float | None:
    return max((b for b in (one, other) if b is not None), default=None)
