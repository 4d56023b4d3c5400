"""Bounds of published values in the models that shift centroids.

With mean 0 and variance 1, and every c_j between lower and upper:

- 0 is between them;
- sum_j n_j (c_j - lower)(upper - c_j) >= 0 makes -lower upper >= 1 (Bhatia and Davis);
- among all c >= lower with mean 0, the variance is largest if the smallest group is
  above lower and all others are at it: lower^2 (n - n_j) / n_j >= 1.  Likewise for
  upper.

The first and the third suffice with one bound and without hard wishes: from the point
with all c_j = 0 the variance grows continuously to the largest.
"""

from collections.abc import Iterator
from math import isinf
from typing import Any

import numpy as np

from aggopt.core.types import Floats
from aggopt.errors import InfeasibleInputError, JobError
from aggopt.models.shared.constraints import amounts

Bound = Floats | float
NEAR = 1e-6  # standard deviations: tolerance of solvers at a bound
ROUNDING = 1e-9  # relative: a necessary condition missed by less may hold
FLAT = 1e-18  # a variance that rounding leaves of none


def is_bounded(lower: Bound, upper: Bound) -> bool:
    """Whether any of the bounds is finite."""
    return bool(np.isfinite(lower).any() or np.isfinite(upper).any())


def measure_excess(c: Floats, lower: Bound, upper: Bound) -> dict[str, float]:
    """Return the largest excess of c beyond its bounds, by "lower" and "upper"."""
    return amounts(lower=lower - c, upper=c - upper)


def move_to_bounds(c: Floats, lower: Bound, upper: Bound, near: Bound = NEAR) -> Floats:
    """Return c with values beyond a bound by up to `near` moved to the bound."""
    inside = np.clip(c, lower, upper)
    return np.where(np.abs(inside - c) <= near, inside, c)


def require_variance_range(sizes: Floats, lower: float, upper: float) -> None:
    """Raise unless bounds allow centroids of mean 0 and variance 1.

    Raises
    ------
    JobError
        lower is not below upper.
    InfeasibleInputError
        One of the conditions at the head of this file fails.
    """
    if not lower < upper:
        raise JobError(
            "A lower bound is not below its upper bound.",
            fix="pass lower < upper, or leave one of them out.",
        )
    if lower > 0 or upper < 0:
        raise InfeasibleInputError(
            "The mean of the originals is outside the bounds of published values.",
            fix="correct lower and upper: the originals must be between them.",
        )
    rest = (sizes.sum() - sizes.min()) / sizes.min()
    ends = [lower**2 * rest, upper**2 * rest]
    if not (isinf(lower) or isinf(upper)):
        ends.append(-lower * upper)
    if min(ends) < 1 - ROUNDING:
        raise InfeasibleInputError(
            f"No {len(sizes)} centroids within the bounds have mean and variance of "
            "the originals: these are too far from the others.",
            fix='choose a smaller k, publish means as they are (method = "mean"), or '
            "leave the bound out.",
        )


def fit_within(
    sizes: Floats, means: Floats, lower: float, upper: float
) -> Floats | None:
    """Return centroids (m,) of mean 0 and variance 1 within bounds, or None.

    They are a + b C_j, or the bound that this would cross.  None if the search finds
    none.
    """
    c = means.copy()
    free = np.ones(len(means), dtype=bool)
    n = sizes.sum()
    while free.any():
        fixed_sizes = sizes * ~free
        weight = sizes[free]
        mean = -np.sum(fixed_sizes * c) / weight.sum()
        square = (n - np.sum(fixed_sizes * c**2)) / weight.sum() - mean**2
        away = means[free] - np.sum(weight * means[free]) / weight.sum()
        spread = np.sum(weight * away**2) / weight.sum()
        if square < 0 or spread <= FLAT:
            return None
        c[free] = mean + away * np.sqrt(square / spread)
        beyond = free & ((c < lower) | (c > upper))
        if not beyond.any():
            return c
        c = np.where(beyond, np.clip(c, lower, upper), c)
        free = free & ~beyond
    return None


def list_bound_rows(c: Any, lower: Bound, upper: Bound) -> dict[str, Any]:
    """Return the constraints of finite bounds on c, by name, for cvxpy."""
    rows = {}
    low = np.broadcast_to(lower, c.shape)
    high = np.broadcast_to(upper, c.shape)
    if (has_lower := np.isfinite(low)).any():
        rows["lower"] = c[has_lower] >= low[has_lower]
    if (has_upper := np.isfinite(high)).any():
        rows["upper"] = c[has_upper] <= high[has_upper]
    return rows


def keep_within_in_pyomo(problem: Any, c: Any, lower: Bound, upper: Bound) -> None:
    """Add the constraints of finite bounds on c, a list of (lists of) expressions."""
    import pyomo.environ as pyo

    cells = list(_iter_cells(c))
    shape = (len(c), len(cells) // len(c))
    low = np.broadcast_to(lower, shape).ravel().tolist()
    high = np.broadcast_to(upper, shape).ravel().tolist()
    lower_rows = [
        cell >= end for cell, end in zip(cells, low, strict=True) if end > -np.inf
    ]
    upper_rows = [
        cell <= end for cell, end in zip(cells, high, strict=True) if end < np.inf
    ]
    if lower_rows:
        problem.lower = pyo.ConstraintList(rule=lower_rows)
    if upper_rows:
        problem.upper = pyo.ConstraintList(rule=upper_rows)


def _iter_cells(c: Any) -> Iterator[Any]:
    """Yield the entries of a list, or of a list of lists, in order."""
    for row in c:
        if isinstance(row, list):
            yield from row
        else:
            yield row
