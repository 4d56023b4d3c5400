"""Search for the farthest record of a tree. Importing this imports numba.

With p a pivot, o the origin of the axes and w = q - p,

    |x - q|^2 = |x - p|^2 - 2 w (x - o) + 2 w (p - o) + |w|^2.

The last two are equal for all records.  The first is at most the `radius` of a box from
the pivot.  The second is, in terms of the axes, at most the sum over rows of slope
times row, with |w'| |x'| for the remainders w' and x', whose angle is unknown.  Records
are bounded likewise, from p = o.
"""

import numpy as np

from aggopt.core.compiled import inlined, inner
from aggopt.core.kernels import copy_into
from aggopt.core.types import F32
from aggopt.core.validation import Floats
from aggopt.partition._box_tree.bound_kernels import (
    TINY,
    bound_rounding,
    measure_exactly,
    project_vector,
)
from aggopt.partition._box_tree.tree import (
    BRANCHING,
    CENTRE,
    LEAF,
    NOBODY,
    ROWS,
    Pivots,
    Tree,
    Workspace,
)

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
    projections = tree.projections
    waiting = tree.waiting[leaf]
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
    count = pivots.known[0]
    gaps = pivots.gaps
    gaps[:count] = 0.0
    for t in range(len(point)):
        row = pivots.points[t]
        x = point[t]
        for i in range(count):
            gaps[i] += (row[i] - x) * (row[i] - x)
    best = CENTRE
    lowest = np.inf
    for i in range(CENTRE + 1, count):
        if gaps[i] < lowest:
            best = i
            lowest = gaps[i]
    if lowest <= NEAR * NEAR * gaps[CENTRE] or count == len(gaps):
        return int(best)
    pivots.known[0] += 1
    create_pivot(tree, pivots, count, point)
    return int(count)


ROUNDING = 1e-15  # above the error of one operation, for records within [-1, 1]
SLACK = 1e-6  # relative, of a squared distance: above rounding


@inner
def find_farthest(
    tree: Tree,
    pivots: Pivots,
    pivot: int,
    factor: float,
    point: Floats,
    workspace: Workspace,
) -> int:
    """Return the place of the record with most sum_t (factor x[t] - point[t])^2.

    Any pivot gives the result; one near point / factor gives it faster.
    """
    q = point / factor
    near = _compute_slope(tree, q, pivots.points[:, pivot], workspace.slope)
    away = _compute_slope(tree, q, tree.axes.origin, workspace.seen)
    view = np.empty(ROWS, np.float32)
    square = factor * factor * (1 + 4 * SLACK)
    more = compute_pivot_slope(tree, pivots, pivot, view)
    for t in range(ROWS):
        workspace.corner[t] = workspace.slope[t] > 0
    nodes = workspace.nodes
    size = 2
    place = -1
    best = -1.0
    best_id = NOBODY
    nodes[0], nodes[1] = 0, pivots.start[pivot] + tree.above
    threshold = np.float32(-np.inf)
    while size > 0:
        size -= 1
        node = nodes[size]
        leaf = nodes[size] - tree.above
        if leaf < 0:
            if node > 0:
                update_radius(tree, pivots, pivot, node)
            hits = _select_boxes(
                tree, pivots, pivot, node, _round_down(best / square - near), workspace
            )
            for b in range(BRANCHING):
                nodes[size] = BRANCHING * node + 1 + b
                size += (hits >> b) & 1
            continue
        hits = _select_records(tree, leaf, threshold, workspace)
        if hits == 0:
            branch, b = divmod(node - 1, BRANCHING)
            pivots.radius[pivot, branch, b] = compute_radius(tree, leaf, view, more)
        for j in range(LEAF if hits else 0):
            if (hits >> j) & 1:
                v = measure_exactly(tree, LEAF * leaf + j, factor, point)
                i = tree.ids[leaf, j]
                workspace.read[0] += len(point)
                if v >= best and (v > best or i < best_id):
                    place = LEAF * leaf + j
                    best = v
                    best_id = i
                    threshold = _round_down(best / square - away)
    pivots.start[pivot] = place // LEAF
    return place


@inlined
def _compute_slope(tree: Tree, q: Floats, start: Floats, slope: F32) -> float:
    """Set the coefficient of each row on the way to q; return the constant term."""
    way = q - start
    off = start - tree.axes.origin
    projections = np.empty(ROWS)
    square = project_vector(tree, way, projections)
    projections[-1] *= -1
    for i in range(len(projections)):
        slope[i] = -2 * projections[i]
    away = (
        square
        + 2 * (way * off).sum()
        + bound_rounding(tree) * (square + (off * off).sum())
    )
    rounding = ROUNDING * (len(way) + 4)
    away += rounding * 8 * np.abs(way).sum()
    # q itself is rounded: 2 ab <= a^2 SLACK + b^2 / SLACK
    return float(away + rounding**2 / SLACK)


@inlined
def _round_down(bound: float) -> np.float32:
    """Return a number in single precision that is less than the bound."""
    return np.float32(bound - abs(bound) / 2**23 - TINY)


@inlined
def _select_boxes(
    tree: Tree,
    pivots: Pivots,
    pivot: int,
    branch: int,
    threshold: np.float32,
    workspace: Workspace,
) -> int:
    """Return the boxes of a branch whose bound may be `least` or more, as bits."""
    sides = tree.sides
    slope = workspace.slope
    corner = workspace.corner
    hits = np.int32(0)
    for b in range(BRANCHING):
        bound = pivots.radius[pivot, branch, b]
        for t in range(ROWS):
            bound += slope[t] * sides[branch, corner[t], t, b]
        hits |= np.int32(bound >= threshold) << np.int32(b)
    workspace.read[0] += BRANCHING * ROWS
    return int(hits)


@inlined
def _select_records(
    tree: Tree, leaf: int, threshold: np.float32, workspace: Workspace
) -> int:
    """Return the records of a leaf whose bound is `least` or more, as bits."""
    projections = tree.projections
    slope = workspace.seen
    hits = np.int32(0)
    for j in range(LEAF):
        bound = tree.out[leaf, j]
        for t in range(ROWS):
            bound += slope[t] * projections[leaf, t, j]
        hits |= np.int32(bound >= threshold) << np.int32(j)
    workspace.read[0] += LEAF * ROWS
    occupied: int = (1 << tree.waiting[leaf]) - 1
    return int(hits) & occupied
