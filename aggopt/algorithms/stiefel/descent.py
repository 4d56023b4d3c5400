"""Descent along tangents, with steps of Barzilai and Borwein that may rise a little."""

from typing import NamedTuple

import numpy as np

from aggopt.algorithms.stiefel.cost import CellCost
from aggopt.algorithms.stiefel.manifold import Manifold
from aggopt.core.deadline import Deadline
from aggopt.core.validation import Floats

MEMORY = 0.85  # of earlier values in the reference that a step must stay below
ENOUGH = 1e-4  # of the predicted decrease
HALVINGS = 25
PATIENCE = 8  # steps without progress
FIRST, LEAST, MOST = 1e-3, 1e-10, 1e3  # lengths of steps


class Local(NamedTuple):
    """A point A (m, d) and what its centroids cost."""

    A: Floats
    value: float


def descend(
    cost: CellCost,
    space: Manifold,
    A: Floats,
    clock: Deadline,
    *,
    steps: int = 500,
    tolerance: float = 1e-7,
) -> Local:
    """Return a local minimum near A, up to a tolerance relative to its value."""
    value, slope = _looked_at(cost, space, A)
    best = Local(A, value)
    reference, weight, length, idle = value, 1.0, FIRST, 0
    for turn in range(steps):
        uphill = float(np.sum(slope * slope))
        for _ in range(HALVINGS):
            B = space.nearest(A - length * slope)
            there = cost.value(B / space.weight)
            if there <= reference - ENOUGH * length * uphill:
                break
            length /= 2
        else:
            break
        _, ahead = _looked_at(cost, space, B)
        moved, change = B - A, ahead - slope
        across = abs(float(np.sum(moved * change)))
        parts = (np.sum(moved**2), across) if turn % 2 else (across, np.sum(change**2))
        length = float(np.clip(parts[0] / max(parts[1], 1e-300), LEAST, MOST))
        A, value, slope = B, there, ahead
        reference = (MEMORY * weight * reference + value) / (MEMORY * weight + 1)
        weight = MEMORY * weight + 1
        enough = best.value - tolerance * max(1.0, abs(best.value))
        idle = 0 if value < enough else idle + 1
        best = min(best, Local(A, value), key=lambda local: local.value)
        if idle > PATIENCE or clock.left <= 0:
            break
    return best


def _looked_at(cost: CellCost, space: Manifold, A: Floats) -> tuple[float, Floats]:
    c = A / space.weight
    return cost.value(c), space.tangent(A, cost.slope(c) / space.weight)
