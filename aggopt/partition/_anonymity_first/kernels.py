"""Algorithm 2 in compiled loops over a sorted pool and its screen.  Imports numba.

Distances are reckoned where the screen says that they matter, and only there.
"""

import numpy as np

from aggopt.core.array_kernels import copy_into
from aggopt.core.compiled import compiled, inlined, inner
from aggopt.core.types import I64
from aggopt.partition._anonymity_first.slot_kernels import (
    add_up,
    cost,
    fill,
    interval,
    least_without,
    without,
)
from aggopt.partition._anonymity_first.state import EmdTable, Group
from aggopt.partition._screened_distances.kernels import (
    LARGEST,
    draw,
    exact,
    least_of,
    measure,
    most_of,
    next_within,
)
from aggopt.partition._screened_distances.screen import Screen
from aggopt.partition._unassigned import sorted_pool_kernels
from aggopt.partition._unassigned.sorted_pool import SortedPool
from aggopt.partition._unassigned.state import GROUPS, UNASSIGNED, Pool


@compiled
def start(candidates: SortedPool, screen: Screen, table: EmdTable) -> None:
    """Fill in the table, and put all records on the screen."""
    fill(table)
    draw(screen, candidates.pool.records, len(candidates.taken))


@compiled
def take_close(
    candidates: SortedPool, screen: Screen, table: EmdTable, group: Group, turns: int
) -> None:
    """Take two groups a turn, as close as swaps make them."""
    for _ in range(turns):
        if candidates.free[0] == 0:
            return
        if sorted_pool_kernels.drop_taken(candidates):
            draw(screen, candidates.pool.records, candidates.pool.counts[UNASSIGNED])
        _measure_from_centroid(candidates, screen)
        _take_one(candidates, screen, table, group, _farthest(candidates, screen))
        if candidates.free[0] > 0:
            _take_one(candidates, screen, table, group, _farthest(candidates, screen))


@inner
def _measure_from_centroid(candidates: SortedPool, screen: Screen) -> None:
    """Set screened distances from the centroid of the unassigned records."""
    pool = candidates.pool
    copy_into(screen.point, (pool.sums[0] + pool.sums[1] / pool.unit) / pool.unit)
    screen.factor[0] = candidates.free[0]
    measure(screen, pool.counts[UNASSIGNED])


@inner
def _take_one(
    candidates: SortedPool, screen: Screen, table: EmdTable, group: Group, seed: int
) -> None:
    """Make a t-close group of the records nearest to a seed column."""
    pool = candidates.pool
    copy_into(screen.point, pool.records[:, seed])
    screen.factor[0] = 1.0
    measure(screen, pool.counts[UNASSIGNED])
    if candidates.free[0] < 2 * len(group.columns):
        for j in range(pool.counts[UNASSIGNED]):
            if not candidates.taken[j]:
                _take(candidates, screen, j)
    else:
        _find_nearest(candidates, screen, group.columns)
        _swap_until_close(candidates, screen, table, group)
        for j in group.columns:
            _take(candidates, screen, j)
    pool.counts[GROUPS] += 1


@inner
def _take(candidates: SortedPool, screen: Screen, column: int) -> None:
    """Assign a column to the group that is being made."""
    sorted_pool_kernels.take(candidates, column)
    screen.coordinates[0, column] = screen.near[column] = np.inf


@inlined
def _reckon(candidates: SortedPool, screen: Screen, column: int) -> float:
    """Set the exact distance of a column, and return it."""
    pool = candidates.pool
    distance = exact(screen, pool.records, column)
    pool.distances[column] = distance
    return distance


@inner
def _farthest(candidates: SortedPool, screen: Screen) -> int:
    """Return the farthest free column; of equals, the record that comes first in X."""
    best, least, pool = -1, np.float32(0.0), candidates.pool
    end = pool.counts[UNASSIGNED]
    j = next_within(screen, 0, end, least, LARGEST)
    while j < end:
        far = _reckon(candidates, screen, j)
        if best < 0 or far > pool.distances[best]:
            best, least = j, least_of(screen, far)
        elif far == pool.distances[best] and pool.who[j] < pool.who[best]:
            best = j
        j = next_within(screen, j + 1, end, least, LARGEST)
    return best


@inner
def _find_nearest(candidates: SortedPool, screen: Screen, columns: I64) -> None:
    """Fill in the nearest free columns, the nearest first."""
    count, most, pool = 0, LARGEST, candidates.pool
    end, none = pool.counts[UNASSIGNED], np.float32(0.0)
    j = next_within(screen, 0, end, none, most)
    while j < end:
        _reckon(candidates, screen, j)
        count = _offer(candidates, columns, count, j)
        if count == len(columns):
            most = most_of(screen, pool.distances[columns[-1]])
        j = next_within(screen, j + 1, end, none, most)


@inlined
def _nearer(pool: Pool, a: int, b: int) -> bool:
    """Whether column a is nearer than b; of equals, the one that comes first in X."""
    if pool.distances[a] == pool.distances[b]:
        return bool(pool.who[a] < pool.who[b])
    return bool(pool.distances[a] < pool.distances[b])


@inlined
def _offer(candidates: SortedPool, columns: I64, count: int, column: int) -> int:
    """Put a column among the `count` nearest; return how many these are now."""
    if count == len(columns):
        if not _nearer(candidates.pool, column, columns[-1]):
            return count
        count -= 1
    at = count
    while at > 0 and _nearer(candidates.pool, column, columns[at - 1]):
        columns[at] = columns[at - 1]
        at -= 1
    columns[at] = column
    return count + 1


@inner
def _swap_until_close(
    candidates: SortedPool, screen: Screen, table: EmdTable, group: Group
) -> None:
    """Swap nearest columns in until the group is t-close."""
    for i in range(len(group.columns)):
        _insert(candidates, group, i, i)
    last = group.columns[-1]
    while True:
        add_up(table, group)
        if group.stays[-1] <= table.limit:
            return
        last = _next_better(candidates, screen, table, group, last)
        if last < 0:
            return
        _replace(candidates, table, group, last)


@inlined
def _insert(candidates: SortedPool, group: Group, position: int, count: int) -> None:
    """Put a member among `count` ranked ones, by value."""
    bin_ = candidates.bins[group.columns[position]]
    at = count
    while at > 0 and group.bins[at - 1] > bin_:
        group.bins[at], group.ranked[at] = group.bins[at - 1], group.ranked[at - 1]
        at -= 1
    group.bins[at], group.ranked[at] = bin_, position


@inlined
def _next_better(
    candidates: SortedPool, screen: Screen, table: EmdTable, group: Group, last: int
) -> int:
    """Return the nearest column beyond the last that a swap lowers the EMD with."""
    k, best = len(group.bins), -1
    for side in range(2 * k):
        slot, gap = side // 2, (side + 1) // 2
        begin, end = (gap, k) if gap == slot else (0, gap)
        lo = group.bins[gap - 1] if gap > 0 else 0
        hi = group.bins[gap] if gap < k else len(table.sums) - 2
        below = group.stays[-1] - least_without(group, begin, end, gap)
        if table.least[slot] < below:
            a, b = interval(table, slot, below, lo, hi)
            best = _nearest_between(candidates, screen, a, b, last, best)
    return best


@inlined
def _nearest_between(
    candidates: SortedPool, screen: Screen, a: int, b: int, last: int, best: int
) -> int:
    """Return the nearest free column of bins a..b-1 beyond the last, or the best."""
    pool, end, most = candidates.pool, candidates.first[b], LARGEST
    least = least_of(screen, pool.distances[last])
    if best >= 0:
        most = most_of(screen, pool.distances[best])
    j = next_within(screen, candidates.first[a], end, least, most)
    while j < end:
        _reckon(candidates, screen, j)
        beyond = _nearer(pool, last, j)
        if beyond and (best < 0 or _nearer(pool, j, best)):
            best, most = j, most_of(screen, pool.distances[j])
        j = next_within(screen, j + 1, end, least, most)
    return best


@inlined
def _replace(
    candidates: SortedPool, table: EmdTable, group: Group, column: int
) -> None:
    """Swap a column in for the member without which the EMD is least."""
    k, bin_ = len(group.bins), candidates.bins[column]
    gap = 0
    while gap < k and group.bins[gap] < bin_:
        gap += 1
    out, least = -1, group.stays[-1]
    for a in range(k):
        moved = without(group, a, gap)
        moved += cost(table, gap - 1 if a < gap else gap, bin_)
        if moved < least or (
            moved == least and out >= 0 and group.ranked[a] < group.ranked[out]
        ):
            out, least = a, moved
    position = group.ranked[out]
    for i in range(out, k - 1):
        group.bins[i], group.ranked[i] = group.bins[i + 1], group.ranked[i + 1]
    group.columns[position] = column
    _insert(candidates, group, position, k - 1)
