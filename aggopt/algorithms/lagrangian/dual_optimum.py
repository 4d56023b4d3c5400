"""The maximum of the dual function: Newton's method, or ellipsoids if it stalls.

Importing this imports numba: do so late.
"""

import math
from typing import NamedTuple

import numpy as np

from aggopt.algorithms.lagrangian.dual_function import (
    DualValue,
    bound_dual,
    evaluate_dual,
)
from aggopt.algorithms.lagrangian.local_minima import make_workspace
from aggopt.algorithms.lagrangian.program import Box, Separable
from aggopt.core.compiled import compiled, inner
from aggopt.core.kernels import copy_into
from aggopt.core.types import Floats

COOLING = 0.1  # factor of T once g_T is maximal: fewer, larger steps cost more Newtons
RIDGE = 1e-13  # relative: keeps a flat direction from being divided by 0
GROWTH = 20.0  # of the trust radius, in lengths of the step that was taken
FIRST_RADIUS = 10.0  # in units of the cost of a record
ROUNDING = 1e-15  # relative error of an evaluation
SHORTEST_STEP = 1e-5  # of a Newton step; below, a kink is in the way
LEAST_TEMPERATURE = 1e-14  # relative: below, h is rounded


class DualOptimum(NamedTuple):
    """Multipliers at the end of an ascent, with its temperature and evaluations."""

    y: Floats
    T: float
    evaluations: int
    converged: bool  # False: it ended at a kink, or had no evaluations left


def maximise(
    program: Separable,
    box: Box,
    start: Floats,
    T: float,
    enough: float,
    max_steps: int,
) -> DualOptimum:
    """Return multipliers that maximise the dual function up to a tolerance.

    It takes at most `max_steps` evaluations.  If g is unbounded, y ends far off: no
    point of the box is feasible.
    """
    y = start.copy()
    progress = np.array([T, 0.0])
    converged = _maximise(program, box, y, progress, enough, max_steps)
    return DualOptimum(y, float(progress[0]), int(progress[1]), converged)


@compiled
def _maximise(
    program: Separable,
    box: Box,
    y: Floats,
    progress: Floats,
    enough: float,
    max_steps: int,
) -> bool:
    """Move y to the dual function's maximum; return whether it converged.

    `progress` (2,) has T and the number of evaluations.
    """
    minima = make_workspace(program)
    T = progress[0]
    at = evaluate_dual(program, box, y, T, minima)
    evaluations = 1
    groups = len(program.sizes)
    terms = _sum_values(program.terms)
    radius = FIRST_RADIUS * (1.0 + terms / _sum_values(program.sizes))
    converged = False
    while evaluations < max_steps:
        step, gain = _compute_newton_step(at, radius)
        blur = at.value - at.smoothed
        size = max(1.0, abs(at.value))
        last = blur <= enough * size or LEAST_TEMPERATURE * size >= T
        rounding = ROUNDING * (terms + size)
        little = min(T / groups, enough * size) * 1e-3 if last else 0.1 * blur
        negligible = gain <= max(rounding, little)
        if not negligible:
            share, next_point, tried = _search_line(
                program, box, y, at, step, T, rounding, minima
            )
            evaluations += tried
            length = math.sqrt(_compute_dot(step, step))
            radius = max(GROWTH * share * length, 0.25 * radius if share < 1.0 else 0.0)
            if share > 0.0:
                copy_into(y, _move_along(y, share, step))
                at = next_point
                continue
        if last:  # not negligible: a shallow minimum has vanished, and g_T jumps there
            converged = negligible
            break
        T *= COOLING
        at = evaluate_dual(program, box, y, T, minima)
        evaluations += 1
    progress[0] = T
    progress[1] = evaluations
    return converged


@inner
def _search_line(
    program: Separable,
    box: Box,
    y: Floats,
    at: DualValue,
    step: Floats,
    T: float,
    rounding: float,
    minima: Floats,
) -> tuple[float, DualValue, int]:
    """Return the share of a step by line search, the dual there, and evaluations."""
    share = 1.0
    uphill = _compute_dot(at.gradient, step)
    evaluations = 0
    candidate = at
    while share >= SHORTEST_STEP:
        candidate = evaluate_dual(program, box, _move_along(y, share, step), T, minima)
        evaluations += 1
        if candidate.smoothed >= at.smoothed + 1e-4 * share * uphill - rounding:
            return share, candidate, evaluations
        ahead = _compute_dot(candidate.gradient, step)
        share *= min(max(uphill / (uphill - ahead), 0.1), 0.6)
    return 0.0, candidate, evaluations


@inner
def _sum_values(values: Floats) -> float:
    """Return the sum of the values."""
    total = 0.0
    for value in values:
        total += value
    return total


@inner
def _compute_dot(a: Floats, b: Floats) -> float:
    """Return the inner product of two vectors of length 3."""
    return float(a[0] * b[0] + a[1] * b[1] + a[2] * b[2])


@inner
def _move_along(y: Floats, share: float, step: Floats) -> Floats:
    """Return the multipliers y plus a share of a step."""
    moved = y.copy()
    for i in range(len(y)):
        moved[i] += share * step[i]
    return moved


@inner
def _compute_newton_step(at: DualValue, radius: float) -> tuple[Floats, float]:
    """Return the Newton step, and the gain that its quadratic model predicts.

    A step longer than the radius is shortened, by Levenberg's ridge.
    """
    step = _solve_with_ridge(at.curvature, at.gradient, 0.0)
    gain = 0.5 * _compute_dot(step, at.gradient)
    if not math.sqrt(_compute_dot(step, step)) <= radius:
        slope = math.sqrt(_compute_dot(at.gradient, at.gradient))
        step = _solve_with_ridge(at.curvature, at.gradient, slope / radius)
    return step, gain


@inner
def _solve_with_ridge(matrix: Floats, right: Floats, ridge: float) -> Floats:
    """Return the solution of a positive semidefinite system with a ridge."""
    x = right.copy()
    a = matrix.copy()
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


COLD = 1e-14  # temperature, relative to g: shares of exact ties only
WIDER = 10.0  # factor of the radius if the best point is near the border


@compiled
def maximise_by_ellipsoids(
    program: Separable,
    box: Box,
    y: Floats,
    radius: float,
    enough: float,
    ceiling: float,
    max_steps: int,
) -> int:
    """Move y to the dual's maximum by the ellipsoid method; return evaluations.

    The first ball has this radius.  The next is wider if the best point is in the outer
    half.  At most `max_steps` evaluations, which are counted.
    """
    evaluations = 0
    while evaluations < max_steps:
        centre = y.copy()
        left = max_steps - evaluations
        evaluations += _shrink_ellipsoid(program, box, y, radius, enough, ceiling, left)
        moved = 0.0
        for i in range(len(y)):
            moved += (y[i] - centre[i]) ** 2
        if math.sqrt(moved) <= 0.5 * radius:
            break
        radius *= WIDER
    return evaluations


@inner
def _shrink_ellipsoid(
    program: Separable,
    box: Box,
    y: Floats,
    radius: float,
    enough: float,
    ceiling: float,
    max_steps: int,
) -> int:
    """Move y to the best point of an ellipsoid that shrinks; return evaluations."""
    d = _count_rows(program)
    shape = np.zeros((3, 3))
    x = y.copy()
    s = np.zeros(3)
    for i in range(d):
        shape[i, i] = radius
    minima = make_workspace(program)
    best = -np.inf
    upper = np.inf
    T = COLD
    for evaluation in range(max_steps):
        at = evaluate_dual(program, box, x, T, minima)
        T = COLD * max(1.0, abs(at.value))
        if at.value > best:
            best = at.value
            copy_into(y, x)
        length = _set_direction(shape, at.gradient, s, d)
        upper = min(upper, at.value + length)
        depth = best - at.value
        has_converged = not upper - best > enough * max(1.0, abs(best))
        if has_converged or best >= ceiling or not depth < length:
            return evaluation + 1
        _cut_ellipsoid(shape, x, s, d, depth / length)
    return max_steps


@inner
def _count_rows(program: Separable) -> int:
    """Return the number of coupling rows: 2, or 3 with the cardinality row."""
    for level in program.level:
        if level != 0.0:
            return 3
    return 2


@inner
def _set_direction(shape: Floats, supergradient: Floats, s: Floats, d: int) -> float:
    """Set s to the direction of shape' supergradient; return that vector's length."""
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
def _cut_ellipsoid(shape: Floats, x: Floats, s: Floats, d: int, depth: float) -> None:
    """Move to the smallest ellipsoid that contains the part with s'u >= depth."""
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


MOST_EVALUATIONS = 400  # of the dual function, by Newton's method
MOST_CUTS = 2000  # and by the ellipsoid method, which takes about 100


def maximise_dual(
    program: Separable, box: Box, start: Floats, T: float, enough: float, ceiling: float
) -> tuple[DualOptimum, float]:
    """Return multipliers that nearly maximise the dual, and the lower bound there.

    The search ends early if g reaches the ceiling.
    """
    stalled = maximise(program, box, start, T, enough, MOST_EVALUATIONS)
    here = bound_dual(program, box, stalled.y)
    if stalled.converged or here >= ceiling:
        return stalled, here
    y = stalled.y.copy()
    radius = FIRST_RADIUS * (1 + float(program.terms.sum() / program.sizes.sum()))
    cuts = maximise_by_ellipsoids(program, box, y, radius, enough, ceiling, MOST_CUTS)
    here = bound_dual(program, box, y)
    evaluations = stalled.evaluations + cuts
    if here >= ceiling:
        return stalled._replace(y=y, evaluations=evaluations), here
    # A step or two from here find the shares of local minima that tie.
    T = enough * max(1.0, abs(here)) / len(program.sizes)
    optimum = maximise(program, box, y, T, enough, MOST_EVALUATIONS)
    certified = bound_dual(program, box, optimum.y)
    if not optimum.converged and certified < here:
        optimum = optimum._replace(y=y)
        certified = here
    return optimum._replace(evaluations=evaluations + optimum.evaluations), certified
