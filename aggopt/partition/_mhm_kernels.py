"""Compiled orderings, farthest pairs, and tours.  Importing this imports numba.

Sums over attributes run in the attributes' order, and nothing may be reassociated or
fused.  As rounding is monotone, the distance to a box then never exceeds that to a
record in it: skipped boxes are farther, rounded or not.  In the search for
the farthest pair, the distance to the far corner of a box is never exceeded.

The tour may be read in both directions: `way` is 1 or -1.  A move counts only if it
shortens the tour by more than rounding errors, so that the search ends.
"""

import numpy as np

from aggopt.core.compiled import compiled, inner
from aggopt.core.types import I64, Floats
from aggopt.partition._mhm_boxes import (
    MOVES,
    QUEUED,
    TAKEN,
    GroupMembers,
    Leaves,
    Reach,
    Tour,
)


@compiled
def take_pairs(leaves: Leaves, reach: Reach, labels: I64, k: int, looks: int) -> None:
    """Make pairs of groups around two farthest records, by up to `looks` searches.

    A look finds the farthest record from one that may be one of the two.
    """
    near = np.empty(k, np.int64)
    for _ in range(looks):
        if leaves.waiting.sum() < 2 * k:
            return
        r = _find_outermost(leaves, reach)
        s = reach.whom[r]
        if s >= 0 and labels[s] < 0:
            if reach.out[s] > reach.out[r]:
                r, s = s, r
            first_point = _copy_record(leaves, r)
            second_point = _copy_record(leaves, s)
            _take_nearest(leaves, reach, labels, first_point, near)
            _take_nearest(leaves, reach, labels, second_point, near)
        else:
            reach.whom[r], reach.far[r] = _find_farthest(leaves, r)
            _update_peak(leaves, reach, leaves.box[leaves.column[r]])


@inner
def _take_nearest(
    leaves: Leaves, reach: Reach, labels: I64, point: Floats, near: I64
) -> None:
    """Make a group of the len(near) unassigned records nearest to a point."""
    fill_nearest(leaves, point, -1, near, np.empty(len(near)))
    group = labels.max() + 1
    for j in near:
        labels[j] = group
        mark_visited(leaves, j)
        _update_peak(leaves, reach, leaves.box[leaves.column[j]])


@inner
def _update_peak(leaves: Leaves, reach: Reach, box: int) -> None:
    """Set a box's bound on farthest distances to the maximum over its records."""
    reach.peaks[box] = -1.0
    first = leaves.first[box]
    for i in leaves.ids[first : first + leaves.waiting[box]]:
        reach.peaks[box] = max(reach.peaks[box], reach.far[i])


@inner
def _find_outermost(leaves: Leaves, reach: Reach) -> int:
    """Return the record with the largest bound on its farthest distance."""
    # among equally distant records, the one first in X
    peak = reach.peaks.max()
    best = -1
    for box in range(len(reach.peaks)):
        if reach.peaks[box] == peak:
            first = leaves.first[box]
            for i in leaves.ids[first : first + leaves.waiting[box]]:
                if reach.far[i] == peak and (best < 0 or i < best):
                    best = i
    return best


@inner
def _find_farthest(leaves: Leaves, i: int) -> tuple[int, float]:
    """Return the unassigned record farthest from record i, and its squared distance."""
    point = _copy_record(leaves, i)
    _measure_far_corners(leaves, point)
    home = int(leaves.bounds.argmax())
    best, largest = _find_farthest_in_box(leaves, home, point, i, -1, -1.0)
    for box in range(len(leaves.bounds)):
        if leaves.bounds[box] >= largest:
            best, largest = _find_farthest_in_box(leaves, box, point, i, best, largest)
    return best, largest


@inner
def _find_farthest_in_box(
    leaves: Leaves, box: int, point: Floats, i: int, best: int, largest: float
) -> tuple[int, float]:
    """Return (record, squared distance) of the farthest so far, after one more box."""
    ids, distances = measure_waiting(leaves, box, point)
    for j in range(len(ids)):
        v = distances[j]
        if v >= largest and ids[j] != i and (v > largest or ids[j] < best):
            best = ids[j]
            largest = v
    return best, largest


@inner
def _measure_far_corners(leaves: Leaves, point: Floats) -> None:
    """Set each box's bound to its largest squared distance from a point."""
    bounds = leaves.bounds
    bounds[:] = 0.0
    for t in range(len(point)):
        low = leaves.low[t]
        high = leaves.high[t]
        p = point[t]
        for b in range(len(bounds)):
            gap = max(p - low[b], high[b] - p)
            bounds[b] += gap * gap
    bounds[leaves.waiting == 0] = -2.0


@inner
def _copy_record(leaves: Leaves, i: int) -> Floats:
    """Return a copy of the attributes of record i, (d,)."""
    return leaves.records[:, leaves.column[i]].copy()


@compiled
def continue_path(
    leaves: Leaves, groups: GroupMembers, path: I64, done: int, stop: int
) -> None:
    """Fill path[done:stop] with the records visited next, each the nearest."""
    if done == 0:
        mark_visited(leaves, path[0])
    for p in range(max(done, 1), stop):
        path[p] = _find_next(leaves, groups, path[p - 1])
        mark_visited(leaves, path[p])


@compiled
def fill_nearest_of_each(
    leaves: Leaves, begin: int, stop: int, nearest: I64, distances: Floats
) -> None:
    """Fill nearest[i] and distances[i] for records begin..stop-1, except themselves."""
    for i in range(begin, stop):
        point = leaves.records[:, leaves.column[i]].copy()
        fill_nearest(leaves, point, i, nearest[i], distances[i])


@inner
def fill_nearest(leaves: Leaves, point: Floats, i: int, near: I64, far: Floats) -> None:
    """Fill `near` with the unvisited records nearest to a point, except i, in order."""
    near[:] = len(leaves.ids)
    far[:] = np.inf
    _measure_boxes(leaves, point)
    home = int(leaves.bounds.argmin())
    _gather_nearest(leaves, home, point, i, near, far)
    for box in range(len(leaves.bounds)):
        if box != home and leaves.bounds[box] <= far[-1]:
            _gather_nearest(leaves, box, point, i, near, far)


@inner
def mark_visited(leaves: Leaves, i: int) -> None:
    """Mark record i as visited: later searches ignore it."""
    a = leaves.column[i]
    box = leaves.box[a]
    leaves.waiting[box] -= 1
    _swap_columns(leaves, a, leaves.first[box] + leaves.waiting[box])
    if leaves.waiting[box] == 0:
        leaves.low[:, box] = np.inf


@inner
def measure_waiting(leaves: Leaves, box: int, point: Floats) -> tuple[I64, Floats]:
    """Return a box's unvisited records, and their squared distances from a point."""
    first = leaves.first[box]
    count = leaves.waiting[box]
    distances = leaves.distances[:count]
    distances[:] = 0.0
    for t in range(len(point)):
        row = leaves.records[t, first : first + count]
        p = point[t]
        for j in range(count):
            gap = row[j] - p
            distances[j] += gap * gap
    return leaves.ids[first : first + count], distances


@inner
def _find_next(leaves: Leaves, groups: GroupMembers, i: int) -> int:
    """Return the unvisited record nearest to record i, of its group if one is left."""
    point = leaves.records[:, leaves.column[i]].copy()
    best = -1
    lowest = np.inf
    group = groups.group_of[i]
    for at in range(groups.first[group], groups.first[group + 1]):
        j = groups.members[at]
        if _is_waiting(leaves, j):
            v = _measure_column(leaves, leaves.column[j], point)
            if v < lowest or (v == lowest and j < best):
                best = j
                lowest = v
    return best if best >= 0 else _find_nearest_waiting(leaves, point)


@inner
def _find_nearest_waiting(leaves: Leaves, point: Floats) -> int:
    """Return the unvisited record nearest to a point."""
    _measure_boxes(leaves, point)
    home = int(leaves.bounds.argmin())
    best, lowest = _find_nearest_in_box(leaves, home, point, -1, np.inf)
    for box in range(len(leaves.bounds)):
        if box != home and leaves.bounds[box] <= lowest:
            best, lowest = _find_nearest_in_box(leaves, box, point, best, lowest)
    return best


@inner
def _find_nearest_in_box(
    leaves: Leaves, box: int, point: Floats, best: int, lowest: float
) -> tuple[int, float]:
    """Return (record, squared distance) of the nearest so far, after one more box."""
    # among equally near records, the one first in X
    ids, distances = measure_waiting(leaves, box, point)
    for j in range(len(ids)):
        v = distances[j]
        if v <= lowest and (v < lowest or best < 0 or ids[j] < best):
            best = ids[j]
            lowest = v
    return best, lowest


@inner
def _gather_nearest(
    leaves: Leaves, box: int, point: Floats, i: int, near: I64, far: Floats
) -> None:
    """Insert a box's unvisited records into the sorted list `near` of the nearest."""
    ids, distances = measure_waiting(leaves, box, point)
    for c in range(len(ids)):
        v = distances[c]
        j = ids[c]
        if j == i or v > far[-1] or (v == far[-1] and j > near[-1]):
            continue
        at = len(near) - 1
        while at and (far[at - 1] > v or (far[at - 1] == v and near[at - 1] > j)):
            near[at] = near[at - 1]
            far[at] = far[at - 1]
            at -= 1
        near[at] = j
        far[at] = v


@inner
def _measure_boxes(leaves: Leaves, point: Floats) -> None:
    """Set each box's bound to its least squared distance from a point."""
    bounds = leaves.bounds
    bounds[:] = 0.0
    for t in range(len(point)):
        low = leaves.low[t]
        high = leaves.high[t]
        p = point[t]
        for b in range(len(bounds)):
            gap = max(low[b] - p, 0.0, p - high[b])
            bounds[b] += gap * gap


@inner
def _measure_column(leaves: Leaves, column: int, point: Floats) -> float:
    """Return the squared distance from the record in a column to a point."""
    total = 0.0
    for t in range(len(point)):
        gap = leaves.records[t, column] - point[t]
        total += gap * gap
    return total


@inner
def _is_waiting(leaves: Leaves, i: int) -> bool:
    """Whether record i has not been visited."""
    box = leaves.box[leaves.column[i]]
    return bool(leaves.column[i] < leaves.first[box] + leaves.waiting[box])


@inner
def _swap_columns(leaves: Leaves, a: int, b: int) -> None:
    """Exchange the records in two columns."""
    i = leaves.ids[a]
    j = leaves.ids[b]
    leaves.ids[a] = j
    leaves.ids[b] = i
    leaves.column[i] = b
    leaves.column[j] = a
    for row in leaves.records:
        row[a], row[b] = row[b], row[a]


REAL = 1e-9  # share of the length taken out that a move must gain
LONGEST = 3  # places that Or-opt moves at once


@compiled
def shorten_path(tour: Tour, turns: int) -> None:
    """Try moves at up to `turns` queued places of a tour, while they shorten it."""
    for _ in range(turns):
        if tour.counts[TAKEN] == tour.counts[QUEUED]:
            return
        a = _take_place(tour)
        while (
            _exchange_two_edges(tour, a, 1)
            or _exchange_two_edges(tour, a, -1)
            or _move_stretch(tour, a)
        ):
            pass


@inner
def _exchange_two_edges(tour: Tour, a: int, way: int) -> bool:
    """Make a 2-opt move at place a if it shortens the tour; return whether it does."""
    # 2-opt: edges a-b and c-e become a-c and b-e
    b = _get_next(tour, a, way)
    out = _measure_edge(tour, a, b)
    for c in tour.near[a]:
        saved = out - _measure_edge(tour, a, c)
        if saved <= 0:
            return False
        e = _get_next(tour, c, way)
        more = _measure_edge(tour, c, e)
        if saved + more - _measure_edge(tour, b, e) > REAL * (out + more):
            _exchange_edges(tour, a, b, c, e)
            tour.counts[MOVES] += 1
            return True
    return False


@inner
def _move_stretch(tour: Tour, a: int) -> bool:
    """Make an Or-opt move of places from a on if it pays; return whether it does."""
    # Or-opt: the stretch a..z moves between c and f, with a next to c
    for way in (1, -1):
        z = a
        for size in range(1, LONGEST + 1):
            if size > 1:
                z = _get_next(tour, z, way)
            if _move_to_near(tour, a, z, way, size):
                return True
    return False


@inner
def _move_to_near(tour: Tour, a: int, z: int, way: int, size: int) -> bool:
    """Move the stretch a..z of a tour next to a near place; return whether it pays."""
    p = _get_next(tour, a, -way)
    q = _get_next(tour, z, way)
    out = _measure_edge(tour, p, a) + _measure_edge(tour, z, q)
    saved = out - _measure_edge(tour, p, q)
    for c in tour.near[a]:
        gain = saved - _measure_edge(tour, a, c)
        if gain <= 0:
            return False
        if _is_in_stretch(tour, a, c, way, size):
            continue
        for side in (1, -1):
            f = _get_next(tour, c, side * way)
            if _is_in_stretch(tour, a, f, way, size):
                continue
            more = _measure_edge(tour, c, f)
            if gain + more - _measure_edge(tour, z, f) > REAL * (out + more):
                _insert_stretch(tour, (p, a, z, q), c, f, side)
                tour.counts[MOVES] += 1
                return True
    return False


@inner
def _insert_stretch(
    tour: Tour, stretch: tuple[int, int, int, int], c: int, f: int, side: int
) -> None:
    """Move a tour's stretch a..z, between p and q, to between c and f."""
    p, a, z, q = stretch
    if side < 0:  # p a..z q..f c  becomes  p q..f z..a c
        _exchange_edges(tour, p, a, f, c)
        _exchange_edges(tour, p, f, q, z)
        return
    # p a..z q..c f  becomes  p q..c a..z f
    _exchange_edges(tour, p, a, c, f)
    _exchange_edges(tour, p, c, q, z)
    _exchange_edges(tour, c, z, a, f)


@inner
def _exchange_edges(tour: Tour, a: int, b: int, c: int, e: int) -> None:
    """Replace a tour's edges a-b and c-e by a-c and b-e, and queue their ends."""
    # b follows a and e follows c, one way or the other: turn b..c round
    if _get_next(tour, a, 1) == b:
        _reverse_tour(tour, tour.rank[b], tour.rank[c])
    else:
        _reverse_tour(tour, tour.rank[c], tour.rank[b])
    for i in (a, b, c, e):
        _queue_place(tour, i)


@inner
def _reverse_tour(tour: Tour, start: int, stop: int) -> None:
    """Reverse a tour between two positions, or all the rest if that is shorter."""
    # or reverse the rest of the tour, if that is shorter
    n = len(tour.order)
    size = (stop - start) % n + 1
    if 2 * size > n:
        start, stop, size = stop + 1, start - 1, n - size
    for s in range(size // 2):
        a = (start + s) % n
        b = (stop - s) % n
        i = tour.order[a]
        j = tour.order[b]
        tour.order[a] = j
        tour.order[b] = i
        tour.rank[j] = a
        tour.rank[i] = b


@inner
def _get_next(tour: Tour, i: int, way: int) -> int:
    """Return the place after i in a tour, or before i if `way` is -1."""
    return int(tour.order[(tour.rank[i] + way) % len(tour.order)])


@inner
def _is_in_stretch(tour: Tour, a: int, i: int, way: int, size: int) -> bool:
    """Whether place i is one of the `size` places of a tour from a on."""
    return bool((way * (tour.rank[i] - tour.rank[a])) % len(tour.order) < size)


@inner
def _measure_edge(tour: Tour, i: int, j: int) -> float:
    """Return the distance of two places (distinct records) of a tour."""
    total = 0.0
    for t in range(tour.records.shape[1]):
        gap = tour.records[i, t] - tour.records[j, t]
        total += gap * gap
    return float(np.sqrt(total))


@inner
def _take_place(tour: Tour) -> int:
    """Remove the first place from a tour's queue, and return it."""
    n = len(tour.order)
    i = int(tour.queue[tour.counts[TAKEN] % n])
    tour.counts[TAKEN] += 1
    tour.queued[i] = False
    return i


@inner
def _queue_place(tour: Tour, i: int) -> None:
    """Append a place to a tour's queue, unless it is queued already."""
    if tour.queued[i]:
        return
    tour.queued[i] = True
    tour.queue[tour.counts[QUEUED] % len(tour.order)] = i
    tour.counts[QUEUED] += 1
