"""Compiled loops of algorithm 3 over strata. Importing this imports numba."""

from aggopt.core.compiled import compiled, inner
from aggopt.core.types import I64
from aggopt.partition._sorted_pool_kernels import (
    assign_column,
    close_group,
    find_farthest_free,
    find_outermost_free,
    measure_free_columns,
)
from aggopt.partition._unassigned_pool import SortedPool


@compiled
def take_stratum_groups(candidates: SortedPool, sizes: I64, turns: int) -> None:
    """Take two groups a turn, with about one record per stratum; `sizes` are theirs."""
    for _ in range(turns):
        if candidates.free[0] == 0:
            return
        _take_group(candidates, sizes, find_outermost_free(candidates))
        if candidates.free[0] > 0:
            _take_group(candidates, sizes, find_farthest_free(candidates))


@inner
def _take_group(candidates: SortedPool, sizes: I64, seed: int) -> None:
    """Make a group of the nearest of each stratum, and one more of a larger stratum."""
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
    """Assign the nearest record of a stratum."""
    # within a stratum columns have their order in X: the first of equals wins
    distances = candidates.pool.distances
    best = candidates.first[stratum]
    for j in range(best, candidates.first[stratum + 1]):
        if distances[j] < distances[best]:
            best = j
    assign_column(candidates, best)
    sizes[stratum] -= 1
