"""Search for the nearest records of a tree. Importing this imports numba."""

import numpy as np

from aggopt.core.compiled import inlined, inner
from aggopt.core.kernels import copy_into
from aggopt.core.validation import Floats
from aggopt.partition._box_tree.bound_kernels import (
    TINY,
    bound_rounding,
    measure_exactly,
    project_vector,
)
from aggopt.partition._box_tree.tree import (
    BRANCHING,
    LEAF,
    NOBODY,
    ROWS,
    Tree,
    Workspace,
)


@inner
def find_nearest(tree: Tree, point: Floats, workspace: Workspace) -> None:
    """Fill the heap with the records nearest to a point."""
    projections = np.empty(ROWS)
    project_vector(tree, point - tree.axes.origin, projections)
    copy_into(workspace.seen, projections)
    find_nearest_from(tree, _find_likely_leaf(tree, workspace), point, workspace)


@inner
def find_nearest_from(
    tree: Tree, start: int, point: Floats, workspace: Workspace
) -> None:
    """Fill the heap with the records nearest to a point, starting in a near leaf."""
    projections = np.empty(ROWS)
    length = np.sqrt(project_vector(tree, point - tree.axes.origin, projections))
    copy_into(workspace.seen, projections)
    nodes = workspace.nodes
    size = 1
    nodes[0] = 0
    workspace.best[:], workspace.ids[:] = np.inf, NOBODY
    share = bound_rounding(tree)
    for j in range(tree.waiting[start]):
        v = measure_exactly(tree, LEAF * start + j, 1.0, point)
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
                v = measure_exactly(tree, LEAF * leaf + j, 1.0, point)
                workspace.read[0] += len(point)
                if v <= workspace.best[0]:
                    _insert_nearest(workspace, v, tree.ids[leaf, j], LEAF * leaf + j)
                    threshold = _compute_threshold(workspace.best[0], length, share)


@inlined
def _find_likely_leaf(tree: Tree, workspace: Workspace) -> int:
    """Return a leaf that probably contains the nearest record."""
    node = 0
    while node < tree.above:
        lowest = np.float32(np.inf)
        top = 0
        for b in range(BRANCHING):
            bound = np.float32(0.0)
            for t in range(ROWS):
                p = workspace.seen[t]
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
    """Return the largest bound of a record whose distance is `worst` at most.

    So near a record is no farther from the origin than sqrt(worst) + length.
    """
    root = np.sqrt(worst) * (1 + share) + length * share
    return np.float32(root * root * (1 + share) + TINY)


@inlined
def _measure_gap(low: np.float32, x: np.float32, high: np.float32) -> np.float32:
    """Return the squared distance of x from an interval."""
    below = low - x
    above = x - high
    gap = below if below > above else above
    return gap * gap if gap > 0 else np.float32(0.0)


@inlined
def _select_boxes(
    tree: Tree, branch: int, threshold: np.float32, workspace: Workspace
) -> int:
    """Return the boxes of a branch whose bound may be `most` or less, as bits."""
    sides = tree.sides
    point = workspace.seen
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
    """Return the places of a leaf whose bound is `most` or less, as bits."""
    projections = tree.projections
    point = workspace.seen
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
    """Put a record into the heap if it is nearer than the one on top."""
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
        best[top], names[top] = best[child], names[child]
        workspace.place[top] = workspace.place[child]
        top = child
    best[top], names[top], workspace.place[top] = distance, record_id, place


@inner
def _is_before(workspace: Workspace, a: int, b: int) -> bool:
    """Whether candidate a precedes b: nearer, or equally near and earlier in X."""
    if workspace.best[a] == workspace.best[b]:
        return bool(workspace.ids[a] < workspace.ids[b])
    return bool(workspace.best[a] < workspace.best[b])
