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
from aggopt.engine.steps.coordinates import coordinates
from aggopt.engine.steps.global_confidential import confidential_attributes
from aggopt.engine.steps.strata import apply_within_strata
from aggopt.engine.steps.weights import read_weights, scale_weights
from aggopt.engine.storage.scratch_files import load_state, stop_on_request
from aggopt.job import Mean
from aggopt.partition.registry import PARTITIONERS
from aggopt.pipeline.aggregate.missing_values import PresentRows
from aggopt.pipeline.partition.methods import weight_arguments
from aggopt.pipeline.partition.missing_imputed import partition_incomplete
from aggopt.pipeline.partition.requirements import dominance_requirements


def partition_by_policy(
    table: Table, records: Encoded, config: LeafState
) -> tuple[Labels, Bool]:
    """Return the groups of records (n,), and a mask (n, d) of the values that decide.

    The job's policy makes them from a table, whose coordinates are `records`, or from
    each stratum independently.  Means and variances are kept over all blocks.
    """
    if config.strata is None:
        return _by_policy(table, records, config)
    kept = np.empty((len(records), len(records.attributes)), np.bool_)

    def made(own: I64) -> Labels:
        part = replace(table, frame=table.frame[own])
        alone = coordinates(part.matrix(), config, config.scale)
        labels, kept[own] = _by_policy(part, alone, config)
        return labels

    return apply_within_strata(
        load_state(config.strata).of(table.frame.to_arrow()), made
    ), kept


def _by_policy(
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
        **weight_arguments(job, weights, apart=apart),
        **one,
    }
    columns = (tuple(range(len(records.attributes))),)
    held = (
        *confidential_attributes(table.frame, config),
        *dominance_requirements(job, read_sampling_weights(table)),
    )
    mended = on_progress if job.privacy.repair else None
    given = (
        records,
        columns,
        (method.function, settings, on_progress),
        job,
        held,
        mended,
    )
    found = partition_incomplete(*given, weights=weights, require=_require_nothing)
    (block,) = found.blocks
    return block.labels, found.kept


def _require_nothing(kept: Bool, names: Sequence[str]) -> None:
    """Let a block publish nothing of an attribute: others may."""


def observed_means(
    Z: Floats, labels: Labels, method: str, weights: Floats | None
) -> tuple[Floats, Floats]:
    """Return means and centroids (m, p) of numbers Z (n, p), over the present values.

    nan if a group has none.  Weighted by (n,), if given.
    """
    if not np.isnan(Z).any():
        return _of_whole(Z, labels, method, weights)
    shape = int(labels.max()) + 1, Z.shape[1]
    means, centroids = np.full(shape, np.nan), np.full(shape, np.nan)
    for j, z in enumerate(Z.T):
        own = PresentRows.of(~np.isnan(z), labels)
        if len(own.rows):
            each = None if weights is None else weights[own.rows]
            found = _of_whole(z[own.rows, None], own.labels, method, each)
            means[own.there, j], centroids[own.there, j] = (x[:, 0] for x in found)
    return means, centroids


def _of_whole(
    Z: Floats, labels: Labels, method: str, weights: Floats | None
) -> tuple[Floats, Floats]:
    if not Z.shape[1]:
        nothing = np.empty((int(labels.max()) + 1, 0))
        return nothing, nothing
    means = group_means(Z, labels, weights)
    if method != "median":
        return means, means
    return means, median(Z, labels, weights=weights).centroids


def observed_sizes(kept: Bool, labels: Labels, weights: Floats | None) -> Floats:
    """Return how many values that are kept (n, d) each group has, (m, d); by weight."""
    own = multiply_by_weights(kept.astype(np.float64), weights)
    return np.stack([np.bincount(labels, x) for x in own.T], axis=1)
