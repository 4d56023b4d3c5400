"""A tree of boxes around the records that have no group; those that get one leave."""

from typing import NamedTuple

from aggopt.core.types import F32, I64
from aggopt.core.validation import Floats
from aggopt.partition._box_tree.principal_axes import Axes

LEAF = 16
BRANCHING = 8  # boxes per branch: so many bounds are computed side by side
NOBODY = 2**62  # comes after every record


class Tree(NamedTuple):
    """Nodes in boxes: a leaf holds records, a branch the boxes of BRANCHING nodes.

    Nodes are counted from the root, 0, level by level.  Node v > 0 is in box
    (v - 1) % BRANCHING of branch (v - 1) // BRANCHING.  Leaf l is node l + `above`.

    Attributes
    ----------
    records : (leaves, d, LEAF)
        Leaf by leaf; a record's entries lie side by side.
    projections : (leaves, ROWS, LEAF)
        Each record projected on the `axes`, in single precision.  Where a place holds
        none, that of a record which the leaf held.
    who : (leaves, LEAF)
        Which record that is.
    out : (leaves, LEAF)
        Squared distance of each record from the origin of `axes`, rather more.
    waiting : (leaves,)
        How many records of a leaf have no group: the first ones.
    sides : (branches, 2, ROWS, BRANCHING)
        Lower and upper corner of each box, tight around what waits in it.
    first : (branches, BRANCHING)
        The record in each box that comes first in X, NOBODY where none waits.
    axes
        What is projected on, for records and boxes.
    above
        How many nodes there is space for above the leaves.
    """

    records: Floats
    projections: F32
    who: I64
    out: F32
    waiting: I64
    sides: F32
    first: I64
    axes: Axes
    above: int

    def __repr__(self) -> str:
        """Return how many records wait, without values."""
        return f"Tree({self.waiting.sum()} of {self.who.size} places hold a record)"
