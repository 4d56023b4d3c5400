"""A tree of boxes around the records that have no group; those that get one leave."""

from typing import NamedTuple

import numpy as np

from aggopt.arrays import Floats
from aggopt.partition._pool import Integers, Pool

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
        Leaf by leaf, within a leaf attribute by attribute.
    who : (leaves, LEAF)
        Which record that is.
    out : (leaves, LEAF)
        Squared distance of each record from `centre`.
    waiting : (leaves,)
        How many records of a leaf have no group: the first ones.
    low, high : (branches, d, FAN)
        Corners of each box, drawn tight around the records that wait in it.
    reach : (branches, FAN)
        The most that `out` is in each box.
    first : (branches, FAN)
        The record in each box that comes first in X, NOBODY where none waits.
    centre : (d,)
        A point near the centroid of the records that wait.
    above
        How many nodes the levels above the leaves have room for.
    """

    records: Floats
    who: Integers
    out: Floats
    waiting: Integers
    low: Floats
    high: Floats
    reach: Floats
    first: Integers
    centre: Floats
    above: int

    def __repr__(self) -> str:
        """Tell how many records wait, and show none."""
        return f"Tree({self.waiting.sum()} of {self.who.size} places hold a record)"


def plant(pool: Pool) -> Tree:
    """Return a tree of the records of a pool that have no group."""
    from aggopt.partition._tree import plant_kernels as kernels

    tree = _empty(len(pool.records), pool.remaining)
    kernels.fill(tree, pool, kernels.arranged(pool))
    kernels.recentre(tree, tree.centre)
    return tree


def _empty(d: int, m: int) -> Tree:
    leaves = -(-m // LEAF)
    above = 1
    while (above - 1) // FAN + -(-leaves // FAN) > above:
        above = FAN * above + 1
    branches = (above - 1) // FAN + -(-leaves // FAN)
    waiting = np.full(leaves, LEAF)
    waiting[-1] = m - LEAF * (leaves - 1)
    return Tree(
        records=np.zeros((leaves, d, LEAF)),
        who=np.zeros((leaves, LEAF), np.int64),
        out=np.zeros((leaves, LEAF)),
        waiting=waiting,
        low=np.full((branches, d, FAN), np.inf),
        high=np.full((branches, d, FAN), -np.inf),
        reach=np.full((branches, FAN), -np.inf),
        first=np.full((branches, FAN), NOBODY),
        centre=np.zeros(d),
        above=above,
    )
