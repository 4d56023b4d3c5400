"""Compiled 2-opt and Or-opt on a closed tour. Importing this imports numba.

The tour may be read in both directions: `way` is 1 or -1.  A move counts only if it
shortens the tour by more than rounding errors, so that the search ends.
"""

import numpy as np

from aggopt.core.compiled import compiled, inner
from aggopt.partition._mhm.boxes import MOVES, QUEUED, TAKEN, Tour

REAL = 1e-9  # share of the length taken out that a move must gain
LONGEST = 3  # places that Or-opt moves at once


@compiled
def shorten(tour: Tour, turns: int) -> None:
    """Examine up to `turns` queued places, until no move shortens the tour."""
    for _ in range(turns):
        if tour.counts[TAKEN] == tour.counts[QUEUED]:
            return
        a = _take_place(tour)
        while (
            _reconnect(tour, a, 1) or _reconnect(tour, a, -1) or _move_stretch(tour, a)
        ):
            pass


@inner
def _reconnect(tour: Tour, a: int, way: int) -> bool:
    """Make a 2-opt move at place a that shortens the tour; return whether one did."""
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
    """Make an Or-opt move of up to LONGEST places from a on; return whether one did."""
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
    """Move the stretch a..z next to a near place of a; return whether it pays."""
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
    """Move the stretch a..z, between p and q, to between c and f."""
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
    """Replace edges a-b and c-e by a-c and b-e, and queue their ends."""
    # b follows a and e follows c, one way or the other: turn b..c round
    if _get_next(tour, a, 1) == b:
        _reverse(tour, tour.rank[b], tour.rank[c])
    else:
        _reverse(tour, tour.rank[c], tour.rank[b])
    for i in (a, b, c, e):
        _queue_place(tour, i)


@inner
def _reverse(tour: Tour, start: int, stop: int) -> None:
    """Reverse the tour between two ranks."""
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
        tour.order[a], tour.order[b] = j, i
        tour.rank[j], tour.rank[i] = a, b


@inner
def _get_next(tour: Tour, i: int, way: int) -> int:
    """Return the place that follows i."""
    return int(tour.order[(tour.rank[i] + way) % len(tour.order)])


@inner
def _is_in_stretch(tour: Tour, a: int, i: int, way: int, size: int) -> bool:
    """Whether place i is one of the `size` places from a on."""
    return bool((way * (tour.rank[i] - tour.rank[a])) % len(tour.order) < size)


@inner
def _measure_edge(tour: Tour, i: int, j: int) -> float:
    """Return the distance of two places."""
    total = 0.0
    for t in range(tour.records.shape[1]):
        gap = tour.records[i, t] - tour.records[j, t]
        total += gap * gap
    return float(np.sqrt(total))


@inner
def _take_place(tour: Tour) -> int:
    """Return the first queued place."""
    n = len(tour.order)
    i = int(tour.queue[tour.counts[TAKEN] % n])
    tour.counts[TAKEN] += 1
    tour.queued[i] = False
    return i


@inner
def _queue_place(tour: Tour, i: int) -> None:
    """Queue a place, unless it is queued."""
    if tour.queued[i]:
        return
    tour.queued[i] = True
    tour.queue[tour.counts[QUEUED] % len(tour.order)] = i
    tour.counts[QUEUED] += 1
