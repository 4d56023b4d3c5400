"""Centroids by an augmented Lagrangian, one after another, under a growing penalty.

With the others fixed, a centroid's cost is a quartic whose global minimum is known.
The centroid changes from one basin to another while the penalty is small.
"""

import numpy as np

from aggopt.algorithms.stiefel.cost import CellCost
from aggopt.algorithms.stiefel.manifold import Manifold
from aggopt.core.deadline import Deadline
from aggopt.core.validation import Floats
from aggopt.models.shared.joint import Records

FIRST, LAST = 3e-3, 3e3  # penalties, of the median curvature per record, over n


def annealed(
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
    from aggopt.algorithms.stiefel.quartic_kernels import Penalty

    n, d = space.data.sizes[:, None], c.shape[1]
    curvature = np.median(np.abs(cost.curvature(c)) / n) or 1.0
    c, S, L, mu = _beside_response(space.data, c, *multipliers)
    moved = np.flatnonzero(np.arange(c.size) % c.shape[1] < d)
    for share in np.linspace(0, 1, passes):
        if clock.over:
            break
        rho = FIRST * (LAST / FIRST) ** share * curvature / n.sum()
        off, mean = c.T @ (n * c) - S, np.sum(n * c, axis=0)
        price = Penalty(off, mean, L, mu, float(rho))
        cost.descended(c, price, rng.permutation(moved))
        L, mu = L + rho * off, mu + rho * mean
    return c[:, :d].copy()


def _beside_response(
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
