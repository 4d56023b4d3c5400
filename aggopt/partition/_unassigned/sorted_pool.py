"""Records without a group, sorted by their confidential attribute.

Partitioners that use one confidential attribute share this pool: neighbours in that
attribute are adjacent, so that a scan of some values reads nothing else.
"""

from typing import NamedTuple

import numpy as np

from aggopt.core.types import I64, Bool
from aggopt.core.validation import Floats
from aggopt.partition._unassigned import pool as unassigned
from aggopt.partition._unassigned.state import CHUNK, Pool


class SortedPool(NamedTuple):
    """A pool whose columns are sorted by bin, and within a bin by their order in X.

    Attributes
    ----------
    pool
        Its counts are the numbers of columns, taken ones included, and of groups; the
        distance of a taken column is inf.
    taken : (n,)
        Whether a column's record has a group.
    bins : (n,)
        Bin of each column, 0..m-1.
    first : (m + 1,)
        First column of each bin, and the end of the last.
    free : (1,) Number of records without a group.
    """

    pool: Pool
    taken: Bool
    bins: I64
    first: I64
    free: I64

    def __repr__(self) -> str:
        """Return the number of records left, without values."""
        return (
            f"SortedPool({self.remaining} of {len(self.bins)} records without a group)"
        )

    @property
    def remaining(self) -> int:
        """Number of records without a group."""
        return int(self.free[0])

    @property
    def done(self) -> float:
        """Share of the work done: a turn reads all records without a group."""
        return 1.0 - (self.remaining / len(self.bins)) ** 2

    @property
    def turns(self) -> int:
        """Number of turns between two checks for Ctrl-C."""
        return max(1, CHUNK // (4 * max(self.remaining, 1) * len(self.pool[0])))


def create_sorted_pool(records: Floats, place: I64) -> SortedPool:
    """Return records (n, d), none with a group, sorted by their bins `place` (n,)."""
    order = np.argsort(place, kind="stable")
    pool = unassigned.create_pool(records[order])
    pool.ids[:] = order
    bins = place[order]
    first = np.searchsorted(bins, np.arange(bins[-1] + 2)).astype(np.int64)
    n = len(place)
    return SortedPool(pool, np.zeros(n, np.bool_), bins, first, np.array([n]))
