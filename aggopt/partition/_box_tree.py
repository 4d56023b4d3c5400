"""Tree of boxes around the records without a group; assigned records are removed."""

from typing import NamedTuple

import numpy as np

from aggopt.core.types import F32, I64, Floats

ROWS = 12  # summed in parallel, so that their number is fixed
SAMPLE = 4000  # records that determine the directions, roughly


class Axes(NamedTuple):
    """Axes on which records are projected.

    Attributes
    ----------
    origin : (d,)
        Central point of the records, robust to a few far ones.
    directions : (ROWS, d)
        Orthogonal directions of length 1, at most ROWS - 1, then zeros; the last row
        represents the remainder.
    """

    origin: Floats
    directions: Floats

    def __repr__(self) -> str:
        """Return the number of attributes, without values."""
        return f"Axes({len(self.origin)} attributes)"


def fit_axes(records: Floats) -> Axes:
    """Return the principal axes of records, which are columns of (d, m)."""
    some = records[:, :: -(-records.shape[1] // SAMPLE)]
    origin = np.median(some, axis=1)
    gaps = some - origin[:, None]
    length = np.sqrt((gaps**2).sum(axis=0))
    gaps /= np.where(length > 0, length, 1)  # each has equal weight, however far
    _, vectors = np.linalg.eigh(gaps @ gaps.T)  # in ascending order of their share
    directions = np.zeros((ROWS, len(some)))
    directions[: min(ROWS - 1, len(some))] = vectors.T[::-1][: ROWS - 1]
    return Axes(origin, directions)


def project_records(axes: Axes, records: Floats) -> F32:
    """Return the records' coordinates on the axes, and their rests: (ROWS, m)."""
    gaps = records - axes.origin[:, None]
    projected = axes.directions @ gaps
    rest = (gaps**2).sum(axis=0) - (projected**2).sum(axis=0)
    projected[-1] = np.sqrt(np.maximum(rest, 0.0))
    return projected.astype(np.float32)


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
    ids : (leaves, LEAF)
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
    ids: I64
    out: F32
    waiting: I64
    sides: F32
    first: I64
    axes: Axes
    above: int

    def __repr__(self) -> str:
        """Return the number of waiting records, without values."""
        return f"Tree({self.waiting.sum()} of {self.ids.size} places hold a record)"


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
    number : (1,)
        Number of pivots.
    """

    points: Floats
    radius: F32
    start: I64
    gaps: Floats
    number: I64

    def __repr__(self) -> str:
        """Return the number of pivots, without values."""
        return f"Pivots({self.number[0]})"


def create_pivots(tree: Tree, turns: int) -> Pivots:
    """Return arrays for the reference points of farthest searches in `turns` turns."""
    d = len(tree.axes.origin)
    branches = len(tree.first)
    max_pivots = 1 + turns // TURNS
    max_pivots = min(max_pivots, MOST)
    return Pivots(
        np.zeros((d, max_pivots)),
        np.empty((max_pivots, branches, BRANCHING), np.float32),
        np.zeros(max_pivots, np.int64),
        np.empty(max_pivots),
        np.zeros(1, np.int64),
    )


DEEP = 256  # boxes in the stack of a search: BRANCHING for each of 32 levels


class Workspace(NamedTuple):
    """Workspace of one search.

    Attributes
    ----------
    nodes : (DEEP,)
        Nodes yet to be searched.
    coefficients, slope : (ROWS,)
        For the bounds on records and on boxes: the value that each row is compared
        with, or its coefficient.
    corner : (ROWS,)
        Corner of a box with the largest value of a row, by its slope.
    best, ids, place : (k,)
        Heap of the nearest records so far, the farthest on top: their distances, their
        numbers, and their places in the tree.
    read : (2,)
        Number of entries read, and of those read for the centroid since the latest
        recentring.
    """

    nodes: I64
    coefficients: F32
    slope: F32
    corner: I64
    best: Floats
    ids: I64
    place: I64
    read: I64


def create_workspace(k: int) -> Workspace:
    """Return the arrays that a search for the k nearest records needs."""
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
