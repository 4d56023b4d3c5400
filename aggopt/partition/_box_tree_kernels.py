"""Compiled tree: construction, boxes, and the nearest records.  Imports numba.

Distances equal those of the plain scan bit for bit, and ties are broken as there. So
the same record wins, provided that no bound excludes a record wrongly. Bounds are in
single precision: `bound_rounding` allows for its errors.
"""

import numpy as np

from aggopt.core.compiled import compiled, inlined, inner
from aggopt.core.kernels import copy_into
from aggopt.core.types import F32, I64, Floats
from aggopt.partition._box_tree import (
    BRANCHING,
    LEAF,
    NOBODY,
    ROWS,
    Axes,
    Tree,
    Workspace,
    fit_axes,
    project_records,
)
from aggopt.partition._unassigned_state import Pool

DEEP = 64  # runs in the stack of those to be halved
FEW = 100


@compiled
def arrange_columns(projections: F32, order: I64) -> None:
    """Sort columns in place, so that each leaf of the tree has near records.

    A run of leaves is halved across its widest row, at the end of a branch.
    """
    runs = np.empty((DEEP, 2), np.int64)
    size = 1
    runs[0, 0] = 0
    runs[0, 1] = -(-len(order) // LEAF)
    while size > 0:
        size -= 1
        begin = runs[size, 0]
        end = runs[size, 1]
        if end - begin > 1:
            middle = begin + _count_left_leaves(end - begin)
            _halve_columns(
                projections, order[begin * LEAF : end * LEAF], (middle - begin) * LEAF
            )
            runs[size, 0] = begin
            runs[size, 1] = middle
            runs[size + 1, 0] = middle
            runs[size + 1, 1] = end
            size += 2


@inner
def _count_left_leaves(leaves: int) -> int:
    """Return how many of a node's leaves are in its left half: whole branches."""
    unit = 1
    while unit * BRANCHING < leaves:
        unit *= BRANCHING
    return unit * (-(-leaves // unit) // 2)


@inner
def _halve_columns(projections: F32, columns: I64, middle: int) -> None:
    """Move the `middle` columns of lowest projection, on the widest axis, to the front.

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
    """Put the records in `order` into an empty tree, and compute all bounding boxes."""
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
    """Recompute a node's box along axis t, and return whether it changed."""
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
    tree.sides[branch, 0, t, b] = low
    tree.sides[branch, 1, t, b] = high
    return not same


@inlined
def update_first(tree: Tree, node: int) -> bool:
    """Recompute a node's lowest record number; return whether it changed."""
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
    """Shrink boxes along axis t after removal, from a leaf, of projection x."""
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
    """Update the lowest record number of boxes after removal of `record_id`."""
    node = leaf + tree.above
    while node > 0:
        branch = (node - 1) // BRANCHING
        b = (node - 1) % BRANCHING
        if tree.first[branch, b] < record_id or not update_first(tree, node):
            return
        node = branch


TINY = 1e-37  # single precision does not distinguish smaller numbers


@inlined
def bound_rounding(tree: Tree) -> float:
    """Return an upper bound on the relative rounding error of distance bounds.

    A sum over rows loses ROWS + 3 parts in 2^24 of the sum of its absolute terms, which
    for a box is at most sqrt(ROWS) (2 |x|^2 + |q|^2) for the outermost x. The remainder
    row is a difference of squares, and loses some sqrt(ROWS + d) parts in 2^26.
    """
    return float((ROWS + 8) * np.sqrt(ROWS + len(tree.axes.origin)) / 2**22)


@inlined
def project_vector(tree: Tree, gap: Floats, projections: Floats) -> float:
    """Write the projections of vector `gap` to `projections`; return |gap|^2."""
    directions = tree.axes.directions
    square = 0.0
    for x in gap:
        square += x * x
    rest = square
    for i in range(len(directions) - 1):
        y = 0.0
        for t in range(len(gap)):
            y += directions[i, t] * gap[t]
        projections[i] = y
        rest -= y * y
    projections[-1] = np.sqrt(max(rest, 0.0))
    return square


@inlined
def measure_record_exactly(
    tree: Tree, place: int, factor: float, point: Floats
) -> float:
    """Return |factor x - point|^2 of the record x at a place, exactly as scans do."""
    leaf = place // LEAF
    j = place % LEAF
    total = 0.0
    for t in range(len(point)):
        gap = factor * tree.records[leaf, t, j] - point[t]
        total += gap * gap
    return total


@inner
def find_nearest_in_tree(tree: Tree, point: Floats, workspace: Workspace) -> None:
    """Fill the workspace's heap with the records in the tree nearest to a point."""
    projections = np.empty(ROWS)
    project_vector(tree, point - tree.axes.origin, projections)
    copy_into(workspace.coefficients, projections)
    find_nearest_from(tree, _find_likely_leaf(tree, workspace), point, workspace)


@inner
def find_nearest_from(
    tree: Tree, start: int, point: Floats, workspace: Workspace
) -> None:
    """Fill the workspace's heap likewise, but search the leaf `start` first."""
    projections = np.empty(ROWS)
    length = np.sqrt(project_vector(tree, point - tree.axes.origin, projections))
    copy_into(workspace.coefficients, projections)
    nodes = workspace.nodes
    size = 1
    nodes[0] = 0
    workspace.best[:] = np.inf
    workspace.ids[:] = NOBODY
    share = bound_rounding(tree)
    for j in range(tree.waiting[start]):
        v = measure_record_exactly(tree, LEAF * start + j, 1.0, point)
        if v <= workspace.best[0]:
            _insert_nearest(workspace, v, tree.ids[start, j], LEAF * start + j)
    threshold = _compute_threshold(workspace.best[0], length, share)
    while size > 0:
        size -= 1
        node = nodes[size]
        leaf = node - tree.above
        if leaf < 0:
            hits = _select_boxes(tree, node, threshold, workspace)
            none = NOBODY if workspace.best[0] > 0 else workspace.ids[0]
            for b in range(BRANCHING):
                nodes[size] = BRANCHING * node + 1 + b
                size += (hits >> b) & (tree.first[node, b] < none)
            continue
        if leaf == start:
            continue
        hits = _select_records(tree, leaf, threshold, workspace)
        for j in range(LEAF if hits else 0):
            if (hits >> j) & 1:
                v = measure_record_exactly(tree, LEAF * leaf + j, 1.0, point)
                workspace.read[0] += len(point)
                if v <= workspace.best[0]:
                    _insert_nearest(workspace, v, tree.ids[leaf, j], LEAF * leaf + j)
                    threshold = _compute_threshold(workspace.best[0], length, share)


@inlined
def _find_likely_leaf(tree: Tree, workspace: Workspace) -> int:
    """Return the leaf that probably contains the record nearest to the point."""
    node = 0
    while node < tree.above:
        lowest = np.float32(np.inf)
        top = 0
        for b in range(BRANCHING):
            bound = np.float32(0.0)
            for t in range(ROWS):
                p = workspace.coefficients[t]
                gap = max(tree.sides[node, 0, t, b] - p, p - tree.sides[node, 1, t, b])
                gap = max(gap, np.float32(0.0))
                bound += gap * gap
            if bound < lowest:
                lowest = bound
                top = b
        node = BRANCHING * node + 1 + top
    return int(node - tree.above)


@inlined
def _compute_threshold(worst: float, length: float, share: float) -> np.float32:
    """Return the largest distance bound of any record at a distance up to `worst`.

    So near a record is no farther from the origin than sqrt(worst) + length.
    """
    root = np.sqrt(worst) * (1 + share) + length * share
    return np.float32(root * root * (1 + share) + TINY)


@inlined
def _measure_gap(low: np.float32, x: np.float32, high: np.float32) -> np.float32:
    """Return the squared distance of the number x from the interval low..high."""
    below = low - x
    above = x - high
    gap = below if below > above else above
    return gap * gap if gap > 0 else np.float32(0.0)


@inlined
def _select_boxes(
    tree: Tree, branch: int, threshold: np.float32, workspace: Workspace
) -> int:
    """Return, as bits, which boxes of a branch have a distance bound <= threshold."""
    sides = tree.sides
    point = workspace.coefficients
    hits = np.int32(0)
    for b in range(BRANCHING):
        bound = np.float32(0.0)
        for t in range(ROWS):
            low = sides[branch, 0, t, b]
            high = sides[branch, 1, t, b]
            bound += _measure_gap(low, point[t], high)
        hits |= np.int32(bound <= threshold) << np.int32(b)
    workspace.read[0] += 2 * BRANCHING * ROWS
    return int(hits)


@inlined
def _select_records(
    tree: Tree, leaf: int, threshold: np.float32, workspace: Workspace
) -> int:
    """Return, as bits, which records of a leaf have a distance bound <= threshold."""
    projections = tree.projections
    point = workspace.coefficients
    hits = np.int32(0)
    for j in range(LEAF):
        bound = np.float32(0.0)
        for t in range(ROWS):
            gap = projections[leaf, t, j] - point[t]
            bound += gap * gap
        hits |= np.int32(bound <= threshold) << np.int32(j)
    workspace.read[0] += LEAF * ROWS
    occupied: int = (1 << tree.waiting[leaf]) - 1
    return int(hits) & occupied


@inlined
def _insert_nearest(
    workspace: Workspace, distance: float, record_id: int, place: int
) -> None:
    """Put a record into the heap of nearest ones if it is nearer than the last."""
    best = workspace.best
    names = workspace.ids
    k = len(workspace.best)
    if distance == best[0] and record_id > names[0]:
        return
    top = 0
    while 2 * top + 1 < k:
        child = 2 * top + 1
        if child + 1 < k and _is_before(workspace, child, child + 1):
            child += 1
        if best[child] < distance or (
            best[child] == distance and names[child] < record_id
        ):
            break
        best[top] = best[child]
        names[top] = names[child]
        workspace.place[top] = workspace.place[child]
        top = child
    best[top] = distance
    names[top] = record_id
    workspace.place[top] = place


@inner
def _is_before(workspace: Workspace, a: int, b: int) -> bool:
    """Whether candidate a of the heap is nearer than b, or equal and first in X."""
    if workspace.best[a] == workspace.best[b]:
        return bool(workspace.ids[a] < workspace.ids[b])
    return bool(workspace.best[a] < workspace.best[b])


def build_tree(pool: Pool) -> Tree:
    """Return a tree of bounding boxes of a pool's unassigned records."""
    records = pool.records[:, : pool.remaining]
    axes = fit_axes(records)
    projections = project_records(axes, records)
    order = np.argsort(pool.ids[: pool.remaining])
    arrange_columns(projections, order)
    tree = _create_tree(axes, *records.shape)
    fill_tree(tree, pool, projections, order)
    return tree


def _create_tree(view: Axes, d: int, m: int) -> Tree:
    """Return an empty tree with room for m records of d attributes."""
    leaves = -(-m // LEAF)
    above = 1
    while (above - 1) // BRANCHING + -(-leaves // BRANCHING) > above:
        above = BRANCHING * above + 1
    branches = (above - 1) // BRANCHING + -(-leaves // BRANCHING)
    waiting = np.full(leaves, LEAF)
    waiting[-1] = m - LEAF * (leaves - 1)
    sides = np.full((branches, 2, ROWS, BRANCHING), np.inf, np.float32)
    sides[:, 1] = -np.inf
    return Tree(
        records=np.zeros((leaves, LEAF, d)).transpose(0, 2, 1),
        projections=np.zeros((leaves, ROWS, LEAF), np.float32),
        ids=np.zeros((leaves, LEAF), np.int64),
        out=np.zeros((leaves, LEAF), np.float32),
        waiting=waiting,
        sides=sides,
        first=np.full((branches, BRANCHING), NOBODY),
        axes=view,
        above=above,
    )
