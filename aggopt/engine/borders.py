"""Which groups are looked at again, and in which blocks: cut where they are not."""

from collections.abc import Callable
from dataclasses import replace
from math import sqrt
from typing import Any

import numpy as np

from aggopt.core.validation import Floats
from aggopt.engine.config import Border, InBlocks
from aggopt.engine.sources import BlockSource
from aggopt.engine.split_tree import SplitTree, blocks_of, levels_of

MARGIN = 1.0  # radii of a group: how near a cut those lie that are looked at again

Each = Callable[[str, int, Any], list[Any]]


def across(each: Each, config: InBlocks, sample: Floats, n: int) -> InBlocks:
    """Return the blocks after groups near a cut have gone to blocks that cross it.

    `sample` (s, d) is that of which the first tree was made, of n records; a radius is
    the root of the mean squared error of the groups of all blocks.
    """
    if not config.tree.levels:
        return config
    count = len(config.blocks)
    within = MARGIN * sqrt(sum(each("look", count, config)) / n)
    near = sample[config.tree.margin(sample, np.arange(len(sample))) < within]
    share = len(near) / len(sample)
    tree = SplitTree.of(near, levels_of(share * n, config.job.engine.block))
    cut = replace(config, border=Border(tree, within, count, count))
    sizes = np.array(each("part", count, cut))
    blocks = [
        (BlockSource("parted", b, b + 1, (0,)),) for b in np.flatnonzero(sizes[:, 0])
    ]
    staying = len(blocks)
    if sizes[:, 1:].any():
        again = blocks_of(sizes[:, 1:].sum(axis=0), 2 * config.job.privacy.k)
        for leaves in again:
            buckets = tuple(1 + leaf for leaf in leaves)
            blocks.append((BlockSource("parted", 0, count, buckets),))
    border = Border(tree, within, count, staying)
    return replace(cut, blocks=tuple(blocks), border=border)
