"""A tree is planted, and its boxes drawn, in compiled loops.  Imports numba."""

import numpy as np

from aggopt.arrays import Floats
from aggopt.compiled import compiled
from aggopt.partition._pool import Integers, Pool
from aggopt.partition._tree.tree import FAN, LEAF, NOBODY, Tree


@compiled
def arranged(pool: Pool) -> Integers:
    """Return the columns without a group, leaf after leaf.

    A run of leaves is halved, across its widest attribute, where a branch ends.
    """
    order = np.argsort(pool.who[: pool.counts[0]], kind="mergesort").astype(np.int64)
    runs = [(0, -(-len(order) // LEAF))]
    while runs:
        begin, end = runs.pop()
        if end - begin > 1:
            middle = begin + _half(end - begin)
            _halve(pool, order[begin * LEAF : end * LEAF], (middle - begin) * LEAF)
            runs.append((begin, middle))
            runs.append((middle, end))
    return order


@compiled
def _half(leaves: int) -> int:
    unit = 1
    while unit * FAN < leaves:
        unit *= FAN
    return unit * (-(-leaves // unit) // 2)


@compiled
def _halve(pool: Pool, columns: Integers, middle: int) -> None:
    """Put the `middle` columns that are least in the widest attribute first."""
    widest, width = -1, 0.0
    for t in range(len(pool.records)):
        row = pool.records[t]
        low = high = row[columns[0]]
        for j in columns:
            low, high = min(low, row[j]), max(high, row[j])
        if high - low > width:
            widest, width = t, high - low
    if widest >= 0:  # else they are all equal, and stay in the order of X
        order = np.argpartition(pool.records[widest][columns], middle)
        columns[:] = columns[order]


@compiled
def fill(tree: Tree, pool: Pool, order: Integers) -> None:
    """Put columns into an empty tree, in this order, and draw all boxes."""
    for place, column in enumerate(order):
        leaf, j = place // LEAF, place % LEAF
        tree.who[leaf, j] = pool.who[column]
        for t in range(len(pool.records)):
            tree.records[leaf, t, j] = pool.records[t, column]
    for leaf in range(len(tree.waiting)):
        draw_leaf(tree, leaf)
    for branch in range(len(tree.low) - 1, 0, -1):
        draw_branch(tree, branch)


@compiled
def draw_leaf(tree: Tree, leaf: int) -> bool:
    """Draw the box around a leaf; return whether it changed."""
    m = tree.waiting[leaf]
    branch, b = divmod(tree.above + leaf - 1, FAN)
    changed = False
    for t in range(len(tree.centre)):
        low, high = np.inf, -np.inf
        for j in range(m):
            x = tree.records[leaf, t, j]
            low, high = min(low, x), max(high, x)
        changed |= _set_sides(tree, branch, b, t, low, high)
    reach, first = -np.inf, NOBODY
    for j in range(m):
        reach, first = max(reach, tree.out[leaf, j]), min(first, tree.who[leaf, j])
    return _set_ends(tree, branch, b, reach, first) or changed


@compiled
def draw_branch(tree: Tree, branch: int) -> bool:
    """Draw the box around a branch other than the root; return whether it changed."""
    above, b = divmod(branch - 1, FAN)
    changed = False
    for t in range(len(tree.centre)):
        low, high = np.inf, -np.inf
        for c in range(FAN):
            low = min(low, tree.low[branch, t, c])
            high = max(high, tree.high[branch, t, c])
        changed |= _set_sides(tree, above, b, t, low, high)
    reach, first = tree.reach[branch].max(), tree.first[branch].min()
    return _set_ends(tree, above, b, reach, first) or changed


@compiled
def _set_sides(
    tree: Tree, branch: int, b: int, t: int, low: float, high: float
) -> bool:
    same = tree.low[branch, t, b] == low and tree.high[branch, t, b] == high
    tree.low[branch, t, b], tree.high[branch, t, b] = low, high
    return not same


@compiled
def _set_ends(tree: Tree, branch: int, b: int, reach: float, first: int) -> bool:
    same = tree.reach[branch, b] == reach and tree.first[branch, b] == first
    tree.reach[branch, b], tree.first[branch, b] = reach, first
    return not same


@compiled
def redraw(tree: Tree, leaf: int) -> None:
    """Draw anew the box around a leaf, and those around that as far as they change."""
    branch, changed = (tree.above + leaf - 1) // FAN, draw_leaf(tree, leaf)
    while changed and branch > 0:
        changed = draw_branch(tree, branch)
        branch = (branch - 1) // FAN


@compiled
def recentre(tree: Tree, centre: Floats) -> None:
    """Measure all records, and the reach of all boxes, from another centre."""
    tree.centre[:] = centre
    for leaf in range(len(tree.waiting)):
        tree.out[leaf] = 0.0
        for t in range(len(centre)):
            for j in range(LEAF):
                gap = tree.records[leaf, t, j] - centre[t]
                tree.out[leaf, j] += gap * gap
        reach = -np.inf
        for j in range(tree.waiting[leaf]):
            reach = max(reach, tree.out[leaf, j])
        branch, b = divmod(tree.above + leaf - 1, FAN)
        tree.reach[branch, b] = reach
    for branch in range(len(tree.low) - 1, 0, -1):
        above, b = divmod(branch - 1, FAN)
        tree.reach[above, b] = tree.reach[branch].max()
