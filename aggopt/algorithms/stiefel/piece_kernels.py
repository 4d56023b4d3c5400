"""Loops over centroids whose costs are piecewise: looked up, smoothed, descended.

Compiled; importing this imports numba: do so late.  Cell a m + j is of group j and
attribute a.
"""

import math

import numpy as np

from aggopt.algorithms.lagrangian.local_minima import (
    AT,
    VALUE,
    local_minima,
    value_at,
    workspace,
)
from aggopt.algorithms.lagrangian.program import Box, Separable
from aggopt.algorithms.stiefel.quartic_kernels import (
    Penalty,
    Quartic,
    follow,
    minima_of,
    penalty_of,
)
from aggopt.core.compiled import compiled, inlined
from aggopt.core.types import I64
from aggopt.core.validation import Floats

AT_END = 1e-10  # standard deviations beyond a piece: still on it
SMOOTH = 1e-9  # of the terms of a group: a smaller step is none


@compiled
def look_up(cells: Separable, c: Floats, seen: Floats) -> None:
    """Write value, slope, curvature and the ends of the room of each c_ja.

    Of overlapping pieces, the cheaper one counts.  Outside all pieces the value is inf,
    and the room is the nearest one.
    """
    m, d = c.shape
    for a in range(d):
        for j in range(m):
            g = a * m + j
            C = cells.centres[g]
            t, best, least, apart = c[j, a] - C, cells.first[g], np.inf, np.inf
            for p in range(cells.first[g], cells.first[g + 1]):
                beyond = max(cells.low[p] - t, t - cells.high[p], 0.0)
                if beyond <= AT_END:
                    value = value_at(_piece(cells, p), t)
                    if value < least:
                        best, least = p, value
                elif least == np.inf and beyond < apart:
                    best, apart = p, beyond
            q = _piece(cells, best)
            seen[0, j, a] = least
            seen[1, j, a] = ((4.0 * q[4] * t + 3.0 * q[3]) * t + 2.0 * q[2]) * t + q[1]
            seen[2, j, a] = (12.0 * q[4] * t + 6.0 * q[3]) * t + 2.0 * q[2]
            low, high = _room(cells, g, best)
            seen[3, j, a], seen[4, j, a] = C + low, C + high


@inlined
def _room(cells: Separable, g: int, best: int) -> tuple[float, float]:
    """Return the interval of a piece and of the pieces that continue it."""
    first, last = best, best
    little = SMOOTH * (1.0 + cells.terms[g])
    while first > cells.first[g] and _goes_over(cells, first - 1, little):
        first -= 1
    while last + 1 < cells.first[g + 1] and _goes_over(cells, last, little):
        last += 1
    return cells.low[first], cells.high[last]


@inlined
def _goes_over(cells: Separable, p: int, little: float) -> bool:
    """Whether the next piece continues piece p without a gap or a jump."""
    end = cells.high[p]
    if end != cells.low[p + 1]:
        return False
    here, there = value_at(_piece(cells, p), end), value_at(_piece(cells, p + 1), end)
    return abs(here - there) <= little


@inlined
def _piece(cells: Separable, p: int) -> Quartic:
    """Return the coefficients of a piece."""
    q = cells.quartic[p]
    return q[0], q[1], q[2], q[3], q[4]


@compiled
def smoothed(
    cells: Separable,
    box: Box,
    line: Floats,
    lam: Floats,
    soft: float,
    first: Floats,
    second: Floats,
) -> float:
    """Return the sum of the smoothed minima: see `CellCost`."""
    m, d = line.shape
    minima, y, total = workspace(cells), np.zeros(3), 0.0
    for a in range(d):
        for j in range(m):
            g = a * m + j
            y[0], y[1] = -line[j, a], -lam[a]
            count = local_minima(cells, g, box.low[g], box.high[g], y, minima)
            least = np.inf
            for k in range(count):
                least = min(least, minima[k, VALUE])
            weight = one = two = 0.0
            for k in range(count):
                share = math.exp((least - minima[k, VALUE]) / soft)
                c = cells.centres[g] + minima[k, AT]
                weight += share
                one += share * c
                two += share * c * c
            total += least - soft * math.log(weight)
            first[j, a], second[j, a] = one / weight, two / weight
    return total


@compiled
def descended(
    cells: Separable, box: Box, c: Floats, price: Penalty, order: I64
) -> None:
    """Move each centroid to its least cost: see `CellCost`."""
    m, d = c.shape
    for place in order:
        j, a = place // d, place % d
        g, x, n = a * m + j, c[j, a], cells.sizes[a * m + j]
        t = x - cells.centres[g]
        p1, p2, p3, p4 = penalty_of(n, c, price, j, a)
        best, least = 0.0, np.inf
        for p in range(cells.first[g], cells.first[g + 1]):
            low = max(cells.low[p], box.low[g]) - t
            high = min(cells.high[p], box.high[g]) - t
            if low > high:
                continue
            f0, f1, f2, f3, f4 = _moved(_piece(cells, p), t)
            q = (f0, f1 + p1, f2 + p2, f3 + p3, f4 + p4)
            one, two = minima_of(q, low, high)
            for step in (low, min(max(one, low), high), min(max(two, low), high), high):
                value = value_at(q, step)
                if value < least:
                    best, least = step, value
        if least < np.inf:
            follow(n, c, price, j, a, best)


@inlined
def _moved(q: Quartic, t: float) -> Quartic:
    """Return a quartic in powers of the step from t."""
    return (
        value_at(q, t),
        ((4.0 * q[4] * t + 3.0 * q[3]) * t + 2.0 * q[2]) * t + q[1],
        (6.0 * q[4] * t + 3.0 * q[3]) * t + q[2],
        4.0 * q[4] * t + q[3],
        q[4],
    )
