"""Selection of groups and blocks for the second search; its blocks have other cuts."""

from dataclasses import replace
from math import sqrt

import numpy as np

from aggopt.core.validation import Floats
from aggopt.engine.run_state import BlockState, Border, BorderState
from aggopt.engine.steps.border_groups import border_buckets, border_shuffle
from aggopt.engine.steps.split_tree import SplitTree, count_tree_levels
from aggopt.engine.steps.strata import assign_parts_to_blocks, split_strata
from aggopt.engine.storage.bucket_refs import BlockSource, Sources
from aggopt.engine.storage.shuffle import Each, run_second_step

MARGIN = 1.0  # radii of a group: how near a cut the second search looks


def cross_borders(each: Each, config: BlockState, sample: Floats, n: int) -> BlockState:
    """Return the blocks after groups near a cut have moved to blocks that cross it.

    `sample` (s, d) is the sample of n records that made the first tree.  A radius is
    the root of the mean squared error of the groups of all blocks.
    """
    if not config.tree.levels:
        return config
    count = len(config.blocks)
    within = MARGIN * sqrt(sum(each("look", count, config)) / n)
    near = sample[config.tree.margin(sample, np.arange(len(sample))) < within]
    share = len(near) / len(sample)
    tree = SplitTree.of(near, count_tree_levels(share * n, config.job.engine.block))
    border = Border(tree, within, count, count)
    cut = BorderState(**{**vars(config), "border": border})
    parted, spread = each("part", count, cut), border_shuffle(cut)
    cut, sizes = run_second_step(each, spread, parted, cut)
    stay = [number for number, own in enumerate(parted) if own[0]]
    blocks: list[Sources] = [
        (BlockSource("parted", number, number + 1, (0,)),) for number in stay
    ]
    if sizes[1:].any():
        least, again = 2 * config.job.privacy.k, border_buckets(cut)
        parts = split_strata(sizes[1:], again, lambda leaves: True, least)
        for block in assign_parts_to_blocks(parts, sizes[1:], again):
            leaves = [1 + leaf for part in block for leaf in part]
            blocks.append(spread.sources(leaves, cut))
    border = replace(border, staying=len(stay))
    return replace(cut, blocks=tuple(blocks), border=border)
