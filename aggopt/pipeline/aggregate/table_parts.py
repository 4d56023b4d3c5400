"""Aggregation by parts of a table: by strata, and by the records that have a value."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from inspect import signature
from typing import Any, NamedTuple

import numpy as np

from aggopt.aggregate import AGGREGATORS, Aggregation, PublishedCategories
from aggopt.aggregate.aggregation import get_column, stack_centroids
from aggopt.aggregate.user_model import ByModel
from aggopt.core.deadline import Progress
from aggopt.core.parallel import ignore_progress
from aggopt.core.standardise import Scale
from aggopt.core.types import Bool, Floats, Labels
from aggopt.data.context.strata import RecordStrata
from aggopt.errors import naming
from aggopt.job import Job
from aggopt.models.shared.shift_data import FARTHEST
from aggopt.partition.block_partition import call_with_progress
from aggopt.pipeline.partition import subsets
from aggopt.pipeline.partition.partitioned_table import PartitionedTable
from aggopt.pipeline.prepare.job_settings import (
    is_aggregated_by_stratum,
    replace_kept_names,
)
from aggopt.pipeline.prepare.published_grid import read_bounds
from aggopt.solvers import Certificate
from aggopt.solvers.certificate import sum_certificates


class PresentRows(NamedTuple):
    """Records that have a value, `rows`; their groups `there`; and their `labels`.

    `labels` index `there`.
    """

    rows: Labels
    there: Labels
    labels: Labels

    @classmethod
    def of(cls, is_kept: Bool | None, labels: Labels) -> "PresentRows":
        """Return the records whose value is kept (n,), or all, with their groups."""
        rows = np.arange(len(labels)) if is_kept is None else np.flatnonzero(is_kept)
        groups, labels_of_rows = np.unique(labels[rows], return_inverse=True)
        return cls(rows, groups, labels_of_rows)


def aggregate_observed(
    partitioned: PartitionedTable, settings: Mapping[str, Any]
) -> Aggregation:
    """Return the aggregation of the numbers, by the job's method and `settings`.

    Strata are aggregated separately if the job keeps anything in each.  If values are
    missing, each attribute is aggregated separately, from the records that have it.
    Its centroids are nan for groups without a value.
    """
    combine = AGGREGATORS.of(partitioned.job.aggregation).function
    X = partitioned.X
    labels = partitioned.labels_of_numbers
    settings = replace_kept_names(
        partitioned.table,
        partitioned.job,
        {**settings, **make_bound_arguments(partitioned)},
    )
    if partitioned.weights is not None:
        settings["weights"] = partitioned.weights
    within = None
    jobs = partitioned.job.strata.jobs
    if is_aggregated_by_stratum(partitioned.job):
        within = partitioned.strata
    is_kept = (
        None if partitioned.kept is None else partitioned.of_numbers(partitioned.kept)
    )
    if is_kept is None or is_kept.all():
        return _aggregate_columns(combine, X, labels, settings, within, jobs)
    centroids = np.full((int(labels.max()) + 1, X.shape[1]), np.nan)
    certificates = []
    for j, name in enumerate(partitioned.names):
        present_rows = PresentRows.of(is_kept[:, j], get_column(labels, j))
        only = {
            key: _select_setting(value, len(X), present_rows, j)
            for key, value in settings.items()
        }
        if partitioned.weights is not None:
            only["weights"] = partitioned.weights[present_rows.rows]
        strata = None if within is None else within.select_rows(present_rows.rows)
        with naming(repr(name)):
            x = X[present_rows.rows][:, [j]]
            part = _aggregate_columns(
                combine, x, present_rows.labels, only, strata, jobs
            )
        centroids[present_rows.there, j] = part.centroids[:, 0]
        certificates.append(part.certificates[0])
    return Aggregation(centroids, labels, tuple(certificates))


def _aggregate_columns(
    combine: Callable[..., Aggregation],
    X: Floats,
    labels: Labels,
    settings: Mapping[str, Any],
    strata: RecordStrata | None,
    jobs: int,
) -> Aggregation:
    """Return the aggregation of X (n, d) by `combine`, in each stratum if given."""
    if strata is not None:
        return aggregate_by_stratum(combine, X, labels, settings, strata, jobs)
    aggregation: Aggregation = call_with_progress(combine, X, labels, **settings)
    return aggregation


def _select_setting(setting: Any, n: int, present: PresentRows, j: int) -> Any:
    """Return a setting for attribute j: its entries of present records or groups."""
    if not isinstance(setting, np.ndarray):
        return setting
    if setting.ndim == 1:
        return setting[[j]]
    return setting[present.rows if len(setting) == n else present.there][:, [j]]


def read_published_nodes(
    partitioned: PartitionedTable, name: str, categories: PublishedCategories
) -> Floats:
    """Return the published node of each record (n,); nan if it has none."""
    j = partitioned.job.roles.quasi_identifier.index(name)
    labels = get_column(partitioned.labels, j)
    if partitioned.kept is None:
        return np.asarray(categories.choice[labels], np.float64)
    nodes: Floats = np.full(int(labels.max()) + 1, np.nan)
    nodes[PresentRows.of(partitioned.kept[:, j], labels).there] = categories.choice
    return np.asarray(nodes[labels])


def make_bound_arguments(partitioned: PartitionedTable) -> dict[str, Any]:
    """Return the bounds as arguments of the job's aggregation, if it takes them.

    Those of a model of the user's are standardised, as its records are; where these are
    standardised in each stratum, it gets none.
    """
    job = partitioned.job
    bounds = read_bounds(partitioned.table, job, partitioned.names)
    is_user_model = isinstance(job.aggregation, ByModel)
    if not bounds.are_set or (
        is_user_model
        and partitioned.strata is not None
        and is_aggregated_by_stratum(job)
    ):
        return {}
    if isinstance(job.aggregation, ByModel):
        bounds = bounds.standardised(Scale.of(partitioned.X))
        takes = set(job.aggregation.program.takes.settings)
    else:
        takes = set(signature(AGGREGATORS.of(job.aggregation).function).parameters)
    return {side: end for side, end in bounds._asdict().items() if side in takes}


Together = tuple[tuple[int, ...], ...]
_Part = tuple[Callable[..., Aggregation], Floats, Labels, dict[str, Any]]
SIDES = ("lower", "upper")  # settings that have a number for each attribute


def describe_strata(job: Job, strata: RecordStrata | None) -> list[str]:
    """Return the text of a note on values kept in each stratum, if any are."""
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
    spread = Scale.of(X, weights).spread
    done = 0
    parts = []
    places = []
    for rows in strata.members:
        labels_of_stratum, kept_groups = _number_groups(labels[rows], X.shape[1])
        stratum_settings = _select_settings(settings, len(X), rows, kept_groups, done)
        if "delta" in settings:
            stratum_settings["delta"] = _scale_distances(
                stratum_settings["delta"],
                spread,
                X[rows],
                stratum_settings.get("weights"),
            )
        parts.append((combine, X[rows], labels_of_stratum, stratum_settings))
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
    return subsets.map_in_processes(_aggregate_stratum, parts, jobs, on_progress)


def _aggregate_stratum(part: _Part) -> Aggregation:
    """Return the aggregation of one stratum; errors name it."""
    combine, X, labels, stratum_settings = part
    with naming("In one stratum"):
        aggregation: Aggregation = call_with_progress(
            combine, X, labels, **stratum_settings
        )
    return aggregation


def _number_groups(labels: Labels, d: int) -> tuple[Labels, list[Labels]]:
    """Return groups numbered from 0, and their earlier numbers by attribute."""
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
    """Return settings for one stratum: the entries of its records and groups."""
    result = subsets.divide_time_limit(settings, len(rows) / n)
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
            subsets.report_share, on_progress, done / len(rows), n / len(rows)
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
    """Return the attributes of each certificate, and certificates summed over strata.

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
