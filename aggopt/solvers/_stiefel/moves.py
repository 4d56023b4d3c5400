"""Better local minima: centroids that go over to their other minimum, and noise."""

import numpy as np

from aggopt.core.deadline import Deadline
from aggopt.core.validation import Floats
from aggopt.solvers._stiefel.cost import Cost, at
from aggopt.solvers._stiefel.descent import Local, descend
from aggopt.solvers._stiefel.manifold import Manifold

NOISE = 0.3  # standard deviations
RISK = 0.1  # of the typical loss of a move that is made although it loses


def improved(
    cost: Cost,
    space: Manifold,
    best: Local,
    rounds: int,
    seed: int,
    clock: Deadline,
) -> Local:
    """Return the best of `rounds` more local minima, each near the best so far."""
    rng = np.random.default_rng(seed)
    for turn in range(rounds):
        if clock.over:
            break
        c = best.A / space.weight
        if turn % 2:
            there = c + NOISE * rng.normal(size=c.shape)
        else:
            there = exchanged(cost, space, best.A, rng if turn else None)
        there = np.where(cost.demanded, np.where(turn % 2, c, there), there)
        begun = space.nearest(space.weight * there)
        if np.isfinite(begun).all():
            found = descend(cost, space, begun, clock)
            best = min(best, found, key=lambda local: local.value)
    return best


def exchanged(
    cost: Cost, space: Manifold, A: Floats, rng: np.random.Generator | None
) -> Floats:
    """Return centroids (m, d), those moved that gain by it, the others as they are.

    What a centroid gains is told by the Lagrangian: the multipliers price what its move
    does to mean and covariance.  With `rng` some move that lose a little.
    """
    c = A / space.weight
    L, mu = multipliers(cost, space, A)
    square = space.data.sizes[:, None] * np.diag(L)
    others = L - np.diag(np.diag(L))
    line = space.data.sizes[:, None] * (mu + 2 * c @ others)
    a = cost.plus(line, square)
    low, high = cost.minima(a)
    other = np.where(np.abs(low - c) > np.abs(high - c), low, high)
    gain = at(a, c - cost.centres) - at(a, other - cost.centres)
    least: Floats | float = 0.0
    if rng is not None:
        least = -RISK * np.median(np.abs(gain)) * rng.exponential(size=c.shape)
    return np.where(gain > least, other, c)


def multipliers(cost: Cost, space: Manifold, A: Floats) -> tuple[Floats, Floats]:
    """Return L (d, d) and mu (d,): cost + sum_j n_j (c_j'L c_j + mu'c_j) is stationary.

    As far as A is: they are those of the tangent there.
    """
    slope = cost.slope(A / space.weight) / space.weight
    _, of_squares, of_mean = space.tangent(A, slope)
    return -of_squares / 2, -of_mean / np.sqrt(space.data.sizes.sum())
