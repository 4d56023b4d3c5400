"""Tasks of a second look: groups near a cut meet those that lie beyond it.

Groups of a block end at its borders.  Those that lie near one go, with all of their
records, to blocks that are cut elsewhere, and are searched once more there.
"""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from aggopt.aggregate._aggregation import group_means
from aggopt.core.group_sums import group_sse
from aggopt.core.types import I64
from aggopt.core.validation import Labels
from aggopt.encoding import Encoded
from aggopt.encoding._incomplete import in_rows
from aggopt.engine.block_rows import groups_before, of_block
from aggopt.engine.config import Border, InBlocks, InBorders
from aggopt.engine.coordinates import coordinates
from aggopt.engine.passes_in import table_of
from aggopt.engine.strata import within
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
    labels, Z = grouped_anew(table, records, config), records.coordinates
    weights = known_of(each_of(table), config)
    means = group_means(Z, labels, weights)
    save(config.at("looked", number), labels=labels, means=means)
    return group_sse(Z, labels, weights)


def parted(number: int, config: InBorders) -> list[int]:
    """Write the records of a block by where their group goes; return how many go.

    Bucket 0 stays a block; the others are the leaves of the tree that is cut elsewhere.
    """
    rows, numbers = of_block(number, config)
    held, again = load(config.at("looked", number)), config.border.tree
    labels, means = held["labels"], held["means"]
    name = named(np.arange(len(means)), number)
    near = config.tree.margin(means, name) < config.border.within
    leaf = np.where(near, 1 + again.leaf(means, name), 0)
    out = with_column(with_column(rows, numbers), name[labels])
    to = config.at("parted", number)
    return across_cuts(config.border).write(to, out, leaf[labels])


def across_cuts(border: Border) -> Spread:
    """Return how records are spread over a block that stays, and leaves that cross."""
    return Spread("parted", border.parts, 1 + border.tree.leaves, alone=1)


def named(labels: Any, block: int) -> Any:
    """Return numbers of groups that those of no other block have."""
    return (np.int64(block) << GROUP_BITS) + labels


def groups_of(number: int, table: Table, records: Encoded, config: InBlocks) -> Labels:
    """Return the groups of the records of a block."""
    border = config.border
    if config.strata is not None:
        strata = handed_out(config.strata).of(table.frame.to_arrow())
        return within(strata, lambda own: _of_rows(own, table, records, config))
    if border is None:
        return grouped_anew(table, records, config)
    given = groups_before(number, config)
    if number < border.staying:
        return given
    try:
        found = grouped_anew(table, records, config, given)
    except InfeasibleInputError:  # what stays away is wanted to keep t
        return given
    weights = known_of(each_of(table), config)
    return min(
        found, given, key=partial(group_sse, records.coordinates, weights=weights)
    )


def _of_rows(own: I64, table: Table, records: Encoded, config: InBlocks) -> Labels:
    """Return the groups of some records, by themselves."""
    part = replace(table, frame=table.frame[own])
    there = np.ones(len(records.attributes), bool)
    return grouped_anew(part, in_rows(records, own, there), config)


def grouped_anew(
    table: Table, records: Encoded, config: InBlocks, given: Labels | None = None
) -> Labels:
    """Return groups of a table, and keep by merging what is promised.

    `records` are its coordinates; the search sets out from groups that are given, if
    any.
    """
    job, each = config.job, each_of(table)
    told = checker(config.work, 2 if job.privacy.repair else 1)
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
        progress=told,
    )
    if not job.privacy.repair:
        return made.labels
    asked = (*requirements_of(held_of(table.frame, config)), *of_weights(job, each))
    return merge_until_satisfied(
        records, made.labels, asked, progress=told, weights=weights
    )
