"""Compiled loops that make and choose pivots. Importing this imports numba."""

import numpy as np

from aggopt.core.array_kernels import copy_into
from aggopt.core.compiled import inlined, inner
from aggopt.core.types import F32
from aggopt.core.validation import Floats
from aggopt.partition._box_tree.bound_kernels import lost, project
from aggopt.partition._box_tree.pivots import CENTRE, Pivots
from aggopt.partition._box_tree.principal_axes import ROWS
from aggopt.partition._box_tree.tree import BRANCHING, LEAF, Tree

NEAR = 0.4  # share of the distance from the centre within which a pivot serves


@inner
def put(tree: Tree, pivots: Pivots, pivot: int, point: Floats) -> None:
    """Make a point a pivot: measure all boxes from it."""
    copy_into(pivots.points[:, pivot], point)
    pivots.radius[pivot] = -np.inf
    slope = np.empty(ROWS, np.float32)
    more = pivot_slope(tree, pivots, pivot, slope)
    most = np.float32(-np.inf)
    for leaf in range(len(tree.waiting)):
        branch, b = divmod(leaf + tree.above - 1, BRANCHING)
        far = radius(tree, leaf, slope, more)
        pivots.radius[pivot, branch, b] = far
        if far > most:
            most, pivots.start[pivot] = far, leaf
    for node in range(len(tree.first) - 1, 0, -1):
        tighten(tree, pivots, pivot, node)


@inlined
def pivot_slope(tree: Tree, pivots: Pivots, pivot: int, slope: F32) -> float:
    """Set the coefficient of each row in a distance from a pivot; return the rest."""
    seen = np.empty(ROWS)
    square = project(tree, pivots.points[:, pivot] - tree.axes.origin, seen)
    seen[-1] *= -1
    for i in range(len(seen)):
        slope[i] = -2 * seen[i]
    return float(square * (1 + lost(tree)))


@inlined
def radius(tree: Tree, leaf: int, slope: F32, more: float) -> np.float32:
    """Return an upper bound on the squared distance to the records of a leaf."""
    projections, waiting = tree.projections, tree.waiting[leaf]
    most = np.int32(0)  # the bits of numbers >= 0 ascend, as integers do
    plus = np.float32(more)
    for j in range(LEAF):
        square = tree.out[leaf, j] + plus
        for t in range(ROWS):
            square += slope[t] * projections[leaf, t, j]
        bits = np.float32(square).view(np.int32)
        most = max(most, bits if j < waiting else np.int32(0))
    if waiting == 0:
        return np.float32(-np.inf)
    return np.float32(np.int32(most).view(np.float32) * np.float32(1 + lost(tree)))


@inlined
def tighten(tree: Tree, pivots: Pivots, pivot: int, node: int) -> None:
    """Set the radius of a branch other than the root to the largest of its boxes."""
    branch, b = divmod(node - 1, BRANCHING)
    most = np.float32(-np.inf)
    for c in range(BRANCHING):
        most = max(most, pivots.radius[pivot, node, c])
    pivots.radius[pivot, branch, b] = most


@inner
def serving(tree: Tree, pivots: Pivots, point: Floats) -> int:
    """Return a pivot near a point on the rim; make the point one if none is near."""
    count, gaps = pivots.known[0], pivots.gaps
    gaps[:count] = 0.0
    for t in range(len(point)):
        row, x = pivots.points[t], point[t]
        for i in range(count):
            gaps[i] += (row[i] - x) * (row[i] - x)
    best, least = CENTRE, np.inf
    for i in range(CENTRE + 1, count):
        if gaps[i] < least:
            best, least = i, gaps[i]
    if least <= NEAR * NEAR * gaps[CENTRE] or count == len(gaps):
        return int(best)
    pivots.known[0] += 1
    put(tree, pivots, count, point)
    return int(count)
