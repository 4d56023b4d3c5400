"""How far the nearest records are, all in all."""

from aggopt.core.threads import ThreadPool
from aggopt.core.validation import Floats
from aggopt.partition._box_tree.build import build
from aggopt.partition._shared.power_of_two import exponent_of, squared_back
from aggopt.partition._unassigned import pool as unassigned

LEAVES = 256  # searched in one go


def sum_of_nearest(rows: Floats, k: int, threads: ThreadPool) -> float:
    """Return the squared distances of the k nearest to each row, added up.

    The rows are (n, d); each is its own nearest.  The nearest are exact, not those
    that a search makes do with.
    """
    from aggopt.partition._neighbours import knn_sum_kernels as kernels  # imports numba

    (tree,) = threads.each(build, [unassigned.start(rows)])

    def add_up(start: int) -> float:
        stop = min(start + LEAVES, len(tree.waiting))
        return float(kernels.sum_of_nearest(tree, k, start, stop))

    total = sum(threads.each(add_up, range(0, len(tree.waiting), LEAVES)))
    return squared_back(total, exponent_of(rows))  # a pool is scaled by it
