r"""The dual function of a separable program, and its maximum.

    g(y) = sum_j min_c h_j(c) + lambda total + mu squares + nu tally

over y = (lambda, mu, nu) is concave, with kinks where two wells of a group tie.  Its
soft version with temperature T > 0,

    g_T = g - sum_j T log sum_w exp(-(h_j(w) - min h_j) / T)    over the wells w,

is smooth and below g.  Newton climbs g_T while T falls, until g - g_T is as small as
was asked for.  The weights exp(-h_j(w) / T), normalised, say what share of a group the
dual would put into each well.

Compiled; importing this imports numba: do so late.
"""

import math
from typing import NamedTuple

import numpy as np

from aggopt.arrays import Floats
from aggopt.compiled import compiled, inlined
from aggopt.solvers._dual.program import Box, Program
from aggopt.solvers._dual.wells import room, wells

COLDER = 0.1
NEGLIGIBLE = 36.0  # exp(-36) is lost in rounding
RIDGE = 1e-13  # relative: keeps a flat direction from being divided by 0
WIDER = 20.0
FIRST = 10.0
ROUNDING = 1e-15
SHORTEST = 1e-5  # of a Newton step
COLDEST = 1e-14  # relative: below, h is rounded


class Slope(NamedTuple):
    """g and g_T somewhere, with the first derivatives of g_T and the second of -g_T."""

    hard: float
    soft: float
    first: Floats
    second: Floats


class Top(NamedTuple):
    """Where a climb ended, how cold, and after how many evaluations of g."""

    y: Floats
    T: float
    looks: int


@compiled
def climb(
    program: Program, box: Box, start: Floats, T: float, enough: float, most: int
) -> Top:
    """Return y where g is within about `enough` |g| of its maximum, in `most` looks.

    Where g has no maximum y ends far off: no point of the box is feasible.
    """
    found, y = room(program), start.copy()
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
            y, at = _moved(y, share, step), there
            continue
        if last:  # a shallow well has gone, and g_T jumps there
            break
        T *= COLDER
        at = look(program, box, y, T, found)
        looks += 1
    return Top(y, T, looks)


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


@compiled
def look(program: Program, box: Box, y: Floats, T: float, found: Floats) -> Slope:
    """Return g, g_T and the derivatives of g_T at y; `found` is room to work in."""
    hard = lost = soft = 0.0
    first = np.array([program.total, program.squares, program.tally])
    second = np.zeros((3, 3))
    for j in range(len(program.sizes)):
        count = wells(program, j, box.low[j], box.high[j], y, found)
        lowest, below = _mix(
            program.sizes[j], program.centres[j], T, found, count, first, second
        )
        bigger = hard + lowest  # Neumaier: what the sum loses is kept aside
        if abs(hard) >= abs(lowest):
            lost += (hard - bigger) + lowest
        else:
            lost += (lowest - bigger) + hard
        hard = bigger
        soft -= below
    second[1, 0], second[2, 0], second[2, 1] = second[0, 1], second[0, 2], second[1, 2]
    hard += lost + y[0] * program.total + y[1] * program.squares + y[2] * program.tally
    return Slope(hard, hard + soft, first, second)


@inlined
def _mix(
    n: float,
    centre: float,
    T: float,
    found: Floats,
    count: int,
    first: Floats,
    second: Floats,
) -> tuple[float, float]:
    """Add one group to the derivatives; return its least h, and what softness takes.

    (n c, n c^2, u) is counted from the lowest well, which keeps digits.
    """
    best = 0
    for k in range(1, count):
        if found[k, 1] < found[best, 1]:
            best = k
    c0, lowest, u0 = centre + found[best, 0], found[best, 1], found[best, 3]
    slide = n * n / found[best, 2] if found[best, 2] > 0.0 else 0.0
    total, m1, m2, m3 = 1.0, 0.0, 0.0, 0.0
    s11, s12, s22 = slide, slide * 2.0 * c0, slide * 4.0 * c0 * c0
    s13 = s23 = s33 = 0.0
    for k in range(count):
        cold = (found[k, 1] - lowest) / T
        if k == best or not cold <= NEGLIGIBLE:
            continue
        weight, c = math.exp(-cold), centre + found[k, 0]
        slide = weight * n * n / found[k, 2] if found[k, 2] > 0.0 else 0.0
        hot, up = weight / T, found[k, 3] - u0
        one, two = n * (c - c0), n * (c - c0) * (c + c0)
        total += weight
        m1, m2, m3 = m1 + weight * one, m2 + weight * two, m3 + weight * up
        s11 += slide + hot * one * one
        s12 += slide * 2.0 * c + hot * one * two
        s22 += slide * 4.0 * c * c + hot * two * two
        s13, s23, s33 = s13 + hot * one * up, s23 + hot * two * up, s33 + hot * up * up
    m1, m2, m3 = m1 / total, m2 / total, m3 / total
    first[0] -= n * c0 + m1
    first[1] -= n * c0 * c0 + m2
    first[2] -= u0 + m3
    second[0, 0] += s11 / total - m1 * m1 / T
    second[0, 1] += s12 / total - m1 * m2 / T
    second[1, 1] += s22 / total - m2 * m2 / T
    second[0, 2] += s13 / total - m1 * m3 / T
    second[1, 2] += s23 / total - m2 * m3 / T
    second[2, 2] += s33 / total - m3 * m3 / T
    return lowest, T * math.log(total) if total > 1.0 else 0.0
