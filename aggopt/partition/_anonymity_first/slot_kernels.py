"""What a member costs a group, and which values would cost less.  Imports numba.

A group of s records is a row of slots.  Slot j takes the records of ranks jn/s to
(j + 1)n/s to the group's (j + 1)-th smallest value; its cost is what it moves them, in
units in which the EMD's numerator is the sum over slots.  A swap moves the members
between the record that leaves and the one that comes by one slot: sums of costs along
the row, with every member in its slot, one slot down or one up, give all swaps.

A slot's cost is convex in its value, so that the values which improve the group are one
interval per slot and gap between members.
"""

import numpy as np

from aggopt.core.compiled import inlined, inner
from aggopt.partition._anonymity_first.state import EmdTable, Group


@inner
def fill(table: EmdTable) -> None:
    """Fill in what the table says of each slot."""
    n, s, m = table.n, table.s, len(table.sums) - 1
    for slot in range(s + 1):
        table.begins[slot] = table.first[slot * n // s]
    for slot in range(s):
        table.totals[slot] = _above(table, slot, m) - _above(table, slot + 1, m)
        half = -(-(2 * slot + 1) * n // (2 * s))
        table.best[slot] = min(table.first[half - 1], m - 1)
        table.least[slot] = cost(table, slot, table.best[slot])


@inlined
def cost(table: EmdTable, slot: int, bin_: int) -> int:
    """Return the cost of a slot whose value lies in a bin."""
    left = _above(table, slot, bin_) - _above(table, slot + 1, bin_)
    end = len(table.sums) - 1
    total: int = 2 * left - table.totals[slot] + table.n * (end - bin_)
    return total


@inlined
def _above(table: EmdTable, slot: int, end: int) -> int:
    """Return sum_{i < end} max(s below_i - slot n, 0)."""
    begin = min(table.begins[slot], end)
    filled: int = table.s * (table.sums[end] - table.sums[begin])
    above: int = filled - slot * table.n * (end - begin)
    return above


@inlined
def add_up(table: EmdTable, group: Group) -> None:
    """Sum costs of the first g members, each in its slot, one down and one up."""
    k, bins = len(group.bins), group.bins
    for i in range(k):
        group.stays[i + 1] = group.stays[i] + cost(table, i, bins[i])
        down = cost(table, i - 1, bins[i]) if i > 0 else 0
        up = cost(table, i + 1, bins[i]) if i + 1 < k else 0
        group.down[i + 1] = group.down[i] + down
        group.up[i + 1] = group.up[i] + up


@inlined
def without(group: Group, a: int, gap: int) -> int:
    """Return the sum of costs without member a and one to come in at a gap.

    Gap g lies after g members.
    """
    if a < gap:
        shifted: int = group.down[gap] - group.down[a + 1] - group.stays[gap]
    else:
        shifted = group.up[a] - group.up[gap] - group.stays[a + 1]
    kept: int = group.stays[min(a, gap)] + group.stays[-1]
    return kept + shifted


@inlined
def least_without(group: Group, begin: int, end: int, gap: int) -> int:
    """Return the least sum without one of the members begin..end-1."""
    least = without(group, begin, gap)
    for a in range(begin + 1, end):
        least = min(least, without(group, a, gap))
    return least


@inlined
def interval(
    table: EmdTable, slot: int, below: int, lo: int, hi: int
) -> tuple[int, int]:
    """Return the bins a..b-1 within lo..hi where a slot costs less than `below`.

    Its `least` must be less.
    """
    best = table.best[slot]
    middle = min(max(best, lo), hi)
    width = _about(table, below - table.least[slot])
    least, most = width + middle - best, width + best - middle
    left = _extent(table, slot, below, middle, -1, middle - lo, least)
    right = _extent(table, slot, below, middle, 1, hi - middle, most)
    return middle - left, middle + right + 1


@inlined
def _about(table: EmdTable, rise: int) -> int:
    """Return how far from its best bin a slot costs so much more, but for ties."""
    n, half = table.n, (len(table.sums) - 1) / (2.0 * table.s)
    if rise < 0.5 * n * half:  # within the slot; beyond it, each bin costs n more
        return int(np.sqrt(2.0 * rise * half / n))
    return int(0.5 * half + rise / n)


@inlined
def _extent(
    table: EmdTable, slot: int, below: int, start: int, step: int, most: int, guess: int
) -> int:
    """Return how many bins beyond `start` a slot costs less than `below`, or -1."""
    good, bad, at, stride = -1, most + 1, min(max(guess, 0), most), 1
    while bad - good > 1:
        if cost(table, slot, start + step * at) < below:
            good, at = at, at + stride
        else:
            bad, at = at, at - stride
        stride *= 2
        if not good < at < bad:
            at = (good + bad) // 2
    return good
