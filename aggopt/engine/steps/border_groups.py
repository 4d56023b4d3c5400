"""Tasks of the second search: groups near a cut meet the groups beyond it.

Groups of a block end at its borders.  Groups near a border move, with all of their
records, to blocks that are cut at other places, and are searched again there.
"""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from aggopt.aggregate.aggregation import group_means
from aggopt.core.group_sums import group_sse
from aggopt.core.types import I64
from aggopt.core.validation import Labels, renumber_groups
from aggopt.data.context.confidential import list_requirements
from aggopt.data.table import Table
from aggopt.encoding import Encoded
from aggopt.encoding.incomplete import in_rows
from aggopt.engine.run_state import BlockState, BorderState, LeafState
from aggopt.engine.steps.coordinates import coordinates
from aggopt.engine.steps.describe import check_table
from aggopt.engine.steps.global_confidential import confidential_attributes
from aggopt.engine.steps.strata import (
    apply_within_strata,
    count_buckets,
    find_bucket,
    has_records_elsewhere,
)
from aggopt.engine.steps.weights import (
    read_weights,
    requirements_of_weights,
    scale_weights,
)
from aggopt.engine.storage.block_rows import read_block, read_earlier_groups
from aggopt.engine.storage.scratch_files import (
    append_column,
    load_arrays,
    load_state,
    save_arrays,
    stop_on_request,
)
from aggopt.engine.storage.shuffle import Shuffle
from aggopt.errors import InfeasibleInputError
from aggopt.partition.registry import PARTITIONERS
from aggopt.pipeline.validate.sampling_weights import weight_arguments
from aggopt.repair.merge_until_satisfied import merge_until_satisfied

GROUP_BITS = 32  # of a group's number: the rest is its block's
OF_START = ("inner", "block_size")  # settings of the start of a search


def partition_first_pass(number: int, config: BlockState) -> float:
    """Partition a block for the first time; return the squared error of its groups."""
    table = check_table(read_block(number, config)[0], config)
    records = coordinates(table.matrix(), config, config.scale)
    labels, Z = partition_in_strata(table, records, config), records.coordinates
    weights = scale_weights(read_weights(table), config)
    means = group_means(Z, labels, weights)
    save_arrays(config.at("looked", number), labels=labels, means=means)
    return group_sse(Z, labels, weights)


def route_border_groups(number: int, config: BorderState) -> list[int]:
    """Write the records of a block by the bucket of their group; return the counts.

    Bucket 0 stays a block; the others are the leaves of the second tree.
    """
    rows, numbers = read_block(number, config)
    held, again = load_arrays(config.at("looked", number)), border_buckets(config)
    labels, means = held["labels"], held["means"]
    name = number_groups(np.arange(len(means)), number)
    first = np.unique(labels, return_index=True)[1]
    near = config.tree.margin(means, name) < config.border.within
    near &= has_records_elsewhere(rows, config)[first]
    leaf = again.tree.leaf(means, name)
    bucket = 1 + find_bucket(leaf, rows.take(pa.array(first)), again)
    to, out = config.at("parted", number), append_column(rows, numbers)
    out = append_column(out, name[labels])
    return border_shuffle(config).write(to, out, np.where(near, bucket, 0)[labels])


def border_buckets(config: BorderState) -> LeafState:
    """Return the leaf state with the tree that crosses the cuts of the first one."""
    return replace(config, tree=config.border.tree, buckets=None)


def border_shuffle(config: BorderState) -> Shuffle:
    """Return the shuffle of records to a block that stays, and leaves that cross."""
    files, leaves = config.border.parts, count_buckets(border_buckets(config))
    return Shuffle("parted", files, 1 + leaves, alone=1)


def number_groups(labels: Any, block: int) -> Any:
    """Return group numbers that no other block uses."""
    return (np.int64(block) << GROUP_BITS) + labels


def read_groups(
    number: int, table: Table, records: Encoded, config: BlockState
) -> Labels:
    """Return the groups of the records of a block."""
    border = config.border
    if border is None:
        return partition_in_strata(table, records, config)
    given = read_earlier_groups(number, config)
    if number < border.staying:
        return given
    return partition_in_strata(table, records, config, given)


def partition_in_strata(
    table: Table, records: Encoded, config: LeafState, given: Labels | None = None
) -> Labels:
    """Return groups of records, (n,), made within each stratum independently.

    They are no worse than the given groups, if any.
    """
    if config.strata is None:
        return _no_worse(table, records, config, given)
    there = np.ones(len(records.attributes), bool)

    def made(own: I64) -> Labels:
        part = replace(table, frame=table.frame[own])
        before = None if given is None else renumber_groups(given[own])
        return _no_worse(part, in_rows(records, own, there), config, before)

    return apply_within_strata(
        load_state(config.strata).of(table.frame.to_arrow()), made
    )


def _no_worse(
    table: Table, records: Encoded, config: LeafState, given: Labels | None
) -> Labels:
    if given is None:
        return partition_again(table, records, config)
    try:
        found = partition_again(table, records, config, given)
    except InfeasibleInputError:  # what stays away is wanted to keep t
        return given
    weights = scale_weights(read_weights(table), config)
    return min(
        found, given, key=partial(group_sse, records.coordinates, weights=weights)
    )


def partition_again(
    table: Table, records: Encoded, config: LeafState, given: Labels | None = None
) -> Labels:
    """Return groups of a table, merged until they satisfy the requirements.

    `records` are its coordinates; the search starts from the given groups, if any.
    """
    job, each = config.job, read_weights(table)
    on_progress = stop_on_request(config.work, 2 if job.privacy.repair else 1)
    weights = scale_weights(each, config)
    settings = {**job.partition.settings, **weight_arguments(job, weights)}
    if given is not None:
        settings = {n: v for n, v in settings.items() if n not in OF_START}
        settings["initial_labels"] = given
    made = PARTITIONERS.of(job.partition).function(
        records,
        min(job.privacy.k, len(records)),
        **settings,
        region_size=len(records),  # all of them: no border within
        jobs=1,
        progress=on_progress,
    )
    if not job.privacy.repair:
        return made.labels
    asked = (
        *list_requirements(confidential_attributes(table.frame, config)),
        *requirements_of_weights(job, each),
    )
    return merge_until_satisfied(
        records, made.labels, asked, progress=on_progress, weights=weights
    )
