"""Run a solver on one model's data, in this process or in another one.

This package's own methods run here; all other code may never return.
"""

import pickle
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import Any

from aggopt.core.deadline import LONGEST
from aggopt.core.deferred_signals import reraise_interrupts
from aggopt.core.types import Floats
from aggopt.solvers import process_pool as _pool
from aggopt.solvers.certificate import Answer, Claim, Status
from aggopt.solvers.options import make_native_options
from aggopt.solvers.process_pool import GRACE as GRACE
from aggopt.solvers.separate_process import (
    find_status_without_answer,
    parse_seconds,
    pickle_function,
)
from aggopt.solvers.solve_problem import solve
from aggopt.solvers.solver import Solver
from aggopt.solvers.solver_log import redirect_output


def run_here(
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
        native = make_native_options(solver, time_limit, options)
        if solver.is_foreign:
            native.setdefault(str(solver.time_limit), LONGEST)
        algorithm = import_module(f"aggopt.algorithms.{solver.native}")
        with redirect_output(solver.name):
            answer: Answer = algorithm.run(data, solver, native, start)
        return answer
    begin = {} if start is None else {"start": start}
    problem = model.build(data, solver.language, **begin)
    outcome = solve(problem, solver, time_limit=time_limit, options=options)
    if not outcome.status.usable or outcome.status is Status.UNANSWERED:
        return Answer(None, outcome.status, None, outcome.solver, outcome.seconds)
    stated = _prove_model_bound(model, problem, data)
    origin = getattr(model, "origin", None)  # None of ours, whose proof is one
    return Answer(
        model.reader(problem, data),
        outcome.status,
        _choose_best_bound(outcome.bound, None if origin else stated),
        outcome.solver,
        outcome.seconds,
        Claim(stated, str(origin)) if origin and stated is not None else None,
        outcome.iterations,
        outcome.multipliers,
    )


def _prove_model_bound(model: Any, problem: Any, data: Any) -> float | None:
    """Return the model's own bound from the solver's multipliers; None without them."""
    if model.multipliers is None or model.proven is None:
        return None
    multipliers = model.multipliers(problem, data)
    return None if multipliers is None else float(model.proven(data, multipliers))


def _choose_best_bound(one: float | None, other: float | None) -> float | None:
    return max((b for b in (one, other) if b is not None), default=None)


def run_apart(
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
        return run_here(model, data, solver, start, time_limit, options)
    inner = time_limit if solver.limited else None
    option_limit = (options or {}).get(solver.time_limit or "")
    try:
        answer: Answer = _pool.call(
            run_here,
            *(model, data, solver, start, inner, dict(options or {})),
            solver=solver.name,
            limit=parse_seconds(time_limit if time_limit is not None else option_limit),
            modules=_list_modules(solver),
            dumps=partial(pickle_function, value=solver.run)
            if solver.run
            else pickle.dumps,
        )
    except _pool.NoAnswer as none:
        return Answer(
            None, find_status_without_answer(none), None, solver.name, none.seconds
        )
    return answer


def _list_modules(solver: Solver) -> tuple[str, ...]:
    """Return the modules that are imported before the time limit begins."""
    if solver.run is not None:
        return ("aggopt.solvers.registry",)
    if solver.language:
        return (f"aggopt.solvers._{solver.language}",)
    return (f"aggopt.algorithms.{solver.native}",)


MISSED = 1e-6  # what an answer may miss a constraint by


def run_solver(
    model: Any,
    data: Any,
    solver: Solver,
    start: Floats | None,
    *,
    time_limit: float | None = None,
    options: Mapping[str, Any] | None = None,
) -> Answer:
    """Return the answer of `solver` for `data` of `model`; it begins at `start`."""
    ask = run_apart if solver.is_foreign else run_here
    with reraise_interrupts():
        return ask(model, data, solver, start, time_limit, options)


def run_with_hard_limit(
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
        return run_apart(model, data, solver, None, time_limit, options)
    limit = time_limit if solver.limited else None
    answer = run_solver(model, data, solver, None, time_limit=limit)
    if answer.reading is None:
        return answer
    if model.violation(data, model.point(data, answer.reading)) <= MISSED:
        return answer
    return replace(answer, reading=None, status=Status.FAILED)
