"""MD, maximum distance: groups around the two records that are farthest apart."""

from typing import NamedTuple

import numpy as np

from aggopt.arrays import Floats, Labels
from aggopt.partition import _pool
from aggopt.partition._paths.leaves import Leaves, plant
from aggopt.partition._paths.starts import from_centroid
from aggopt.partition._pool import Integers, Progress

ROUNDING = 1e-9  # more than it can amount to
LOOKS = 1000  # at records, between two looks at Ctrl-C


class Reach(NamedTuple):
    """How far the farthest waiting record, and the centroid, is from each record.

    Attributes
    ----------
    far : (n,)
        Square of that distance, or more.
    whom : (n,)
        Which record that is or was, -1 while unknown.
    out : (n,)
        Square of the distance from the centroid of all, in some unit.
    peaks : (boxes,)
        The most that `far` is in each box, -1 where no record waits.
    """

    far: Floats
    whom: Integers
    out: Floats
    peaks: Floats


def groups(records: Floats, k: int, progress: Progress) -> Labels:
    """Return labels (n,): groups of k to 2k - 1, by MD.

    A turn takes two groups from the at least 2k records that have none: the k nearest
    to r, then the k nearest to s among the rest, where r and s are the two farthest
    apart, r the one farther from the centroid of all.  Then k or more are a group;
    fewer go one by one to the nearest centroid.
    """
    from aggopt.partition._paths import md_kernels as kernels

    n = len(records)
    leaves, labels = plant(records), np.full(n, -1)
    reach = _reach(records, leaves)
    while (left := int(leaves.waiting.sum())) >= 2 * k:
        progress(1.0 - left / n)
        kernels.take_pairs(leaves, reach, labels, k, LOOKS)
    return _closed(records, labels, k)


def _reach(records: Floats, leaves: Leaves) -> Reach:
    n, out = len(records), from_centroid(records)
    most = (np.sqrt(out) + np.sqrt(out.max())) / n  # by way of the centroid
    far = most**2 * (1 + ROUNDING)
    peaks = np.maximum.reduceat(far[leaves.who], leaves.first)
    return Reach(far, np.full(n, -1), out, peaks)


def _closed(records: Floats, labels: Integers, k: int) -> Labels:
    rest = labels < 0
    if rest.sum() >= k:
        return np.where(rest, labels.max() + 1, labels)
    order = np.argsort(~rest, kind="stable")
    pool = _pool.start(records[order])
    pool.labels[:] = labels[order]
    pool.counts[:] = rest.sum(), labels.max() + 1
    _pool.spread_over_nearest_groups(pool)
    labels[order] = pool.labels
    return labels
