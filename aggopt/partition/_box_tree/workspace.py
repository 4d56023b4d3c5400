"""Workspace of the searches of a tree."""

from typing import NamedTuple

import numpy as np

from aggopt.core.types import F32, I64
from aggopt.core.validation import Floats
from aggopt.partition._box_tree.principal_axes import ROWS

DEEP = 256  # boxes that can wait to be searched: BRANCHING for each of 32 levels


class Workspace(NamedTuple):
    """Workspace of one search.

    Attributes
    ----------
    nodes : (DEEP,)
        Nodes yet to be searched.
    seen, slope : (ROWS,)
        Of the bounds on records and on boxes: what each row is compared with, or by
        how much it counts.
    corner : (ROWS,)
        Which corner of a box has the most of a row, by its slope.
    best, who, place : (k,)
        A heap of the nearest records so far, the least near of them on top: their
        distances, which records they are, and where the tree holds them.
    read : (2,)
        How many entries have been read, and how many of them for the centroid since
        the tree was recentred.
    """

    nodes: I64
    seen: F32
    slope: F32
    corner: I64
    best: Floats
    who: I64
    place: I64
    read: I64


def start(k: int) -> Workspace:
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
