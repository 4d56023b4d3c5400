"""Solver `lagrangian`: the models that shift centroids, with a proven bound."""

import math
from collections.abc import Mapping
from numbers import Integral
from typing import Any

from aggopt.algorithms.lagrangian.piecewise_quartics import program_of
from aggopt.algorithms.lagrangian.solve import solve
from aggopt.core.validation import Floats, is_number
from aggopt.errors import JobError
from aggopt.models import satisfaction
from aggopt.models.shared.shift_data import Wishes
from aggopt.solvers.answer import Answer
from aggopt.solvers.solver import Solver
from aggopt.solvers.termination import counted


def run(
    data: Wishes, solver: Solver, native: Mapping[str, Any], start: Floats
) -> Answer:
    """Return the optimum; `native` holds `gap_tol`, `nodes` or `time_limit`.

    Raises
    ------
    JobError
        An unknown option, or a value out of range.
    """
    for name, value in native.items():
        _check(solver, name, value)
    found = solve(program_of(data), start=start, **native)
    bound = max(found.bound, _floor(data))
    y = found.multipliers
    return Answer(
        found.centroids,
        found.status,
        bound,
        solver.name,
        found.seconds,
        iterations=counted(found.evaluations),
        multipliers=None if y is None else {"mean": -y[0], "variance": -y[1]},
    )


def _check(solver: Solver, name: str, value: object) -> None:
    if name == "nodes":
        whole = isinstance(value, Integral) and not isinstance(value, bool)
        fit = whole and int(value) >= 1  # type: ignore[call-overload]
    elif name in ("gap_tol", "time_limit"):
        fit = is_number(value) and 0 < float(value) < math.inf  # type: ignore[arg-type]
    else:
        fit = False
    if not fit:
        raise JobError(
            f"{solver.name} refused one of its options: {name} = {value!r}.",
            fix="it takes gap_tol and time_limit, numbers above 0, and nodes, a whole "
            "number above 0.",
        )


def _floor(data: Wishes) -> float:
    """Return a trivial lower bound: 0 for squares, or all records satisfied at once."""
    if isinstance(data, satisfaction.Data):
        return -float(data.importance.sum())
    return 0.0
