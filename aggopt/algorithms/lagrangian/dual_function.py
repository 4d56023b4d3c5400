r"""The dual function of a separable program, its smoothing and derivatives.

    g(y) = sum_j min_c h_j(c) + lambda total + mu squares + nu cardinality

over y = (lambda, mu, nu) is concave, with kinks where two local minima of a group tie.
Smoothed with temperature T > 0,

    g_T = g - sum_j T log sum_w exp(-(h_j(w) - min h_j) / T)    over local minima w,

it is differentiable and below g.  The weights exp(-h_j(w) / T), normalised, are the
shares of a group that the dual puts into its local minima.

Compiled; importing this imports numba: do so late.
"""

import math
from typing import NamedTuple

import numpy as np

from aggopt.algorithms.lagrangian.local_minima import (
    AT,
    CURVATURE,
    LEVEL,
    VALUE,
    find_local_minima,
    find_lowest,
    make_workspace,
)
from aggopt.algorithms.lagrangian.program import Box, Separable
from aggopt.core.compiled import compiled, inlined, inner
from aggopt.core.types import Floats

NEGLIGIBLE = 36.0  # exp(-36) is below the last digit of 1


class DualValue(NamedTuple):
    """g and g_T at some y; gradient of g_T, curvature: Hessian of -g_T."""

    value: float
    smoothed: float
    gradient: Floats
    curvature: Floats


@inner
def evaluate_dual(
    program: Separable, box: Box, y: Floats, T: float, minima: Floats
) -> DualValue:
    """Return the dual function at y, its smoothing at T, and derivatives of that."""
    value = lost = smoothed = 0.0
    gradient = np.array([program.total, program.squares, program.cardinality])
    curvature = np.zeros((3, 3))
    for j in range(len(program.sizes)):
        count = find_local_minima(program, j, box.low[j], box.high[j], y, minima)
        lowest, below = _add_group(
            program.sizes[j], program.centres[j], T, minima, count, gradient, curvature
        )
        bigger = value + lowest  # Neumaier's compensated summation
        if abs(value) >= abs(lowest):
            lost += (value - bigger) + lowest
        else:
            lost += (lowest - bigger) + value
        value = bigger
        smoothed -= below
    curvature[1, 0], curvature[2, 0] = curvature[0, 1], curvature[0, 2]
    curvature[2, 1] = curvature[1, 2]
    value += (
        lost
        + y[0] * program.total
        + y[1] * program.squares
        + y[2] * program.cardinality
    )
    return DualValue(value, value + smoothed, gradient, curvature)


@inlined
def _add_group(
    n: float,
    centre: float,
    T: float,
    minima: Floats,
    count: int,
    gradient: Floats,
    curvature: Floats,
) -> tuple[float, float]:
    """Add a group to the derivatives; return its least cost, and its smoothing.

    (n c, n c^2, u) is relative to the lowest minimum, which avoids cancellation.
    """
    best = 0
    for k in range(1, count):
        if minima[k, VALUE] < minima[best, VALUE]:
            best = k
    c0 = centre + minima[best, AT]
    lowest = minima[best, VALUE]
    u0 = minima[best, LEVEL]
    response = n * n / minima[best, CURVATURE] if minima[best, CURVATURE] > 0.0 else 0.0
    total = 1.0
    m1 = 0.0
    m2 = 0.0
    m3 = 0.0
    s11 = response
    s12 = response * 2.0 * c0
    s22 = response * 4.0 * c0 * c0
    s13 = s23 = s33 = 0.0
    for k in range(count):
        exponent = (minima[k, VALUE] - lowest) / T
        if k == best or not exponent <= NEGLIGIBLE:
            continue
        weight = math.exp(-exponent)
        c = centre + minima[k, AT]
        response = (
            weight * n * n / minima[k, CURVATURE] if minima[k, CURVATURE] > 0.0 else 0.0
        )
        tempered = weight / T
        up = minima[k, LEVEL] - u0
        one = n * (c - c0)
        two = n * (c - c0) * (c + c0)
        total += weight
        m1 = m1 + weight * one
        m2 = m2 + weight * two
        m3 = m3 + weight * up
        s11 += response + tempered * one * one
        s12 += response * 2.0 * c + tempered * one * two
        s22 += response * 4.0 * c * c + tempered * two * two
        s13 = s13 + tempered * one * up
        s23 = s23 + tempered * two * up
        s33 += tempered * up * up
    m1 = m1 / total
    m2 = m2 / total
    m3 = m3 / total
    gradient[0] -= n * c0 + m1
    gradient[1] -= n * c0 * c0 + m2
    gradient[2] -= u0 + m3
    curvature[0, 0] += s11 / total - m1 * m1 / T
    curvature[0, 1] += s12 / total - m1 * m2 / T
    curvature[1, 1] += s22 / total - m2 * m2 / T
    curvature[0, 2] += s13 / total - m1 * m3 / T
    curvature[1, 2] += s23 / total - m2 * m3 / T
    curvature[2, 2] += s33 / total - m3 * m3 / T
    return lowest, T * math.log(total) if total > 1.0 else 0.0


ROUNDINGS = 32.0  # units in the last place: more than the additions of any term
EPS = 2.220446049250313e-16  # one unit in the last place of 1


@compiled
def bound_dual(program: Separable, box: Box, y: Floats) -> float:
    """Return the dual function at y less rounding errors: a rigorous lower bound.

    The allowance is `ROUNDINGS` units in the last place of every term that was added
    up, on the way to the coefficients (`program.terms`) or here.
    """
    minima = make_workspace(program)
    total = lost = size = 0.0
    for j in range(len(program.sizes)):
        t, h = find_lowest(program, j, box.low[j], box.high[j], y, minima)
        c = abs(program.centres[j]) + abs(t)
        n = program.sizes[j]
        size += program.terms[j] * 2.0 + abs(h)
        size += n * c * (abs(y[0]) + abs(y[1]) * c)
        for p in range(program.first[j], program.first[j + 1]):
            if program.low[p] <= t <= program.high[p]:
                size += abs(program.quartic[p, 4]) * t**4 * 8.0
        bigger = total + h
        lost += (total - bigger) + h if abs(total) >= abs(h) else (h - bigger) + total
        total = bigger
    rest = (y[0] * program.total, y[1] * program.squares, y[2] * program.cardinality)
    size += abs(rest[0]) + abs(rest[1]) + abs(rest[2])
    return float(total + lost + rest[0] + rest[1] + rest[2] - ROUNDINGS * EPS * size)
