"""Compiled loops over a pool.  Importing this imports numba: do so late.

Sums over attributes run in the attributes' order, and nothing may be reassociated or
fused: every processor has to return identical groups.
"""

import numpy as np

from aggopt.core.compiled import compiled, inner
from aggopt.core.types import I64
from aggopt.core.validation import Floats
from aggopt.partition._unassigned.state import GROUPS, UNASSIGNED, Pool

BLOCK = 512  # distances that stay in the nearest cache while they are summed


@compiled
def add_up(pool: Pool) -> None:
    """Add all records to the sums."""
    for column in range(len(pool.ids)):
        add_to_sums(pool, column, 1)


@compiled
def take_groups(pool: Pool, k: int, paired: bool, enough: int, turns: int) -> None:
    """Take groups of k for `turns` turns, while `enough` records have none."""
    nearest = np.empty(k, np.int64)
    for _ in range(turns):
        if pool.counts[UNASSIGNED] < enough:
            return
        measure_from_centroid(pool)
        r = pool.records[:, find_farthest(pool)].copy()
        measure(pool, 1.0, r)
        s = pool.records[:, find_farthest(pool)].copy()
        take_nearest(pool, nearest)
        if paired:
            measure(pool, 1.0, s)
            take_nearest(pool, nearest)


@compiled
def measure_from_centroid(pool: Pool) -> None:
    """Measure from the centroid of the m records without a group, in units of 1 / m."""
    # m times the distance: integers stay integers, so that ties remain ties
    measure(pool, float(pool.counts[UNASSIGNED]), sum_unassigned(pool))


@inner
def sum_unassigned(pool: Pool) -> Floats:
    """Return the sum of the m records without a group, (d,)."""
    sums: Floats = (pool.sums[0] + pool.sums[1] / pool.unit) / pool.unit
    return sums


@inner
def measure(pool: Pool, factor: float, point: Floats) -> None:
    """Set distances[j] = sum_t (factor records[t, j] - point[t])^2."""
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
    """Return the farthest column; among equals, the one whose record is first in X."""
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
    """Make a group of the len(nearest) nearest columns."""
    find_nearest(pool, nearest)
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
    pool.counts[UNASSIGNED], pool.counts[GROUPS] = left, group + 1


@inner
def find_nearest(pool: Pool, heap: I64) -> None:
    """Fill a heap with the nearest columns, the farthest of them on top."""
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
    """Restore the heap below its entry `top`."""
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
    """Whether column a is nearer than b; among equals, whether a is first in X."""
    if pool.distances[a] == pool.distances[b]:
        return bool(pool.ids[a] < pool.ids[b])
    return bool(pool.distances[a] < pool.distances[b])


@inner
def swap(pool: Pool, a: int, b: int) -> None:
    """Exchange two columns, but not their distances."""
    pool.ids[a], pool.ids[b] = pool.ids[b], pool.ids[a]
    for t in range(len(pool.records)):
        row = pool.records[t]
        row[a], row[b] = row[b], row[a]


@inner
def add_to_sums(pool: Pool, column: int, sign: int) -> None:
    """Add a column to the sums, or subtract it if `sign` is -1."""
    for t in range(len(pool.records)):
        add_entry(pool, t, pool.records[t, column], sign)


@inner
def add_entry(pool: Pool, t: int, entry: float, sign: int) -> None:
    """Add an entry of attribute t to its sum, or subtract it if `sign` is -1."""
    x = entry * pool.unit
    rounded = np.rint(x)
    pool.sums[0, t] += sign * np.int64(rounded)
    pool.sums[1, t] += sign * np.int64(np.rint((x - rounded) * pool.unit))
