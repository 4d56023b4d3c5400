"""Workspace of the searches in a tree."""

from typing import NamedTuple

import numpy as np

from aggopt.core.types import F32, I64
from aggopt.core.validation import Floats
from aggopt.partition._box_tree.principal_axes import ROWS

DEEP = 256  # boxes in the stack of a search: BRANCHING for each of 32 levels


class Workspace(NamedTuple):
    """Workspace of one search.

    Attributes
    ----------
    nodes : (DEEP,)
        Nodes yet to be searched.
    seen, slope : (ROWS,)
        For the bounds on records and on boxes: the value that each row is compared
        with, or its coefficient.
    corner : (ROWS,)
        Corner of a box with the largest value of a row, by its slope.
    best, who, place : (k,)
        Heap of the nearest records so far, the farthest on top: their distances, their
        numbers, and their places in the tree.
    read : (2,)
        Number of entries read, and of those read for the centroid since the latest
        recentring.
    """

    nodes: I64
    seen: F32
    slope: F32
    corner: I64
    best: Floats
    who: I64
    place: I64
    read: I64


def create_workspace(k: int) -> Workspace:
    """Return workspace to search for k records."""
    return Workspace(
        np.empty(DEEP, np.int64),
        np.empty(ROWS, np.float32),
        np.empty(ROWS, np.float32),
        np.empty(ROWS, np.int64),
        np.empty(k),
        np.empty(k, np.int64),
        np.empty(k, np.int64),
        np.zeros(2, np.int64),
    )
