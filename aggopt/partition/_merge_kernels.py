"""Compiled loops that merge groups until t holds.  Importing this imports numba.

A merged group's EMD is at most the mean of the two, weighted by their sizes: it is
reckoned only when that bound is the largest of all.
"""

import numpy as np

from aggopt.arrays import Floats
from aggopt.compiled import compiled
from aggopt.partition._merging import Merging
from aggopt.partition._pool import Integers
from aggopt.privacy import _emd_kernels

UP = 1 + 1e-12  # more than rounding takes from a mean of two


@compiled
def reckon_all(merging: Merging) -> None:
    """Set the EMD of every group."""
    for g in range(merging.alive[0]):
        _reckon(merging, g)


@compiled
def merge(merging: Merging, turns: int) -> bool:
    """Merge for so many turns; return whether there is more to do."""
    distances = np.empty(len(merging.sizes))
    for _ in range(turns):
        worst = _worst(merging)
        if worst < 0:
            return False
        nearest = _nearest(merging, worst, distances)
        if merging.number[nearest] < merging.number[worst]:
            _join(merging, nearest, worst)
        else:
            _join(merging, worst, nearest)
    return True


@compiled
def slots(merging: Merging) -> Integers:
    """Return the slot of each record's group, (n,)."""
    slot = np.empty(len(merging.after), np.int64)
    for g in range(merging.alive[0]):
        i = merging.head[g]
        for _ in range(merging.sizes[g]):
            slot[i] = g
            i = merging.after[i]
    return slot


@compiled
def _worst(merging: Merging) -> int:
    while True:
        best = -1
        for g in range(merging.alive[0]):
            if merging.over[g] and (best < 0 or _worse(merging, g, best)):
                best = g
        if best < 0 or merging.exact[best]:
            return best
        _reckon(merging, best)


@compiled
def _worse(merging: Merging, a: int, b: int) -> bool:
    if merging.emd[a] == merging.emd[b]:
        return bool(merging.number[a] < merging.number[b])
    return bool(merging.emd[a] > merging.emd[b])


@compiled
def _reckon(merging: Merging, g: int) -> None:
    table, s = merging.table, merging.sizes[g]
    members, i = np.empty(s, np.int64), merging.head[g]
    for r in range(s):
        members[r] = i
        i = merging.after[i]
    n = len(merging.after)
    merging.emd[g], merging.over[g], merging.exact[g] = 0.0, False, True
    for a in range(len(table.bins)):
        m = table.bins[a]
        places = np.sort(table.place[a][members])
        sums = table.sums[a, : m + 1]
        moved = _emd_kernels.numerator(places, n, sums, table.first[a])
        merging.over[g] |= moved > table.limits[a, s]
        if m > 1:
            merging.emd[g] = max(merging.emd[g], moved / (s * n * (m - 1)))


@compiled
def _nearest(merging: Merging, g: int, distances: Floats) -> int:
    # whole numbers stay whole, so that ties stay ties:
    # |C_h - C_g|^2 = |n_g S_h - n_h S_g|^2 / (n_g n_h)^2, and n_g is the same for all
    m, sizes, totals = merging.alive[0], merging.sizes, merging.totals
    distances[:m] = 0.0
    for t in range(len(totals)):
        row, mine, own = totals[t], float(sizes[g]), totals[t, g]
        for h in range(m):
            gap = mine * row[h] - sizes[h] * own
            distances[h] += gap * gap
    best, near, number = -1, np.inf, merging.number
    for h in range(m):
        v = distances[h] / (float(sizes[h]) * float(sizes[h]))
        if h != g and (
            best < 0 or v < near or (v == near and number[h] < number[best])
        ):
            best, near = h, v
    return best


@compiled
def _join(merging: Merging, g: int, h: int) -> None:
    share = merging.sizes[g] / (merging.sizes[g] + merging.sizes[h])
    bound = share * merging.emd[g] + (1 - share) * merging.emd[h]
    merging.emd[g], merging.exact[g], merging.over[g] = bound * UP, False, True
    merging.after[merging.tail[g]] = merging.head[h]
    merging.tail[g] = merging.tail[h]
    merging.sizes[g] += merging.sizes[h]
    merging.totals[:, g] += merging.totals[:, h]
    _drop(merging, h)


@compiled
def _drop(merging: Merging, h: int) -> None:
    merging.alive[0] -= 1
    last = merging.alive[0]
    merging.totals[:, h] = merging.totals[:, last]
    merging.number[h], merging.sizes[h] = merging.number[last], merging.sizes[last]
    merging.head[h], merging.tail[h] = merging.head[last], merging.tail[last]
    merging.emd[h], merging.exact[h] = merging.emd[last], merging.exact[last]
    merging.over[h] = merging.over[last]
