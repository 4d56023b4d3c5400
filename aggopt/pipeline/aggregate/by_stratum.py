"""Aggregation of numbers in each stratum by itself, as of a table of its own."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from aggopt.aggregate import Aggregation
from aggopt.aggregate.aggregation import stack_centroids
from aggopt.core.deadline import Progress
from aggopt.core.standardise import Scale
from aggopt.core.threads import ignore_progress
from aggopt.core.validation import Floats, Labels
from aggopt.data.context.strata import RecordStrata
from aggopt.errors import naming
from aggopt.job import Job
from aggopt.models.shared.shift_data import FARTHEST
from aggopt.partition.block_partition import call_with_progress
from aggopt.pipeline.partition.subsets import (
    divide_time_limit,
    map_in_processes,
    report_share,
)
from aggopt.pipeline.prepare.job_settings import is_aggregated_by_stratum
from aggopt.solvers import Certificate
from aggopt.solvers.certificate import sum_certificates

Together = tuple[tuple[int, ...], ...]
_Part = tuple[Callable[..., Aggregation], Floats, Labels, dict[str, Any]]
SIDES = ("lower", "upper")  # settings that have a number for each attribute


def describe_strata(job: Job, strata: RecordStrata | None) -> list[str]:
    """Return a note on the values kept in each stratum and on the certificates."""
    if strata is None or not is_aggregated_by_stratum(job):
        return []
    return [
        f"Numbers are aggregated in each of {len(strata.sizes)} strata by themselves, "
        "so that what is kept is kept in each; a certificate is the sum of theirs, "
        "each on z-scores of its own stratum."
    ]


def aggregate_by_stratum(
    combine: Callable[..., Aggregation],
    X: Floats,
    labels: Labels,
    settings: Mapping[str, Any],
    strata: RecordStrata,
    jobs: int = 1,
) -> Aggregation:
    """Return the aggregation of X (n, d), made by `combine` in each stratum separately.

    `labels` (n,) or (n, d) are groups within strata.  `settings` contains requested
    distances in standard deviations of the table; they are rescaled to those of each
    stratum.  A time limit is divided among strata by their numbers of records.  The
    certificates of strata are added.  `jobs` processes share the strata.
    """
    centroids = np.full((int(labels.max()) + 1, X.shape[1]), np.nan)
    weights = settings.get("weights")
    spread, done, parts, places = Scale.of(X, weights).spread, 0, [], []
    for rows in strata.members:
        own, kept_groups = _number_groups(labels[rows], X.shape[1])
        stratum_settings = _select_settings(settings, len(X), rows, kept_groups, done)
        if "delta" in settings:
            own_delta = (
                stratum_settings["delta"],
                spread,
                X[rows],
                stratum_settings.get("weights"),
            )
            stratum_settings["delta"] = _scale_distances(*own_delta)
        parts.append((combine, X[rows], own, stratum_settings))
        places.append(kept_groups)
        done += len(rows)
    aggregations = _aggregate_strata(
        parts, jobs, settings.get("progress", ignore_progress)
    )
    for aggregation, kept_groups in zip(aggregations, places, strict=True):
        for j, groups in enumerate(kept_groups):
            centroids[groups, j] = aggregation.centroids[: len(groups), j]
    together, certificates = _sum_certificates(aggregations, X.shape[1])
    return Aggregation(centroids, labels, certificates, together)


def _aggregate_strata(
    parts: Sequence[_Part], jobs: int, on_progress: Progress
) -> list[Aggregation]:
    """Return the aggregation of each stratum, in their order."""
    if jobs == 1 or len(parts) == 1:
        return [_aggregate_stratum(part) for part in parts]
    for *_, stratum_settings in parts:
        stratum_settings.pop("progress", None)
    return map_in_processes(_aggregate_stratum, parts, jobs, on_progress)


def _aggregate_stratum(part: _Part) -> Aggregation:
    combine, X, labels, stratum_settings = part
    with naming("In one stratum"):
        aggregation: Aggregation = call_with_progress(
            combine, X, labels, **stratum_settings
        )
    return aggregation


def _number_groups(labels: Labels, d: int) -> tuple[Labels, list[Labels]]:
    """Return groups from 0 on, and which they were, of each of d attributes."""
    if labels.ndim == 1:
        originals, numbered = np.unique(labels, return_inverse=True)
        return numbered, [originals] * d
    parts = [np.unique(column, return_inverse=True) for column in labels.T]
    return np.stack([numbered for _, numbered in parts], axis=1), [
        originals for originals, _ in parts
    ]


def _select_settings(
    settings: Mapping[str, Any],
    n: int,
    rows: Labels,
    kept_groups: Sequence[Labels],
    done: int,
) -> dict[str, Any]:
    """Return the settings for these rows of n, and for the groups `kept_groups`."""
    result = divide_time_limit(settings, len(rows) / n)
    for key, value in settings.items():
        if isinstance(value, np.ndarray) and key not in SIDES:
            starts = [
                value[groups, j]
                for j, groups in enumerate(kept_groups)
                if key == "start"
            ]
            result[key] = stack_centroids(starts) if starts else value[rows]
    if "progress" in settings:
        on_progress = settings["progress"]
        result["progress"] = partial(
            report_share, on_progress, done / len(rows), n / len(rows)
        )
    return result


def _scale_distances(
    delta: Floats, spread: Floats, X: Floats, weights: Floats | None = None
) -> Floats:
    """Return distances (rows, d) in standard deviations of these rows X (rows, d).

    By weights (rows,), if they have some.
    """
    stratum_spread = Scale.of(X, weights).spread
    ratio = np.divide(
        spread,
        stratum_spread,
        out=np.ones_like(stratum_spread),
        where=stratum_spread > 0,
    )
    return np.minimum(delta * ratio, np.maximum(delta, FARTHEST))


def _sum_certificates(
    aggregations: Sequence[Aggregation], d: int
) -> tuple[Together, tuple[Certificate, ...]]:
    """Return the attributes of each certificate, and the sums over strata.

    One certificate covers all attributes if strata solved different ones together.
    """
    alone = tuple((j,) for j in range(d))
    ways = {aggregation.together or alone for aggregation in aggregations}
    if len(ways) == 1:
        (columns,) = ways
        by_columns = zip(
            *(aggregation.certificates for aggregation in aggregations), strict=True
        )
        return columns, tuple(map(sum_certificates, by_columns))
    every = [
        proof for aggregation in aggregations for proof in aggregation.certificates
    ]
    return (tuple(range(d)),), (sum_certificates(every),)
