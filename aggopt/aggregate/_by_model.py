"""From arguments of a user to an aggregation by a model that shifts centroids."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from aggopt.aggregate._distance_requests import Wanted, spread
from aggopt.aggregate._numbers import numbers
from aggopt.aggregate.aggregation import Aggregation, column, scale_for, stacked
from aggopt.aggregate.bounds import Bounds
from aggopt.aggregate.joint_aggregation import together
from aggopt.aggregate.shifted_means import ShiftOptions, shifted, solution
from aggopt.core.progress import require_progress
from aggopt.core.record_weights import check_weights, scale_to_mean_one
from aggopt.core.standardise import Scale
from aggopt.core.types import I64
from aggopt.core.validation import Floats, Labels, check_labellings
from aggopt.errors import JobError
from aggopt.models import Model
from aggopt.solvers import Certificate, choose


class _Asked(NamedTuple):
    """Standardised records, their requests, and the settings of the solver.

    Attributes
    ----------
    Z, delta, importance : (n, d)
        In standard deviations, but for importances.
    bounds
        Bounds of published values, in their units.
    weights : (n,)
        Of mean 1; None if all are equal.
    """

    Z: Floats
    scale: Scale
    delta: Floats
    importance: Floats
    bounds: Bounds
    weights: Floats | None
    settings: ShiftOptions


def by_model(
    model: Model,
    X: npt.ArrayLike,
    labels: npt.ArrayLike,
    wanted: Wanted,
    how: tuple[Any, ...],
    progress: Callable[[float], None] | None,
) -> Aggregation:
    """Return the aggregation of X (n, d) by `model`.

    `how` are solver, start, starts, seed, time_limit and options.
    """
    require_progress(progress)
    records = numbers(X)
    label = check_labellings(labels, *records.shape)
    weights = check_weights(wanted.weights, len(records))
    asked = _asked(model, records, scale_for(records, label, weights), wanted, how)
    scale, ends = asked.scale, asked.bounds.standardised(asked.scale)

    def stated(j: int) -> Any:
        of = (asked.Z, label, asked.delta, asked.importance)
        bounds = {"lower": float(ends.lower[j]), "upper": float(ends.upper[j])}
        wishes = (column(v, j) for v in of)
        return model.data(*wishes, wanted.weight, **bounds, weights=asked.weights)

    solved = shifted(model, stated, scale, label, asked.settings, progress)
    centroids = asked.bounds.undone(stacked([c for c, _ in solved]), scale)
    return Aggregation(centroids, label, tuple(proof for _, proof in solved))


def by_joint_model(
    model: Model,
    X: npt.ArrayLike,
    labels: npt.ArrayLike,
    wanted: Wanted,
    how: tuple[Any, ...],
    progress: Callable[[float], None] | None,
    y: Floats | None = None,
) -> Aggregation:
    """Return the aggregation by a model of all attributes at once.

    With a standardised response y (n,), its covariances are kept as well.
    """
    require_progress(progress)
    records = numbers(X)
    label = check_labellings(labels, *records.shape)
    weights = check_weights(wanted.weights, len(records))
    asked = _asked(model, records, Scale.of(records, weights), wanted, how)
    ends = asked.bounds.standardised(asked.scale)

    def solve(Z: Floats, own: Labels, columns: I64) -> tuple[Floats, Certificate]:
        wishes = asked.delta[:, columns], asked.importance[:, columns], wanted.weight
        lower, upper = ends.of_columns(columns)
        known = {"y": y, "weights": asked.weights}
        data = model.data(Z, own, *wishes, lower=lower, upper=upper, **known)
        shape = (len(data.sizes), len(asked.scale.spread))
        here = _begun(asked.settings.start, asked.scale, shape)
        if not (here is None or isinstance(here, str)):
            here = here[:, columns]
        return solution(model, data, replace(asked.settings, start=here))

    made = together(records, label, solve, asked.bounds, asked.weights)
    if progress:
        progress(1.0)
    return made


def _asked(
    model: Model,
    records: Floats,
    scale: Scale,
    wanted: Wanted,
    how: tuple[Any, ...],
) -> _Asked:
    Z = scale.standardise(records)
    delta = spread(wanted.delta, Z, "delta")
    importance = spread(wanted.importance, Z, "importance")
    bounds = Bounds.of(wanted.lower, wanted.upper, records)
    solver, start, starts, seed, time_limit, options = how
    chosen = choose(solver, *model.kinds, within=bounds.there)
    settings = ShiftOptions(chosen, start, starts, seed, time_limit, options or {})
    weights = scale_to_mean_one(check_weights(wanted.weights, len(records)))
    return _Asked(Z, scale, delta, importance, bounds, weights, settings)


def _begun(
    start: str | Floats | None, scale: Scale, shape: tuple[int, int]
) -> str | Floats | None:
    """Return where to set out, standardised if it is centroids (m, d)."""
    if start is None or isinstance(start, str):
        return start
    if np.shape(start) != shape or not np.isfinite(start).all():
        raise JobError(
            f"start has shape {np.shape(start)}, or entries that are not finite.",
            fix=f"pass centroids of shape {shape} in the original units.",
        )
    return scale.standardise(np.asarray(start, dtype=np.float64))
