"""Optimal split of an ordering into consecutive groups, and orderings to share."""

from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from hashlib import sha256
from typing import TYPE_CHECKING

import numpy as np

from aggopt.core.types import I64, Floats, Labels
from aggopt.partition._unassigned_state import CHUNK

if TYPE_CHECKING:
    from aggopt.partition.path_split_kernels import SplitState

CUTS = 63  # most cuts of a ring: all distinct ones up to k = 32
REAL = 1e-9  # relative improvement that counts: rounding is less


def find_best_split(
    records: Floats, paths: Iterable[I64], k: int, *, closed: bool = False
) -> Labels:
    """Return labels (n,) of the minimum-SSE split of an ordering into groups.

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
    best = np.empty(0, np.int64)
    lowest = np.inf
    for path in paths:
        state = _run_program(
            records, path, k, cuts=min(2 * k - 1, CUTS) if closed else 1
        )
        cut = _find_lowest(state.totals)
        if not best.size or _is_less(state.totals[cut], lowest):
            best = np.roll(path, -cut)
            lowest = state.totals[cut]
    return _collect_labels(_run_program(records, best, k, cuts=1))


def _run_program(records: Floats, path: I64, k: int, cuts: int) -> "SplitState":
    """Return the least losses of splits of a closed path, for each of `cuts` cuts."""
    from aggopt.partition import path_split_kernels as kernels

    n, d = records.shape
    state = kernels.SplitState(
        path, np.full((cuts, 2 * k), np.inf), np.empty(cuts), np.zeros(n + 1, np.int64)
    )
    np.fill_diagonal(state.losses, 0.0)  # before the first group
    step = max(1, CHUNK // (2 * k * (d + cuts)))
    for begin in range(1, n + cuts, step):
        kernels.extend_program(records, state, begin, min(begin + step, n + cuts))
    return state


def _find_lowest(totals: Floats) -> int:
    """Return the position of the lowest total, the first of equal ones."""
    best = 0
    for cut, total in enumerate(totals):
        if _is_less(total, totals[best]):
            best = cut
    return best


def _is_less(loss: float, than: float) -> bool:
    """Whether a loss is less than another by more than rounding."""
    return bool(loss < than * (1 - REAL))


def _collect_labels(state: "SplitState") -> Labels:
    """Return labels (n,) of the best split, read back from its last group."""
    n = len(state.path)
    is_first = np.zeros(n, np.intp)
    j = n
    while j := j - int(state.sizes[j]):
        is_first[j] = 1
    labels = np.empty(n, np.intp)
    labels[state.path] = np.cumsum(is_first)
    return labels


OrderingCache = dict[Hashable, list[I64]]

_cached_orderings: ContextVar[OrderingCache | None] = ContextVar(
    "orderings", default=None
)


@contextmanager
def share_orderings() -> Iterator[None]:
    """Cache orderings of records within a `with` block, to reuse them for other k.

    Source: Mortazavi and Jalili, Fast data-oriented microaggregation algorithm for
    large numerical datasets (FDM), Knowledge-Based Systems 67, 2014: one tour, split
    for every k.
    """
    token = _cached_orderings.set({})
    try:
        yield
    finally:
        _cached_orderings.reset(token)


def get_orderings(
    method: Hashable, records: Floats, make: Callable[[], Iterable[I64]]
) -> Iterable[I64]:
    """Return orderings of records (n, d), from the cache if it contains them.

    `method` identifies the way they are made, independently of k.
    """
    cache = _cached_orderings.get()
    if cache is None:
        return make()
    key = method, records.shape, sha256(records.tobytes()).digest()
    if key not in cache:
        cache[key] = list(make())
    return cache[key]
