"""The maximum of the dual function: Newton climbs g_T while T falls.

Until g - g_T is as small as was asked for; see `slope` for both.
Compiled; importing this imports numba: do so late.
"""

import math
from typing import NamedTuple

import numpy as np

from aggopt.core.compiled import compiled
from aggopt.core.validation import Floats
from aggopt.solvers._dual.program import Box, Program
from aggopt.solvers._dual.slope import Slope, look
from aggopt.solvers._dual.wells import room

COLDER = 0.1
RIDGE = 1e-13  # relative: keeps a flat direction from being divided by 0
WIDER = 20.0
FIRST = 10.0
ROUNDING = 1e-15
SHORTEST = 1e-5  # of a Newton step
COLDEST = 1e-14  # relative: below, h is rounded


class Top(NamedTuple):
    """Where a climb ended, how cold, and after how many evaluations of g."""

    y: Floats
    T: float
    looks: int


def climb(
    program: Program, box: Box, start: Floats, T: float, enough: float, most: int
) -> Top:
    """Return y where g is within about `enough` |g| of its maximum, in `most` looks.

    Where g has no maximum y ends far off: no point of the box is feasible.
    """
    y, heat = start.copy(), np.array([T])
    looks = _climb(program, box, y, heat, enough, most)
    return Top(y, float(heat[0]), looks)


@compiled
def _climb(
    program: Program, box: Box, y: Floats, heat: Floats, enough: float, most: int
) -> int:
    """Move y to the top, let `heat` (1,) fall on the way, and count the looks."""
    found, T = room(program), heat[0]
    at = look(program, box, y, T, found)
    looks, groups, terms = 1, len(program.sizes), _total(program.terms)
    radius = FIRST * (1.0 + terms / _total(program.sizes))
    while looks < most:
        step, gain = _newton(at, radius)
        blur, size = at.hard - at.soft, max(1.0, abs(at.hard))
        last = blur <= enough * size or COLDEST * size >= T
        rounding = ROUNDING * (terms + size)
        little = min(T / groups, enough * size) * 1e-3 if last else 0.1 * blur
        if gain <= max(rounding, little):
            if last:
                break
            T *= COLDER
            at = look(program, box, y, T, found)
            looks += 1
            continue
        share, there, tried = _along(program, box, y, at, step, T, rounding, found)
        looks += tried
        length = math.sqrt(_dot(step, step))
        radius = max(WIDER * share * length, 0.25 * radius if share < 1.0 else 0.0)
        if share > 0.0:
            y[:], at = _moved(y, share, step), there
            continue
        if last:  # a shallow well has gone, and g_T jumps there
            break
        T *= COLDER
        at = look(program, box, y, T, found)
        looks += 1
    heat[0] = T
    return looks


@compiled
def _along(
    program: Program,
    box: Box,
    y: Floats,
    at: Slope,
    step: Floats,
    T: float,
    rounding: float,
    found: Floats,
) -> tuple[float, Slope, int]:
    """Return the share of the step that climbs, 0 for none, with what is seen there."""
    share, uphill, looks = 1.0, _dot(at.first, step), 0
    there = at
    while share >= SHORTEST:
        there = look(program, box, _moved(y, share, step), T, found)
        looks += 1
        if there.soft >= at.soft + 1e-4 * share * uphill - rounding:
            return share, there, looks
        ahead = _dot(there.first, step)
        share *= min(max(uphill / (uphill - ahead), 0.1), 0.6)
    return 0.0, there, looks


@compiled
def _total(values: Floats) -> float:
    total = 0.0
    for value in values:
        total += value
    return total


@compiled
def _dot(a: Floats, b: Floats) -> float:
    return float(a[0] * b[0] + a[1] * b[1] + a[2] * b[2])


@compiled
def _moved(y: Floats, share: float, step: Floats) -> Floats:
    moved = y.copy()
    for i in range(len(y)):
        moved[i] += share * step[i]
    return moved


@compiled
def _newton(at: Slope, radius: float) -> tuple[Floats, float]:
    """Return the step to the top of the quadratic model, and the gain it promises.

    A step longer than the radius is shortened, by Levenberg's ridge.
    """
    step = _solved(at.second, at.first, 0.0)
    gain = 0.5 * _dot(step, at.first)
    if not math.sqrt(_dot(step, step)) <= radius:
        slope = math.sqrt(_dot(at.first, at.first))
        step = _solved(at.second, at.first, slope / radius)
    return step, gain


@compiled
def _solved(matrix: Floats, right: Floats, ridge: float) -> Floats:
    """Solve a positive semidefinite system, with a ridge on its diagonal."""
    x, a = right.copy(), matrix.copy()
    size = len(x)
    for i in range(size):
        a[i, i] += ridge + RIDGE * matrix[i, i] + 1e-300
    for i in range(size):
        a[i, i] = max(a[i, i], ridge + RIDGE * matrix[i, i] + 1e-300)
        for k in range(i + 1, size):
            factor = a[k, i] / a[i, i]
            for o in range(size):
                a[k, o] -= factor * a[i, o]
            x[k] -= factor * x[i]
    for i in range(size - 1, -1, -1):
        for k in range(i + 1, size):
            x[i] -= a[i, k] * x[k]
        x[i] /= a[i, i]
    return x
