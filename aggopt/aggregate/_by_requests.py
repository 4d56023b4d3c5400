"""Aggregation by requests: attributes separately, together, or by a table of `keep`."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy.typing as npt

from aggopt.aggregate._by_model import by_joint_model, by_model
from aggopt.aggregate._distance_requests import Wanted, spread
from aggopt.aggregate._kept_apart import (
    Keep,
    Part,
    parts_of,
    put_together,
    response_for,
    start_of,
)
from aggopt.aggregate.aggregation import Aggregation, begun_by, scale_for
from aggopt.aggregate.bounds import Bounds
from aggopt.aggregate.kept_statistics import ABLE, require_kept
from aggopt.core.progress import require_progress
from aggopt.core.record_weights import check_weights
from aggopt.core.validation import Floats, Labels, check_labellings, check_matrix
from aggopt.models import Model

Progress = Callable[[float], None] | None


class Wishing(NamedTuple):
    """An aggregation by wishes: its name, the program of one attribute, that of all."""

    name: str
    alone: Model
    together: Model


def by_wishes(
    method: Wishing,
    X: npt.ArrayLike,
    labels: npt.ArrayLike,
    wanted: Wanted,
    keep: Keep,
    response: npt.ArrayLike | None,
    how: tuple[Any, ...],
    progress: Progress,
) -> Aggregation:
    """Return the aggregation of X (n, d) that keeps the statistics in `keep`.

    `how` are solver, start, starts, seed, time_limit and options.
    """
    solver, start, *others = how
    how = (solver, begun_by(start, labels), *others)
    if isinstance(keep, Mapping):
        return _by_parts(method, X, labels, wanted, keep, response, how, progress)
    require_kept(method.name, ABLE, keep)
    response_for((), response, 0)
    if keep == "covariance":
        return by_joint_model(method.together, X, labels, wanted, how, progress)
    return by_model(method.alone, X, labels, wanted, how, progress)


def _by_parts(
    method: Wishing,
    X: npt.ArrayLike,
    labels: npt.ArrayLike,
    wanted: Wanted,
    keep: Mapping[str, Any],
    response: npt.ArrayLike | None,
    how: tuple[Any, ...],
    progress: Progress,
) -> Aggregation:
    """Return the aggregation by a program for each part of a table."""
    require_progress(progress)
    records = check_matrix(X)
    label = check_labellings(labels, *records.shape)
    parts = parts_of(method.name, ABLE, keep, records.shape[1])
    weights = check_weights(wanted.weights, len(records))
    y = response_for(parts, response, len(records), weights)
    Z = scale_for(records, label, weights).standardise(records)
    delta = spread(wanted.delta, Z, "delta")
    importance = spread(wanted.importance, Z, "importance")
    bounds = Bounds.of(wanted.lower, wanted.upper, records)
    solver, start, *others = how

    def combine(part: Part, own: Floats, groups: Labels) -> Aggregation:
        few = list(part.columns)
        begun = start_of(start, few, (int(label.max()) + 1, len(Z.T)))
        ends = bounds.of_columns(few)
        wishes = delta[:, few], importance[:, few], wanted.weight
        asked = Wanted(*wishes, *ends, wanted.weights)
        solving = (solver, begun, *others)
        if part.statistic == "variance":
            return by_model(method.alone, own, groups, asked, solving, None)
        beside = y if part.statistic == "regression" else None
        return by_joint_model(
            method.together, own, groups, asked, solving, None, beside
        )

    return put_together(records, label, parts, combine, progress)
