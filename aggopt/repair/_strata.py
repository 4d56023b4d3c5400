"""Groups that are t-close by construction: a record from each stratum.

Compiled; importing this imports numba: do so late.
"""

import numpy as np

from aggopt.arrays import Floats, Labels
from aggopt.compiled import compiled
from aggopt.repair._task import Task


def stratified(task: Task, size: int) -> Labels:
    """Return labels (n,): groups with a record from each of `size` strata.

    The strata are runs of the confidential values, about equal; records beyond that
    are in the middle ones.  `size` must be one that `fitted` returns.

    Source: algorithm 3 of Soria-Comas et al., IEEE TKDE 2015.
    """
    n = len(task.Z)
    count, over = divmod(n, size)
    sizes = np.full(size, count)
    sizes[size // 2] += over // 2 if size % 2 == 0 else over
    sizes[size // 2 - 1] += (over + 1) // 2 if size % 2 == 0 else 0
    order = np.argsort(task.ordered.place, kind="stable")
    return _taken(task.Z, order, np.concatenate(([0], np.cumsum(sizes))))


def fitted(n: int, size: int) -> int:
    """Return the size, grown so that less records are over than there are groups."""
    size = min(size, n)
    return size + n % size // (n // size)


@compiled
def _taken(Z: Floats, order: Labels, edges: Labels) -> Labels:
    """Take the record farthest from the last and the nearest to it, again and again."""
    n, size = len(Z), len(edges) - 1
    labels = np.full(n, -1)
    left = order.copy()
    count = edges[1:] - edges[:-1]
    seed, groups = np.zeros(Z.shape[1]), n // size
    for g in range(groups):
        if g % 2 == 0:
            seed = _mean(Z, left, edges, count)
        seed = Z[_farthest(Z, left, edges, count, seed)].copy()
        extra = False
        for q in range(size):
            times = 1
            if not extra and count[q] > groups - g:
                times, extra = 2, True
            for _ in range(times):
                _take_nearest(Z, left, edges[q], count, q, seed, labels, g)
    return labels


@compiled
def _mean(Z: Floats, left: Labels, edges: Labels, count: Labels) -> Floats:
    total = np.zeros(Z.shape[1])
    for q in range(len(count)):
        for i in range(edges[q], edges[q] + count[q]):
            total += Z[left[i]]
    total /= count.sum()
    return total


@compiled
def _farthest(
    Z: Floats, left: Labels, edges: Labels, count: Labels, seed: Floats
) -> int:
    best, found = -1.0, -1
    for q in range(len(count)):
        for i in range(edges[q], edges[q] + count[q]):
            apart = _apart(Z, left[i], seed)
            if apart > best:
                best, found = apart, left[i]
    return found


@compiled
def _take_nearest(
    Z: Floats,
    left: Labels,
    base: int,
    count: Labels,
    q: int,
    seed: Floats,
    labels: Labels,
    g: int,
) -> None:
    best, found = np.inf, base
    for i in range(base, base + count[q]):
        apart = _apart(Z, left[i], seed)
        if apart < best:
            best, found = apart, i
    labels[left[found]] = g
    count[q] -= 1
    left[found] = left[base + count[q]]


@compiled
def _apart(Z: Floats, i: int, seed: Floats) -> float:
    apart = 0.0
    for q in range(len(seed)):
        apart += (Z[i, q] - seed[q]) ** 2
    return apart
