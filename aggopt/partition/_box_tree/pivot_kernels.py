"""Compiled loops that make and choose pivots. Importing this imports numba."""

import numpy as np

from aggopt.core.array_kernels import copy_into
from aggopt.core.compiled import inlined, inner
from aggopt.core.types import F32
from aggopt.core.validation import Floats
from aggopt.partition._box_tree.bound_kernels import bound_rounding, project_vector
from aggopt.partition._box_tree.pivots import CENTRE, Pivots
from aggopt.partition._box_tree.principal_axes import ROWS
from aggopt.partition._box_tree.tree import BRANCHING, LEAF, Tree

NEAR = 0.4  # share of the distance from the centre within which a pivot serves


@inner
def create_pivot(tree: Tree, pivots: Pivots, pivot: int, point: Floats) -> None:
    """Make a point a pivot: measure all boxes from it."""
    copy_into(pivots.points[:, pivot], point)
    pivots.radius[pivot] = -np.inf
    slope = np.empty(ROWS, np.float32)
    more = compute_pivot_slope(tree, pivots, pivot, slope)
    largest = np.float32(-np.inf)
    for leaf in range(len(tree.waiting)):
        branch, b = divmod(leaf + tree.above - 1, BRANCHING)
        far = compute_radius(tree, leaf, slope, more)
        pivots.radius[pivot, branch, b] = far
        if far > largest:
            largest, pivots.start[pivot] = far, leaf
    for node in range(len(tree.first) - 1, 0, -1):
        update_radius(tree, pivots, pivot, node)


@inlined
def compute_pivot_slope(tree: Tree, pivots: Pivots, pivot: int, slope: F32) -> float:
    """Set the coefficient of each row in a distance from a pivot; return the rest."""
    projections = np.empty(ROWS)
    square = project_vector(
        tree, pivots.points[:, pivot] - tree.axes.origin, projections
    )
    projections[-1] *= -1
    for i in range(len(projections)):
        slope[i] = -2 * projections[i]
    return float(square * (1 + bound_rounding(tree)))


@inlined
def compute_radius(tree: Tree, leaf: int, slope: F32, more: float) -> np.float32:
    """Return an upper bound on the squared distance to the records of a leaf."""
    projections, waiting = tree.projections, tree.waiting[leaf]
    largest = np.int32(0)  # the bits of numbers >= 0 ascend, as integers do
    plus = np.float32(more)
    for j in range(LEAF):
        square = tree.out[leaf, j] + plus
        for t in range(ROWS):
            square += slope[t] * projections[leaf, t, j]
        bits = np.float32(square).view(np.int32)
        largest = max(largest, bits if j < waiting else np.int32(0))
    if waiting == 0:
        return np.float32(-np.inf)
    return np.float32(
        np.int32(largest).view(np.float32) * np.float32(1 + bound_rounding(tree))
    )


@inlined
def update_radius(tree: Tree, pivots: Pivots, pivot: int, node: int) -> None:
    """Set the radius of a branch other than the root to the largest of its boxes."""
    branch, b = divmod(node - 1, BRANCHING)
    largest = np.float32(-np.inf)
    for c in range(BRANCHING):
        largest = max(largest, pivots.radius[pivot, node, c])
    pivots.radius[pivot, branch, b] = largest


@inner
def find_pivot(tree: Tree, pivots: Pivots, point: Floats) -> int:
    """Return a pivot near a point on the rim; make the point one if none is near."""
    count, gaps = pivots.known[0], pivots.gaps
    gaps[:count] = 0.0
    for t in range(len(point)):
        row, x = pivots.points[t], point[t]
        for i in range(count):
            gaps[i] += (row[i] - x) * (row[i] - x)
    best, lowest = CENTRE, np.inf
    for i in range(CENTRE + 1, count):
        if gaps[i] < lowest:
            best, lowest = i, gaps[i]
    if lowest <= NEAR * NEAR * gaps[CENTRE] or count == len(gaps):
        return int(best)
    pivots.known[0] += 1
    create_pivot(tree, pivots, count, point)
    return int(count)
