r"""The dual function of a separable program, soft or hard, and its slope.

    g(y) = sum_j min_c h_j(c) + lambda total + mu squares + nu tally

over y = (lambda, mu, nu) is concave, with kinks where two wells of a group tie.  Its
soft version with temperature T > 0,

    g_T = g - sum_j T log sum_w exp(-(h_j(w) - min h_j) / T)    over the wells w,

is smooth and below g.  The weights exp(-h_j(w) / T), normalised, say what share of a
group the dual would put into each well.

Compiled; importing this imports numba: do so late.
"""

import math
from typing import NamedTuple

import numpy as np

from aggopt.core.compiled import compiled, inlined
from aggopt.core.validation import Floats
from aggopt.solvers._dual.program import Box, Program
from aggopt.solvers._dual.wells import wells

NEGLIGIBLE = 36.0  # exp(-36) is lost in rounding


class Slope(NamedTuple):
    """g and g_T somewhere, with the first derivatives of g_T and the second of -g_T."""

    hard: float
    soft: float
    first: Floats
    second: Floats


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
