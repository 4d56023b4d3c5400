"""Aggregation where values are missing: each attribute by the records that have it."""

from collections.abc import Callable, Mapping
from inspect import signature
from typing import Any, NamedTuple

import numpy as np

from aggopt.aggregate import AGGREGATORS, Aggregation, PublishedCategories
from aggopt.aggregate.aggregation import get_column
from aggopt.aggregate.user_model import ByModel
from aggopt.core.standardise import Scale
from aggopt.core.types import Bool
from aggopt.core.validation import Floats, Labels
from aggopt.data.context.strata import RecordStrata
from aggopt.errors import naming
from aggopt.partition.block_partition import call_with_progress
from aggopt.pipeline.aggregate.by_stratum import aggregate_by_stratum
from aggopt.pipeline.partition.partitioned_table import PartitionedTable
from aggopt.pipeline.prepare.job_settings import is_aggregated_by_stratum
from aggopt.pipeline.prepare.kept_moments import replace_kept_names
from aggopt.pipeline.prepare.published_grid import read_bounds


class PresentRows(NamedTuple):
    """Records that have a value, `rows`; their groups `there`; and their `labels`.

    `labels` index `there`.
    """

    rows: Labels
    there: Labels
    labels: Labels

    @classmethod
    def of(cls, is_kept: Bool | None, labels: Labels) -> "PresentRows":
        """Return the records (n,) whose value is kept; all of them if None."""
        rows = np.arange(len(labels)) if is_kept is None else np.flatnonzero(is_kept)
        groups, labels_of_rows = np.unique(labels[rows], return_inverse=True)
        return cls(rows, groups, labels_of_rows)


def aggregate_observed(
    partitioned: PartitionedTable, settings: Mapping[str, Any]
) -> Aggregation:
    """Return the aggregation of the numbers by the job's method, with `settings`.

    Strata are aggregated separately if the job keeps anything in each.  If values are
    missing, each attribute is aggregated separately, from the records that have it.
    Its centroids are nan for groups without a value.
    """
    combine = AGGREGATORS.of(partitioned.job.aggregation).function
    X, labels = partitioned.X, partitioned.labels_of_numbers
    settings = replace_kept_names(
        partitioned.table,
        partitioned.job,
        {**settings, **make_bound_arguments(partitioned)},
    )
    if partitioned.weights is not None:
        settings["weights"] = partitioned.weights
    within, jobs = None, partitioned.job.strata.jobs
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
    """Return what `combine` makes of X (n, d), in each stratum if there are any."""
    if strata is not None:
        return aggregate_by_stratum(combine, X, labels, settings, strata, jobs)
    aggregation: Aggregation = call_with_progress(combine, X, labels, **settings)
    return aggregation


def _select_setting(setting: Any, n: int, present: PresentRows, j: int) -> Any:
    """Return a setting for one attribute: its entries of records, groups or columns."""
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
    job, names = partitioned.job, partitioned.names
    bounds = read_bounds(partitioned.table, job, names)
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
