"""Descent along tangents, with steps of Barzilai and Borwein that may rise a little."""

from typing import NamedTuple

import numpy as np

from aggopt.algorithms.stiefel.cost import CellCost
from aggopt.algorithms.stiefel.manifold import Manifold
from aggopt.core.deadline import Deadline
from aggopt.core.validation import Floats
from aggopt.models.shared.joint import Records

MEMORY = 0.85  # of earlier values in the reference that a step must stay below
ENOUGH = 1e-4  # of the predicted decrease
HALVINGS = 25
PATIENCE = 8  # steps without progress
FIRST_STEP = 1e-3  # length
LEAST_STEP = 1e-10
MOST_STEP = 1e3


class Local(NamedTuple):
    """A point A (m, d) and what its centroids cost."""

    A: Floats
    value: float


def descend_manifold(
    cost: CellCost,
    space: Manifold,
    A: Floats,
    clock: Deadline,
    *,
    steps: int = 500,
    tolerance: float = 1e-7,
) -> Local:
    """Return a local minimum near A, up to a tolerance relative to its value."""
    value, slope = _evaluate_point(cost, space, A)
    best = Local(A, value)
    reference = value
    weight = 1.0
    length = FIRST_STEP
    idle = 0
    for turn in range(steps):
        uphill = float(np.sum(slope * slope))
        for _ in range(HALVINGS):
            B = space.nearest(A - length * slope)
            next_value = cost.value(B / space.weight)
            if next_value <= reference - ENOUGH * length * uphill:
                break
            length /= 2
        else:
            break
        _, ahead = _evaluate_point(cost, space, B)
        moved = B - A
        change = ahead - slope
        across = abs(float(np.sum(moved * change)))
        parts = (np.sum(moved**2), across) if turn % 2 else (across, np.sum(change**2))
        length = float(np.clip(parts[0] / max(parts[1], 1e-300), LEAST_STEP, MOST_STEP))
        A = B
        value = next_value
        slope = ahead
        reference = (MEMORY * weight * reference + value) / (MEMORY * weight + 1)
        weight = MEMORY * weight + 1
        enough = best.value - tolerance * max(1.0, abs(best.value))
        idle = 0 if value < enough else idle + 1
        best = min(best, Local(A, value), key=lambda local: local.value)
        if idle > PATIENCE or clock.left <= 0:
            break
    return best


def _evaluate_point(cost: CellCost, space: Manifold, A: Floats) -> tuple[float, Floats]:
    c = A / space.weight
    return cost.value(c), space.tangent(A, cost.slope(c) / space.weight)


FIRST_PENALTY = 3e-3
LAST_PENALTY = 3e3  # penalties, of the median curvature per record, over n


def search_by_annealing(
    cost: CellCost,
    space: Manifold,
    c: Floats,
    multipliers: tuple[Floats, Floats],
    passes: int,
    rng: np.random.Generator,
    clock: Deadline,
) -> Floats:
    """Return centroids (m, d) of little cost that all but keep mean and covariance.

    From centroids c and multipliers L (d, d) of the covariance, mu (q, d) of linear
    rows: see `Penalty`.
    """
    from aggopt.algorithms.stiefel.kernels import Penalty

    n = space.data.sizes[:, None]
    d = c.shape[1]
    curvature = np.median(np.abs(cost.curvature(c)) / n) or 1.0
    c, S, L, mu = _add_response(space.data, c, *multipliers)
    moved = np.flatnonzero(np.arange(c.size) % c.shape[1] < d)
    for share in np.linspace(0, 1, passes):
        if clock.over:
            break
        rho = (
            FIRST_PENALTY
            * (LAST_PENALTY / FIRST_PENALTY) ** share
            * curvature
            / n.sum()
        )
        off = c.T @ (n * c) - S
        mean = np.sum(n * c, axis=0)
        price = Penalty(off, mean, L, mu, float(rho))
        cost.descend(c, price, rng.permutation(moved))
        L = L + rho * off
        mu = mu + rho * mean
    return c[:, :d].copy()


def _add_response(
    data: Records, c: Floats, L: Floats, mu: Floats
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return centroids, covariance, L and mu with a response as one more attribute.

    Its centroids are fixed.  Its covariances are then the preserved ones, and their
    multipliers are the multipliers of its rows.
    """
    y = data.rows[:, 1:]
    squares = y.T @ (data.sizes[:, None] * y)
    S = np.block([[data.covariance, data.sums[1:].T], [data.sums[1:], squares]])
    L = np.block([[L, mu[1:].T / 2], [mu[1:] / 2, np.zeros(squares.shape)]])
    return np.hstack([c, y]), S, L, np.append(mu[0], np.zeros(len(squares)))
