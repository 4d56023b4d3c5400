r"""Maximisation of the dual function by the ellipsoid method with deep cuts.

It needs no derivative of g, only a supergradient s at each y, and so no kink stops it:

    g(z) <= g(y) + s'(z - y)  for all z.

An ellipsoid x + L u, |u| <= 1, contains all z that are better than the best point yet.
A cut through it, at g's value and supergradient at x, leaves a part whose own smallest
ellipsoid is smaller by a constant factor, for d multipliers exp(-1 / (2 d + 2)) in
volume or less; g(x) + |L's| is an upper bound.  Shor (1977); deep cuts: Bland,
Goldfarb and Todd, Operations Research 29 (1981).

Compiled; importing this imports numba: do so late.
"""

import math

import numpy as np

from aggopt.algorithms.lagrangian.dual_function import evaluate
from aggopt.algorithms.lagrangian.local_minima import workspace
from aggopt.algorithms.lagrangian.program import Box, Separable
from aggopt.core.array_kernels import copy_into
from aggopt.core.compiled import compiled, inner
from aggopt.core.validation import Floats

COLD = 1e-14  # temperature, relative to g: shares of exact ties only
WIDER = 10.0  # factor of the radius if the best point is near the border


@compiled
def climb(
    program: Separable,
    box: Box,
    y: Floats,
    radius: float,
    enough: float,
    ceiling: float,
    most: int,
) -> int:
    """Move y until g is within `enough` max(1, |g|) of its maximum, or the ceiling.

    The first ball has this radius.  The next is wider if the best point is in the outer
    half.  At most `most` evaluations, which are counted.
    """
    evaluations = 0
    while evaluations < most:
        centre, left = y.copy(), most - evaluations
        evaluations += _shrink(program, box, y, radius, enough, ceiling, left)
        moved = 0.0
        for i in range(len(y)):
            moved += (y[i] - centre[i]) ** 2
        if math.sqrt(moved) <= 0.5 * radius:
            break
        radius *= WIDER
    return evaluations


@inner
def _shrink(
    program: Separable,
    box: Box,
    y: Floats,
    radius: float,
    enough: float,
    ceiling: float,
    most: int,
) -> int:
    """Move y to the best point of the ball around it; count the evaluations."""
    d = _rows(program)
    shape, x, s = np.zeros((3, 3)), y.copy(), np.zeros(3)
    for i in range(d):
        shape[i, i] = radius
    minima, best, upper, T = workspace(program), -np.inf, np.inf, COLD
    for evaluation in range(most):
        at = evaluate(program, box, x, T, minima)
        T = COLD * max(1.0, abs(at.value))
        if at.value > best:
            best = at.value
            copy_into(y, x)
        length = _direction(shape, at.gradient, s, d)
        upper, depth = min(upper, at.value + length), best - at.value
        found = not upper - best > enough * max(1.0, abs(best))
        if found or best >= ceiling or not depth < length:
            return evaluation + 1
        _cut(shape, x, s, d, depth / length)
    return most


@inner
def _rows(program: Separable) -> int:
    """Return the number of rows: 2, or 3 with the cardinality row."""
    for level in program.level:
        if level != 0.0:
            return 3
    return 2


@inner
def _direction(shape: Floats, supergradient: Floats, s: Floats, d: int) -> float:
    """Set s to the direction of L' supergradient; return the length of that."""
    length = 0.0
    for i in range(d):
        s[i] = 0.0
        for k in range(d):
            s[i] += shape[k, i] * supergradient[k]
        length += s[i] * s[i]
    length = math.sqrt(length)
    for i in range(d):
        s[i] /= length
    return length


@inner
def _cut(shape: Floats, x: Floats, s: Floats, d: int, depth: float) -> None:
    """Move to the smallest ellipsoid around the part of x + L u where s'u >= depth."""
    step = (1.0 + d * depth) / (d + 1.0)
    wide = d * math.sqrt((1.0 - depth * depth) / (d * d - 1.0))
    flat = wide * math.sqrt((d - 1.0) * (1.0 - depth) / ((d + 1.0) * (1.0 + depth)))
    for i in range(d):
        along = 0.0
        for k in range(d):
            along += shape[i, k] * s[k]
        x[i] += step * along
        for k in range(d):
            shape[i, k] = wide * shape[i, k] + (flat - wide) * along * s[k]
