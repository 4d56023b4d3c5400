"""Lower bounds on the loss of every partition into groups of at least k records."""

from collections.abc import Iterator
from math import fsum
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from aggopt.core.validation import Floats, Labels, group_size
from aggopt.partition._shared.scaling import (
    Weighing,
    squared_back,
    weighed,
    within_one,
    without_constants,
)
from aggopt.partition._shared.sse import loss

EXACT = 3000  # records up to which each record is compared with all others
NEAREST = 64  # others that are compared with it beyond that, or 4 k if that is more
CHUNK = 1_000_000  # distances held at a time
ROUNDS = 30  # of Dinkelbach's method, which needs some five
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
    """Yield all records in chunks, with their candidates for a common group."""
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
    """Yield records with their nearest others, and a bound for the remaining ones.

    The remaining ones are represented by as many others as a group may have: as far
    away as the last of the nearest, with the smallest weights of all records.

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
    """Return a lower bound on sum w d / (own + sum w) over k - 1 to 2k - 2 others.

    Dinkelbach's method: at a ratio t the others with the least w (d - t) are chosen. If
    they add up to own t less some s >= 0, no choice is below t - s / (own + lightest),
    `lightest` being the least weight that k - 1 others have.

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
    """Return the ratio that the selected others (c, r) give, counting those taken."""
    weights = taken * np.take_along_axis(each.weights, which, axis=1)
    apart = np.take_along_axis(each.apart, which, axis=1)
    return np.asarray((weights * apart).sum(axis=1) / (each.own + weights.sum(axis=1)))


MANY = 20_000  # records from which on the compiled tree is faster, on all cores
ROUNDING = 1e-12  # share of the bound that rounding may have added


def loss_bound(
    X: npt.ArrayLike,
    k: int,
    *,
    scale: str = "z",
    weights: npt.ArrayLike | None = None,
) -> float:
    """Return a lower bound on the loss of any partition into groups of k or more.

    Whatever the method, no partition of the records has a smaller sum of squares within
    groups.  On usual tables the bound is some two thirds of the least loss; it takes
    one search for nearest neighbours.

    Parameters
    ----------
    X : (n, d)
        Quasi-identifiers in their own units: numbers, none missing.
    k : int
        Records per group, at least; 1 <= k <= n.
    scale : "z" or "none"
        "z" measures the loss on z-scores (population standard deviation), where a
        constant attribute weighs nothing; "none" in the units of X.
    weights : (n,), optional
        Sampling weights, above 0: the bound is of sum_i w_i |x_i - c|^2 with weighted
        means c, on the scale of the weights, and z-scores are by weighted moments.

    Returns
    -------
    float
        A bound on the sum of squares within groups, over all records and attributes,
        0.0 or more.  With n < 2k all records form one group, and the bound is its loss.

    Raises
    ------
    InfeasibleInputError
        k exceeds n.
    JobError
        k is below 1 or not a whole number; an unknown scale (UnknownNameError).
    TableError
        X is not a matrix of finite numbers; weights are not one number above 0 for
        each record, or span more than six orders of magnitude.

    Notes
    -----
    Proof.  Let A_i(q) be the sum of the q smallest squared distances of record i from
    other records.  The sum of squares of a group S of s records is

        (1 / 2s) sum_{i in S} sum_{j in S} |x_i - x_j|^2  >=  sum_{i in S} A_i(s-1)/2s,

    as each i has s - 1 others in S.  A_i(s-1) / 2s does not fall with s: the s-th
    smallest distance a is no less than the mean of the s - 1 before it, hence
    a >= A_i(s-1) / (s-1) >= A_i(s-1) / s, and

        A_i(s) / 2(s+1)  =  (A_i(s-1) + a) / 2(s+1)  >=  A_i(s-1) (1 + 1/s) / 2(s+1)
                         =  A_i(s-1) / 2s.

    So each record adds A_i(k-1) / 2k at least, whatever the size of its group, and the
    bound is sum_i A_i(k-1) / 2k.  It holds for groups larger than 2k - 1, too.

    With weights the sum of squares of a group S of weight W is

        sum_{i in S} (w_i / 2) sum_{j in S} w_j |x_i - x_j|^2 / W,

    and each record adds at least the minimum of its term over all choices of k - 1 to
    2k - 2 others: larger groups can be split, which adds nothing.  Dinkelbach's method
    minimises that ratio.  The bound is weaker than without weights if the weights
    differ much, and from 3000 records on, when each record is compared only with its
    nearest.

    Examples
    --------
    >>> round(loss_bound([[0.0], [1.0], [5.0], [6.0]], k=2, scale="none"), 6)
    1.0
    """
    records, _ = weighed(X, scale, weights)
    return least_loss(records, group_size(k, len(records)), weights=weights)


def least_loss(
    records: Floats,
    k: int,
    *,
    jobs: int | None = None,
    weights: npt.ArrayLike | None = None,
) -> float:
    """Return the bound for records (n, d) that are already scaled for distances."""
    known = Weighing.read(weights, len(records))
    if k == 1:
        return 0.0
    small, exponent = within_one(without_constants(records))
    if len(records) < 2 * k:
        least = loss(small, np.zeros(len(small), np.intp), known.of)
    elif known.of is None:
        least = _sum_of_nearest(small, k, jobs) / (2 * k)
    else:
        least = weighted_shares(small, k, known.of)
    return squared_back(least * (1 - ROUNDING), exponent) * known.unit


def _sum_of_nearest(records: Floats, k: int, jobs: int | None) -> float:
    """Return the sum of A_i(k - 1)."""
    if len(records) < MANY:
        from aggopt.partition._neighbours.neighbours import nearest

        return float((nearest(records, k)[0] ** 2).sum())
    from aggopt.core.threads import ThreadPool
    from aggopt.partition._neighbours.neighbours import sum_of_nearest

    with ThreadPool(jobs) as threads:
        return sum_of_nearest(records, k, threads)
