"""A tree of boxes around the records that have no group; those that get one leave."""

from typing import NamedTuple

import numpy as np

from aggopt.arrays import Floats
from aggopt.partition._pool import Integers, Pool
from aggopt.partition._tree import axes
from aggopt.partition._tree.axes import ROWS, Axes, Singles

LEAF = 16
FAN = 8  # boxes per branch: so many bounds are computed side by side
NOBODY = 2**62  # comes after every record


class Tree(NamedTuple):
    """Nodes in boxes: a leaf holds records, a branch holds the boxes of FAN nodes.

    Nodes are counted from the root, 0, level by level.  Node v > 0 is in box
    (v - 1) % FAN of branch (v - 1) // FAN.  Leaf l is node l + `above`.

    Attributes
    ----------
    records : (leaves, d, LEAF)
        Leaf by leaf; a record's entries lie side by side.
    images : (leaves, ROWS, LEAF)
        What the `axes` show of each record, in single precision.  Where a place holds
        none, that of a record which the leaf held.
    who : (leaves, LEAF)
        Which record that is.
    out : (leaves, LEAF)
        Squared distance of each record from the origin of `axes`, rather more.
    waiting : (leaves,)
        How many records of a leaf have no group: the first ones.
    sides : (branches, 2, ROWS, FAN)
        Lower and upper corner of each box, tight around the images that wait in it.
    first : (branches, FAN)
        The record in each box that comes first in X, NOBODY where none waits.
    axes
        What images and boxes show.
    above
        How many nodes the levels above the leaves have room for.
    """

    records: Floats
    images: Singles
    who: Integers
    out: Singles
    waiting: Integers
    sides: Singles
    first: Integers
    axes: Axes
    above: int

    def __repr__(self) -> str:
        """Tell how many records wait, and show none."""
        return f"Tree({self.waiting.sum()} of {self.who.size} places hold a record)"


def plant(pool: Pool) -> Tree:
    """Return a tree of the records of a pool that have no group."""
    from aggopt.partition._tree import plant_kernels as kernels

    records = pool.records[:, : pool.remaining]
    view = axes.of(records)
    seen, order = axes.images(view, records), np.argsort(pool.who[: pool.remaining])
    kernels.arrange(seen, order)
    tree = _empty(view, *records.shape)
    kernels.fill(tree, pool, seen, order)
    return tree


def _empty(view: Axes, d: int, m: int) -> Tree:
    leaves = -(-m // LEAF)
    above = 1
    while (above - 1) // FAN + -(-leaves // FAN) > above:
        above = FAN * above + 1
    branches = (above - 1) // FAN + -(-leaves // FAN)
    waiting = np.full(leaves, LEAF)
    waiting[-1] = m - LEAF * (leaves - 1)
    sides = np.full((branches, 2, ROWS, FAN), np.inf, np.float32)
    sides[:, 1] = -np.inf
    return Tree(
        records=np.zeros((leaves, LEAF, d)).transpose(0, 2, 1),
        images=np.zeros((leaves, ROWS, LEAF), np.float32),
        who=np.zeros((leaves, LEAF), np.int64),
        out=np.zeros((leaves, LEAF), np.float32),
        waiting=waiting,
        sides=sides,
        first=np.full((branches, FAN), NOBODY),
        axes=view,
        above=above,
    )
