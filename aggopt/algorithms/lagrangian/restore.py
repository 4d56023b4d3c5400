"""Feasibility restoration: the two rows met exactly.  Compiled; import late."""

import math

import numpy as np

from aggopt.algorithms.lagrangian.local_minima import evaluate_quartic
from aggopt.algorithms.lagrangian.program import Box, Separable
from aggopt.core.compiled import compiled
from aggopt.core.types import Bool, Floats

ROUNDS = 30  # Newton steps; a handful suffice unless groups reach ends of pieces
EDGE = 1e-9  # standard deviations: a group this near an end is at the end


def restore_rows(
    program: Separable, box: Box, t: Floats, weight: Floats, ends: bool
) -> tuple[Floats, bool]:
    """Return a point near t that keeps mean and variance, and whether it does.

    Groups inside a piece move by weight_j / n_j (a + 2 b c_j), to first order the
    cheapest step, and do not leave it.  Groups at an end of a piece move only if
    `ends`.
    """
    t = t.copy()
    n = program.sizes
    low = t.copy()
    high = t.copy()
    free = np.zeros(len(t), np.bool_)
    _find_pieces(program, box, t, low, high, free)
    direction = np.where(free | (ends & (low < high)), weight / n, 0.0)
    for _ in range(ROUNDS):
        c = program.centres + t
        r1 = program.total - np.sum(n * c)
        r2 = program.squares - np.sum(n * c * c)
        if abs(r1) + abs(r2) <= 1e-15 * np.sum(n):
            break
        s11 = np.sum(direction * n)
        s12 = 2.0 * np.sum(direction * n * c)
        s22 = 4.0 * np.sum(direction * n * c * c)
        det = s11 * s22 - s12 * s12
        if not det > 1e-12 * s11 * s22:
            return t, False
        a = (s22 * r1 - s12 * r2) / det
        b = (s11 * r2 - s12 * r1) / det
        t = t + direction * (a + 2.0 * b * c)
        direction[(t < low) | (t > high)] = 0.0
        t = np.clip(t, low, high)
    c = program.centres + t
    r1 = program.total - np.sum(n * c)
    r2 = program.squares - np.sum(n * c * c)
    return t, bool(abs(r1) + abs(r2) <= 1e-12 * np.sum(n))


@compiled
def _find_pieces(
    program: Separable,
    box: Box,
    t: Floats,
    low: Floats,
    high: Floats,
    free: Bool,
) -> None:
    """Write to low, high and free the interval of each group's piece at t."""
    for j in range(len(t)):
        lowest = np.inf
        for p in range(program.first[j], program.first[j + 1]):
            start = program.low[p]
            stop = program.high[p]
            q = program.quartic[p]
            h = evaluate_quartic((q[0], q[1], q[2], q[3], q[4]), t[j])
            if start <= t[j] <= stop and h < lowest:
                lowest = h
                low[j] = max(start, box.low[j])
                high[j] = min(stop, box.high[j])
        free[j] = low[j] + EDGE < t[j] < high[j] - EDGE


def scale_to_rows(program: Separable, centroids: Floats) -> Floats | None:
    """Return centroids shifted and scaled to keep mean and variance, as t, or None.

    Coinciding centroids are replaced by the group numbers; None for one group.
    """
    n = program.sizes.sum()
    mean = program.total / n
    c = centroids - program.sizes @ centroids / n
    spread = program.sizes @ c**2 / n
    if not spread > 1e-18:
        if len(c) == 1:
            return None
        return scale_to_rows(program, np.arange(len(c), dtype=np.float64))
    variance = program.squares / n - mean**2
    return np.asarray(mean + c * math.sqrt(variance / spread) - program.centres)
