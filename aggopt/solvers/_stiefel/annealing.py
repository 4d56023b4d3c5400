"""Centroids by an augmented Lagrangian, one after another, under a growing penalty.

With the others as they are, a centroid's cost is a quartic whose global minimum is
known: it goes from one basin to another as long as the penalty is small.
"""

import numpy as np

from aggopt.core.deadline import Deadline
from aggopt.core.validation import Floats
from aggopt.solvers._stiefel.cost import CellCost
from aggopt.solvers._stiefel.manifold import Manifold

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

    From centroids c and multipliers L (d, d), mu (d,): see `Penalty`.
    """
    from aggopt.solvers._stiefel.quartic_kernels import Penalty

    c, S = c.copy(), space.data.covariance
    n = space.data.sizes[:, None]
    L, mu = (part.copy() for part in multipliers)
    curvature = np.median(np.abs(cost.curvature(c)) / n) or 1.0
    for share in np.linspace(0, 1, passes):
        if clock.over:
            break
        rho = FIRST * (LAST / FIRST) ** share * curvature / n.sum()
        off, mean = c.T @ (n * c) - S, np.sum(n * c, axis=0)
        price = Penalty(off, mean, L, mu, float(rho))
        cost.descended(c, price, rng.permutation(c.size))
        L, mu = L + rho * off, mu + rho * mean
    return c
