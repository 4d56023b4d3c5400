"""Pivots: points from which all boxes of a tree have been measured."""

from typing import NamedTuple

import numpy as np

from aggopt.core.types import F32, I64
from aggopt.core.validation import Floats
from aggopt.partition._box_tree.tree import BRANCHING, Tree

MOST = 128
TURNS = 16  # that a pivot, measured once, should serve at least
CENTRE = 0  # the pivot that is near the centroid; the others are near the rim


class Pivots(NamedTuple):
    """Pivots, near which few boxes can contain the farthest record.

    Attributes
    ----------
    points : (d, most)
        Their coordinates.
    radius : (most, branches, BRANCHING)
        Squared distance to the farthest record in each box, or more: removed records
        are noticed when the box is searched.
    start : (most,)
        Leaf of the latest farthest record.
    gaps : (most,)
        Workspace.
    known : (1,)
        Number of pivots.
    """

    points: Floats
    radius: F32
    start: I64
    gaps: Floats
    known: I64

    def __repr__(self) -> str:
        """Return the number of pivots, without values."""
        return f"Pivots({self.known[0]})"


def create_pivots(tree: Tree, turns: int) -> Pivots:
    """Return workspace for the number of pivots that pays in `turns` turns."""
    d, branches, max_pivots = len(tree.axes.origin), len(tree.first), 1 + turns // TURNS
    max_pivots = min(max_pivots, MOST)
    return Pivots(
        np.zeros((d, max_pivots)),
        np.empty((max_pivots, branches, BRANCHING), np.float32),
        np.zeros(max_pivots, np.int64),
        np.empty(max_pivots),
        np.zeros(1, np.int64),
    )
