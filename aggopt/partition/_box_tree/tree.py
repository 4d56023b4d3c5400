"""A tree of boxes around the records that have no group; those that get one leave."""

from typing import NamedTuple

from aggopt.core.types import F32, I64
from aggopt.core.validation import Floats
from aggopt.partition._box_tree.principal_axes import Axes

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
    images: F32
    who: I64
    out: F32
    waiting: I64
    sides: F32
    first: I64
    axes: Axes
    above: int

    def __repr__(self) -> str:
        """Tell how many records wait, and show none."""
        return f"Tree({self.waiting.sum()} of {self.who.size} places hold a record)"
