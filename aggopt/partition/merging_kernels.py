"""Compiled loops that merge groups until t holds. Importing this imports numba.

A merged group's EMD is at most the mean of the two, weighted by their sizes: the exact
EMD is computed only when that bound is the largest of all.
"""

from typing import NamedTuple

import numpy as np

from aggopt.core.compiled import compiled, inlined, inner
from aggopt.core.kernels import copy_into
from aggopt.core.types import I64, Bool, Floats
from aggopt.partition._screened_distances import BLOCK, Screen
from aggopt.partition._screened_distances_kernels import (
    LARGEST,
    compute_upper_limit,
    find_next,
    measure_screen,
)
from aggopt.privacy import emd_kernels as _emd_kernels

UP = 1 + 1e-12  # more than rounding takes from a mean of two


class Bins(NamedTuple):
    """Histograms for the EMD of a group of records, by attribute.

    Attributes
    ----------
    place : (c, n)
        Bin of each record.
    bins : (c,)
        Number of bins.
    sums : (c, widest + 1)
        `Ordered.sums` in the first bins + 1 columns.
    first : (c, n + 1)
        `Ordered.first`.
    limits : (c, n + 1)
        The largest numerator that t allows, by size.
    """

    place: I64
    bins: I64
    sums: I64
    first: I64
    limits: I64


class Merging(NamedTuple):
    """Groups during merging, in slots; the first `alive[0]` slots are in use.

    Attributes
    ----------
    table
        Histograms for the EMD.
    number, sizes : (m,)
        The group's number, and its number of records.
    totals : (d, m)
        Sum of its records, in units in which no entry exceeds 1.
    screen
        Its centroid.
    emd : (m,)
        Its largest EMD over the attributes, or an upper bound while not `exact`.
    exact : (m,)
        Whether `emd` is exact.
    excess, peak : (m,), (m / BLOCK,)
        `emd` if the group may exceed t, else -1; and the largest of a block.
    head, tail, after : (m,), (m,), (n,)
        Its first record, its last, and the successor of each record.
    alive : (1,)
        Number of groups.
    """

    table: Bins
    number: I64
    sizes: I64
    totals: Floats
    screen: Screen
    emd: Floats
    exact: Bool
    excess: Floats
    peak: Floats
    head: I64
    tail: I64
    after: I64
    alive: I64

    def __repr__(self) -> str:
        """Return the number of groups left, without values."""
        return f"Merging({int(self.alive[0])} of {len(self.sizes)} groups)"


@compiled
def start_merging(merging: Merging) -> None:
    """Set the EMD of every group, and put all centroids into the distance filter."""
    for g in range(merging.alive[0]):
        _compute_emd(merging, g)
        _place_centroid(merging, g)
    for g in range(0, merging.alive[0], BLOCK):
        _find_peak(merging, g)


@compiled
def merge_groups(merging: Merging, turns: int) -> bool:
    """Merge the group of the worst EMD, `turns` times; return whether t is missed."""
    for _ in range(turns):
        worst = _find_worst(merging)
        if worst < 0:
            return False
        nearest = _find_nearest(merging, worst)
        if merging.number[nearest] < merging.number[worst]:
            _merge_into(merging, nearest, worst)
        else:
            _merge_into(merging, worst, nearest)
    return True


@compiled
def find_slots(merging: Merging, slot: I64) -> None:
    """Write the slot (array position) of each record's group to `slot`, (n,)."""
    for g in range(merging.alive[0]):
        i = merging.head[g]
        for _ in range(merging.sizes[g]):
            slot[i] = g
            i = merging.after[i]


@inner
def _find_worst(merging: Merging) -> int:
    """Return the group that exceeds t most, the first of equals; -1 if none does."""
    while True:
        best = _find_largest(merging)
        if best < 0 or merging.exact[best]:
            return best
        _compute_emd(merging, best)
        _find_peak(merging, best)


@inner
def _find_largest(merging: Merging) -> int:
    """Return the group of the largest EMD bound beyond t; -1 if none."""
    blocks = -(-merging.alive[0] // BLOCK)
    highest = merging.peak[:blocks].max()
    best = -1
    for b in range(blocks if highest >= 0.0 else 0):
        if merging.peak[b] == highest:
            for g in range(b * BLOCK, min((b + 1) * BLOCK, merging.alive[0])):
                first = best < 0 or merging.number[g] < merging.number[best]
                if merging.excess[g] == highest and first:
                    best = g
    return best


@inner
def _find_peak(merging: Merging, g: int) -> None:
    """Set the largest EMD beyond t of the block of groups that contains g."""
    start = g // BLOCK * BLOCK
    highest = -1.0
    for h in range(start, min(start + BLOCK, merging.alive[0])):
        highest = max(highest, merging.excess[h])
    merging.peak[g // BLOCK] = highest


@inner
def _compute_emd(merging: Merging, g: int) -> None:
    """Set the exact EMD of group g, the largest over confidential attributes."""
    table = merging.table
    s = merging.sizes[g]
    members = np.empty(s, np.int64)
    i = merging.head[g]
    for r in range(s):
        members[r] = i
        i = merging.after[i]
    n = len(merging.after)
    merging.emd[g] = 0.0
    over = False
    merging.exact[g] = True
    for a in range(len(table.bins)):
        m = table.bins[a]
        places = np.sort(table.place[a][members])
        sums = table.sums[a, : m + 1]
        moved = _emd_kernels.compute_group_numerator(places, n, sums, table.first[a])
        over |= moved > table.limits[a, s]
        if m > 1:
            merging.emd[g] = max(merging.emd[g], moved / (s * n * (m - 1)))
    merging.excess[g] = merging.emd[g] if over else -1.0


@inner
def _find_nearest(merging: Merging, g: int) -> int:
    """Return the group whose centroid is nearest to that of group g."""
    screen = merging.screen
    m = merging.alive[0]
    number = merging.number
    copy_into(screen.point, merging.totals[:, g])
    screen.factor[0] = merging.sizes[g]
    measure_screen(screen, m)
    screen.near[g] = np.inf
    best = -1
    near = np.inf
    upper_limit = LARGEST
    none = np.float32(0.0)
    h = find_next(screen, 0, m, none, upper_limit)
    while h < m:
        v = _measure_centroids(merging, g, h)
        if best < 0 or v < near or (v == near and number[h] < number[best]):
            best = h
            near = v
            upper_limit = compute_upper_limit(screen, v)
        h = find_next(screen, h + 1, m, none, upper_limit)
    return best


@inlined
def _measure_centroids(merging: Merging, g: int, h: int) -> float:
    """Return the squared distance of two centroids, times n_g^2."""
    # integers stay integers, so that ties remain ties:
    # |C_h - C_g|^2 = |n_g S_h - n_h S_g|^2 / (n_g n_h)^2, and n_g is common to all
    totals = merging.totals
    total = 0.0
    mine = float(merging.sizes[g])
    other = float(merging.sizes[h])
    for t in range(len(totals)):
        gap = mine * totals[t, h] - other * totals[t, g]
        total += gap * gap
    return total / (other * other)


@inner
def _merge_into(merging: Merging, g: int, h: int) -> None:
    """Merge group h into group g; bound its EMD by the weighted mean of both EMDs."""
    share = merging.sizes[g] / (merging.sizes[g] + merging.sizes[h])
    bound = share * merging.emd[g] + (1 - share) * merging.emd[h]
    merging.emd[g] = bound * UP
    merging.exact[g] = False
    merging.excess[g] = bound * UP
    merging.after[merging.tail[g]] = merging.head[h]
    merging.tail[g] = merging.tail[h]
    merging.sizes[g] += merging.sizes[h]
    for j in range(len(merging.totals)):
        merging.totals[j, g] += merging.totals[j, h]
    _place_centroid(merging, g)
    _drop_group(merging, h)
    _find_peak(merging, g)
    _find_peak(merging, h)


@inner
def _place_centroid(merging: Merging, g: int) -> None:
    """Put the centroid of group g into the distance filter."""
    for t in range(len(merging.totals)):
        merging.screen.coordinates[t, g] = merging.totals[t, g] / merging.sizes[g]


@inner
def _drop_group(merging: Merging, h: int) -> None:
    """Remove group h: the last group moves to its slot."""
    merging.alive[0] -= 1
    last = merging.alive[0]
    copy_into(merging.totals[:, h], merging.totals[:, last])
    merging.number[h] = merging.number[last]
    merging.sizes[h] = merging.sizes[last]
    merging.head[h] = merging.head[last]
    merging.tail[h] = merging.tail[last]
    merging.emd[h] = merging.emd[last]
    merging.exact[h] = merging.exact[last]
    merging.excess[h] = merging.excess[last]
    coordinates = merging.screen.coordinates
    copy_into(coordinates[:, h], coordinates[:, last])
    merging.screen.coordinates[0, last] = np.inf
    _find_peak(merging, last)
