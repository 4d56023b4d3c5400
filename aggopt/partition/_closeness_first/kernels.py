"""Algorithm 3 in compiled loops over strata.  Importing this imports numba."""

from aggopt.core.compiled import compiled, inner
from aggopt.core.types import I64
from aggopt.partition._unassigned.sorted_pool import Shelf
from aggopt.partition._unassigned.sorted_pool_kernels import (
    farthest,
    measure,
    outermost,
    take,
    tidy,
)


@compiled
def take_strata(shelf: Shelf, sizes: I64, turns: int) -> None:
    """Take two groups a turn, of about one record per stratum; `sizes` are theirs."""
    for _ in range(turns):
        if shelf.free[0] == 0:
            return
        _take_one(shelf, sizes, outermost(shelf))
        if shelf.free[0] > 0:
            _take_one(shelf, sizes, farthest(shelf))


@inner
def _take_one(shelf: Shelf, sizes: I64, seed: int) -> None:
    """Make a group of the nearest of each stratum, with one from a larger stratum."""
    measure(shelf, seed)
    extra = False
    for stratum in range(len(sizes)):
        _take_nearest(shelf, sizes, stratum)
        if not extra and sizes[stratum] > sizes[0]:
            _take_nearest(shelf, sizes, stratum)
            extra = True
    tidy(shelf)


@inner
def _take_nearest(shelf: Shelf, sizes: I64, stratum: int) -> None:
    """Assign the record of a stratum that is nearest."""
    # within a stratum columns lie as they come in X: the first of equals wins
    distances, best = shelf.pool.distances, shelf.first[stratum]
    for j in range(best, shelf.first[stratum + 1]):
        if distances[j] < distances[best]:
            best = j
    take(shelf, best)
    sizes[stratum] -= 1
