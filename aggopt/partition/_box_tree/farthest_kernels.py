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
from aggopt.core.types import F32
from aggopt.core.validation import Floats
from aggopt.partition._box_tree.bound_kernels import TINY, exact, lost, project
from aggopt.partition._box_tree.pivot_kernels import pivot_slope, radius, tighten
from aggopt.partition._box_tree.pivots import Pivots
from aggopt.partition._box_tree.principal_axes import ROWS
from aggopt.partition._box_tree.tree import BRANCHING, LEAF, NOBODY, Tree
from aggopt.partition._box_tree.workspace import Workspace

ROUNDING = 1e-15  # above the error of one operation, for records within [-1, 1]
SLACK = 1e-6  # relative, of a squared distance: above rounding


@inner
def farthest(
    tree: Tree,
    pivots: Pivots,
    pivot: int,
    factor: float,
    point: Floats,
    workspace: Workspace,
) -> int:
    """Return the place of the record with most sum_t (factor x[t] - point[t])^2.

    Any pivot gives the result; one near point / factor gives it faster.

    It is found from any pivot, sooner from one near point / factor.
    """
    q = point / factor
    near = _slope(tree, q, pivots.points[:, pivot], workspace.slope)
    away = _slope(tree, q, tree.axes.origin, workspace.seen)
    view, square = np.empty(ROWS, np.float32), factor * factor * (1 + 4 * SLACK)
    more = pivot_slope(tree, pivots, pivot, view)
    for t in range(ROWS):
        workspace.corner[t] = workspace.slope[t] > 0
    nodes, size, place, best, who = workspace.nodes, 2, -1, -1.0, NOBODY
    nodes[0], nodes[1] = 0, pivots.start[pivot] + tree.above
    least = np.float32(-np.inf)
    while size > 0:
        size -= 1
        node, leaf = nodes[size], nodes[size] - tree.above
        if leaf < 0:
            if node > 0:
                tighten(tree, pivots, pivot, node)
            hits = _boxes(
                tree, pivots, pivot, node, _least(best / square - near), workspace
            )
            for b in range(BRANCHING):
                nodes[size] = BRANCHING * node + 1 + b
                size += (hits >> b) & 1
            continue
        hits = _records(tree, leaf, least, workspace)
        if hits == 0:
            branch, b = divmod(node - 1, BRANCHING)
            pivots.radius[pivot, branch, b] = radius(tree, leaf, view, more)
        for j in range(LEAF if hits else 0):
            if (hits >> j) & 1:
                v, i = exact(tree, LEAF * leaf + j, factor, point), tree.who[leaf, j]
                workspace.read[0] += len(point)
                if v >= best and (v > best or i < who):
                    place, best, who = LEAF * leaf + j, v, i
                    least = _least(best / square - away)
    pivots.start[pivot] = place // LEAF
    return place


@inlined
def _slope(tree: Tree, q: Floats, start: Floats, slope: F32) -> float:
    """Set the coefficient of each row on the way to q; return the constant term."""
    way, off, seen = q - start, start - tree.axes.origin, np.empty(ROWS)
    square = project(tree, way, seen)
    seen[-1] *= -1
    for i in range(len(seen)):
        slope[i] = -2 * seen[i]
    away = square + 2 * (way * off).sum() + lost(tree) * (square + (off * off).sum())
    rounding = ROUNDING * (len(way) + 4)
    away += rounding * 8 * np.abs(way).sum()
    # q itself is rounded: 2 ab <= a^2 SLACK + b^2 / SLACK
    return float(away + rounding**2 / SLACK)


@inlined
def _least(bound: float) -> np.float32:
    """Return a number in single precision that is less than the bound."""
    return np.float32(bound - abs(bound) / 2**23 - TINY)


@inlined
def _boxes(
    tree: Tree,
    pivots: Pivots,
    pivot: int,
    branch: int,
    least: np.float32,
    workspace: Workspace,
) -> int:
    """Return the boxes of a branch whose bound may be `least` or more, as bits."""
    sides, slope, corner = tree.sides, workspace.slope, workspace.corner
    hits = np.int32(0)
    for b in range(BRANCHING):
        bound = pivots.radius[pivot, branch, b]
        for t in range(ROWS):
            bound += slope[t] * sides[branch, corner[t], t, b]
        hits |= np.int32(bound >= least) << np.int32(b)
    workspace.read[0] += BRANCHING * ROWS
    return int(hits)


@inlined
def _records(tree: Tree, leaf: int, least: np.float32, workspace: Workspace) -> int:
    """Return the records of a leaf whose bound is `least` or more, as bits."""
    projections, slope = tree.projections, workspace.seen
    hits = np.int32(0)
    for j in range(LEAF):
        bound = tree.out[leaf, j]
        for t in range(ROWS):
            bound += slope[t] * projections[leaf, t, j]
        hits |= np.int32(bound >= least) << np.int32(j)
    workspace.read[0] += LEAF * ROWS
    held: int = (1 << tree.waiting[leaf]) - 1
    return int(hits) & held
