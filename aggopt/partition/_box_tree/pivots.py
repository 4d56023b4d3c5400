"""Points from which all boxes of a tree have been measured."""

from typing import NamedTuple

import numpy as np

from aggopt.core.types import F32, I64
from aggopt.core.validation import Floats
from aggopt.partition._box_tree.tree import FAN, Tree

MOST = 128
TURNS = 16  # a post, measured once, is to serve, at least
CENTRE = 0  # the post that is near the centroid; the others are near the rim


class Posts(NamedTuple):
    """Posts: what is farthest from a point near one of them is told by few boxes.

    Attributes
    ----------
    points : (d, most)
        Where they are.
    reach : (most, branches, FAN)
        Squared distance to the farthest record in each box, or more: records that
        leave are noticed when the box is looked into.
    start : (most,)
        The leaf in which the farthest was found last.
    gaps : (most,)
        Room to work in.
    known : (1,)
        How many posts there are.
    """

    points: Floats
    reach: F32
    start: I64
    gaps: Floats
    known: I64

    def __repr__(self) -> str:
        """Tell how many posts there are, and show none."""
        return f"Posts({self.known[0]})"


def none(tree: Tree, turns: int) -> Posts:
    """Return room for as many posts as pay in so many turns."""
    d, branches, most = len(tree.axes.origin), len(tree.first), 1 + turns // TURNS
    most = min(most, MOST)
    return Posts(
        np.zeros((d, most)),
        np.empty((most, branches, FAN), np.float32),
        np.zeros(most, np.int64),
        np.empty(most),
        np.zeros(1, np.int64),
    )
