"""Compiled loops over a sorted pool, and of algorithm 3. Imports numba: import late."""

import numpy as np

from aggopt.core.compiled import compiled, inner
from aggopt.core.types import I64
from aggopt.partition import _unassigned_kernels as kernels
from aggopt.partition._unassigned_pool import SortedPool
from aggopt.partition._unassigned_state import GROUPS, UNASSIGNED

KEEP = 0.95  # share of free columns below which the taken ones are dropped
BLOCK = 64  # columns that are tested at once: most blocks contain no candidate


@inner
def find_outermost_free(candidates: SortedPool) -> int:
    """Return the column of the unassigned record farthest from their centroid."""
    pool = candidates.pool
    total = (pool.sums[0] + pool.sums[1] / pool.unit) / pool.unit
    kernels.measure_columns(pool, float(candidates.free[0]), total)
    return find_farthest_free(candidates)


@inner
def measure_free_columns(candidates: SortedPool, column: int) -> None:
    """Set the distances of unassigned records from the one in `column`."""
    kernels.measure_columns(
        candidates.pool, 1.0, candidates.pool.records[:, column].copy()
    )


@inner
def find_farthest_free(candidates: SortedPool) -> int:
    """Return the column of the farthest unassigned record, the first in X of equals."""
    best = -1
    far = -1.0
    pool = candidates.pool
    end = pool.counts[UNASSIGNED]
    for start in range(0, end, BLOCK):
        some = pool.distances[start : min(start + BLOCK, end)]
        hits = 0
        for v in some:
            hits += (v >= far) & (v < np.inf)
        for j in range(start, start + len(some) if hits else start):
            v = pool.distances[j]
            if v >= far and v < np.inf and (v > far or pool.ids[j] < pool.ids[best]):
                best = j
                far = v
    return best


@inner
def assign_column(candidates: SortedPool, column: int) -> None:
    """Assign the record in a column to the group under construction."""
    pool = candidates.pool
    pool.labels[pool.ids[column]] = pool.counts[GROUPS]
    pool.distances[column] = np.inf
    candidates.taken[column] = True
    candidates.free[0] -= 1
    kernels.add_to_sums(pool, column, -1)
    pool.records[0, column] = np.inf  # makes every later distance inf


@inner
def close_group(candidates: SortedPool) -> None:
    """Complete a group; compact the arrays if many records are assigned."""
    candidates.pool.counts[GROUPS] += 1
    drop_taken(candidates)


@inner
def drop_taken(candidates: SortedPool) -> bool:
    """Remove assigned records from the arrays if they are many; return whether so."""
    if candidates.free[0] >= KEEP * candidates.pool.counts[UNASSIGNED]:
        return False
    pool = candidates.pool
    kept_count = 0
    bin_ = 0
    for j in range(pool.counts[UNASSIGNED]):
        while bin_ <= candidates.bins[j]:
            candidates.first[bin_] = kept_count
            bin_ += 1
        if not candidates.taken[j]:
            pool.ids[kept_count] = pool.ids[j]
            candidates.bins[kept_count] = candidates.bins[j]
            pool.distances[kept_count] = pool.distances[j]
            for t in range(len(pool.records)):
                pool.records[t, kept_count] = pool.records[t, j]
            kept_count += 1
    candidates.first[bin_:] = kept_count
    candidates.taken[:kept_count] = False
    pool.counts[UNASSIGNED] = kept_count
    return True


@compiled
def take_stratum_groups(candidates: SortedPool, sizes: I64, turns: int) -> None:
    """Make two groups per turn, with a record of each stratum and an extra if due."""
    for _ in range(turns):
        if candidates.free[0] == 0:
            return
        _take_group(candidates, sizes, find_outermost_free(candidates))
        if candidates.free[0] > 0:
            _take_group(candidates, sizes, find_farthest_free(candidates))


@inner
def _take_group(candidates: SortedPool, sizes: I64, seed: int) -> None:
    """Make a group of each stratum's record nearest to `seed`, and an extra if due."""
    measure_free_columns(candidates, seed)
    extra = False
    for stratum in range(len(sizes)):
        _take_nearest(candidates, sizes, stratum)
        if not extra and sizes[stratum] > sizes[0]:
            _take_nearest(candidates, sizes, stratum)
            extra = True
    close_group(candidates)


@inner
def _take_nearest(candidates: SortedPool, sizes: I64, stratum: int) -> None:
    """Assign the nearest unassigned record of a stratum to the group."""
    # within a stratum columns have their order in X: the first of equals wins
    distances = candidates.pool.distances
    best = candidates.first[stratum]
    for j in range(best, candidates.first[stratum + 1]):
        if distances[j] < distances[best]:
            best = j
    assign_column(candidates, best)
    sizes[stratum] -= 1
