"""Costs of runs of sorted values as groups, and the unit of costs."""

from math import fsum
from typing import NamedTuple

import numpy as np

from aggopt.core.types import Floats, Labels
from aggopt.errors import JobError, require_known

COSTS = ("sse", "sae", "maxdist")
CENTROIDS = ("any", "integer")
FAINTEST = 2.0**-500  # of the values' width: squares in this unit stay finite


class RunCost(NamedTuple):
    """Cost of a group, one of COSTS, with its kind of CENTROIDS and its unit."""

    cost: str
    centroids: str
    unit: float


def require_cost(cost: str, centroids: str) -> None:
    """Raise unless cost and kind of centroids are known and fit together."""
    require_known("cost", cost, COSTS)
    require_known("kind of centroids", centroids, CENTROIDS)
    if centroids == "integer" and cost != "sse":
        raise JobError(
            f"Integer centroids do not go with the cost {cost!r}: a median of whole "
            "numbers is one already, and a width has no centroid.",
            fix='leave centroids = "integer" out, or take cost = "sse".',
        )


def choose_cost_unit(x: Floats, k: int) -> float:
    """Return a power of two near the range of k near values; 1 if all are equal."""
    widths = x[k - 1 :] - x[: len(x) - k + 1]
    positive = widths[widths > 0]
    if not positive.size:
        positive = x[-1:] - x[:1]
    middle = len(positive) // 2
    typical = max(
        float(np.partition(positive, middle)[middle]), FAINTEST * float(x[-1] - x[0])
    )
    return float(2.0 ** (np.frexp(typical)[1] - 1)) if typical > 0 else 1.0


def compute_run_costs(
    x: Floats, tail: Labels, head: Labels, run_cost: RunCost
) -> Floats:
    """Return the cost of each group x[i:j], i in tail (a,) and j in head (a,).

    Every cost is computed from the group's first value, in two passes, so that values
    far from zero lose no digits.
    """
    c = np.empty(len(tail))
    sizes = head - tail
    for size in np.unique(sizes).tolist():
        rows = np.flatnonzero(sizes == size)
        for part in np.array_split(rows, 1 + rows.size * size // 2_000_000):
            c[part] = _compute_costs_of_size(
                x[tail[part][:, None] + np.arange(size)], run_cost
            )
    return c


def _compute_costs_of_size(values: Floats, run_cost: RunCost) -> Floats:
    """Return the cost of each row of values: groups of one size."""
    away = (values - values[:, :1]) / run_cost.unit
    if run_cost.cost == "maxdist":
        return np.asarray(away[:, -1])
    if run_cost.cost == "sae":
        middle = away[:, [values.shape[1] // 2]]
        return np.asarray(np.abs(away - middle).sum(axis=1))
    mean = away.mean(axis=1, keepdims=True)
    squares = ((away - mean) ** 2).sum(axis=1)
    if run_cost.centroids == "integer":
        # whole numbers are reckoned from one
        place = mean[:, 0] * run_cost.unit + values[:, 0] % 1
        squares += values.shape[1] * ((place - np.rint(place)) / run_cost.unit) ** 2
    return np.asarray(squares)


SAFE = 1e-15  # of each number that is added: more than adding a few rounds


def find_cheapest_path(n: int, tail: Labels, head: Labels, c: Floats) -> Labels | None:
    """Return labels (n,) of the groups (arcs) on the cheapest path, or None.

    Of arcs from `tail` to `head`, which cost c, (a,) each.

    >>> tail, head = np.array([0, 0, 1]), np.array([1, 2, 2])
    >>> find_cheapest_path(2, tail, head, np.array([1.0, 3.0, 1.0]))
    array([0, 1])
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import dijkstra

    graph = csr_array((c, (tail, head)), (n + 1, n + 1))
    _, before = dijkstra(graph, indices=0, return_predecessors=True)
    starts = np.zeros(n, dtype=np.intp)
    j = n
    if before[n] < 0:
        return None
    while j > 0:
        j = before[j]
        starts[j] = 1
    return np.cumsum(starts) - 1


def bound_paths(
    tail: Labels, head: Labels, c: Floats, u: Floats, max_arcs: int
) -> float:
    """Return a lower bound on the cost of any path, by potentials u (n + 1,).

    A path costs u_n - u_0 and the reduced costs c_ij - u_j + u_i of its arcs.  At most
    one arc leaves each node.
    """
    error = SAFE * (c + np.abs(u[head]) + np.abs(u[tail]))
    reduced = c - u[head] + u[tail] - error
    lengths = np.zeros(len(u) - 1)
    np.minimum.at(lengths, tail, reduced)
    lost = max(fsum(lengths), max_arcs * lengths.min())
    rounded = SAFE * (abs(u[0]) + abs(u[-1]) + abs(lost))
    return float(u[-1] - u[0] + lost - rounded)
