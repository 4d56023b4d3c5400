"""Certificates of categories that a solver chose, judged by their model."""

from typing import Any

import numpy as np

from aggopt.core.types import I64
from aggopt.models import Model
from aggopt.solvers import Certificate, Status
from aggopt.solvers.answer import Answer
from aggopt.solvers.certificate import closed, size_of

FEASIBLE = 1e-6  # records: what adding up may miss


def certified(
    model: Model, data: Any, picked: I64, found: Answer, unit: float, seconds: float
) -> Certificate:
    """Return what holds of a choice (groups,); `unit` of the objective are 1."""
    at = model.point(data, picked)
    objective, missed = model.objective(data, at), model.violation(data, at)
    status, bound = found.status, found.bound
    if status.usable and (found.reading is None or missed > FEASIBLE):
        status = Status.FAILED
    size = size_of(objective, _least_cost(data))
    near = bound is not None and closed(objective, bound, size)
    if not status.usable or (bound is not None and bound > objective and not near):
        bound = None
    if status is Status.OPTIMAL and not near:
        status = Status.UNPROVEN
    if (status.is_open or status is Status.UNANSWERED) and near:
        status = Status.OPTIMAL
    proven = None if bound is None else min(bound, objective) / unit
    by = found.solver
    figures = (objective / unit, proven, missed, by, seconds)
    relative = None if size is None or bound is None else size / unit
    return Certificate(status, *figures, iterations=found.iterations, size=relative)


def _least_cost(data: Any) -> float:
    """Return the least that one choice costs, above 0: a cost below it is rounding."""
    costs = data.unmet if hasattr(data, "unmet") else data.loss
    price = getattr(data, "price", None)
    least = np.min(costs, initial=price or np.inf, where=costs > 0)
    return float(least) if np.isfinite(least) else 0.0
