"""What groups of records that have sampling weights lose at least."""

from collections.abc import Iterator
from math import fsum
from typing import NamedTuple

import numpy as np

from aggopt.core.validation import Floats, Labels

EXACT = 3000  # records up to which each is compared with all others
NEAREST = 64  # others with which it is compared beyond that, 4 k if that is more
CHUNK = 1_000_000  # distances held at a time
ROUNDS = 30  # of Dinkelbach's method, of which it needs some five
MET = 1e-14  # share of a ratio by which it may still fall


class _Others(NamedTuple):
    """Some records: their weights (c,); distances (c, q) and weights of others."""

    own: Floats
    apart: Floats
    weights: Floats


def weighted_shares(records: Floats, k: int, weights: Floats) -> float:
    """Return the bound of `loss_bound` for weights (n,) that are not all equal.

    The records are (n, d), n of 2k or more, k of 2 or more.
    """
    parts = (
        each.own * _least_ratio(each, k, np.partition(weights, k - 2)[: k - 1].sum())
        for each in _others(records, k, weights)
    )
    return 0.5 * fsum(np.concatenate([*parts]))


def _others(records: Floats, k: int, weights: Floats) -> Iterator[_Others]:
    """Yield all records, some at a time, with the others that may be beside them."""
    if len(records) > EXACT:
        yield from _nearest(records, k, weights)
        return
    from scipy.spatial.distance import cdist

    n = len(records)
    step = max(1, CHUNK // n)
    for a in range(0, n, step):
        apart = cdist(records[a : a + step], records, "sqeuclidean")
        rows = np.arange(len(apart))
        apart[rows, a + rows] = np.inf
        own = weights[a : a + step]
        yield _Others(own, apart, np.broadcast_to(weights, apart.shape))


def _nearest(records: Floats, k: int, weights: Floats) -> Iterator[_Others]:
    """Yield records with the nearest others; the rest, at the least, stand behind.

    That is as many as a group may hold, as far as the last of the nearest, and as light
    as the lightest records of all.
    """
    from aggopt.partition._neighbours.neighbours import nearest_by_part

    count, most = min(max(NEAREST, 4 * k), len(records) - 1), 2 * k - 2
    light, first = np.sort(weights)[:most], 0
    for away, near in nearest_by_part(records, count + 1):
        rows = np.arange(first, first + len(away))
        apart, first = away**2, first + len(away)
        last = apart[:, -1:]
        apart[near == rows[:, None]] = np.inf
        behind = np.broadcast_to(light, (len(rows), most))
        yield _Others(
            weights[rows],
            np.hstack([apart, np.repeat(last, most, axis=1)]),
            np.hstack([weights[near], behind]),
        )


def _least_ratio(each: _Others, k: int, lightest: float) -> Floats:
    """Return at most the least sum w d / (own + sum w) over k - 1 to 2k - 2 others.

    By Dinkelbach's method: at a ratio t the others with the least w (d - t) are chosen.
    If they add up to own t less some s >= 0, no choice is below
    t - s / (own + lightest), `lightest` being the least weight that k - 1 others have.
    """
    own, most = each.own, 2 * k - 2
    near = np.argpartition(each.apart, k - 2, axis=1)[:, : k - 1]
    ratio = _ratio(each, near, np.ones(near.shape))
    for _ in range(ROUNDS):
        value = each.weights * (each.apart - ratio[:, None])
        best = np.argpartition(value, most - 1, axis=1)[:, :most]
        value = np.take_along_axis(value, best, axis=1)
        order = value.argsort(axis=1)
        value = np.take_along_axis(value, order, axis=1)
        best = np.take_along_axis(best, order, axis=1)
        taken = (np.arange(most) < k - 1) | (value < 0)
        short = np.minimum(np.where(taken, value, 0.0).sum(axis=1) - own * ratio, 0.0)
        least = ratio + short / (own + lightest)
        if (ratio - least <= MET * ratio).all():
            break
        ratio = np.minimum(_ratio(each, best, taken.astype(np.float64)), ratio)
    return np.asarray(np.maximum(least, 0.0))


def _ratio(each: _Others, which: Labels, taken: Floats) -> Floats:
    """Return what the ratio of these others (c, r) is, as far as they are taken."""
    weights = taken * np.take_along_axis(each.weights, which, axis=1)
    apart = np.take_along_axis(each.apart, which, axis=1)
    return np.asarray((weights * apart).sum(axis=1) / (each.own + weights.sum(axis=1)))
