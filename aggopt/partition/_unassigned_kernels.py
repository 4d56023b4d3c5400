"""Compiled loops over a pool, by plain scans or from a tree.  Imports numba: late.

Sums over attributes run in the attributes' order, and nothing may be reassociated or
fused: every processor has to return identical groups.

Search for the farthest record of a tree: with p a pivot, o the origin of the axes and
w = q - p,

    |x - q|^2 = |x - p|^2 - 2 w (x - o) + 2 w (p - o) + |w|^2.

The last two are equal for all records.  The first is at most the `radius` of a box from
the pivot.  The second is, in terms of the axes, at most the sum over rows of slope
times row, with |w'| |x'| for the remainders w' and x', whose angle is unknown.  Records
are bounded likewise, from p = o.
"""

import numpy as np

from aggopt.core.compiled import compiled, inlined, inner
from aggopt.core.kernels import copy_into, sort_in_place
from aggopt.core.types import F32, I64, Floats
from aggopt.partition._box_tree import (
    BRANCHING,
    CENTRE,
    LEAF,
    NOBODY,
    ROWS,
    Pivots,
    Tree,
    Workspace,
)
from aggopt.partition._box_tree_kernels import (
    TINY,
    bound_rounding,
    find_nearest_from,
    measure_record_exactly,
    project_vector,
    shrink_boxes,
    shrink_firsts,
)
from aggopt.partition._unassigned_state import GROUPS, UNASSIGNED, Pool

BLOCK = 512  # distances that stay in the nearest cache while they are summed


@compiled
def sum_records(pool: Pool) -> None:
    """Add all records of a pool to its sums of unassigned records."""
    for column in range(len(pool.ids)):
        add_to_sums(pool, column, 1)


@compiled
def take_groups_in_turns(
    pool: Pool, k: int, paired: bool, enough: int, turns: int
) -> None:
    """Make groups of k for `turns` turns, while `enough` records are unassigned."""
    nearest = np.empty(k, np.int64)
    for _ in range(turns):
        if pool.counts[UNASSIGNED] < enough:
            return
        measure_from_centroid(pool)
        r = pool.records[:, find_farthest(pool)].copy()
        measure_columns(pool, 1.0, r)
        s = pool.records[:, find_farthest(pool)].copy()
        take_nearest(pool, nearest)
        if paired:
            measure_columns(pool, 1.0, s)
            take_nearest(pool, nearest)


@compiled
def measure_from_centroid(pool: Pool) -> None:
    """Set distances from the centroid of the m unassigned records, times m^2."""
    # m times the distance: integers stay integers, so that ties remain ties
    measure_columns(pool, float(pool.counts[UNASSIGNED]), sum_unassigned(pool))


@inner
def sum_unassigned(pool: Pool) -> Floats:
    """Return the sum of the unassigned records, (d,)."""
    sums: Floats = (pool.sums[0] + pool.sums[1] / pool.unit) / pool.unit
    return sums


@inner
def measure_columns(pool: Pool, factor: float, point: Floats) -> None:
    """Set squared distances of `factor` times each unassigned record from a point."""
    m = pool.counts[UNASSIGNED]
    for start in range(0, m, BLOCK):
        stop = min(start + BLOCK, m)
        distances = pool.distances[start:stop]
        distances[:] = 0.0
        for t in range(len(point)):
            row = pool.records[t, start:stop]
            p = point[t]
            for j in range(len(distances)):
                gap = factor * row[j] - p
                distances[j] += gap * gap


@inner
def find_farthest(pool: Pool) -> int:
    """Return the column of the farthest unassigned record, the first in X of equals."""
    best = 0
    far = pool.distances[0]
    best_id = pool.ids[0]
    for j in range(1, pool.counts[UNASSIGNED]):
        v = pool.distances[j]
        if v >= far and (v > far or pool.ids[j] < best_id):
            best = j
            far = v
            best_id = pool.ids[j]
    return best


@inner
def take_nearest(pool: Pool, nearest: I64) -> None:
    """Make a group of the len(nearest) nearest unassigned records."""
    fill_heap(pool, nearest)
    group = pool.counts[GROUPS]
    left = pool.counts[UNASSIGNED] - len(nearest)
    for column in nearest:
        pool.labels[pool.ids[column]] = group
        add_to_sums(pool, column, -1)
    stays = left
    for column in nearest:
        if column < left:
            while pool.labels[pool.ids[stays]] == group:
                stays += 1
            swap(pool, column, stays)
    pool.counts[UNASSIGNED] = left
    pool.counts[GROUPS] = group + 1


@inner
def fill_heap(pool: Pool, heap: I64) -> None:
    """Fill a heap with the columns of the nearest records, the farthest on top."""
    k = len(heap)
    for j in range(k):
        heap[j] = j
    for j in range(k // 2 - 1, -1, -1):
        _sift_down(pool, heap, j)
    bound = pool.distances[heap[0]]
    for j in range(k, pool.counts[UNASSIGNED]):
        if pool.distances[j] <= bound and is_nearer(pool, j, heap[0]):
            heap[0] = j
            _sift_down(pool, heap, 0)
            bound = pool.distances[heap[0]]


@inner
def _sift_down(pool: Pool, heap: I64, top: int) -> None:
    """Restore the order of a heap of columns below its entry `top`."""
    while 2 * top + 1 < len(heap):
        child = 2 * top + 1
        if child + 1 < len(heap) and is_nearer(pool, heap[child], heap[child + 1]):
            child += 1
        if not is_nearer(pool, heap[top], heap[child]):
            return
        heap[top], heap[child] = heap[child], heap[top]
        top = child


@inner
def is_nearer(pool: Pool, a: int, b: int) -> bool:
    """Whether the record in column a is nearer than in b, or equal and first in X."""
    if pool.distances[a] == pool.distances[b]:
        return bool(pool.ids[a] < pool.ids[b])
    return bool(pool.distances[a] < pool.distances[b])


@inner
def swap(pool: Pool, a: int, b: int) -> None:
    """Exchange the records in two columns, but not their distances."""
    pool.ids[a], pool.ids[b] = pool.ids[b], pool.ids[a]
    for t in range(len(pool.records)):
        row = pool.records[t]
        row[a], row[b] = row[b], row[a]


@inner
def add_to_sums(pool: Pool, column: int, sign: int) -> None:
    """Add the record in a column to the pool's sums; subtract it if `sign` is -1."""
    for t in range(len(pool.records)):
        add_entry(pool, t, pool.records[t, column], sign)


@inner
def add_entry(pool: Pool, t: int, entry: float, sign: int) -> None:
    """Add a value of attribute t to the pool's sum; subtract it if `sign` is -1."""
    x = entry * pool.unit
    rounded = np.rint(x)
    pool.sums[0, t] += sign * np.int64(rounded)
    pool.sums[1, t] += sign * np.int64(np.rint((x - rounded) * pool.unit))


@compiled
def take_groups_from_tree(
    pool: Pool,
    tree: Tree,
    pivots: Pivots,
    workspace: Workspace,
    k: int,
    paired: bool,
    enough: int,
    max_entries: int,
) -> int:
    """Make groups of k, by searches in a tree, until `max_entries` values are read.

    Return the number of entries that a plain scan would have read; `workspace.read`
    counts the entries read.
    """
    scanned = 0
    workspace.read[0] = 0
    if pivots.number[0] == 0:
        create_pivot(
            tree, pivots, CENTRE, sum_unassigned(pool) / pool.counts[UNASSIGNED]
        )
        pivots.number[0] = 1
    while pool.counts[UNASSIGNED] >= enough and workspace.read[0] < max_entries:
        scanned += (3 if paired else 2) * pool.counts[UNASSIGNED] * len(pool.records)
        r = _find_outermost(pool, tree, pivots, workspace)
        s = _find_opposite(tree, pivots, r, workspace) if paired else r
        a = record(tree, r)
        b = record(tree, s)
        _take_nearest(pool, tree, r // LEAF, a, workspace)
        if paired:
            _take_nearest(pool, tree, s // LEAF, b, workspace)
    return scanned


@inner
def _find_opposite(tree: Tree, pivots: Pivots, r: int, workspace: Workspace) -> int:
    """Return the place in the tree of the record farthest from the one at place r."""
    point = record(tree, r)
    return int(
        find_farthest_in_tree(
            tree, pivots, find_pivot(tree, pivots, point), 1.0, point, workspace
        )
    )


@inner
def _find_outermost(
    pool: Pool, tree: Tree, pivots: Pivots, workspace: Workspace
) -> int:
    """Return the place in the tree of the record farthest from the centroid.

    As the centroid moves away from its pivot, more entries have to be read. Once these
    add up to all entries, the pivot is computed again, which reads them once.
    """
    entries = pool.counts[UNASSIGNED] * len(pool.records)
    before = workspace.read[0]
    place = find_farthest_in_tree(
        tree,
        pivots,
        CENTRE,
        float(pool.counts[UNASSIGNED]),
        sum_unassigned(pool),
        workspace,
    )
    workspace.read[1] += workspace.read[0] - before
    if workspace.read[1] > entries:
        create_pivot(
            tree, pivots, CENTRE, sum_unassigned(pool) / pool.counts[UNASSIGNED]
        )
        workspace.read[0] = workspace.read[0] + entries
        workspace.read[1] = 0
    return int(place)


@inner
def record(tree: Tree, place: int) -> Floats:
    """Return a copy of the record at a place in the tree, (d,)."""
    return tree.records[place // LEAF, :, place % LEAF].copy()


@inner
def _take_nearest(
    pool: Pool, tree: Tree, leaf: int, point: Floats, workspace: Workspace
) -> None:
    """Make a group of the unassigned records nearest to a point near a leaf."""
    find_nearest_from(tree, leaf, point, workspace)
    sort_in_place(workspace.place)
    for place in workspace.place[::-1]:  # what moves is not of the group
        _remove_record(pool, tree, place)
    pool.counts[UNASSIGNED] -= len(workspace.place)
    pool.counts[GROUPS] += 1


@inner
def _remove_record(pool: Pool, tree: Tree, place: int) -> None:
    """Assign the record at a place to the current group; remove it from the tree."""
    leaf = place // LEAF
    j = place % LEAF
    last = tree.waiting[leaf] - 1
    pool.labels[tree.ids[leaf, j]] = pool.counts[GROUPS]
    for t in range(len(pool.records)):
        add_entry(pool, t, tree.records[leaf, t, j], -1)
        tree.records[leaf, t, j] = tree.records[leaf, t, last]
    tree.waiting[leaf] = last
    for t in range(ROWS):
        x = tree.projections[leaf, t, j]
        tree.projections[leaf, t, j] = tree.projections[leaf, t, last]
        shrink_boxes(tree, leaf, t, x)
    record_id = tree.ids[leaf, j]
    tree.out[leaf, j] = tree.out[leaf, last]
    tree.ids[leaf, j] = tree.ids[leaf, last]
    shrink_firsts(tree, leaf, record_id)


NEAR = 0.4  # share of the distance from the centre within which a pivot serves


@inner
def create_pivot(tree: Tree, pivots: Pivots, pivot: int, point: Floats) -> None:
    """Make a point a reference point: bound the distances of all boxes from it."""
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
            largest = far
            pivots.start[pivot] = leaf
    for node in range(len(tree.first) - 1, 0, -1):
        update_radius(tree, pivots, pivot, node)


@inlined
def compute_pivot_slope(tree: Tree, pivots: Pivots, pivot: int, slope: F32) -> float:
    """Set each axis's coefficient in distances from a pivot; return their constant."""
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
    """Set a branch's bound on distances from a pivot to the largest of its boxes."""
    branch, b = divmod(node - 1, BRANCHING)
    largest = np.float32(-np.inf)
    for c in range(BRANCHING):
        largest = max(largest, pivots.radius[pivot, node, c])
    pivots.radius[pivot, branch, b] = largest


@inner
def find_pivot(tree: Tree, pivots: Pivots, point: Floats) -> int:
    """Return a reference point (pivot) near a point; make the point one if none is."""
    count = pivots.number[0]
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
    pivots.number[0] += 1
    create_pivot(tree, pivots, count, point)
    return int(count)


ROUNDING = 1e-15  # above the error of one operation, for records within [-1, 1]
SLACK = 1e-6  # relative, of a squared distance: above rounding


@inner
def find_farthest_in_tree(
    tree: Tree,
    pivots: Pivots,
    pivot: int,
    factor: float,
    point: Floats,
    workspace: Workspace,
) -> int:
    """Return the place of the record x with the largest |factor x - point|.

    Any pivot gives the result; one near point / factor gives it faster.
    """
    q = point / factor
    near = _compute_slope(tree, q, pivots.points[:, pivot], workspace.slope)
    away = _compute_slope(tree, q, tree.axes.origin, workspace.coefficients)
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
    nodes[0] = 0
    nodes[1] = pivots.start[pivot] + tree.above
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
                v = measure_record_exactly(tree, LEAF * leaf + j, factor, point)
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
    """Set each axis's coefficient in bounds on distances from q; return the rest."""
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
    """Return a single-precision number below the bound."""
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
    """Return, as bits, which boxes of a branch have a distance bound >= threshold."""
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
    """Return, as bits, which records of a leaf have a distance bound >= threshold."""
    projections = tree.projections
    slope = workspace.coefficients
    hits = np.int32(0)
    for j in range(LEAF):
        bound = tree.out[leaf, j]
        for t in range(ROWS):
            bound += slope[t] * projections[leaf, t, j]
        hits |= np.int32(bound >= threshold) << np.int32(j)
    workspace.read[0] += LEAF * ROWS
    occupied: int = (1 << tree.waiting[leaf]) - 1
    return int(hits) & occupied
