"""Compiled loops that build a tree and its boxes. Importing this imports numba."""

import numpy as np

from aggopt.core.compiled import compiled, inlined, inner
from aggopt.core.kernels import copy_into
from aggopt.core.types import F32, I64
from aggopt.partition._box_tree.bound_kernels import bound_rounding
from aggopt.partition._box_tree.tree import BRANCHING, LEAF, NOBODY, ROWS, Tree
from aggopt.partition._unassigned.state import Pool

DEEP = 64  # runs in the stack of those to be halved
FEW = 100


@compiled
def arrange_columns(projections: F32, order: I64) -> None:
    """Sort columns, given in some order, into consecutive leaves.

    A run of leaves is halved across its widest row, at the end of a branch.
    """
    runs = np.empty((DEEP, 2), np.int64)
    size = 1
    runs[0, 0], runs[0, 1] = 0, -(-len(order) // LEAF)
    while size > 0:
        size -= 1
        begin = runs[size, 0]
        end = runs[size, 1]
        if end - begin > 1:
            middle = begin + _count_left_leaves(end - begin)
            _halve_columns(
                projections, order[begin * LEAF : end * LEAF], (middle - begin) * LEAF
            )
            runs[size, 0], runs[size, 1] = begin, middle
            runs[size + 1, 0], runs[size + 1, 1] = middle, end
            size += 2


@inner
def _count_left_leaves(leaves: int) -> int:
    """Return the number of leaves of the left half: whole branches."""
    unit = 1
    while unit * BRANCHING < leaves:
        unit *= BRANCHING
    return unit * (-(-leaves // unit) // 2)


@inner
def _halve_columns(projections: F32, columns: I64, middle: int) -> None:
    """Move the `middle` smallest columns of the widest row to the front.

    A sample of columns determines the widest row.
    """
    widest = -1
    width = np.float32(0.0)
    few = columns[:: 1 + len(columns) // FEW]
    for t in range(ROWS):
        row = projections[t]
        low = high = row[few[0]]
        for j in few:
            low = min(low, row[j])
            high = max(high, row[j])
        if high - low > width:
            widest = t
            width = high - low
    if widest >= 0:  # else they seem equal, and keep the order of X
        order = np.argpartition(projections[widest][columns], middle)
        copy_into(columns, columns[order])


@compiled
def fill_tree(tree: Tree, pool: Pool, projections: F32, order: I64) -> None:
    """Put columns into an empty tree, in this order, and compute all boxes."""
    for place, column in enumerate(order):
        leaf = place // LEAF
        j = place % LEAF
        tree.ids[leaf, j] = pool.ids[column]
        square = 0.0
        for t in range(len(pool.records)):
            x = tree.records[leaf, t, j] = pool.records[t, column]
            square += (x - tree.axes.origin[t]) ** 2
        tree.out[leaf, j] = square * (1 + bound_rounding(tree))
        for t in range(ROWS):
            tree.projections[leaf, t, j] = projections[t, column]
    for node in range(tree.above + len(tree.waiting) - 1, 0, -1):
        if node < len(tree.first) or node >= tree.above:
            for t in range(ROWS):
                update_side(tree, node, t)
            update_first(tree, node)


@inlined
def update_side(tree: Tree, node: int, t: int) -> bool:
    """Compute two sides of the box of a node; return whether one changed."""
    low = np.float32(np.inf)
    high = np.float32(-np.inf)
    leaf = node - tree.above
    if leaf >= 0:
        for j in range(tree.waiting[leaf]):
            x = tree.projections[leaf, t, j]
            low = min(low, x)
            high = max(high, x)
    else:
        for c in range(BRANCHING):
            low = min(low, tree.sides[node, 0, t, c])
            high = max(high, tree.sides[node, 1, t, c])
    branch, b = divmod(node - 1, BRANCHING)
    same = tree.sides[branch, 0, t, b] == low and tree.sides[branch, 1, t, b] == high
    tree.sides[branch, 0, t, b], tree.sides[branch, 1, t, b] = low, high
    return not same


@inlined
def update_first(tree: Tree, node: int) -> bool:
    """Find the first record of a node; return whether it changed."""
    first = NOBODY
    leaf = node - tree.above
    if leaf >= 0:
        for j in range(tree.waiting[leaf]):
            first = min(first, tree.ids[leaf, j])
    else:
        for c in range(BRANCHING):
            first = min(first, tree.first[node, c])
    branch, b = divmod(node - 1, BRANCHING)
    same = tree.first[branch, b] == first
    tree.first[branch, b] = first
    return bool(not same)


@inner
def shrink_boxes(tree: Tree, leaf: int, t: int, x: np.float32) -> None:
    """Shrink the boxes in one row after a record with the entry x has left."""
    node = leaf + tree.above
    while node > 0:
        branch = (node - 1) // BRANCHING
        b = (node - 1) % BRANCHING
        low = tree.sides[branch, 0, t, b]
        high = tree.sides[branch, 1, t, b]
        if low < x < high or low == high or not update_side(tree, node, t):
            return
        node = branch


@inner
def shrink_firsts(tree: Tree, leaf: int, record_id: int) -> None:
    """Update the first records of boxes after the record `record_id` has left."""
    node = leaf + tree.above
    while node > 0:
        branch = (node - 1) // BRANCHING
        b = (node - 1) % BRANCHING
        if tree.first[branch, b] < record_id or not update_first(tree, node):
            return
        node = branch
