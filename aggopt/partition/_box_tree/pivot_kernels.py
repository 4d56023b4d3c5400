"""Posts are put up and chosen, in compiled loops.  Importing this imports numba."""

import numpy as np

from aggopt.core.array_kernels import copy_into
from aggopt.core.compiled import inlined, inner
from aggopt.core.types import F32
from aggopt.core.validation import Floats
from aggopt.partition._box_tree.bound_kernels import lost, turn
from aggopt.partition._box_tree.pivots import CENTRE, Posts
from aggopt.partition._box_tree.principal_axes import ROWS
from aggopt.partition._box_tree.tree import FAN, LEAF, Tree

NEAR = 0.4  # a post serves points that are nearer to it than so much of its distance


@inner
def put(tree: Tree, posts: Posts, post: int, point: Floats) -> None:
    """Put a post at a point: measure all boxes from there."""
    copy_into(posts.points[:, post], point)
    posts.reach[post] = -np.inf
    slope = np.empty(ROWS, np.float32)
    more = post_slope(tree, posts, post, slope)
    most = np.float32(-np.inf)
    for leaf in range(len(tree.waiting)):
        branch, b = divmod(leaf + tree.above - 1, FAN)
        far = reach(tree, leaf, slope, more)
        posts.reach[post, branch, b] = far
        if far > most:
            most, posts.start[post] = far, leaf
    for node in range(len(tree.first) - 1, 0, -1):
        tighten(tree, posts, post, node)


@inlined
def post_slope(tree: Tree, posts: Posts, post: int, slope: F32) -> float:
    """Set by how much rows count in a distance from a post; return what is the same."""
    seen = np.empty(ROWS)
    square = turn(tree, posts.points[:, post] - tree.axes.origin, seen)
    seen[-1] *= -1
    for i in range(len(seen)):
        slope[i] = -2 * seen[i]
    return float(square * (1 + lost(tree)))


@inlined
def reach(tree: Tree, leaf: int, slope: F32, more: float) -> np.float32:
    """Return the squared distance to the farthest record of a leaf, or more."""
    images, waiting = tree.images, tree.waiting[leaf]
    most = np.int32(0)  # the bits of numbers >= 0 ascend; side by side, as integers
    plus = np.float32(more)
    for j in range(LEAF):
        square = tree.out[leaf, j] + plus
        for t in range(ROWS):
            square += slope[t] * images[leaf, t, j]
        bits = np.float32(square).view(np.int32)
        most = max(most, bits if j < waiting else np.int32(0))
    if waiting == 0:
        return np.float32(-np.inf)
    return np.float32(np.int32(most).view(np.float32) * np.float32(1 + lost(tree)))


@inlined
def tighten(tree: Tree, posts: Posts, post: int, node: int) -> None:
    """Set the reach of a branch other than the root to the most of its boxes."""
    branch, b = divmod(node - 1, FAN)
    most = np.float32(-np.inf)
    for c in range(FAN):
        most = max(most, posts.reach[post, node, c])
    posts.reach[post, branch, b] = most


@inner
def serving(tree: Tree, posts: Posts, point: Floats) -> int:
    """Return a post near a point on the rim; put one up there if none is near."""
    count, gaps = posts.known[0], posts.gaps
    gaps[:count] = 0.0
    for t in range(len(point)):
        row, x = posts.points[t], point[t]
        for i in range(count):
            gaps[i] += (row[i] - x) * (row[i] - x)
    best, least = CENTRE, np.inf
    for i in range(CENTRE + 1, count):
        if gaps[i] < least:
            best, least = i, gaps[i]
    if least <= NEAR * NEAR * gaps[CENTRE] or count == len(gaps):
        return int(best)
    posts.known[0] += 1
    put(tree, posts, count, point)
    return int(count)
