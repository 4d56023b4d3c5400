"""Groups of a block with missing values, and their published values."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from aggopt.aggregate import median
from aggopt.aggregate.aggregation import group_means
from aggopt.core.record_weights import multiply_by_weights
from aggopt.core.types import I64, Bool
from aggopt.core.validation import Floats, Labels
from aggopt.data.context.weights import read_sampling_weights
from aggopt.data.table import Table
from aggopt.encoding import Encoded
from aggopt.engine.state.run_state import LeafState
from aggopt.engine.steps.coordinates import compute_coordinates
from aggopt.engine.steps.global_confidential import read_confidential_of_part
from aggopt.engine.steps.strata import apply_within_strata
from aggopt.engine.steps.weights import read_weights, scale_weights
from aggopt.engine.storage.scratch_files import load_state, stop_on_request
from aggopt.job import Mean
from aggopt.partition.registry import PARTITIONERS
from aggopt.pipeline.aggregate.missing_values import PresentRows
from aggopt.pipeline.partition.methods import (
    list_dominance_requirements,
    make_weight_arguments,
)
from aggopt.pipeline.partition.missing_imputed import partition_incomplete


def partition_by_policy(
    table: Table, records: Encoded, config: LeafState
) -> tuple[Labels, Bool]:
    """Return the groups of records (n,), and a mask (n, d) of the values that decide.

    The job's policy makes them from a table, whose coordinates are `records`, or from
    each stratum independently.  Means and variances are kept over all blocks.
    """
    if config.strata is None:
        return _partition_incomplete(table, records, config)
    is_kept = np.empty((len(records), len(records.attributes)), np.bool_)

    def made(rows: I64) -> Labels:
        part = replace(table, frame=table.frame[rows])
        alone = compute_coordinates(part.matrix(), config, config.scale)
        labels, is_kept[rows] = _partition_incomplete(part, alone, config)
        return labels

    return apply_within_strata(
        load_state(config.strata).of(table.frame.to_arrow()), made
    ), is_kept


def _partition_incomplete(
    table: Table, records: Encoded, config: LeafState
) -> tuple[Labels, Bool]:
    on_progress = stop_on_request(config.work, 2 if config.job.privacy.repair else 1)
    job = config.job.model_copy(update={"aggregation": Mean()})
    weights, apart = (
        scale_weights(read_weights(table), config),
        job.missing.policy == "patterns",
    )
    method = PARTITIONERS.of(job.partition)
    one = {"jobs": 1, "region_size": len(records)}  # no border within the block
    settings = {
        **job.partition.settings,
        **make_weight_arguments(job, weights, apart=apart),
        **one,
    }
    columns = (tuple(range(len(records.attributes))),)
    confidential = (
        *read_confidential_of_part(table.frame, config),
        *list_dominance_requirements(job, read_sampling_weights(table)),
    )
    mended = on_progress if job.privacy.repair else None
    arguments = (
        records,
        columns,
        (method.function, settings, on_progress),
        job,
        confidential,
        mended,
    )
    incomplete = partition_incomplete(
        *arguments, weights=weights, require=_require_nothing
    )
    (block,) = incomplete.blocks
    return block.labels, incomplete.kept


def _require_nothing(is_kept: Bool, names: Sequence[str]) -> None:
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
