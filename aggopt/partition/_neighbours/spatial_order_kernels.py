"""Records halved along axes, again and again.  Importing this imports numba."""

import numpy as np

from aggopt.core.compiled import compiled, inlined, inner
from aggopt.core.random_kernels import FIRST, SECOND, STEP, share
from aggopt.core.types import U64, Bool
from aggopt.core.validation import Floats, Labels

SAMPLE = 1024  # records that an axis is made from, at most


@compiled
def arrange(rows: Floats, who: Labels, leaf: int, turns: int, seed: int) -> None:
    """Halve rows (m, d), with who (m,) they are, until no part exceeds `leaf`."""
    parts = [(0, len(who))]
    while parts:
        start, stop = parts.pop()
        if stop - start > leaf:
            middle = start + (stop - start) // 2
            halve(rows[start:stop], who[start:stop], turns, seed)
            parts.append((start, middle))
            parts.append((middle, stop))


@compiled
def halve(rows: Floats, who: Labels, turns: int, seed: int) -> None:
    """Put the half that is lower along an axis first: m // 2 records of (m, d).

    The axis is a random one, likelier where the records spread, turned so many times
    towards the principal axis.  Of records equally far along it, those that come
    first go down first, so that copies are halved, too.
    """
    axis = _axis(rows, turns, _random_state(seed, who[0], len(who)))
    along = np.empty(len(rows))
    for i in range(len(rows)):
        along[i] = _product(rows[i], axis)
    _part(rows, who, _lower(along))


@inner
def _lower(along: Floats) -> Bool:
    """Return which records are in the lower half."""
    half = len(along) // 2
    middle = np.partition(along, half)[half]
    ties = half - np.sum(along < middle)
    lower: Bool = along < middle
    for i in range(len(along)):
        if ties > 0 and along[i] == middle:
            lower[i] = True
            ties -= 1
    return lower


@inner
def _part(rows: Floats, who: Labels, lower: Bool) -> None:
    """Exchange those in the wrong half."""
    half = len(who) // 2
    high = half
    for i in range(half):
        if not lower[i]:
            while not lower[high]:
                high += 1
            who[i], who[high] = who[high], who[i]
            for t in range(rows.shape[1]):
                rows[i, t], rows[high, t] = rows[high, t], rows[i, t]
            high += 1


@inner
def _axis(rows: Floats, turns: int, random_state: U64) -> Floats:
    """Return a random sum of deviations from the mean, turned to the principal axis."""
    stride = (len(rows) + SAMPLE - 1) // SAMPLE
    sample = rows[::stride].copy()
    for t in range(sample.shape[1]):
        sample[:, t] -= sample[:, t].mean()
    weights = np.empty(len(sample))
    for i in range(len(weights)):
        weights[i] = 2.0 * share(random_state) - 1.0
    axis = _sum(sample, weights)
    for _ in range(turns):
        for i in range(len(weights)):
            weights[i] = _product(sample[i], axis)
        axis = _sum(sample, weights)
    return axis


@inner
def _sum(sample: Floats, weights: Floats) -> Floats:
    """Return the weighted sum of the rows, its largest entry 1 unless all are 0."""
    total = np.zeros(sample.shape[1])
    for i in range(len(weights)):
        for t in range(len(total)):
            total[t] += weights[i] * sample[i, t]
    largest = np.abs(total).max()
    if largest > 0:
        total /= largest
    return total


@inlined
def _product(a: Floats, b: Floats) -> float:
    """Return the inner product of a record and a direction."""
    total = 0.0
    for t in range(len(b)):
        total += a[t] * b[t]
    return total


@inlined
def _random_state(seed: int, first: int, count: int) -> U64:
    """Return a random state of its own for each part."""
    random_state = np.empty(1, np.uint64)
    random_state[0] = np.uint64(seed) * FIRST + np.uint64(first) * SECOND
    random_state[0] += np.uint64(count) * STEP
    return random_state
