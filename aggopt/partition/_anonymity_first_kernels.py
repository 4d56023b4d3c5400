"""Compiled loops of algorithm 2 over a sorted pool and its screen. Imports numba.

Exact distances are computed only if the screen cannot decide.

A group of s records is a row of slots. Slot j receives the records of ranks jn/s to (j
+ 1)n/s into the group's (j + 1)-th smallest value; its cost is the distance that these
records move, in units in which the EMD's numerator is the sum over slots. A swap moves
the members between the removed and the added record by one slot: sums of costs along
the row, with every member in its slot, one slot down or one up, give all swaps. A
slot's cost is convex in its value, so that the values which improve the group are one
interval per slot and gap between members.
"""

from typing import NamedTuple

import numpy as np

from aggopt.core.compiled import compiled, inlined, inner
from aggopt.core.kernels import copy_into
from aggopt.core.types import I64
from aggopt.partition import _sorted_pool_kernels as sorted_pool
from aggopt.partition._screened_distances import Screen
from aggopt.partition._screened_distances_kernels import (
    LARGEST,
    compute_lower_limit,
    compute_upper_limit,
    fill_screen,
    find_next,
    measure_exactly,
    measure_screen,
)
from aggopt.partition._unassigned_pool import SortedPool
from aggopt.partition._unassigned_state import GROUPS, UNASSIGNED, Pool


class EmdTable(NamedTuple):
    """Tables for the EMD of a group of s records.

    Attributes
    ----------
    n, s, limit
        Numbers of all records and of those in a group, and the largest numerator that t
        allows.
    sums, first
        As in `aggopt.privacy.ordered_attribute.Ordered`.
    begins : (s + 1,)
        First bin that belongs to the slot or to a later one.
    totals, best, lowest : (s + 1,), the last without a meaning
        Cost of each slot with its value beyond the last bin, less n times the number of
        bins; the bin with the least cost; and that cost.
    """

    n: int
    s: int
    limit: int
    sums: I64
    first: I64
    begins: I64
    totals: I64
    best: I64
    lowest: I64


class Group(NamedTuple):
    """A group of k records under construction.

    Attributes
    ----------
    columns : (k,)
        Its members in the sorted pool; the positions are kept when members are swapped.
    bins, ranked : (k,)
        Their bins in ascending order, and the position of each member.
    stays, down, up : (k + 1,)
        Cost of the first g members, each in its slot, one slot down, one up.
    """

    columns: I64
    bins: I64
    ranked: I64
    stays: I64
    down: I64
    up: I64


@inner
def fill(table: EmdTable) -> None:
    """Fill the table of the EMD's costs of a group's s slots, one for each member."""
    n = table.n
    s = table.s
    m = len(table.sums) - 1
    for slot in range(s + 1):
        table.begins[slot] = table.first[slot * n // s]
    for slot in range(s):
        table.totals[slot] = _sum_above(table, slot, m) - _sum_above(table, slot + 1, m)
        half = -(-(2 * slot + 1) * n // (2 * s))
        table.best[slot] = min(table.first[half - 1], m - 1)
        table.lowest[slot] = compute_slot_cost(table, slot, table.best[slot])


@inlined
def compute_slot_cost(table: EmdTable, slot: int, bin_: int) -> int:
    """Return the part of a group's EMD from one slot, if its value is in bin `bin_`."""
    left = _sum_above(table, slot, bin_) - _sum_above(table, slot + 1, bin_)
    end = len(table.sums) - 1
    total: int = 2 * left - table.totals[slot] + table.n * (end - bin_)
    return total


@inlined
def _sum_above(table: EmdTable, slot: int, end: int) -> int:
    """Return sum_{i < end} max(s below_i - slot n, 0), a term of a slot's EMD cost."""
    begin = min(table.begins[slot], end)
    filled: int = table.s * (table.sums[end] - table.sums[begin])
    above: int = filled - slot * table.n * (end - begin)
    return above


@inlined
def sum_slot_costs(table: EmdTable, group: Group) -> None:
    """Fill the cumulative costs of members in their own slots and adjacent ones."""
    k = len(group.bins)
    bins = group.bins
    for i in range(k):
        group.stays[i + 1] = group.stays[i] + compute_slot_cost(table, i, bins[i])
        down = compute_slot_cost(table, i - 1, bins[i]) if i > 0 else 0
        up = compute_slot_cost(table, i + 1, bins[i]) if i + 1 < k else 0
        group.down[i + 1] = group.down[i] + down
        group.up[i + 1] = group.up[i] + up


@inlined
def sum_without(group: Group, a: int, gap: int) -> int:
    """Return a group's EMD without member a and with a new member at a gap.

    Gap g is after g members.
    """
    if a < gap:
        shifted: int = group.down[gap] - group.down[a + 1] - group.stays[gap]
    else:
        shifted = group.up[a] - group.up[gap] - group.stays[a + 1]
    unchanged: int = group.stays[min(a, gap)] + group.stays[-1]
    return unchanged + shifted


@inlined
def minimise_without(group: Group, begin: int, end: int, gap: int) -> int:
    """Return a group's least EMD if a new member replaces one of begin..end-1."""
    lowest = sum_without(group, begin, gap)
    for a in range(begin + 1, end):
        lowest = min(lowest, sum_without(group, a, gap))
    return lowest


@inlined
def find_interval(
    table: EmdTable, slot: int, below: int, lo: int, hi: int
) -> tuple[int, int]:
    """Return (a, b): in the bins a..b-1 of lo..hi, a slot costs less than `below`.

    Its lowest cost must be less.
    """
    best = table.best[slot]
    middle = min(max(best, lo), hi)
    width = _estimate_width(table, below - table.lowest[slot])
    left_guess = width + middle - best
    right_guess = width + best - middle
    left = _find_extent(table, slot, below, middle, -1, middle - lo, left_guess)
    right = _find_extent(table, slot, below, middle, 1, hi - middle, right_guess)
    return middle - left, middle + right + 1


@inlined
def _estimate_width(table: EmdTable, rise: int) -> int:
    """Return in how many bins from the best one a slot's cost rises by `rise`."""
    n = table.n
    half = (len(table.sums) - 1) / (2.0 * table.s)
    if rise < 0.5 * n * half:  # within the slot; beyond it, each bin costs n more
        return int(np.sqrt(2.0 * rise * half / n))
    return int(0.5 * half + rise / n)


@inlined
def _find_extent(
    table: EmdTable,
    slot: int,
    below: int,
    start: int,
    step: int,
    max_bins: int,
    guess: int,
) -> int:
    """Return how many bins from `start` on cost less than `below`; -1 if none does."""
    good = -1
    bad = max_bins + 1
    at = min(max(guess, 0), max_bins)
    stride = 1
    while bad - good > 1:
        if compute_slot_cost(table, slot, start + step * at) < below:
            good = at
            at = at + stride
        else:
            bad = at
            at = at - stride
        stride *= 2
        if not good < at < bad:
            at = (good + bad) // 2
    return good


@compiled
def start_tables(candidates: SortedPool, screen: Screen, table: EmdTable) -> None:
    """Fill the table of EMD costs, and put all records into the distance filter."""
    fill(table)
    fill_screen(screen, candidates.pool.records, len(candidates.taken))


@compiled
def take_close_groups(
    candidates: SortedPool, screen: Screen, table: EmdTable, group: Group, turns: int
) -> None:
    """Make two groups per turn, and swap records until t holds or none helps."""
    for _ in range(turns):
        if candidates.free[0] == 0:
            return
        if sorted_pool.drop_taken(candidates):
            fill_screen(
                screen, candidates.pool.records, candidates.pool.counts[UNASSIGNED]
            )
        _measure_from_centroid(candidates, screen)
        _take_group(
            candidates, screen, table, group, _find_farthest(candidates, screen)
        )
        if candidates.free[0] > 0:
            _take_group(
                candidates, screen, table, group, _find_farthest(candidates, screen)
            )


@inner
def _measure_from_centroid(candidates: SortedPool, screen: Screen) -> None:
    """Set the filter to distances from the centroid of the unassigned records."""
    pool = candidates.pool
    copy_into(screen.point, (pool.sums[0] + pool.sums[1] / pool.unit) / pool.unit)
    screen.factor[0] = candidates.free[0]
    measure_screen(screen, pool.counts[UNASSIGNED])


@inner
def _take_group(
    candidates: SortedPool, screen: Screen, table: EmdTable, group: Group, seed: int
) -> None:
    """Make a t-close group, if swaps can, of the records nearest to column `seed`."""
    pool = candidates.pool
    copy_into(screen.point, pool.records[:, seed])
    screen.factor[0] = 1.0
    measure_screen(screen, pool.counts[UNASSIGNED])
    if candidates.free[0] < 2 * len(group.columns):
        for j in range(pool.counts[UNASSIGNED]):
            if not candidates.taken[j]:
                _assign_column(candidates, screen, j)
    else:
        _find_nearest(candidates, screen, group.columns)
        _swap_until_close(candidates, screen, table, group)
        for j in group.columns:
            _assign_column(candidates, screen, j)
    pool.counts[GROUPS] += 1


@inner
def _assign_column(candidates: SortedPool, screen: Screen, column: int) -> None:
    """Assign the record in a column to the group under construction."""
    sorted_pool.assign_column(candidates, column)
    screen.coordinates[0, column] = screen.near[column] = np.inf


@inlined
def _measure_exactly(candidates: SortedPool, screen: Screen, column: int) -> float:
    """Set the exact distance of the record in a column, and return it."""
    pool = candidates.pool
    distance = measure_exactly(screen, pool.records, column)
    pool.distances[column] = distance
    return distance


@inner
def _find_farthest(candidates: SortedPool, screen: Screen) -> int:
    """Return the column of the farthest unassigned record, the first in X of equals."""
    best = -1
    lower_limit = np.float32(0.0)
    pool = candidates.pool
    end = pool.counts[UNASSIGNED]
    j = find_next(screen, 0, end, lower_limit, LARGEST)
    while j < end:
        far = _measure_exactly(candidates, screen, j)
        if best < 0 or far > pool.distances[best]:
            best = j
            lower_limit = compute_lower_limit(screen, far)
        elif far == pool.distances[best] and pool.ids[j] < pool.ids[best]:
            best = j
        j = find_next(screen, j + 1, end, lower_limit, LARGEST)
    return best


@inner
def _find_nearest(candidates: SortedPool, screen: Screen, columns: I64) -> None:
    """Fill `columns` with the columns of the nearest unassigned records, in order."""
    count = 0
    upper_limit = LARGEST
    pool = candidates.pool
    end = pool.counts[UNASSIGNED]
    none = np.float32(0.0)
    j = find_next(screen, 0, end, none, upper_limit)
    while j < end:
        _measure_exactly(candidates, screen, j)
        count = _insert_nearest(candidates, columns, count, j)
        if count == len(columns):
            upper_limit = compute_upper_limit(screen, pool.distances[columns[-1]])
        j = find_next(screen, j + 1, end, none, upper_limit)


@inlined
def _is_nearer(pool: Pool, a: int, b: int) -> bool:
    """Whether the record in column a is nearer than in b, or equal and first in X."""
    if pool.distances[a] == pool.distances[b]:
        return bool(pool.ids[a] < pool.ids[b])
    return bool(pool.distances[a] < pool.distances[b])


@inlined
def _insert_nearest(
    candidates: SortedPool, columns: I64, count: int, column: int
) -> int:
    """Insert a column among the `count` nearest, and return the new count."""
    if count == len(columns):
        if not _is_nearer(candidates.pool, column, columns[-1]):
            return count
        count -= 1
    at = count
    while at > 0 and _is_nearer(candidates.pool, column, columns[at - 1]):
        columns[at] = columns[at - 1]
        at -= 1
    columns[at] = column
    return count + 1


@inner
def _swap_until_close(
    candidates: SortedPool, screen: Screen, table: EmdTable, group: Group
) -> None:
    """Swap near records into a group until it is t-close or no swap lowers its EMD."""
    for i in range(len(group.columns)):
        _insert_member(candidates, group, i, i)
    last = group.columns[-1]
    while True:
        sum_slot_costs(table, group)
        if group.stays[-1] <= table.limit:
            return
        last = _find_next_better(candidates, screen, table, group, last)
        if last < 0:
            return
        _replace_member(candidates, table, group, last)


@inlined
def _insert_member(
    candidates: SortedPool, group: Group, position: int, count: int
) -> None:
    """Insert a member among the `count` members of a group, sorted by value."""
    bin_ = candidates.bins[group.columns[position]]
    at = count
    while at > 0 and group.bins[at - 1] > bin_:
        group.bins[at] = group.bins[at - 1]
        group.ranked[at] = group.ranked[at - 1]
        at -= 1
    group.bins[at] = bin_
    group.ranked[at] = position


@inlined
def _find_next_better(
    candidates: SortedPool, screen: Screen, table: EmdTable, group: Group, last: int
) -> int:
    """Return the nearest column after `last` whose record lowers the EMD by a swap."""
    k = len(group.bins)
    best = -1
    for side in range(2 * k):
        slot = side // 2
        gap = (side + 1) // 2
        begin, end = (gap, k) if gap == slot else (0, gap)
        lo = group.bins[gap - 1] if gap > 0 else 0
        hi = group.bins[gap] if gap < k else len(table.sums) - 2
        below = group.stays[-1] - minimise_without(group, begin, end, gap)
        if table.lowest[slot] < below:
            a, b = find_interval(table, slot, below, lo, hi)
            best = _find_nearest_between(candidates, screen, a, b, last, best)
    return best


@inlined
def _find_nearest_between(
    candidates: SortedPool, screen: Screen, a: int, b: int, last: int, best: int
) -> int:
    """Return the nearest unassigned column after `last` in bins a..b-1, or `best`."""
    pool = candidates.pool
    end = candidates.first[b]
    upper_limit = LARGEST
    lower_limit = compute_lower_limit(screen, pool.distances[last])
    if best >= 0:
        upper_limit = compute_upper_limit(screen, pool.distances[best])
    j = find_next(screen, candidates.first[a], end, lower_limit, upper_limit)
    while j < end:
        _measure_exactly(candidates, screen, j)
        beyond = _is_nearer(pool, last, j)
        if beyond and (best < 0 or _is_nearer(pool, j, best)):
            best = j
            upper_limit = compute_upper_limit(screen, pool.distances[j])
        j = find_next(screen, j + 1, end, lower_limit, upper_limit)
    return best


@inlined
def _replace_member(
    candidates: SortedPool, table: EmdTable, group: Group, column: int
) -> None:
    """Swap a record in for the member of a group whose removal leaves the least EMD."""
    k = len(group.bins)
    bin_ = candidates.bins[column]
    gap = 0
    while gap < k and group.bins[gap] < bin_:
        gap += 1
    out = -1
    lowest = group.stays[-1]
    for a in range(k):
        moved = sum_without(group, a, gap)
        moved += compute_slot_cost(table, gap - 1 if a < gap else gap, bin_)
        if moved < lowest or (
            moved == lowest and out >= 0 and group.ranked[a] < group.ranked[out]
        ):
            out = a
            lowest = moved
    position = group.ranked[out]
    for i in range(out, k - 1):
        group.bins[i] = group.bins[i + 1]
        group.ranked[i] = group.ranked[i + 1]
    group.columns[position] = column
    _insert_member(candidates, group, position, k - 1)
