"""Merge groups until the linkage of the values to be written is within its limit."""

from dataclasses import replace

from aggopt.core.types import Labels
from aggopt.errors import InfeasibleInputError
from aggopt.partition.shared.result import Partition
from aggopt.pipeline.aggregate.aggregate_table import aggregate_table
from aggopt.pipeline.aggregate.units_and_records import copy_to_records
from aggopt.pipeline.finish.evaluate import measure_if_varying
from aggopt.pipeline.finish.published_values import round_release
from aggopt.pipeline.partition.merged_groups import (
    MergeableGroups,
    describe_merging,
    is_mergeable,
    make_merge_error,
)
from aggopt.pipeline.partition.partitioned_table import PartitionedTable
from aggopt.pipeline.prepare.inputs import Progress, read_progress
from aggopt.release.audit.risk_limits import is_at_most_limit


def keep_linkage(
    partitioned: PartitionedTable, on_progress: Progress
) -> PartitionedTable:
    """Return the table with groups merged until the linkage is within its limit.

    The values of each trial are computed, rounded and linked like those of the release.
    Groups that cannot be merged are unchanged: the audit decides on the limit.

    Raises
    ------
    InfeasibleInputError
        No merges keep the limit.
    """
    job = partitioned.job
    limit = job.privacy.linkage
    incomplete = partitioned.kept is not None
    mergeable = is_mergeable(job, partitioned.blocks, incomplete=incomplete)
    if limit is None or not mergeable or partitioned.wave is not None:
        return partitioned
    on_progress("repair", 0.0)
    (block,) = partitioned.blocks
    measured: list[float] = []

    def is_kept(labels: Labels) -> bool:
        try:
            share = _measure_linkage(partitioned, labels)
        except InfeasibleInputError:  # so few groups cannot keep the moments
            return False
        measured.append(1.0 if share is None else share)
        return is_at_most_limit(measured[-1], limit)

    groups = MergeableGroups.of(
        block,
        partitioned.records,
        job,
        partitioned.held,
        partitioned.strata,
        partitioned.weights,
    )
    merged = groups.merge_until(is_kept)
    if merged is None:
        raise make_merge_error("linkage", limit, min(measured, default=1.0))
    reasons = describe_merging("linkage", limit, block.groups, merged.groups)
    return replace(
        partitioned, blocks=(merged,), reasons=(*partitioned.reasons, *reasons)
    )


def _measure_linkage(partitioned: PartitionedTable, labels: Labels) -> float | None:
    """Return the linkage of the release with these groups; None if not measurable."""
    (block,) = partitioned.blocks
    partition = Partition(labels, block.partition.evidence)
    tried = replace(partitioned, blocks=(replace(block, partition=partition),))
    of_records, masked = copy_to_records(
        tried, aggregate_table(tried, read_progress(None))
    )
    released = round_release(of_records, masked.values)
    measures = measure_if_varying(of_records.table, released, {})
    return None if measures is None else measures.linkage
