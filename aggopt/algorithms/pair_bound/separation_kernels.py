"""Compiled search for violated cuts among listed pairs.  Imports numba.

`support` lists the pairs that are together at all, and `weights` (m,) how much.
"""

from typing import NamedTuple

import numpy as np

from aggopt.algorithms.pair_bound.row_kernels import FIRST, ITSELF, SECOND, PairLists
from aggopt.core.compiled import unrefcounted, unrefcounted_inlined
from aggopt.core.types import I32, I64
from aggopt.core.validation import Floats


@unrefcounted
def separate_triangles(
    support: PairLists,
    weights: Floats,
    x: Floats,
    threshold: float,
    triangles: I32,
    counts: I64,
    excess: Floats,
    k: int,
    closeness: tuple[Floats, Floats],
    worst: Floats,
) -> None:
    """Find the triangles of each apex that are violated most, and lacking neighbours.

    triangles (n, q, 3) receives up to counts (n,) with a violation above `threshold`,
    tips ascending.  excess (m,) receives the violation of each pair's best cut of
    common neighbours.  `closeness`, two of (n,), is 0 before and after; `worst` (q,) is
    room.
    """
    n = len(x)
    room = triangles.shape[1]
    to_apex, to_tip = closeness
    start = support.start
    other = support.other
    for i in range(n):
        for e in range(start[i], start[i + 1]):
            to_apex[other[e]] = weights[support.number[e]]
        for at in range(room):
            worst[at] = threshold
        count = 0
        for e in range(start[i], start[i + 1]):
            j = other[e]
            edge_weight = weights[support.number[e]]
            common = 0.0
            for f in range(start[j], start[j + 1]):
                l = other[f]  # noqa: E741
                weight = weights[support.number[f]]
                to_tip[l] = weight
                least_of_three = to_apex[l] if to_apex[l] < edge_weight else edge_weight
                common += weight if weight < least_of_three else least_of_three
            if i < j:
                excess[support.number[e]] = (k - 2.0) * edge_weight - common
            for f in range(e + 1, start[i + 1]):
                l = other[f]  # noqa: E741
                violation = edge_weight + to_apex[l] - to_tip[l] - x[i]
                if violation > worst[room - 1]:
                    at = room - 1
                    while at > 0 and worst[at - 1] < violation:
                        worst[at] = worst[at - 1]
                        for corner in range(3):
                            triangles[i, at, corner] = triangles[i, at - 1, corner]
                        at -= 1
                    worst[at] = violation
                    triangles[i, at, 0] = i
                    triangles[i, at, 1] = j
                    triangles[i, at, 2] = l
                    if count < room:
                        count += 1
            for f in range(start[j], start[j + 1]):
                to_tip[other[f]] = 0.0
        counts[i] = count
        for e in range(start[i], start[i + 1]):
            to_apex[other[e]] = 0.0


@unrefcounted
def list_common(
    support: PairLists,
    weights: Floats,
    ends: I32,
    itself: I32,
    end_start: I64,
    end_record: I32,
    end_side: I32,
) -> int:
    """List what represents the neighbours of both ends of cuts; return their number.

    Of the pairs of a neighbour with each end, and of the ends, the one that is together
    least: the cut is then violated most.  Entries beyond the room are counted only.
    """
    start = support.start
    other = support.other
    size = 0
    for c in range(len(ends)):
        i = ends[c, 0]
        j = ends[c, 1]
        weight = _find_weight(support, weights, i, j)
        e = start[i]
        f = start[j]
        itself[c] = 0
        while e < start[i + 1] or f < start[j + 1]:  # both lists ascend
            left = other[e] if e < start[i + 1] else np.int32(len(start))
            right = other[f] if f < start[j + 1] else np.int32(len(start))
            l = left if left < right else right  # noqa: E741
            to_first = 0.0
            to_second = 0.0
            if left == l:
                to_first = weights[support.number[e]]
                e += 1
            if right == l:
                to_second = weights[support.number[f]]
                f += 1
            if l in (i, j):
                continue
            side = FIRST if to_first <= to_second else SECOND
            if to_first > weight and to_second > weight:
                side = ITSELF
                itself[c] += 1
            if size < len(end_record):
                end_record[size] = l
                end_side[size] = side
            size += 1
        end_start[c + 1] = size
    return size


@unrefcounted_inlined
def _find_weight(support: PairLists, weights: Floats, i: int, j: int) -> float:
    """Return how much two records are together."""
    for e in range(support.start[i], support.start[i + 1]):
        if support.other[e] == j:
            return float(weights[support.number[e]])
    return 0.0


class Growth(NamedTuple):
    """Room for the set that grows, all 0 before and after a set but for `covered`.

    Attributes
    ----------
    together, leaving : (n,)
        How much each record is together with the members, and by their weights.
    state : (n,)
        1: a candidate, 2: a member.
    candidates : (n,)
        Records with a state.
    covered : (n,)
        1: a member of a set that was found.
    """

    together: Floats
    leaving: Floats
    state: I32
    candidates: I32
    covered: I32


def make_growth(n: int) -> Growth:
    """Return empty arrays to grow sets of n records in."""
    numbers = (np.zeros(n, np.int32) for _ in range(3))
    return Growth(np.zeros(n), np.zeros(n), *numbers)


@unrefcounted
def grow_sets(
    support: PairLists,
    weights: Floats,
    x: Floats,
    masses: Floats,
    k: int,
    threshold: float,
    members: I32,
    sizes: I64,
    growth: Growth,
) -> None:
    """Grow a set from each record that no set before has, by the most together with it.

    members (n, q) receives the records, and sizes (n,) how many of them make the
    inequality of sizes violated most, 0 if it is by no more than `threshold`.
    """
    for seed in range(len(x)):
        sizes[seed] = 0
        if growth.covered[seed] == 1:
            continue
        touched = 1
        growth.candidates[0] = seed
        growth.state[seed] = 1
        leaving = 0.0
        total = 0.0
        best = threshold
        latest = seed
        size = 0
        while size < members.shape[1] and latest >= 0:
            members[seed, size] = latest
            size += 1
            total += masses[latest] * x[latest]
            leaving -= growth.leaving[latest]
            growth.state[latest] = 2
            for e in range(support.start[latest], support.start[latest + 1]):
                l = support.other[e]  # noqa: E741
                weight = weights[support.number[e]]
                growth.together[l] += weight
                growth.leaving[l] += masses[latest] * weight
                if growth.state[l] != 2:
                    leaving += masses[latest] * weight
                if growth.state[l] == 0:
                    growth.state[l] = 1
                    growth.candidates[touched] = l
                    touched += 1
            violation = total - leaving - k * (size // k)
            if violation > best:
                best = violation
                sizes[seed] = size
            latest = _find_nearest_candidate(growth, touched)
        for e in range(sizes[seed]):
            growth.covered[members[seed, e]] = 1
        for e in range(touched):
            l = growth.candidates[e]  # noqa: E741
            growth.together[l] = 0.0
            growth.leaving[l] = 0.0
            growth.state[l] = 0


@unrefcounted_inlined
def _find_nearest_candidate(growth: Growth, touched: int) -> int:
    """Return the candidate whose pairs with members weigh most; -1 without any."""
    nearest = 0.0
    best = -1
    for e in range(touched):
        record = growth.candidates[e]
        if growth.state[record] == 1 and growth.together[record] > nearest:
            nearest = growth.together[record]
            best = record
    return best
