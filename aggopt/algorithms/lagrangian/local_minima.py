"""Local minima of h_j(c) = f_j(c) - lambda n_j c - mu n_j c^2 - nu u_j(c).

Compiled; importing this imports numba: do so late.  A local minimum is a row
(t, h, curvature, u).  The curvature is h'', infinite at the end of an interval: a
minimum there does not move when the multipliers y = (lambda, mu, nu) do.
"""

import math

import numpy as np

from aggopt.algorithms.lagrangian.program import Separable
from aggopt.core.compiled import inlined, inner
from aggopt.core.types import Floats

Quartic = tuple[float, float, float, float, float]  # a_0..a_4

AT, VALUE, CURVATURE, LEVEL = range(4)  # columns of a table of local minima
STEPS = 100  # bisection alone reaches the last digit in about 60
FIT = (0.99934714, -0.16067234, 0.05094526, -0.01021975)  # of e to x, least squares


@inner
def make_workspace(program: Separable) -> Floats:
    """Return an array with room for the local minima of any single group."""
    largest = 0
    for j in range(len(program.sizes)):
        largest = max(largest, program.first[j + 1] - program.first[j])
    return np.empty((4 * largest + 8, 4))


@inlined
def find_local_minima(
    program: Separable,
    j: int,
    low: float,
    high: float,
    y: Floats,
    minima: Floats,
) -> int:
    """Write local minima of group j's Lagrangian to `minima`; return their number."""
    n = program.sizes[j]
    centre = program.centres[j]
    count = 0
    a = (0.0, 0.0, 0.0, 0.0, 0.0)
    end = -np.inf
    for p in range(program.first[j], program.first[j + 1]):
        start = max(program.low[p], low)
        stop = min(program.high[p], high)
        if start > stop:
            continue
        previous = a
        a = _evaluate_lagrangian(program, p, n, centre, y)
        before = count
        count = _append_minima(a, start, stop, minima, count)
        for k in range(before, count):
            minima[k, LEVEL] = program.level[p]
        if start == end:
            count = _join_minima(previous, a, start, minima, before, count)
        end = stop
    if count == 0:  # rounding: flat pieces that meet, each sloping to the other
        t, h = find_lowest(program, j, low, high, y, minima)
        return _append_minimum(minima, 0, t, h, np.inf)
    return count


@inner
def find_lowest(
    program: Separable,
    j: int,
    low: float,
    high: float,
    y: Floats,
    minima: Floats,
) -> tuple[float, float]:
    """Return the point and value of the global minimum of group j's Lagrangian.

    All ends of all pieces are candidates; an interval without a piece has inf.
    """
    where = low
    lowest_value = np.inf
    for p in range(program.first[j], program.first[j + 1]):
        start = max(program.low[p], low)
        stop = min(program.high[p], high)
        if start > stop:
            continue
        a = _evaluate_lagrangian(program, p, program.sizes[j], program.centres[j], y)
        count = _append_minima(a, start, stop, minima, 0)
        count = _append_minimum(
            minima, count, start, evaluate_quartic(a, start), np.inf
        )
        count = _append_minimum(minima, count, stop, evaluate_quartic(a, stop), np.inf)
        for k in range(count):
            if minima[k, VALUE] < lowest_value:
                where = minima[k, AT]
                lowest_value = minima[k, VALUE]
    return where, lowest_value


@inlined
def _evaluate_lagrangian(
    program: Separable, p: int, n: float, centre: float, y: Floats
) -> Quartic:
    """Return the Lagrangian on piece p as a quartic in powers of t."""
    q = program.quartic[p]
    return (
        q[0] - n * centre * (y[0] + y[1] * centre) - y[2] * program.level[p],
        q[1] - n * (y[0] + 2.0 * y[1] * centre),
        q[2] - n * y[1],
        q[3],
        q[4],
    )


@inlined
def evaluate_quartic(a: Quartic, t: float) -> float:
    """Return the value of the quartic with coefficients a at t."""
    return (((a[4] * t + a[3]) * t + a[2]) * t + a[1]) * t + a[0]


@inlined
def _compute_slope(a: Quartic, t: float) -> float:
    """Return the first derivative of the quartic a at t."""
    return ((4.0 * a[4] * t + 3.0 * a[3]) * t + 2.0 * a[2]) * t + a[1]


@inlined
def _compute_curvature(a: Quartic, t: float) -> float:
    """Return the second derivative of the quartic a at t."""
    return (12.0 * a[4] * t + 6.0 * a[3]) * t + 2.0 * a[2]


@inlined
def _append_minimum(
    minima: Floats, count: int, t: float, h: float, curvature: float
) -> int:
    """Append a local minimum at t of value h to `minima`; return the new count."""
    minima[count, AT] = t
    minima[count, VALUE] = h
    minima[count, CURVATURE] = curvature
    return count + 1


@inlined
def _append_minima(
    a: Quartic, low: float, high: float, minima: Floats, count: int
) -> int:
    """Append the local minima of a quartic on [low, high]; return the new count."""
    if _compute_slope(a, low) >= 0.0 or low == high:
        count = _append_minimum(minima, count, low, evaluate_quartic(a, low), np.inf)
    if low == high:
        return count
    left, right = _find_inflections(a)
    for start, stop in ((low, min(left, high)), (max(right, low), high)):
        if start < stop and _compute_slope(a, start) < 0.0 < _compute_slope(a, stop):
            t = _find_stationary_point(a, start, stop)
            count = _append_minimum(
                minima,
                count,
                t,
                evaluate_quartic(a, t),
                max(_compute_curvature(a, t), 0.0),
            )
    if _compute_slope(a, high) <= 0.0:
        count = _append_minimum(minima, count, high, evaluate_quartic(a, high), np.inf)
    return count


@inlined
def _find_inflections(a: Quartic) -> tuple[float, float]:
    """Return the quartic's inflection points; between them it is concave."""
    inside = 9.0 * a[3] * a[3] - 24.0 * a[4] * a[2]
    if a[4] <= 0.0 or inside <= 0.0:
        return (np.inf, np.inf) if a[4] > 0.0 or a[2] >= 0.0 else (-np.inf, np.inf)
    stable = -0.5 * (3.0 * a[3] + math.copysign(math.sqrt(inside), a[3]))
    one = stable / (6.0 * a[4])
    other = a[2] / stable
    return min(one, other), max(one, other)


@inlined
def _find_stationary_point(a: Quartic, low: float, high: float) -> float:
    """Return the root of a quartic's slope between low and high."""
    t = _guess_root(a, low, high)
    for _ in range(STEPS):
        if not low < t < high:
            t = 0.5 * (low + high)
        slope = _compute_slope(a, t)
        if slope < 0.0:
            low = t
        else:
            high = t
        curvature = _compute_curvature(a, t)
        step = slope / curvature
        # Newton's remainder: second and third derivative of the slope
        bent = abs(12.0 * a[4] * t + 3.0 * a[3]) + 4.0 * a[4] * abs(step)
        error = step * step * bent / curvature
        t -= step
        if error <= 1e-10 * (1e-3 + abs(t)) or not low < high:
            break
    return min(max(t, low), high)


@inlined
def _guess_root(a: Quartic, low: float, high: float) -> float:
    """Return the root of a quartic's slope in closed form, exact unless degenerate."""
    if a[4] == 0.0:
        return -0.5 * a[1] / a[2]
    over = 0.25 / a[4]
    middle = -a[3] * over
    p = 2.0 * a[2] * over - 3.0 * middle * middle
    r = _compute_slope(a, middle) * over
    if p >= 0.0:  # z^3 + p z + r = 0 has one root, below both |r| / p and |r|^(1/3)
        z = abs(r) / (p + math.sqrt(math.sqrt(abs(r)) * abs(r)))
        return middle - math.copysign(z, r)
    # z = unit (1 + e) on the side of the interval, and e^2 (3 + e) = q
    unit = math.sqrt(-p / 3.0)
    side = 1.0 if low + high > 2.0 * middle else -1.0
    q = max(2.0 - side * r / (unit * unit * unit), 0.0)
    x = math.sqrt(q / 3.0)
    if q <= 4.0:  # fitted: within 3e-5
        e = x * (((FIT[3] * x + FIT[2]) * x + FIT[1]) * x + FIT[0])
    else:
        e = math.sqrt(q / (3.0 + math.sqrt(q / (3.0 + x))))
    return middle + side * unit * (1.0 + e)


@inlined
def _join_minima(
    left: Quartic, right: Quartic, t: float, minima: Floats, before: int, count: int
) -> int:
    """Drop duplicate or false minima where two pieces touch; return the new count."""
    left_value = evaluate_quartic(left, t)
    right_value = evaluate_quartic(right, t)
    even = abs(left_value - right_value) <= 1e-12 * (1.0 + abs(left_value))
    starts = count > before and minima[before, AT] == t
    ends = before > 0 and minima[before - 1, AT] == t
    if (
        ends
        and (right_value < left_value or even)
        and (_compute_slope(right, t) < 0.0 or starts)
    ):
        count = _delete_minimum(minima, before - 1, count)
        before -= 1
    if starts and (
        left_value < right_value if not even else _compute_slope(left, t) > 0.0
    ):
        count = _delete_minimum(minima, before, count)
    return count


@inlined
def _delete_minimum(minima: Floats, k: int, count: int) -> int:
    """Delete row k of the local minima; return the new count."""
    for i in range(k, count - 1):
        for column in range(4):
            minima[i, column] = minima[i + 1, column]
    return count - 1
