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
from aggopt.partition._in_blocks import call_with_progress
from aggopt.pipeline.aggregate.by_stratum import aggregate_by_stratum
from aggopt.pipeline.partition.partitioned_table import PartitionedTable
from aggopt.pipeline.prepare.job_properties import is_aggregated_by_stratum
from aggopt.pipeline.prepare.kept_moments import keep_by_column
from aggopt.pipeline.prepare.published_grid import read_bounds


class PresentRows(NamedTuple):
    """Records that have a value, `rows`; their groups `there`; and their `labels`.

    `labels` index `there`.
    """

    rows: Labels
    there: Labels
    labels: Labels

    @classmethod
    def of(cls, kept: Bool | None, labels: Labels) -> "PresentRows":
        """Return the records (n,) whose value is kept; all of them if None."""
        rows = np.arange(len(labels)) if kept is None else np.flatnonzero(kept)
        there, own = np.unique(labels[rows], return_inverse=True)
        return cls(rows, there, own)


def aggregate_observed(
    given: PartitionedTable, settings: Mapping[str, Any]
) -> Aggregation:
    """Return the aggregation of the numbers by the job's method, with `settings`.

    Strata are aggregated separately if the job keeps anything in each.  If values are
    missing, each attribute is aggregated separately, from the records that have it.
    Its centroids are nan for groups without a value.
    """
    combine = AGGREGATORS.of(given.job.aggregation).function
    X, labels = given.X, given.labels_of_numbers
    settings = keep_by_column(
        given.table, given.job, {**settings, **bound_arguments(given)}
    )
    if given.weights is not None:
        settings["weights"] = given.weights
    within, jobs = None, given.job.strata.jobs
    if is_aggregated_by_stratum(given.job):
        within = given.strata
    kept = None if given.kept is None else given.of_numbers(given.kept)
    if kept is None or kept.all():
        return _aggregate_columns(combine, X, labels, settings, within, jobs)
    centroids = np.full((int(labels.max()) + 1, X.shape[1]), np.nan)
    certificates = []
    for j, name in enumerate(given.names):
        own = PresentRows.of(kept[:, j], get_column(labels, j))
        only = {key: _only(value, len(X), own, j) for key, value in settings.items()}
        if given.weights is not None:
            only["weights"] = given.weights[own.rows]
        strata = None if within is None else within.select_rows(own.rows)
        with naming(repr(name)):
            x = X[own.rows][:, [j]]
            part = _aggregate_columns(combine, x, own.labels, only, strata, jobs)
        centroids[own.there, j] = part.centroids[:, 0]
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
    made: Aggregation = call_with_progress(combine, X, labels, **settings)
    return made


def _only(setting: Any, n: int, own: PresentRows, j: int) -> Any:
    """Return a setting for one attribute: its entries of records, groups or columns."""
    if not isinstance(setting, np.ndarray):
        return setting
    if setting.ndim == 1:
        return setting[[j]]
    return setting[own.rows if len(setting) == n else own.there][:, [j]]


def published_nodes(
    given: PartitionedTable, name: str, made: PublishedCategories
) -> Floats:
    """Return the published node of each record (n,); nan if it has none."""
    j = given.job.roles.quasi_identifier.index(name)
    labels = get_column(given.labels, j)
    if given.kept is None:
        return np.asarray(made.choice[labels], np.float64)
    nodes: Floats = np.full(int(labels.max()) + 1, np.nan)
    nodes[PresentRows.of(given.kept[:, j], labels).there] = made.choice
    return np.asarray(nodes[labels])


def bound_arguments(given: PartitionedTable) -> dict[str, Any]:
    """Return the bounds as arguments of the job's aggregation, if it takes them.

    Those of a model of the user's are standardised, as its records are; where these are
    standardised in each stratum, it gets none.
    """
    job, names = given.job, given.names
    bounds = read_bounds(given.table, job, names)
    own = isinstance(job.aggregation, ByModel)
    if not bounds.there or (
        own and given.strata is not None and is_aggregated_by_stratum(job)
    ):
        return {}
    if isinstance(job.aggregation, ByModel):
        bounds = bounds.standardised(Scale.of(given.X))
        takes = set(job.aggregation.program.takes.settings)
    else:
        takes = set(signature(AGGREGATORS.of(job.aggregation).function).parameters)
    return {side: end for side, end in bounds._asdict().items() if side in takes}
