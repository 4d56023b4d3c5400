"""Compiled enumeration of the t-close unions of a few groups. Imports numba."""

import numpy as np

from aggopt.core.compiled import compiled, inner
from aggopt.core.types import I64, Labels


@compiled
def enumerate_close(
    off: I64, sizes: I64, limits: I64, k: int, union: Labels, turns: int, close: Labels
) -> int:
    """Write t-close unions of k records or more to `close`; return their number.

    It checks `turns` unions, beginning with `union` (count,), which is then advanced to
    the next, or begins with -1 at the end. Results are written into `close` (turns,
    count). off (m, bins) are the groups' deviations, which add up to those of a union.
    """
    m, bins = off.shape
    count = close.shape[1]
    u = 0
    before = np.zeros(bins, np.int64)  # of all members but the last
    _sum_deviations(off, union, before)
    for _ in range(turns):
        size = 0
        for g in union:
            size += sizes[g]
        if size >= k and _is_within(before, off[union[-1]], limits[size]):
            close[u] = union
            u += 1
        i = count - 1
        while i >= 0 and union[i] == m - count + i:
            i -= 1
        if i < 0:
            union[0] = -1
            return u
        union[i] += 1
        for j in range(i + 1, count):
            union[j] = union[j - 1] + 1
        if i < count - 1:
            _sum_deviations(off, union, before)
    return u


@inner
def _sum_deviations(off: I64, union: Labels, before: I64) -> None:
    """Sum the deviations by bin of all groups of a union but the last."""
    before[:] = 0
    for g in union[:-1]:
        before += off[g]


@inner
def _is_within(before: I64, last: I64, limit: int) -> bool:
    """Whether the EMD of a union, as a whole number, is within its limit."""
    num = 0
    for i in range(len(before)):
        num += abs(before[i] + last[i])
        if num > limit:
            return False
    return True
