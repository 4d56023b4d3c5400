"""Costs of runs of sorted values as groups, and the unit of costs."""

from typing import NamedTuple

import numpy as np

from aggopt.core.validation import Floats, Labels
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
    """Refuse an unknown cost or kind of centroids, or two that do not go together."""
    require_known("cost", cost, COSTS)
    require_known("kind of centroids", centroids, CENTROIDS)
    if centroids == "integer" and cost != "sse":
        raise JobError(
            f"Integer centroids do not go with the cost {cost!r}: a median of whole "
            "numbers is one already, and a width has no centroid.",
            fix='leave centroids = "integer" out, or take cost = "sse".',
        )


def unit_of(x: Floats, k: int) -> float:
    """Return a power of two near the width of a group of k; 1 if all are equal."""
    widths = x[k - 1 :] - x[: len(x) - k + 1]
    positive = widths[widths > 0]
    if not positive.size:
        positive = x[-1:] - x[:1]
    middle = len(positive) // 2
    typical = max(
        float(np.partition(positive, middle)[middle]), FAINTEST * float(x[-1] - x[0])
    )
    return float(2.0 ** (np.frexp(typical)[1] - 1)) if typical > 0 else 1.0


def costs_of(x: Floats, tail: Labels, head: Labels, how: RunCost) -> Floats:
    """Return the costs of the groups x[i:j], i in tail (a,) and j in head (a,).

    Every cost is computed from the group's first value, in two passes, so that values
    far from zero lose no digits.
    """
    c = np.empty(len(tail))
    sizes = head - tail
    for size in np.unique(sizes).tolist():
        rows = np.flatnonzero(sizes == size)
        for part in np.array_split(rows, 1 + rows.size * size // 2_000_000):
            c[part] = _costs_of_size(x[tail[part][:, None] + np.arange(size)], how)
    return c


def _costs_of_size(values: Floats, how: RunCost) -> Floats:
    away = (values - values[:, :1]) / how.unit
    if how.cost == "maxdist":
        return np.asarray(away[:, -1])
    if how.cost == "sae":
        middle = away[:, [values.shape[1] // 2]]
        return np.asarray(np.abs(away - middle).sum(axis=1))
    mean = away.mean(axis=1, keepdims=True)
    squares = ((away - mean) ** 2).sum(axis=1)
    if how.centroids == "integer":
        # whole numbers are reckoned from one
        place = mean[:, 0] * how.unit + values[:, 0] % 1
        squares += values.shape[1] * ((place - np.rint(place)) / how.unit) ** 2
    return np.asarray(squares)
