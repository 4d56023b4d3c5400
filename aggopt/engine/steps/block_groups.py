"""Groups of a block of records, and the means of their values."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from aggopt.aggregate import median
from aggopt.aggregate.aggregation import group_means
from aggopt.core.record_weights import multiply_by_weights
from aggopt.core.types import I64, Bool
from aggopt.core.validation import Floats, Labels
from aggopt.data.context.confidential import list_requirements
from aggopt.data.context.weights import read_sampling_weights
from aggopt.data.table import Table
from aggopt.encoding import Encoded
from aggopt.engine.state.run_state import LeafState
from aggopt.engine.steps.describe import compute_coordinates
from aggopt.engine.steps.global_confidential import read_confidential_of_part
from aggopt.engine.steps.strata import apply_within_strata
from aggopt.engine.steps.weights import scale_weights
from aggopt.engine.storage.scratch_files import load_state, stop_on_request
from aggopt.job import Mean
from aggopt.partition.registry import PARTITIONERS
from aggopt.pipeline.aggregate.table_parts import PresentRows
from aggopt.pipeline.partition.methods import (
    list_dominance_requirements,
    make_weight_arguments,
)
from aggopt.pipeline.partition.missing_values import partition_incomplete
from aggopt.pipeline.prepare.prepared_table import find_missing
from aggopt.repair.merge_until_satisfied import merge_until_satisfied


def partition_table_of_block(
    table: Table, records: Encoded, config: LeafState
) -> tuple[Labels, Bool]:
    """Return the groups of records (n,), and a mask (n, d) of the values that decide.

    `records` are the coordinates of a table.  Groups are made within each stratum
    independently, and by the job's policy if values of the block are missing.
    """
    incomplete = bool(find_missing(records).any())
    if config.strata is None:
        return _partition(table, records, config, incomplete=incomplete)
    is_kept = np.empty((len(records), len(records.attributes)), np.bool_)

    def partition_stratum(rows: I64) -> Labels:
        part = replace(table, frame=table.frame[rows])
        alone = compute_coordinates(part.matrix(), config, config.scale)
        labels, is_kept[rows] = _partition(part, alone, config, incomplete=incomplete)
        return labels

    strata = load_state(config.strata).of(table.frame.to_arrow())
    return apply_within_strata(strata, partition_stratum), is_kept


def _partition(
    table: Table, records: Encoded, config: LeafState, *, incomplete: bool
) -> tuple[Labels, Bool]:
    """Return groups, merged until they satisfy the requirements, and the mask."""
    job = config.job
    repairs = job.privacy.repair is not None
    on_progress = stop_on_request(config.work, 2 if repairs else 1)
    sampling = read_sampling_weights(table)
    weights = None if sampling is None else scale_weights(sampling.values, config)
    apart = incomplete and job.missing.policy == "patterns"
    settings = {
        **job.partition.settings,
        **make_weight_arguments(job, weights, apart=apart),
        "region_size": len(records),  # no border within the block
        "jobs": 1,
    }
    confidential = (
        *read_confidential_of_part(table.frame, config),
        *list_dominance_requirements(job, sampling),
    )
    divide = PARTITIONERS.of(job.partition).function
    if incomplete:
        result = partition_incomplete(
            records,
            (tuple(range(len(records.attributes))),),
            (divide, settings, on_progress),
            # means and variances are kept over all blocks
            job.model_copy(update={"aggregation": Mean()}),
            confidential,
            on_progress if repairs else None,
            weights=weights,
            require=_allow_nothing_published,
        )
        (block,) = result.blocks
        return block.labels, result.kept
    k = min(job.privacy.k, len(records))
    labels = divide(records, k, **settings, progress=on_progress).labels
    if repairs:
        labels = merge_until_satisfied(
            records,
            labels,
            list_requirements(confidential),
            progress=on_progress,
            weights=weights,
        )
    return labels, np.ones((len(records), len(records.attributes)), np.bool_)


def _allow_nothing_published(is_kept: Bool, names: Sequence[str]) -> None:
    """Let a block publish nothing of an attribute: others may."""


def compute_observed_means(
    Z: Floats, labels: Labels, method: str, weights: Floats | None
) -> tuple[Floats, Floats]:
    """Return means and centroids (m, p) of numbers Z (n, p), over the present values.

    nan if a group has none.  Weighted by (n,), if given.
    """
    if not np.isnan(Z).any():
        return _select_whole(Z, labels, method, weights)
    shape = int(labels.max()) + 1, Z.shape[1]
    means, centroids = np.full(shape, np.nan), np.full(shape, np.nan)
    for j, z in enumerate(Z.T):
        is_present = PresentRows.of(~np.isnan(z), labels)
        if len(is_present.rows):
            weights_of_rows = None if weights is None else weights[is_present.rows]
            found = _select_whole(
                z[is_present.rows, None], is_present.labels, method, weights_of_rows
            )
            means[is_present.there, j], centroids[is_present.there, j] = (
                x[:, 0] for x in found
            )
    return means, centroids


def _select_whole(
    Z: Floats, labels: Labels, method: str, weights: Floats | None
) -> tuple[Floats, Floats]:
    if not Z.shape[1]:
        nothing = np.empty((int(labels.max()) + 1, 0))
        return nothing, nothing
    means = group_means(Z, labels, weights)
    if method != "median":
        return means, means
    return means, median(Z, labels, weights=weights).centroids


def count_observed(is_kept: Bool, labels: Labels, weights: Floats | None) -> Floats:
    """Return how many values that are kept (n, d) each group has, (m, d); by weight."""
    weighted = multiply_by_weights(is_kept.astype(np.float64), weights)
    return np.stack([np.bincount(labels, x) for x in weighted.T], axis=1)
