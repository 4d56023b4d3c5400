"""The two lowest wells of each group, and the barriers about them.

Compiled; importing this imports numba: do so late.
"""

from typing import NamedTuple

import numpy as np

from aggopt.core.compiled import compiled
from aggopt.core.validation import Floats
from aggopt.solvers._dual.program import Box, Program
from aggopt.solvers._dual.wells import height, lowest, room, wells

SAMPLES = 24


class Choices(NamedTuple):
    """The two lowest wells of each group at some multipliers.

    A row of `best` and `other` (m, 4) holds t, the barriers to its left and right, and
    u.  Where there is one well only, `other` equals `best` and `gap` (m,), by how
    much h is higher there, is inf.  `slide` (m,) is n_j^2 / bend of the best.
    """

    best: Floats
    other: Floats
    gap: Floats
    slide: Floats


def choices(program: Program, box: Box, y: Floats) -> Choices:
    """Return the two lowest wells of each group at multipliers y."""
    m = len(program.sizes)
    at = Choices(np.empty((m, 4)), np.empty((m, 4)), np.full(m, np.inf), np.zeros(m))
    _choose(program, box, y, at)
    return at


@compiled
def _choose(program: Program, box: Box, y: Floats, at: Choices) -> None:
    found = room(program)
    for j in range(len(program.sizes)):
        low, high = box.low[j], box.high[j]
        count = wells(program, j, low, high, y, found)
        one, two = _two_lowest(found, count)
        _basin(program, j, low, high, y, found[:count], one, at.best[j])
        for column in range(4):
            at.other[j, column] = at.best[j, column]
        if count > 1:
            _basin(program, j, low, high, y, found[:count], two, at.other[j])
            at.gap[j] = found[two, 1] - found[one, 1]
        if found[one, 2] > 0.0:
            at.slide[j] = program.sizes[j] ** 2 / found[one, 2]


def elsewhere(program: Program, box: Box, y: Floats, inner: Box) -> Floats:
    """Return by how much h is higher outside `inner` than anywhere, at least (m,).

    By the safe search, and not by the wells: what is cut off by it must be worthless.
    """
    higher = np.full(len(program.sizes), np.inf)
    _lower(program, box, y, inner, higher)
    return higher


@compiled
def _lower(program: Program, box: Box, y: Floats, inner: Box, higher: Floats) -> None:
    """Lower each `higher` (m,) to what h outside `inner` allows."""
    found = room(program)
    for j in range(len(higher)):
        low, high = box.low[j], box.high[j]
        least = lowest(program, j, low, high, y, found)[1]
        if low < inner.low[j]:
            left = lowest(program, j, low, inner.low[j], y, found)[1]
            higher[j] = min(higher[j], left - least)
        if inner.high[j] < high:
            right = lowest(program, j, inner.high[j], high, y, found)[1]
            higher[j] = min(higher[j], right - least)


@compiled
def _two_lowest(found: Floats, count: int) -> tuple[int, int]:
    one, two = 0, -1
    for k in range(1, count):
        if found[k, 1] < found[one, 1]:
            one, two = k, one
        elif two < 0 or found[k, 1] < found[two, 1]:
            two = k
    return one, two


@compiled
def _basin(
    program: Program,
    j: int,
    low: float,
    high: float,
    y: Floats,
    found: Floats,
    k: int,
    out: Floats,
) -> None:
    left = low if k == 0 else _barrier(program, j, y, found[k - 1], found[k])
    last = k == len(found) - 1
    right = high if last else _barrier(program, j, y, found[k], found[k + 1])
    out[0], out[1], out[2], out[3] = found[k, 0], left, right, found[k, 3]


@compiled
def _barrier(program: Program, j: int, y: Floats, start: Floats, stop: Floats) -> float:
    """Return where u steps between two wells, else about where h is highest."""
    if start[3] != stop[3]:
        for p in range(program.first[j], program.first[j + 1]):
            if program.step[p] == stop[3]:
                return float(max(program.low[p], start[0]))
    top, where = -np.inf, 0.5 * (start[0] + stop[0])
    n, centre = program.sizes[j], program.centres[j]
    for i in range(1, SAMPLES):
        t = start[0] + (stop[0] - start[0]) * i / SAMPLES
        c = centre + t
        h = worth(program, j, t) - n * c * (y[0] + y[1] * c)
        if top < h < np.inf:
            top, where = h, t
    return float(where)


@compiled
def worth(program: Program, j: int, t: float) -> float:
    """Return f_j at t: the lowest of the pieces that hold it, inf where none does."""
    lowest = np.inf
    for p in range(program.first[j], program.first[j + 1]):
        if program.low[p] <= t <= program.high[p]:
            q = program.quartic[p]
            lowest = min(lowest, height((q[0], q[1], q[2], q[3], q[4]), t))
    return lowest


@compiled
def cost(program: Program, t: Floats) -> float:
    """Return sum_j f_j(t_j)."""
    total = 0.0
    for j in range(len(t)):
        total += worth(program, j, t[j])
    return total
