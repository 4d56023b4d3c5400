"""Maximisation of the dual function: Newton's method on g_T while T falls.

It ends when g - g_T is within the tolerance; see `dual_function` for both.  It stalls
if T is too low for the kinks around, or so high that local minima appear and vanish;
`converged` is then False.
Compiled; importing this imports numba: do so late.
"""

import math
from typing import NamedTuple

import numpy as np

from aggopt.algorithms.lagrangian.dual_function import DualValue, evaluate
from aggopt.algorithms.lagrangian.local_minima import workspace
from aggopt.algorithms.lagrangian.program import Box, Separable
from aggopt.core.array_kernels import copy_into
from aggopt.core.compiled import compiled, inner
from aggopt.core.validation import Floats

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
    most: int,
) -> DualOptimum:
    """Return y with g within about `enough` |g| of its maximum.

    It takes at most `most` evaluations.  Where g is unbounded y ends far off: no point
    of the box is feasible.
    """
    y, progress = start.copy(), np.array([T, 0.0])
    converged = _maximise(program, box, y, progress, enough, most)
    return DualOptimum(y, float(progress[0]), int(progress[1]), converged)


@compiled
def _maximise(
    program: Separable,
    box: Box,
    y: Floats,
    progress: Floats,
    enough: float,
    most: int,
) -> bool:
    """Move y to the maximum while T falls; return whether it converged.

    `progress` (2,) has T and the number of evaluations.
    """
    minima, T = workspace(program), progress[0]
    at = evaluate(program, box, y, T, minima)
    evaluations, groups, terms = 1, len(program.sizes), _total(program.terms)
    radius, converged = FIRST_RADIUS * (1.0 + terms / _total(program.sizes)), False
    while evaluations < most:
        step, gain = _newton(at, radius)
        blur, size = at.value - at.smoothed, max(1.0, abs(at.value))
        last = blur <= enough * size or LEAST_TEMPERATURE * size >= T
        rounding = ROUNDING * (terms + size)
        little = min(T / groups, enough * size) * 1e-3 if last else 0.1 * blur
        negligible = gain <= max(rounding, little)
        if not negligible:
            share, there, tried = _along(program, box, y, at, step, T, rounding, minima)
            evaluations += tried
            length = math.sqrt(_dot(step, step))
            radius = max(GROWTH * share * length, 0.25 * radius if share < 1.0 else 0.0)
            if share > 0.0:
                copy_into(y, _moved(y, share, step))
                at = there
                continue
        if last:  # not negligible: a shallow minimum has vanished, and g_T jumps there
            converged = negligible
            break
        T *= COOLING
        at = evaluate(program, box, y, T, minima)
        evaluations += 1
    progress[0], progress[1] = T, evaluations
    return converged


@inner
def _along(
    program: Separable,
    box: Box,
    y: Floats,
    at: DualValue,
    step: Floats,
    T: float,
    rounding: float,
    minima: Floats,
) -> tuple[float, DualValue, int]:
    """Line search: return the share of the step, 0 for none, and g there."""
    share, uphill, evaluations = 1.0, _dot(at.gradient, step), 0
    there = at
    while share >= SHORTEST_STEP:
        there = evaluate(program, box, _moved(y, share, step), T, minima)
        evaluations += 1
        if there.smoothed >= at.smoothed + 1e-4 * share * uphill - rounding:
            return share, there, evaluations
        ahead = _dot(there.gradient, step)
        share *= min(max(uphill / (uphill - ahead), 0.1), 0.6)
    return 0.0, there, evaluations


@inner
def _total(values: Floats) -> float:
    """Return the sum, in order: NumPy's own is compiled more slowly."""
    total = 0.0
    for value in values:
        total += value
    return total


@inner
def _dot(a: Floats, b: Floats) -> float:
    """Return the inner product of two triples."""
    return float(a[0] * b[0] + a[1] * b[1] + a[2] * b[2])


@inner
def _moved(y: Floats, share: float, step: Floats) -> Floats:
    """Return y + share * step."""
    moved = y.copy()
    for i in range(len(y)):
        moved[i] += share * step[i]
    return moved


@inner
def _newton(at: DualValue, radius: float) -> tuple[Floats, float]:
    """Return the Newton step, and the gain that the quadratic model predicts.

    A step longer than the radius is shortened, by Levenberg's ridge.
    """
    step = _solved(at.curvature, at.gradient, 0.0)
    gain = 0.5 * _dot(step, at.gradient)
    if not math.sqrt(_dot(step, step)) <= radius:
        slope = math.sqrt(_dot(at.gradient, at.gradient))
        step = _solved(at.curvature, at.gradient, slope / radius)
    return step, gain


@inner
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
