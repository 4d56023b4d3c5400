"""Tree of boxes around the records without a group; assigned records are removed."""

from typing import NamedTuple

from aggopt.core.types import F32, I64
from aggopt.core.validation import Floats
from aggopt.partition._box_tree.principal_axes import Axes

LEAF = 16
BRANCHING = 8  # boxes per branch, whose bounds are computed in parallel
NOBODY = 2**62  # greater than every record


class Tree(NamedTuple):
    """Nodes in boxes: a leaf contains records, a branch the boxes of BRANCHING nodes.

    Nodes are counted from the root, 0, level by level.  Node v > 0 is in box
    (v - 1) % BRANCHING of branch (v - 1) // BRANCHING.  Leaf l is node l + `above`.

    Attributes
    ----------
    records : (leaves, d, LEAF)
        Leaf by leaf; a record's entries are adjacent.
    projections : (leaves, ROWS, LEAF)
        Each record projected on the `axes`, in single precision.  An empty place keeps
        the projection of a removed record.
    who : (leaves, LEAF)
        Record of each place.
    out : (leaves, LEAF)
        Squared distance of each record from the origin of `axes`, rounded up.
    waiting : (leaves,)
        Number of records of a leaf without a group: the first ones.
    sides : (branches, 2, ROWS, BRANCHING)
        Lower and upper corner of each box, tight around its waiting records.
    first : (branches, BRANCHING)
        The waiting record of each box that is first in X, NOBODY if it is empty.
    axes
        Axes of the projections of records and boxes.
    above
        Number of nodes allocated above the leaves.
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
        """Return the number of waiting records, without values."""
        return f"Tree({self.waiting.sum()} of {self.who.size} places hold a record)"
