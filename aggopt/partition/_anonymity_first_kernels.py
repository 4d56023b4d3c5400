"""Algorithm 2 in compiled loops over a shelf.  Importing this imports numba.

A group of s records is a row of slots.  Slot j takes the records of ranks jn/s to
(j + 1)n/s to the group's (j + 1)-th smallest value; its cost is what it moves them, in
units in which the EMD's numerator is the sum over slots.  A swap moves the members
between the record that leaves and the one that comes by one slot: sums of costs along
the row, with every member in its slot, one slot down or one up, give all swaps.

A slot's cost is convex in its value, so that the values which improve the group are one
interval per slot and gap between members: only records inside are ever looked at.
"""

import numpy as np

from aggopt.compiled import compiled
from aggopt.partition import _kernels
from aggopt.partition._anonymity_first import Group, Table
from aggopt.partition._shelf import Shelf
from aggopt.partition._shelf_kernels import farthest, measure, outermost, take, tidy

BLOCK = 64  # columns that are tested at once: most blocks hold nothing to look at


@compiled
def take_close(shelf: Shelf, table: Table, group: Group, turns: int) -> None:
    """Take two groups a turn, as close as swaps make them."""
    for _ in range(turns):
        if shelf.free[0] == 0:
            return
        _take_one(shelf, table, group, outermost(shelf))
        if shelf.free[0] > 0:
            _take_one(shelf, table, group, farthest(shelf))


@compiled
def _take_one(shelf: Shelf, table: Table, group: Group, seed: int) -> None:
    k = len(group.columns)
    measure(shelf, seed)
    if shelf.free[0] < 2 * k:
        for j in range(shelf.pool.counts[0]):
            if not shelf.taken[j]:
                take(shelf, j)
    else:
        _fill(shelf, group)
        _swap_until_close(shelf, table, group)
        for j in group.columns:
            take(shelf, j)
    tidy(shelf)


@compiled
def _fill(shelf: Shelf, group: Group) -> None:
    pool, columns = shelf.pool, group.columns
    _kernels.find_nearest(pool, columns)
    for i in range(1, len(columns)):
        at, column = i, columns[i]
        while at > 0 and _kernels.nearer(pool, column, columns[at - 1]):
            columns[at] = columns[at - 1]
            at -= 1
        columns[at] = column
    for i in range(len(columns)):
        _insert(shelf, group, i, i)


@compiled
def _insert(shelf: Shelf, group: Group, position: int, count: int) -> None:
    """Put a member among `count` ranked ones, by value."""
    bin_ = shelf.bins[group.columns[position]]
    at = count
    while at > 0 and group.bins[at - 1] > bin_:
        group.bins[at], group.ranked[at] = group.bins[at - 1], group.ranked[at - 1]
        at -= 1
    group.bins[at], group.ranked[at] = bin_, position


@compiled
def _swap_until_close(shelf: Shelf, table: Table, group: Group) -> None:
    last = group.columns[-1]
    while True:
        _add_up(table, group)
        if group.stays[-1] <= table.limit:
            return
        last = _next_better(shelf, table, group, last)
        if last < 0:
            return
        _replace(shelf, table, group, last)


@compiled
def _cost(table: Table, slot: int, bin_: int) -> int:
    """Return the cost of a slot whose value lies in a bin."""
    n, m, low = table.n, len(table.sums) - 1, slot * table.n
    left = _above(table, low, bin_) - _above(table, low + n, bin_)
    cost: int = 2 * left - table.totals[slot] + n * (m - bin_)
    return cost


@compiled
def _above(table: Table, level: int, end: int) -> int:
    """Return sum_{i < end} max(s below_i - level, 0)."""
    begin: int = min(table.first[level // table.s], end)
    total: int = table.s * (table.sums[end] - table.sums[begin])
    return total - level * (end - begin)


@compiled
def start(table: Table) -> None:
    """Fill in each slot's total and the bin where it costs least."""
    n, s, m = table.n, table.s, len(table.sums) - 1
    for slot in range(s):
        low = slot * n
        table.totals[slot] = _above(table, low, m) - _above(table, low + n, m)
        half = -(-(2 * slot + 1) * n // (2 * s))
        table.best[slot] = min(table.first[half - 1], m - 1)


@compiled
def _add_up(table: Table, group: Group) -> None:
    """Sum costs of the first g members, each in its slot, one down and one up."""
    k, bins = len(group.bins), group.bins
    for i in range(k):
        group.stays[i + 1] = group.stays[i] + _cost(table, i, bins[i])
        down = _cost(table, i - 1, bins[i]) if i > 0 else 0
        up = _cost(table, i + 1, bins[i]) if i + 1 < k else 0
        group.down[i + 1] = group.down[i] + down
        group.up[i + 1] = group.up[i] + up


@compiled
def _without(group: Group, a: int, gap: int) -> int:
    """Return the sum of costs without member a and one to come in at a gap.

    Gap g lies after g members.
    """
    stays, down, up = group.stays, group.down, group.up
    least: int = stays[gap] + up[a] - up[gap] + stays[-1] - stays[a + 1]
    if a < gap:
        least = stays[a] + down[gap] - down[a + 1] + stays[-1] - stays[gap]
    return least


@compiled
def _least_without(group: Group, begin: int, end: int, gap: int) -> int:
    least = _without(group, begin, gap)
    for a in range(begin + 1, end):
        least = min(least, _without(group, a, gap))
    return least


@compiled
def _next_better(shelf: Shelf, table: Table, group: Group, last: int) -> int:
    """Return the nearest column beyond the last that a swap lowers the EMD with."""
    k, now, best = len(group.bins), group.stays[-1], -1
    for gap in range(k + 1):
        lo = group.bins[gap - 1] if gap > 0 else 0
        hi = group.bins[gap] if gap < k else len(table.sums) - 2
        if gap > 0:
            room = now - _least_without(group, 0, gap, gap)
            a, b = _interval(table, gap - 1, room, lo, hi)
            best = _nearest_between(shelf, a, b, last, best)
        if gap < k:
            room = now - _least_without(group, gap, k, gap)
            a, b = _interval(table, gap, room, lo, hi)
            best = _nearest_between(shelf, a, b, last, best)
    return best


@compiled
def _interval(table: Table, slot: int, room: int, lo: int, hi: int) -> tuple[int, int]:
    """Return the bins a..b-1 within lo..hi where a slot costs less than `room`."""
    middle = min(max(table.best[slot], lo), hi)
    if _cost(table, slot, middle) >= room:
        return lo, lo
    a, b = middle, middle
    while lo < a:
        half = (lo + a) // 2
        if _cost(table, slot, half) < room:
            a = half
        else:
            lo = half + 1
    while b < hi:
        half = (b + hi + 1) // 2
        if _cost(table, slot, half) < room:
            b = half
        else:
            hi = half - 1
    return a, b + 1


@compiled
def _nearest_between(shelf: Shelf, a: int, b: int, last: int, best: int) -> int:
    """Return the nearest free column of bins a..b-1 beyond the last, or the best."""
    pool, near = shelf.pool, np.inf
    beyond = pool.distances[last]
    if best >= 0:
        near = pool.distances[best]
    end = shelf.first[b]
    for start in range(shelf.first[a], end, BLOCK):
        some = pool.distances[start : min(start + BLOCK, end)]
        hits = 0
        for v in some:
            hits += (v <= near) & (v >= beyond)
        if hits:
            best = _nearest_of_some(shelf, start, len(some), last, best)
            near = pool.distances[best] if best >= 0 else np.inf
    return best


@compiled
def _nearest_of_some(shelf: Shelf, start: int, count: int, last: int, best: int) -> int:
    pool = shelf.pool
    for j in range(start, start + count):
        free = pool.distances[j] < np.inf and _kernels.nearer(pool, last, j)
        if free and (best < 0 or _kernels.nearer(pool, j, best)):
            best = j
    return best


@compiled
def _replace(shelf: Shelf, table: Table, group: Group, column: int) -> None:
    """Swap a column in for the member without which the EMD is least."""
    k, bin_ = len(group.bins), shelf.bins[column]
    gap = np.searchsorted(group.bins, bin_)
    out, least = -1, group.stays[-1]
    for a in range(k):
        moved = _without(group, a, gap)
        moved += _cost(table, gap - 1 if a < gap else gap, bin_)
        if moved < least or (
            moved == least and out >= 0 and group.ranked[a] < group.ranked[out]
        ):
            out, least = a, moved
    position = group.ranked[out]
    group.bins[out : k - 1] = group.bins[out + 1 :].copy()
    group.ranked[out : k - 1] = group.ranked[out + 1 :].copy()
    group.columns[position] = column
    _insert(shelf, group, position, k - 1)
