"""Solve one model's data with any solver that takes it."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from aggopt.core.deadline import LONGEST
from aggopt.core.validation import Floats
from aggopt.solvers._answer_form import Answer as Answer
from aggopt.solvers._solve import solve
from aggopt.solvers.certificate import Claim, Status
from aggopt.solvers.options import native_options
from aggopt.solvers.solver import Solver
from aggopt.solvers.solver_log import heard


def answer_here(
    model: Any,
    data: Any,
    solver: Solver,
    start: Floats | None,
    time_limit: float | None,
    options: Mapping[str, Any] | None,
) -> Answer:
    """Return the answer of `solver` for `data` of `model`, found in this process."""
    if solver.run is not None:
        answered: Answer = solver.run(model, data, start, time_limit, options)
        return answered
    if solver.language is None:
        native = native_options(solver, time_limit, options)
        if solver.is_foreign:
            native.setdefault(str(solver.time_limit), LONGEST)
        own = import_module(f"aggopt.algorithms.{solver.native}")
        with heard(solver.name):
            found: Answer = own.run(data, solver, native, start)
        return found
    begin = {} if start is None else {"start": start}
    problem = model.build(data, solver.language, **begin)
    outcome = solve(problem, solver, time_limit=time_limit, options=options)
    if not outcome.status.usable or outcome.status is Status.UNANSWERED:
        return Answer(None, outcome.status, None, outcome.solver, outcome.seconds)
    stated = _own_bound(model, problem, data)
    origin = getattr(model, "origin", None)  # None of ours, whose proof is one
    return Answer(
        model.reader(problem, data),
        outcome.status,
        _best(outcome.bound, None if origin else stated),
        outcome.solver,
        outcome.seconds,
        Claim(stated, str(origin)) if origin and stated is not None else None,
        outcome.iterations,
        outcome.multipliers,
    )


def _own_bound(model: Any, problem: Any, data: Any) -> float | None:
    """Return the model's own bound from the solver's multipliers; None without them."""
    if model.multipliers is None or model.proven is None:
        return None
    found = model.multipliers(problem, data)
    return None if found is None else float(model.proven(data, found))


def _best(one: float | None, other: float | None) -> float | None:
    return max((b for b in (one, other) if b is not None), default=None)
