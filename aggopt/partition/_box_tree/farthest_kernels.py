"""The farthest record of a tree.  Importing this imports numba.

With p a post, o the origin of the axes and w = q - p,

    |x - q|^2 = |x - p|^2 - 2 w (x - o) + 2 w (p - o) + |w|^2.

The last two are the same for all records.  The first is at most the `reach` of a box
from the post.  The second is, as the axes show it, at most the sum over rows of slope
times row, with |w'| |x'| for the rests w' and x', whose angle is not known.  Records
are bounded in the same way, from p = o.
"""

import numpy as np

from aggopt.core.compiled import inlined, inner
from aggopt.core.types import F32
from aggopt.core.validation import Floats
from aggopt.partition._box_tree.bound_kernels import TINY, exact, lost, turn
from aggopt.partition._box_tree.pivot_kernels import post_slope, reach, tighten
from aggopt.partition._box_tree.pivots import Posts
from aggopt.partition._box_tree.principal_axes import ROWS
from aggopt.partition._box_tree.tree import FAN, LEAF, NOBODY, Tree
from aggopt.partition._box_tree.workspace import Room

ROUNDING = 1e-15  # more than an operation loses, records being within [-1, 1]
SLACK = 1e-6  # relative, of a squared distance: more than rounding needs


@inner
def farthest(
    tree: Tree, posts: Posts, post: int, factor: float, point: Floats, room: Room
) -> int:
    """Return the place of the record with most sum_t (factor x[t] - point[t])^2.

    It is found from any post, sooner from one near point / factor.
    """
    q = point / factor
    near = _slope(tree, q, posts.points[:, post], room.slope)
    away = _slope(tree, q, tree.axes.origin, room.seen)
    view, square = np.empty(ROWS, np.float32), factor * factor * (1 + 4 * SLACK)
    more = post_slope(tree, posts, post, view)
    for t in range(ROWS):
        room.corner[t] = room.slope[t] > 0
    nodes, size, place, best, who = room.nodes, 2, -1, -1.0, NOBODY
    nodes[0], nodes[1] = 0, posts.start[post] + tree.above
    least = np.float32(-np.inf)
    while size > 0:
        size -= 1
        node, leaf = nodes[size], nodes[size] - tree.above
        if leaf < 0:
            if node > 0:
                tighten(tree, posts, post, node)
            hits = _boxes(tree, posts, post, node, _least(best / square - near), room)
            for b in range(FAN):
                nodes[size] = FAN * node + 1 + b
                size += (hits >> b) & 1
            continue
        hits = _records(tree, leaf, least, room)
        if hits == 0:
            branch, b = divmod(node - 1, FAN)
            posts.reach[post, branch, b] = reach(tree, leaf, view, more)
        for j in range(LEAF if hits else 0):
            if (hits >> j) & 1:
                v, i = exact(tree, LEAF * leaf + j, factor, point), tree.who[leaf, j]
                room.read[0] += len(point)
                if v >= best and (v > best or i < who):
                    place, best, who = LEAF * leaf + j, v, i
                    least = _least(best / square - away)
    posts.start[post] = place // LEAF
    return place


@inlined
def _slope(tree: Tree, q: Floats, start: Floats, slope: F32) -> float:
    """Set by how much rows count on the way to q; return what counts for all."""
    way, off, seen = q - start, start - tree.axes.origin, np.empty(ROWS)
    square = turn(tree, way, seen)
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
    """Return a number of single precision that is less."""
    return np.float32(bound - abs(bound) / 2**23 - TINY)


@inlined
def _boxes(
    tree: Tree, posts: Posts, post: int, branch: int, least: np.float32, room: Room
) -> int:
    """Return in which boxes of a branch the bound may be `least` or more, as bits."""
    sides, slope, corner = tree.sides, room.slope, room.corner
    hits = np.int32(0)
    for b in range(FAN):
        bound = posts.reach[post, branch, b]
        for t in range(ROWS):
            bound += slope[t] * sides[branch, corner[t], t, b]
        hits |= np.int32(bound >= least) << np.int32(b)
    room.read[0] += FAN * ROWS
    return int(hits)


@inlined
def _records(tree: Tree, leaf: int, least: np.float32, room: Room) -> int:
    """Return for which records of a leaf the bound is `least` or more, as bits."""
    images, slope = tree.images, room.seen
    hits = np.int32(0)
    for j in range(LEAF):
        bound = tree.out[leaf, j]
        for t in range(ROWS):
            bound += slope[t] * images[leaf, t, j]
        hits |= np.int32(bound >= least) << np.int32(j)
    room.read[0] += LEAF * ROWS
    held: int = (1 << tree.waiting[leaf]) - 1
    return int(hits) & held
