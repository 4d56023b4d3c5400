"""Compiled search for violated cuts among listed pairs.  Imports numba.

`support` lists the pairs that are together at all, and `weights` (m,) how much.
"""

import numpy as np

from aggopt.algorithms.pair_bound.row_kernels import FIRST, ITSELF, SECOND, PairLists
from aggopt.core.compiled import compiled, inlined
from aggopt.core.types import I32, I64, U64
from aggopt.core.validation import Floats

FACTOR = np.uint64(0x9E3779B97F4A7C15)  # of the golden ratio: spreads numbers
SHIFT = np.uint64(29)


@compiled
def separate_triangles(
    support: PairLists,
    weights: Floats,
    x: Floats,
    least: float,
    triangles: I32,
    counts: I64,
    excess: Floats,
    k: int,
) -> None:
    """Find the triangles of each apex that are violated most, and lacking neighbours.

    triangles (n, q, 3) receives up to counts (n,) with a violation above `least`, tips
    ascending.  excess (m,) receives the violation of each pair's best cut of common
    neighbours.
    """
    n = len(x)
    room = triangles.shape[1]
    to_apex = np.zeros(n)
    to_tip = np.zeros(n)
    worst = np.empty(room)
    start = support.start
    other = support.other
    for i in range(n):
        for e in range(start[i], start[i + 1]):
            to_apex[other[e]] = weights[support.number[e]]
        for at in range(room):
            worst[at] = least
        count = 0
        for e in range(start[i], start[i + 1]):
            j = other[e]
            own = weights[support.number[e]]
            common = 0.0
            for f in range(start[j], start[j + 1]):
                l = other[f]  # noqa: E741
                weight = weights[support.number[f]]
                to_tip[l] = weight
                least_of_three = to_apex[l] if to_apex[l] < own else own
                common += weight if weight < least_of_three else least_of_three
            if i < j:
                excess[support.number[e]] = (k - 2.0) * own - common
            for f in range(e + 1, start[i + 1]):
                l = other[f]  # noqa: E741
                violation = own + to_apex[l] - to_tip[l] - x[i]
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


@compiled
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
        own = _find_weight(support, weights, i, j)
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
            if to_first > own and to_second > own:
                side = ITSELF
                itself[c] += 1
            if size < len(end_record):
                end_record[size] = l
                end_side[size] = side
            size += 1
        end_start[c + 1] = size
    return size


@inlined
def _find_weight(support: PairLists, weights: Floats, i: int, j: int) -> float:
    """Return how much two records are together."""
    for e in range(support.start[i], support.start[i + 1]):
        if support.other[e] == j:
            return float(weights[support.number[e]])
    return 0.0


@compiled
def grow_sets(
    support: PairLists,
    weights: Floats,
    x: Floats,
    masses: Floats,
    k: int,
    least: float,
    members: I32,
    sizes: I64,
    excess: Floats,
    codes: U64,
) -> None:
    """Grow a set from each record that no set before has, by the most together with it.

    members (n, q) receives the records, sizes (n,) how many of them make the inequality
    of sizes violated most, 0 if it is by no more than `least`; excess (n,) the
    violation, and codes (n,) a number that is equal for equal sets.
    """
    n = len(x)
    most = members.shape[1]
    together = np.zeros(n)
    leaving_to = np.zeros(n)
    state = np.zeros(n, np.int8)  # 1: a candidate, 2: a member
    candidates = np.empty(n, np.int64)
    is_covered = np.zeros(n, np.bool_)
    start = support.start
    other = support.other
    for seed in range(n):
        sizes[seed] = 0
        if is_covered[seed]:
            continue
        touched = 1
        candidates[0] = seed
        state[seed] = 1
        leaving = 0.0
        total = 0.0
        code = np.uint64(0)
        best = least
        latest = seed
        size = 0
        while size < most and latest >= 0:
            leaving -= leaving_to[latest]
            state[latest] = 2
            members[seed, size] = latest
            size += 1
            total += masses[latest] * x[latest]
            code += _spread(latest)
            for e in range(start[latest], start[latest + 1]):
                l = other[e]  # noqa: E741
                weight = weights[support.number[e]]
                together[l] += weight
                leaving_to[l] += masses[latest] * weight
                if state[l] != 2:
                    leaving += masses[latest] * weight
                if state[l] == 0:
                    state[l] = 1
                    candidates[touched] = l
                    touched += 1
            violation = total - leaving - k * (size // k)
            if violation > best:
                best = violation
                sizes[seed] = size
                excess[seed] = violation
                codes[seed] = code
            latest = -1
            nearest = 0.0
            for e in range(touched):
                l = candidates[e]  # noqa: E741
                if state[l] == 1 and together[l] > nearest:
                    nearest = together[l]
                    latest = l
        for e in range(sizes[seed]):
            is_covered[members[seed, e]] = True
        for e in range(touched):
            together[candidates[e]] = 0.0
            leaving_to[candidates[e]] = 0.0
            state[candidates[e]] = 0


@inlined
def _spread(record: int) -> np.uint64:
    """Return a number of a record whose sums differ from set to set."""
    value = (np.uint64(record) + np.uint64(1)) * FACTOR
    return np.uint64((value ^ (value >> SHIFT)) * FACTOR)
