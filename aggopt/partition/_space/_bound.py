"""What every partition loses at least, from the distances of near records."""

import numpy as np

from aggopt.arrays import Floats
from aggopt.partition import _pool
from aggopt.partition._space._crew import Crew
from aggopt.partition._tree.tree import plant

LEAVES = 256  # searched in one go
ROUNDING = 1e-12  # relative; more than the sums can be out by


def free_bound(rows: Floats, k: int, crew: Crew) -> float:
    """Return what no partition of rows (n, d) in groups of k or more goes below.

    With D the squared distances, a group S of s records loses

        sum_{i, j in S} D_ij / (2 s) >= sum_{i in S} a_i(s) / 2,

    a_i(s) being the mean of D_ii = 0 and the s - 1 smallest D_ij.  The mean of the
    smallest grows with their number, so that a_i(s) >= a_i(k) for s >= k, and

        SSE >= sum_i (sum of the k - 1 smallest D_ij) / (2 k).

    The neighbours are the nearest, not those that a search makes do with.
    """
    if k == 1:
        return 0.0
    from aggopt.partition._space import _bound_kernels as kernels  # imports numba

    tree = plant(_pool.start(rows))
    _, exponent = np.frexp(np.abs(rows).max())  # by which a pool scales

    def add_up(start: int) -> float:
        stop = min(start + LEAVES, len(tree.waiting))
        return float(kernels.sum_of_nearest(tree, k, start, stop))

    total = sum(crew.each(add_up, range(0, len(tree.waiting), LEAVES)))
    return float(np.ldexp(total, 2 * exponent) / (2 * k) * (1 - ROUNDING))
