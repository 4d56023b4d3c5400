"""Compiled loops over a shelf.  Importing this imports numba: do so late."""

import numpy as np

from aggopt.core.compiled import inner
from aggopt.partition._unassigned import kernels
from aggopt.partition._unassigned.sorted_pool import Shelf
from aggopt.partition._unassigned.state import GROUPS, UNASSIGNED

KEEP = 0.95  # share of the columns that must be free: fewer, and the taken are dropped
BLOCK = 64  # columns that are tested at once: most blocks hold nothing to look at


@inner
def outermost(shelf: Shelf) -> int:
    """Return the free column farthest from the centroid of all that are free."""
    pool = shelf.pool
    total = (pool.sums[0] + pool.sums[1] / pool.unit) / pool.unit
    kernels.measure(pool, float(shelf.free[0]), total)
    return farthest(shelf)


@inner
def measure(shelf: Shelf, column: int) -> None:
    """Set the distances of the free columns from one of them."""
    kernels.measure(shelf.pool, 1.0, shelf.pool.records[:, column].copy())


@inner
def farthest(shelf: Shelf) -> int:
    """Return the farthest free column; of equals, the record that comes first in X."""
    best, far, pool = -1, -1.0, shelf.pool
    end = pool.counts[UNASSIGNED]
    for start in range(0, end, BLOCK):
        some = pool.distances[start : min(start + BLOCK, end)]
        hits = 0
        for v in some:
            hits += (v >= far) & (v < np.inf)
        for j in range(start, start + len(some) if hits else start):
            v = pool.distances[j]
            if v >= far and v < np.inf and (v > far or pool.who[j] < pool.who[best]):
                best, far = j, v
    return best


@inner
def take(shelf: Shelf, column: int) -> None:
    """Put a free column into the group that is being made."""
    pool = shelf.pool
    pool.labels[pool.who[column]] = pool.counts[GROUPS]
    pool.distances[column] = np.inf
    shelf.taken[column] = True
    shelf.free[0] -= 1
    kernels.add_to_sums(pool, column, -1)
    pool.records[0, column] = np.inf  # so is every distance from now on


@inner
def tidy(shelf: Shelf) -> None:
    """Close a group, and drop the taken columns when they have become many."""
    shelf.pool.counts[GROUPS] += 1
    drop_taken(shelf)


@inner
def drop_taken(shelf: Shelf) -> bool:
    """Drop the taken columns when they have become many; return whether they had."""
    if shelf.free[0] >= KEEP * shelf.pool.counts[UNASSIGNED]:
        return False
    pool, kept, bin_ = shelf.pool, 0, 0
    for j in range(pool.counts[UNASSIGNED]):
        while bin_ <= shelf.bins[j]:
            shelf.first[bin_] = kept
            bin_ += 1
        if not shelf.taken[j]:
            pool.who[kept], shelf.bins[kept] = pool.who[j], shelf.bins[j]
            pool.distances[kept] = pool.distances[j]
            for t in range(len(pool.records)):
                pool.records[t, kept] = pool.records[t, j]
            kept += 1
    shelf.first[bin_:] = kept
    shelf.taken[:kept] = False
    pool.counts[UNASSIGNED] = kept
    return True
