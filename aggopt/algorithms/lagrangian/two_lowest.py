"""The two lowest local minima of each group, and the barriers around them.

Compiled; importing this imports numba: do so late.
"""

from typing import NamedTuple

import numpy as np

from aggopt.algorithms.lagrangian.local_minima import (
    AT,
    CURVATURE,
    LEVEL,
    VALUE,
    local_minima,
    lowest,
    value_at,
    workspace,
)
from aggopt.algorithms.lagrangian.program import Box, Separable
from aggopt.core.compiled import compiled, inner
from aggopt.core.validation import Floats

LEFT, RIGHT = 1, 2  # columns of `TwoLowest`, in addition to AT and LEVEL
SAMPLES = 24  # between two minima: the barrier need not be exact


class TwoLowest(NamedTuple):
    """The two lowest local minima of each group at some multipliers.

    A row of `best` and `other` (m, 4) has t, the barriers to its left and right, and u.
    `gap` (m,) is by how much h is higher at `other`; with one local minimum only it is
    inf, and `other` equals `best`.  `response` (m,) is n_j^2 / curvature of the best:
    the derivative of n_j c_j by lambda.
    """

    best: Floats
    other: Floats
    gap: Floats
    response: Floats


def two_lowest(program: Separable, box: Box, y: Floats) -> TwoLowest:
    """Return the two lowest local minima of each group at multipliers y."""
    m = len(program.sizes)
    at = TwoLowest(np.empty((m, 4)), np.empty((m, 4)), np.full(m, np.inf), np.zeros(m))
    _find_two_lowest(program, box, y, at)
    return at


@compiled
def _find_two_lowest(program: Separable, box: Box, y: Floats, at: TwoLowest) -> None:
    """Write the two lowest local minima of each group into `at`."""
    minima = workspace(program)
    for j in range(len(program.sizes)):
        low, high = box.low[j], box.high[j]
        count = local_minima(program, j, low, high, y, minima)
        one, two = _two_lowest(minima, count)
        _basin(program, j, low, high, y, minima[:count], one, at.best[j])
        for column in range(4):
            at.other[j, column] = at.best[j, column]
        if count > 1:
            _basin(program, j, low, high, y, minima[:count], two, at.other[j])
            at.gap[j] = minima[two, VALUE] - minima[one, VALUE]
        if minima[one, CURVATURE] > 0.0:
            at.response[j] = program.sizes[j] ** 2 / minima[one, CURVATURE]


def excess_outside(program: Separable, box: Box, y: Floats, inner: Box) -> Floats:
    """Return min h outside `inner` minus min h in the box, for each group (m,).

    By exhaustion (`lowest`), since groups are fixed on the strength of it.
    """
    higher = np.full(len(program.sizes), np.inf)
    _lower(program, box, y, inner, higher)
    return higher


@compiled
def _lower(program: Separable, box: Box, y: Floats, inner: Box, higher: Floats) -> None:
    """Lower each `higher` (m,) to what h outside `inner` allows."""
    minima = workspace(program)
    for j in range(len(higher)):
        low, high = box.low[j], box.high[j]
        least = lowest(program, j, low, high, y, minima)[1]
        if low < inner.low[j]:
            left = lowest(program, j, low, inner.low[j], y, minima)[1]
            higher[j] = min(higher[j], left - least)
        if inner.high[j] < high:
            right = lowest(program, j, inner.high[j], high, y, minima)[1]
            higher[j] = min(higher[j], right - least)


@inner
def _two_lowest(minima: Floats, count: int) -> tuple[int, int]:
    """Return the rows of the two lowest local minima, -1 for a missing second."""
    one, two = 0, -1
    for k in range(1, count):
        if minima[k, VALUE] < minima[one, VALUE]:
            one, two = k, one
        elif two < 0 or minima[k, VALUE] < minima[two, VALUE]:
            two = k
    return one, two


@inner
def _basin(
    program: Separable,
    j: int,
    low: float,
    high: float,
    y: Floats,
    minima: Floats,
    k: int,
    out: Floats,
) -> None:
    """Write t, barriers and u of the k-th local minimum into `out` (4,)."""
    left = low if k == 0 else _barrier(program, j, y, minima[k - 1], minima[k])
    last = k == len(minima) - 1
    right = high if last else _barrier(program, j, y, minima[k], minima[k + 1])
    out[AT], out[LEFT], out[RIGHT] = minima[k, AT], left, right
    out[LEVEL] = minima[k, LEVEL]


@inner
def _barrier(
    program: Separable, j: int, y: Floats, start: Floats, stop: Floats
) -> float:
    """Return the step of u between two local minima, else about the maximum of h."""
    if start[LEVEL] != stop[LEVEL]:
        for p in range(program.first[j], program.first[j + 1]):
            if program.level[p] == stop[LEVEL]:
                return float(max(program.low[p], start[AT]))
    top, where = -np.inf, 0.5 * (start[AT] + stop[AT])
    n, centre = program.sizes[j], program.centres[j]
    for i in range(1, SAMPLES):
        t = start[AT] + (stop[AT] - start[AT]) * i / SAMPLES
        c = centre + t
        h = cost_of_group(program, j, t) - n * c * (y[0] + y[1] * c)
        if top < h < np.inf:
            top, where = h, t
    return float(where)


@inner
def cost_of_group(program: Separable, j: int, t: float) -> float:
    """Return f_j at t: the minimum over the pieces that contain t, inf without one."""
    lowest = np.inf
    for p in range(program.first[j], program.first[j + 1]):
        if program.low[p] <= t <= program.high[p]:
            q = program.quartic[p]
            lowest = min(lowest, value_at((q[0], q[1], q[2], q[3], q[4]), t))
    return lowest


@compiled
def cost(program: Separable, t: Floats) -> float:
    """Return sum_j f_j(t_j)."""
    total = 0.0
    for j in range(len(t)):
        total += cost_of_group(program, j, t[j])
    return total
