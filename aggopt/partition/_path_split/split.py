"""Optimal split of an ordering into groups of consecutive records."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from aggopt.core.types import I64
from aggopt.core.validation import Floats, Labels
from aggopt.partition._unassigned.pool import CHUNK


class SplitState(NamedTuple):
    """Dynamic programs of the split: one for each cut of the ring.

    Attributes
    ----------
    path : (n,)
        The records in their order.
    losses : (cuts, 2k)
        Least SSE of path[cut:j], in column j % 2k, for the 2k latest j.
    totals : (cuts,)
        Least SSE of the whole ring, cut there.
    sizes : (n + 1,)
        Size of the last group of path[:j] in its minimum-SSE split.
    """

    path: I64
    losses: Floats
    totals: Floats
    sizes: I64

    def __repr__(self) -> str:
        """Return the number of records, without values."""
        return f"SplitState(path of {len(self.path)}, {len(self.totals)} cuts)"


CUTS = 63  # most cuts of a ring: all distinct ones up to k = 32
REAL = 1e-9  # relative improvement that counts: rounding is less


def best_split(
    records: Floats, paths: Iterable[I64], k: int, *, closed: bool = False
) -> Labels:
    """Return labels (n,) of a minimum-SSE split; among equals, of the first ordering.

    Parameters
    ----------
    records : (n, d)
        Within [-1, 1]; at least 2k.
    paths
        Orderings of the records, (n,) each.
    k : int
        A group is k to 2k - 1 consecutive records of an ordering.
    closed : bool
        Whether the last record of an ordering is followed by the first.

    Notes
    -----
    Dynamic programming over the end of the last group: time grows as n k d, with closed
    orderings as n k (d + CUTS), memory as n + k.  A closed one is cut at each of its
    first 2k - 1 records, because a group begins at one of them; if k is large, only at
    the first CUTS of them.

    Source: Hansen and Mukherjee, A polynomial algorithm for optimal univariate
    microaggregation, IEEE TKDE 15(4), 2003: their shortest path, with
    multivariate SSE on its arcs.
    """
    best, least = np.empty(0, np.int64), np.inf
    for path in paths:
        ways = _explored(records, path, k, cuts=min(2 * k - 1, CUTS) if closed else 1)
        cut = _first_least(ways.totals)
        if not best.size or _is_less(ways.totals[cut], least):
            best, least = np.roll(path, -cut), ways.totals[cut]
    return _labels(_explored(records, best, k, cuts=1))


def _explored(records: Floats, path: I64, k: int, cuts: int) -> SplitState:
    from aggopt.partition._path_split import split_kernels as kernels

    n, d = records.shape
    ways = SplitState(
        path, np.full((cuts, 2 * k), np.inf), np.empty(cuts), np.zeros(n + 1, np.int64)
    )
    np.fill_diagonal(ways.losses, 0.0)  # before the first group
    step = max(1, CHUNK // (2 * k * (d + cuts)))
    for begin in range(1, n + cuts, step):
        kernels.advance(records, ways, begin, min(begin + step, n + cuts))
    return ways


def _first_least(totals: Floats) -> int:
    best = 0
    for cut, total in enumerate(totals):
        if _is_less(total, totals[best]):
            best = cut
    return best


def _is_less(loss: float, than: float) -> bool:
    return bool(loss < than * (1 - REAL))


def _labels(ways: SplitState) -> Labels:
    n = len(ways.path)
    group = np.zeros(n, np.intp)
    j = n
    while j := j - int(ways.sizes[j]):
        group[j] = 1
    labels = np.empty(n, np.intp)
    labels[ways.path] = np.cumsum(group)
    return labels
