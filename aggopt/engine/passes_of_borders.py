"""Tasks of a second look: groups near a cut meet those that lie beyond it.

Groups of a block end at its borders.  Those that lie near one go, with all of their
records, to blocks that are cut elsewhere, and are searched once more there.
"""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from aggopt.aggregate._aggregation import group_means
from aggopt.core.group_sums import group_sse
from aggopt.core.types import I64
from aggopt.core.validation import Labels, numbered
from aggopt.encoding import Encoded
from aggopt.encoding._incomplete import in_rows
from aggopt.engine.block_rows import groups_before, of_block
from aggopt.engine.config import InBlocks, InBorders, InLeaves
from aggopt.engine.coordinates import coordinates
from aggopt.engine.passes_in import table_of
from aggopt.engine.strata import bucket_of, buckets_of, elsewhere, within
from aggopt.engine.two_levels import Spread
from aggopt.engine.weights import each_of, known_of, of_weights
from aggopt.engine.whole import held_of
from aggopt.engine.workspace import checker, handed_out, load, save, with_column
from aggopt.errors import InfeasibleInputError
from aggopt.input.confidential import requirements_of
from aggopt.input.table import Table
from aggopt.partition._registry import PARTITIONERS
from aggopt.pipeline.sampling_weights import by_weight
from aggopt.repair._merge_until_satisfied import merge_until_satisfied

GROUP_BITS = 32  # of a group's number: the rest is its block's
OF_START = ("inner", "block_size")  # settings that say how a search begins


def looked(number: int, config: InBlocks) -> float:
    """Partition a block for the first time; return the squared error of its groups."""
    table = table_of(of_block(number, config)[0], config)
    records = coordinates(table.matrix(), config, config.scale)
    labels, Z = groups_within(table, records, config), records.coordinates
    weights = known_of(each_of(table), config)
    means = group_means(Z, labels, weights)
    save(config.at("looked", number), labels=labels, means=means)
    return group_sse(Z, labels, weights)


def parted(number: int, config: InBorders) -> list[int]:
    """Write the records of a block by where their group goes; return how many go.

    Bucket 0 stays a block; the others are the leaves of the tree that is cut elsewhere.
    """
    rows, numbers = of_block(number, config)
    held, again = load(config.at("looked", number)), beyond(config)
    labels, means = held["labels"], held["means"]
    name = named(np.arange(len(means)), number)
    first = np.unique(labels, return_index=True)[1]
    near = config.tree.margin(means, name) < config.border.within
    near &= elsewhere(rows, config)[first]
    leaf = again.tree.leaf(means, name)
    bucket = 1 + bucket_of(leaf, rows.take(pa.array(first)), again)
    to, out = config.at("parted", number), with_column(rows, numbers)
    out = with_column(out, name[labels])
    return across_cuts(config).write(to, out, np.where(near, bucket, 0)[labels])


def beyond(config: InBorders) -> InLeaves:
    """Return how records are cut that go to blocks across the cuts of the others."""
    return replace(config, tree=config.border.tree, buckets=None)


def across_cuts(config: InBorders) -> Spread:
    """Return how records are spread over a block that stays, and leaves that cross."""
    files, leaves = config.border.parts, buckets_of(beyond(config))
    return Spread("parted", files, 1 + leaves, alone=1)


def named(labels: Any, block: int) -> Any:
    """Return numbers of groups that those of no other block have."""
    return (np.int64(block) << GROUP_BITS) + labels


def groups_of(number: int, table: Table, records: Encoded, config: InBlocks) -> Labels:
    """Return the groups of the records of a block."""
    border = config.border
    if border is None:
        return groups_within(table, records, config)
    given = groups_before(number, config)
    if number < border.staying:
        return given
    return groups_within(table, records, config, given)


def groups_within(
    table: Table, records: Encoded, config: InLeaves, given: Labels | None = None
) -> Labels:
    """Return groups of records, (n,), of those of each stratum by themselves.

    No worse than groups that are given, if any.
    """
    if config.strata is None:
        return _no_worse(table, records, config, given)
    there = np.ones(len(records.attributes), bool)

    def made(own: I64) -> Labels:
        part = replace(table, frame=table.frame[own])
        before = None if given is None else numbered(given[own])
        return _no_worse(part, in_rows(records, own, there), config, before)

    return within(handed_out(config.strata).of(table.frame.to_arrow()), made)


def _no_worse(
    table: Table, records: Encoded, config: InLeaves, given: Labels | None
) -> Labels:
    if given is None:
        return grouped_anew(table, records, config)
    try:
        found = grouped_anew(table, records, config, given)
    except InfeasibleInputError:  # what stays away is wanted to keep t
        return given
    weights = known_of(each_of(table), config)
    return min(
        found, given, key=partial(group_sse, records.coordinates, weights=weights)
    )


def grouped_anew(
    table: Table, records: Encoded, config: InLeaves, given: Labels | None = None
) -> Labels:
    """Return groups of a table, and keep by merging what is promised.

    `records` are its coordinates; the search sets out from groups that are given, if
    any.
    """
    job, each = config.job, each_of(table)
    on_progress = checker(config.work, 2 if job.privacy.repair else 1)
    weights = known_of(each, config)
    settings = {**job.partition.settings, **by_weight(job, weights)}
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
    asked = (*requirements_of(held_of(table.frame, config)), *of_weights(job, each))
    return merge_until_satisfied(
        records, made.labels, asked, progress=on_progress, weights=weights
    )
