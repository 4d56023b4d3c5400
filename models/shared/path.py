"""Shortest paths through positions 0, 1, ..., n: found, and bounded by potentials."""

from math import fsum

import numpy as np

from aggopt.core.validation import Floats, Labels

SAFE = 1e-15  # of each number that is added: more than adding a few rounds


def cheapest(n: int, tail: Labels, head: Labels, c: Floats) -> Labels | None:
    """Return the arc of n values (n,), 0, 1, ..., on the cheapest path; None without.

    Of arcs from `tail` to `head`, which cost c, (a,) each.

    >>> cheapest(2, np.array([0, 0, 1]), np.array([1, 2, 2]), np.array([1.0, 3.0, 1.0]))
    array([0, 1])
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import dijkstra

    graph = csr_array((c, (tail, head)), (n + 1, n + 1))
    _, before = dijkstra(graph, indices=0, return_predecessors=True)
    starts, j = np.zeros(n, dtype=np.intp), n
    if before[n] < 0:
        return None
    while j > 0:
        j = before[j]
        starts[j] = 1
    return np.cumsum(starts) - 1


def bound(tail: Labels, head: Labels, c: Floats, u: Floats, most: int) -> float:
    """Return the bound by potentials u (n + 1,) for paths of at most `most` arcs.

    A path costs u_n - u_0 and the reduced costs c_ij - u_j + u_i of its arcs.  At most
    one arc leaves each node.
    """
    error = SAFE * (c + np.abs(u[head]) + np.abs(u[tail]))
    reduced = c - u[head] + u[tail] - error
    least = np.zeros(len(u) - 1)
    np.minimum.at(least, tail, reduced)
    lost = max(fsum(least), most * least.min())
    rounded = SAFE * (abs(u[0]) + abs(u[-1]) + abs(lost))
    return float(u[-1] - u[0] + lost - rounded)
