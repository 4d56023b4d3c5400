"""Solutions of a user's model, judged by that model."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from math import inf, isfinite, nan
from typing import Any

import numpy as np

from aggopt.aggregate.aggregation import group_means
from aggopt.aggregate.shifted_means import FEASIBLE
from aggopt.core.compile_time import compile_time
from aggopt.core.validation import Floats
from aggopt.errors import AggoptError, JobError
from aggopt.models.shared.user_model import OwnModel
from aggopt.solvers import Certificate, Solver, Status
from aggopt.solvers.answer import Answer
from aggopt.solvers.certificate import closed, size_in_reach
from aggopt.solvers.run_solver import answer

# of a solve that ended without a point, how the model's own fallback is kept
_KEPT = {
    Status.UNPROVEN: Status.FALLBACK,
    Status.LIMIT: Status.FALLBACK,
    Status.UNANSWERED: Status.UNANSWERED,
}


@dataclass(frozen=True, eq=False)
class OwnOptions:
    """Settings of a solve: the solver, its start, its time limit and its options."""

    solver: Solver
    start: Floats | None = None
    time_limit: float | None = None
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Judged:
    """Centroids (m,), their cost, and their largest violation of a constraint."""

    centroids: Floats
    cost: float
    violation: float

    @property
    def fit(self) -> bool:
        """Whether they may be published."""
        return self.violation <= FEASIBLE and isfinite(self.cost)


def solution(model: OwnModel, data: Any, how: OwnOptions) -> tuple[Floats, Certificate]:
    """Return the centroids (m,) that a solver found, judged, and their certificate.

    If it found none that may be published: after a limit the model's fallback, if that
    may be published; else the group means, and a status that is not usable.  The start
    is kept if it may be published and nothing better was found.
    """
    started = compile_time.now()
    found = answer(
        model,
        data,
        how.solver,
        how.start,
        time_limit=how.time_limit,
        options=how.options,
    )
    status, best = found.status, None
    if found.reading is not None and status.usable:
        best = judged(model, data, found.reading)
        status = status if best.fit else Status.FAILED
    elif status.usable:
        status = Status.FAILED
    kept = _KEPT.get(found.status)
    if status is Status.FAILED and kept is not None and model.fallback:
        best = judged(model, data, model.fallback(data))
        status = kept if best.fit else Status.FAILED
    if how.start is not None:
        given = judged(model, data, how.start)
        if given.fit and not (best and best.fit and best.cost <= given.cost):
            status, best = Status.KEPT, given
    if best is None:
        means = group_means(data.x[:, None], data.labels)[:, 0]
        best = Judged(means, nan, inf)
    size = None
    if found.bound is not None and status.usable:
        costs = _reference_costs(model, data, how)
        size = size_in_reach(best.cost, found.bound, costs, len(data.x))
    certificate = certified(model, found, status, best, size)
    return best.centroids, replace(certificate, seconds=compile_time.now() - started)


def _reference_costs(model: OwnModel, data: Any, how: OwnOptions) -> Iterator[float]:
    """Yield the costs of plain choices: the overall mean, the group means, the start.

    A model may be undefined at these points; this has no consequence for its optimum.
    """
    means = group_means(data.x[:, None], data.labels)[:, 0]
    for plain in (np.zeros_like(means), means, how.start):
        if plain is not None:
            with suppress(AggoptError):
                yield judged(model, data, plain).cost


def certified(
    model: OwnModel, found: Answer, status: Status, best: Judged, size: float | None
) -> Certificate:
    """Return the certificate of judged centroids.

    Their gap is relative to `size`, or to their cost if it is None.
    """
    bound = _true(found.bound, best.cost, size) if status.usable else None
    others = (*_KEPT.values(), Status.KEPT)  # points that the solver did not find
    has_multipliers = status.usable and status not in others
    if status.is_open or status in (Status.OPTIMAL, Status.LOCAL, Status.KEPT):
        shown = bound is not None and closed(best.cost, bound, size)
        weaker = Status.UNPROVEN if status is Status.OPTIMAL else status
        status = Status.OPTIMAL if shown else weaker
    claim = found.claimed if status.usable else None
    if claim is not None and _true(claim.bound, best.cost, size) is None:
        claim = None  # this very point shows that it is false
    return Certificate(
        status,
        best.cost,
        bound,
        best.violation,
        found.solver,
        found.seconds,
        claimed=claim,
        judge=model.judge,
        iterations=found.iterations,
        multipliers=found.multipliers if has_multipliers else None,
        size=None if bound is None else size,
    )


def _true(bound: float | None, cost: float, size: float | None) -> float | None:
    """Return a bound that a cost does not show to be false, no higher than the cost."""
    if bound is None or not (bound <= cost or closed(cost, bound, size)):
        return None
    return min(bound, cost)


def judged(model: OwnModel, data: Any, reading: Any) -> Judged:
    """Return centroids judged by the model, for any solver.

    Raises
    ------
    JobError
        They are not one number for each group.
    """
    m = int(data.labels.max()) + 1
    if not model.declared:
        reading = _centroids(model, reading, m)
    at = model.point(data, reading)
    c = _centroids(model, at.c, m) if model.declared else reading
    return Judged(c, model.objective(data, at), model.violation(data, at))


def _centroids(model: OwnModel, found: Any, m: int) -> Floats:
    array = model.origin.run(np.array, found)
    numbers = array.dtype.kind in "biuf"
    c = array.astype(np.float64) if numbers else np.empty(0)
    if c.shape != (m,) or not np.isfinite(c).all():
        raise JobError(
            f"{model.name} gives centroids of shape {c.shape}, or some that are not "
            f"finite, for {m} groups.",
            fix="return one number for each group, or None where there is none.",
        )
    return c
