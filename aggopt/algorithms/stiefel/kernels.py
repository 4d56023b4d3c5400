"""Loops over centroids: their smoothed minima, and passes over one after another.

Compiled; importing this imports numba: do so late.
"""

import math
from typing import NamedTuple

import numpy as np

from aggopt.algorithms.lagrangian.local_minima import (
    AT,
    VALUE,
    evaluate_quartic,
    find_local_minima,
    make_workspace,
)
from aggopt.algorithms.lagrangian.program import Box, Separable
from aggopt.core.compiled import compiled, inlined
from aggopt.core.types import I64, Floats

Quartic = tuple[float, float, float, float, float]  # coefficients, constant first

POLISH = 2  # Newton steps after a root in closed form


class Cells(NamedTuple):
    """Costs of centroids: powers (5, m, d), centres and sizes as in `Cost`.

    allowed (2, m, d) are the values of demanded centroids, nan elsewhere; reach (m,) is
    the largest |c| of a group that the variance leaves.
    """

    powers: Floats
    centres: Floats
    allowed: Floats
    sizes: Floats
    reach: Floats


class Penalty(NamedTuple):
    """Residuals of mean and covariance, and their price.

    off (d, d) and mean (d,) are C'NC - S and sum_j n_j c_j; the price is
    <L, off> + mu'mean + rho / 2 (|off|^2 + |mean|^2).
    """

    off: Floats
    mean: Floats
    L: Floats
    mu: Floats
    rho: float


@compiled
def smooth_quartics(
    cells: Cells, line: Floats, lam: Floats, soft: float, first: Floats, second: Floats
) -> float:
    """Return the sum of the smoothed minima of f + n (line c + lam c^2).

    Of two local minima with values h and h', -soft log(exp(-h / soft) +
    exp(-h' / soft)).  Writes the means of c and of c^2 there, (m, d).
    """
    m, d = cells.centres.shape
    total = 0.0
    for j in range(m):
        n = cells.sizes[j]
        for a in range(d):
            C = cells.centres[j, a]
            q = _add_price(cells.powers, j, a, C, n * line[j, a], n * lam[a])
            low = cells.allowed[0, j, a] - C
            high = cells.allowed[1, j, a] - C
            if math.isnan(low):
                reach = cells.reach[j]
                low, high = find_minima(q, -reach - C, reach - C)
            below = _evaluate_quartic(q, low)
            above = _evaluate_quartic(q, high)
            lowest = min(below, above)
            weight = math.exp((lowest - below) / soft)
            other = math.exp((lowest - above) / soft) if low != high else 0.0
            total += lowest - soft * math.log(weight + other)
            weight /= weight + other
            low = low + C
            high = high + C
            first[j, a] = weight * low + (1.0 - weight) * high
            second[j, a] = weight * low * low + (1.0 - weight) * high * high
    return total


@compiled
def descend_quartics(cells: Cells, c: Floats, price: Penalty, order: I64) -> None:
    """Move each centroid c_ja in turn to its least cost; `order` lists j d + a.

    That is the global minimum of a quartic: f and the price of mean and covariance,
    with the other centroids fixed.  `price.off` and `price.mean` are updated.
    """
    d = c.shape[1]
    for place in order:
        j = place // d
        a = place % d
        x = c[j, a]
        q = _compute_step_cost(cells, c, price, j, a)
        low = cells.allowed[0, j, a] - x
        high = cells.allowed[1, j, a] - x
        if math.isnan(low):
            low, high = find_minima(q, -cells.reach[j] - x, cells.reach[j] - x)
        step = low if _evaluate_quartic(q, low) <= _evaluate_quartic(q, high) else high
        if _evaluate_quartic(q, step) < 0.0 or not math.isnan(cells.allowed[0, j, a]):
            move_centroid(cells.sizes[j], c, price, j, a, step)


@inlined
def move_centroid(
    n: float, c: Floats, price: Penalty, j: int, a: int, step: float
) -> None:
    """Move centroid c_ja by a step, and update the residuals of `price`."""
    for b in range(c.shape[1]):
        if b != a:
            price.off[a, b] += n * step * c[j, b]
            price.off[b, a] += n * step * c[j, b]
    price.off[a, a] += n * step * (2.0 * c[j, a] + step)
    price.mean[a] += n * step
    c[j, a] += step


@inlined
def _compute_step_cost(
    cells: Cells, c: Floats, price: Penalty, j: int, a: int
) -> Quartic:
    """Return the change of the cost by a step of c_ja, as a quartic in the step."""
    t = c[j, a] - cells.centres[j, a]
    p1, p2, p3, p4 = compute_penalty(cells.sizes[j], c, price, j, a)
    _, f1, f2, f3, f4 = _read_coefficients(cells.powers, j, a)
    return (
        0.0,
        ((4.0 * f4 * t + 3.0 * f3) * t + 2.0 * f2) * t + f1 + p1,
        (6.0 * f4 * t + 3.0 * f3) * t + f2 + p2,
        4.0 * f4 * t + f3 + p3,
        f4 + p4,
    )


@inlined
def compute_penalty(
    n: float, c: Floats, price: Penalty, j: int, a: int
) -> tuple[float, float, float, float]:
    """Return the price of a step of c_ja: its coefficients of powers 1 to 4."""
    x = c[j, a]
    rho = price.rho
    line = price.mu[a] + rho * price.mean[a]
    square = 0.5
    for b in range(c.shape[1]):
        if b != a:
            line += 2.0 * (price.L[a, b] + rho * price.off[a, b]) * c[j, b]
            square += c[j, b] * c[j, b]
    slope = price.L[a, a] + rho * price.off[a, a]
    return (
        n * (line + 2.0 * slope * x),
        n * slope + rho * n * n * (square + 2.0 * x * x),
        2.0 * rho * n * n * x,
        0.5 * rho * n * n,
    )


@inlined
def _read_coefficients(powers: Floats, j: int, a: int) -> Quartic:
    """Return the coefficients of the quartic cost of c_ja."""
    return (
        powers[0, j, a],
        powers[1, j, a],
        powers[2, j, a],
        powers[3, j, a],
        powers[4, j, a],
    )


@inlined
def _add_price(
    powers: Floats, j: int, a: int, C: float, line: float, square: float
) -> Quartic:
    """Return the quartic f + line c + square c^2, in powers of t = c - C."""
    f0, f1, f2, f3, f4 = _read_coefficients(powers, j, a)
    return (
        f0 + (line + square * C) * C,
        f1 + line + 2.0 * square * C,
        f2 + square,
        f3,
        f4,
    )


@inlined
def _evaluate_quartic(q: Quartic, t: float) -> float:
    """Return the value of the quartic q at t."""
    return (((q[4] * t + q[3]) * t + q[2]) * t + q[1]) * t + q[0]


@inlined
def find_minima(q: Quartic, low: float, high: float) -> tuple[float, float]:
    """Return the points of a quartic's local minima, equal if it has one.

    With t = z - q_3 / (4 q_4) its slope is 4 q_4 (z^3 + p z + r).  It has three roots
    by cosines, the outer two minima, or one root by Cardano.  Without a quartic term,
    return a square's minimum, or the ends low and high of the interval.
    """
    if q[4] <= 0.0:
        return _minimise_square(q, low, high)
    b = q[3] / (4.0 * q[4])
    p = q[2] / (2.0 * q[4]) - 3.0 * b * b
    r = (((-4.0 * q[4] * b + 3.0 * q[3]) * -b + 2.0 * q[2]) * -b + q[1]) / (4.0 * q[4])
    inside = r * r / 4.0 + p * p * p / 27.0
    if inside >= 0.0:
        root = math.sqrt(inside)
        half = -0.5 * r
        z = np.cbrt(half + root) if half >= 0.0 else np.cbrt(half - root)
        t = _apply_newton(q, (z - p / (3.0 * z) if z != 0.0 else 0.0) - b)
        return t, t
    radius = 2.0 * math.sqrt(-p / 3.0)
    angle = math.acos(min(1.0, max(-1.0, 3.0 * r / (p * radius)))) / 3.0
    left = radius * math.cos(angle - 4.0 * math.pi / 3.0) - b
    return _apply_newton(q, left), _apply_newton(q, radius * math.cos(angle) - b)


@inlined
def _minimise_square(q: Quartic, low: float, high: float) -> tuple[float, float]:
    """Return the minimum point of q_1 t + q_2 t^2 twice, or the interval's ends."""
    if q[2] <= 0.0:
        return low, high
    t = -0.5 * q[1] / q[2]
    return t, t


@inlined
def _apply_newton(q: Quartic, t: float) -> float:
    """Return t after Newton steps towards a minimum of the quartic q."""
    for _ in range(POLISH):
        slope = ((4.0 * q[4] * t + 3.0 * q[3]) * t + 2.0 * q[2]) * t + q[1]
        curvature = (12.0 * q[4] * t + 6.0 * q[3]) * t + 2.0 * q[2]
        t -= slope / curvature if curvature > 0.0 else 0.0
    return t


AT_END = 1e-10  # standard deviations beyond a piece: still on it
SMOOTH = 1e-9  # of the terms of a group: a smaller step is none


@compiled
def look_up(cells: Separable, c: Floats, values: Floats) -> None:
    """Write each centroid's cost, slope, curvature and smooth interval to `values`.

    Of overlapping pieces, the cheaper one counts.  Outside all pieces the value is inf,
    and the room is the nearest one.
    """
    m, d = c.shape
    for a in range(d):
        for j in range(m):
            g = a * m + j
            C = cells.centres[g]
            t = c[j, a] - C
            best = cells.first[g]
            lowest = np.inf
            apart = np.inf
            for p in range(cells.first[g], cells.first[g + 1]):
                beyond = max(cells.low[p] - t, t - cells.high[p], 0.0)
                if beyond <= AT_END:
                    value = evaluate_quartic(_read_piece(cells, p), t)
                    if value < lowest:
                        best = p
                        lowest = value
                elif lowest == np.inf and beyond < apart:
                    best = p
                    apart = beyond
            q = _read_piece(cells, best)
            values[0, j, a] = lowest
            values[1, j, a] = ((4.0 * q[4] * t + 3.0 * q[3]) * t + 2.0 * q[2]) * t + q[
                1
            ]
            values[2, j, a] = (12.0 * q[4] * t + 6.0 * q[3]) * t + 2.0 * q[2]
            low, high = _find_room(cells, g, best)
            values[3, j, a] = C + low
            values[4, j, a] = C + high


@inlined
def _find_room(cells: Separable, g: int, best: int) -> tuple[float, float]:
    """Return the interval of the pieces that continue piece `best` smoothly."""
    first = best
    last = best
    little = SMOOTH * (1.0 + cells.terms[g])
    while first > cells.first[g] and _is_continued(cells, first - 1, little):
        first -= 1
    while last + 1 < cells.first[g + 1] and _is_continued(cells, last, little):
        last += 1
    return cells.low[first], cells.high[last]


@inlined
def _is_continued(cells: Separable, p: int, little: float) -> bool:
    """Whether the next piece continues piece p without a gap or a jump."""
    end = cells.high[p]
    if end != cells.low[p + 1]:
        return False
    value = evaluate_quartic(_read_piece(cells, p), end)
    next_value = evaluate_quartic(_read_piece(cells, p + 1), end)
    return abs(value - next_value) <= little


@inlined
def _read_piece(cells: Separable, p: int) -> Quartic:
    """Return the coefficients of the quartic on piece p."""
    q = cells.quartic[p]
    return q[0], q[1], q[2], q[3], q[4]


@compiled
def smooth_pieces(
    cells: Separable,
    box: Box,
    line: Floats,
    lam: Floats,
    soft: float,
    first: Floats,
    second: Floats,
) -> float:
    """Return the sum of the smoothed minima of piecewise costs: see `CellCost`."""
    m, d = line.shape
    minima = make_workspace(cells)
    y = np.zeros(3)
    total = 0.0
    for a in range(d):
        for j in range(m):
            g = a * m + j
            y[0] = -line[j, a]
            y[1] = -lam[a]
            count = find_local_minima(cells, g, box.low[g], box.high[g], y, minima)
            lowest = np.inf
            for k in range(count):
                lowest = min(lowest, minima[k, VALUE])
            weight = one = two = 0.0
            for k in range(count):
                share = math.exp((lowest - minima[k, VALUE]) / soft)
                c = cells.centres[g] + minima[k, AT]
                weight += share
                one += share * c
                two += share * c * c
            total += lowest - soft * math.log(weight)
            first[j, a] = one / weight
            second[j, a] = two / weight
    return total


@compiled
def descend_pieces(
    cells: Separable, box: Box, c: Floats, price: Penalty, order: I64
) -> None:
    """Move each centroid to its least piecewise cost: see `CellCost`."""
    m, d = c.shape
    for place in order:
        j = place // d
        a = place % d
        g = a * m + j
        x = c[j, a]
        n = cells.sizes[a * m + j]
        t = x - cells.centres[g]
        p1, p2, p3, p4 = compute_penalty(n, c, price, j, a)
        best = 0.0
        lowest = np.inf
        for p in range(cells.first[g], cells.first[g + 1]):
            low = max(cells.low[p], box.low[g]) - t
            high = min(cells.high[p], box.high[g]) - t
            if low > high:
                continue
            f0, f1, f2, f3, f4 = _shift_quartic(_read_piece(cells, p), t)
            q = (f0, f1 + p1, f2 + p2, f3 + p3, f4 + p4)
            one, two = find_minima(q, low, high)
            for step in (low, min(max(one, low), high), min(max(two, low), high), high):
                value = evaluate_quartic(q, step)
                if value < lowest:
                    best = step
                    lowest = value
        if lowest < np.inf:
            move_centroid(n, c, price, j, a, best)


@inlined
def _shift_quartic(q: Quartic, t: float) -> Quartic:
    """Return the quartic q in powers of the step from t."""
    return (
        evaluate_quartic(q, t),
        ((4.0 * q[4] * t + 3.0 * q[3]) * t + 2.0 * q[2]) * t + q[1],
        (6.0 * q[4] * t + 3.0 * q[3]) * t + q[2],
        4.0 * q[4] * t + q[3],
        q[4],
    )
