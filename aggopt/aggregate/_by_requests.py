"""Aggregation by requests: attributes separately, together, or by a table of `keep`."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from aggopt.aggregate.aggregation import (
    Aggregation,
    get_column,
    read_float_records,
    read_start,
    scale_for,
    stack_centroids,
)
from aggopt.aggregate.bounds import Bounds
from aggopt.aggregate.distance_requests import Wanted, spread_request
from aggopt.aggregate.joint_aggregation import aggregate_together
from aggopt.aggregate.kept_statistics import (
    ABLE,
    Keep,
    Part,
    combine_parts,
    require_statistic,
    split_by_statistic,
    standardise_response,
    start_of,
)
from aggopt.aggregate.shifted_means import ShiftOptions, shift_means, solve_shift
from aggopt.core.deadline import require_progress
from aggopt.core.record_weights import check_weights, scale_to_mean_one
from aggopt.core.standardise import Scale
from aggopt.core.types import I64, Floats, Labels
from aggopt.core.validation import check_labellings, check_matrix
from aggopt.errors import JobError
from aggopt.models import Model
from aggopt.solvers import Certificate, choose_solver


class _Requests(NamedTuple):
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


def solve_separate_model(
    model: Model,
    X: npt.ArrayLike,
    labels: npt.ArrayLike,
    wanted: Wanted,
    options: tuple[Any, ...],
    progress: Callable[[float], None] | None,
) -> Aggregation:
    """Return the centroids of each attribute of X (n, d), by a program of its own.

    `options` are solver, start, starts, seed, time_limit and options.
    """
    require_progress(progress)
    records = read_float_records(X)
    label = check_labellings(labels, *records.shape)
    weights = check_weights(wanted.weights, len(records))
    requests = _standardise_requests(
        model, records, scale_for(records, label, weights), wanted, options
    )
    scale = requests.scale
    ends = requests.bounds.standardised(requests.scale)

    def declare_program(j: int) -> Any:
        inputs = (requests.Z, label, requests.delta, requests.importance)
        bounds = {"lower": float(ends.lower[j]), "upper": float(ends.upper[j])}
        wishes = (get_column(v, j) for v in inputs)
        return model.data(*wishes, wanted.weight, **bounds, weights=requests.weights)

    solved = shift_means(
        model, declare_program, scale, label, requests.settings, progress
    )
    centroids = requests.bounds.undone(stack_centroids([c for c, _ in solved]), scale)
    return Aggregation(centroids, label, tuple(proof for _, proof in solved))


def solve_joint_model(
    model: Model,
    X: npt.ArrayLike,
    labels: npt.ArrayLike,
    wanted: Wanted,
    options: tuple[Any, ...],
    progress: Callable[[float], None] | None,
    y: Floats | None = None,
) -> Aggregation:
    """Return the centroids of all attributes of X (n, d), by one joint program.

    With a standardised response y (n,), its covariances are kept as well.
    """
    require_progress(progress)
    records = read_float_records(X)
    label = check_labellings(labels, *records.shape)
    weights = check_weights(wanted.weights, len(records))
    requests = _standardise_requests(
        model, records, Scale.of(records, weights), wanted, options
    )
    ends = requests.bounds.standardised(requests.scale)

    def solve(
        Z: Floats, group_labels: Labels, columns: I64
    ) -> tuple[Floats, Certificate]:
        lower, upper = ends.of_columns(columns)
        common = {"y": y, "weights": requests.weights}
        data = model.data(
            Z,
            group_labels,
            requests.delta[:, columns],
            requests.importance[:, columns],
            wanted.weight,
            lower=lower,
            upper=upper,
            **common,
        )
        shape = (len(data.sizes), len(requests.scale.spread))
        here = _standardise_start(requests.settings.start, requests.scale, shape)
        if not (here is None or isinstance(here, str)):
            here = here[:, columns]
        return solve_shift(model, data, replace(requests.settings, start=here))

    aggregation = aggregate_together(
        records, label, solve, requests.bounds, requests.weights
    )
    if progress:
        progress(1.0)
    return aggregation


def _standardise_requests(
    model: Model,
    records: Floats,
    scale: Scale,
    wanted: Wanted,
    arguments: tuple[Any, ...],
) -> _Requests:
    """Return standardised records with their distances, importances and bounds."""
    Z = scale.standardise(records)
    delta = spread_request(wanted.delta, Z, "delta")
    importance = spread_request(wanted.importance, Z, "importance")
    bounds = Bounds.of(wanted.lower, wanted.upper, records)
    solver, start, starts, seed, time_limit, options = arguments
    chosen = choose_solver(solver, *model.kinds, within=bounds.are_set)
    settings = ShiftOptions(chosen, start, starts, seed, time_limit, options or {})
    weights = scale_to_mean_one(check_weights(wanted.weights, len(records)))
    return _Requests(Z, scale, delta, importance, bounds, weights, settings)


def _standardise_start(
    start: str | Floats | None, scale: Scale, shape: tuple[int, int]
) -> str | Floats | None:
    """Return the start; centroids (m, d) are standardised, a name is unchanged."""
    if start is None or isinstance(start, str):
        return start
    if np.shape(start) != shape or not np.isfinite(start).all():
        raise JobError(
            f"start has shape {np.shape(start)}, or entries that are not finite.",
            fix=f"pass centroids of shape {shape} in the original units.",
        )
    return scale.standardise(np.asarray(start, dtype=np.float64))


Progress = Callable[[float], None] | None


class Wishing(NamedTuple):
    """An aggregation by wishes: its name, the program of one attribute, that of all."""

    name: str
    alone: Model
    together: Model


def aggregate_by_requests(
    method: Wishing,
    X: npt.ArrayLike,
    labels: npt.ArrayLike,
    wanted: Wanted,
    keep: Keep,
    response: npt.ArrayLike | None,
    options: tuple[Any, ...],
    progress: Progress,
) -> Aggregation:
    """Return centroids at requested distances that keep the statistics in `keep`.

    `options` are solver, start, starts, seed, time_limit and options.
    """
    solver, start, *others = options
    options = (solver, read_start(start, labels), *others)
    if isinstance(keep, Mapping):
        return _aggregate_by_statistic(
            method, X, labels, wanted, keep, response, options, progress
        )
    require_statistic(method.name, ABLE, keep)
    standardise_response((), response, 0)
    if keep == "covariance":
        return solve_joint_model(method.together, X, labels, wanted, options, progress)
    return solve_separate_model(method.alone, X, labels, wanted, options, progress)


def _aggregate_by_statistic(
    method: Wishing,
    X: npt.ArrayLike,
    labels: npt.ArrayLike,
    wanted: Wanted,
    keep: Mapping[str, Any],
    response: npt.ArrayLike | None,
    options: tuple[Any, ...],
    progress: Progress,
) -> Aggregation:
    """Return the aggregation of attributes that keep different statistics."""
    require_progress(progress)
    records = check_matrix(X)
    label = check_labellings(labels, *records.shape)
    parts = split_by_statistic(method.name, ABLE, keep, records.shape[1])
    weights = check_weights(wanted.weights, len(records))
    y = standardise_response(parts, response, len(records), weights)
    Z = scale_for(records, label, weights).standardise(records)
    delta = spread_request(wanted.delta, Z, "delta")
    importance = spread_request(wanted.importance, Z, "importance")
    bounds = Bounds.of(wanted.lower, wanted.upper, records)
    solver, start, *others = options

    def combine(part: Part, values: Floats, groups: Labels) -> Aggregation:
        few = list(part.columns)
        begun = start_of(start, few, (int(label.max()) + 1, len(Z.T)))
        ends = bounds.of_columns(few)
        part_requests = Wanted(
            delta[:, few],
            importance[:, few],
            wanted.weight,
            *ends,
            wanted.weights,
        )
        solving = (solver, begun, *others)
        if part.statistic == "variance":
            return solve_separate_model(
                method.alone, values, groups, part_requests, solving, None
            )
        beside = y if part.statistic == "regression" else None
        return solve_joint_model(
            method.together, values, groups, part_requests, solving, None, beside
        )

    return combine_parts(records, label, parts, combine, progress)
