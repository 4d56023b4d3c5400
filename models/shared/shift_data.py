"""Shared parts of the models that shift centroids: data and readers of centroids."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from aggopt.core.types import Bool, Floats, Labels
from aggopt.errors import InfeasibleInputError, JobError, TableError
from aggopt.models.shared.value_bounds import (
    fit_within,
    is_bounded,
    measure_excess,
    require_variance_range,
)

FARTHEST = 1e6  # standard deviations: the largest distance of a wish


@dataclass(frozen=True, eq=False)
class Wishes:
    """One standardised attribute, its groups, and the wish of each record.

    Attributes
    ----------
    x : (n,)
        Original values: mean 0, variance 1, no unit.
    labels : (n,)
        Group of each record, 0..m-1; at least two groups.
    delta : (n,)
        Required distance between a record's value and its published one, >= 0.
    importance : (n,)
        Importance of the record's wish, in [0, 1].
    lower, upper
        Bounds of published values, standardised as x is; infinite without a bound.
    weights : (n,)
        Sampling weights, of mean 1, for means, variances and shifts.  All equal without
        weights.
    """

    x: Floats = field(repr=False)
    labels: Labels = field(repr=False)
    delta: Floats = field(repr=False)
    importance: Floats = field(repr=False)
    lower: float = field(default=-np.inf, kw_only=True)
    upper: float = field(default=np.inf, kw_only=True)
    weights: Floats | None = field(default=None, kw_only=True, repr=False)

    def __post_init__(self) -> None:
        require_mean_one(self.weights)
        mean = np.average(self.x, weights=self.weights)
        variance = np.average((self.x - mean) ** 2, weights=self.weights)
        if not (abs(mean) <= 1e-9 and abs(variance - 1) <= 1e-9):
            raise TableError(
                "x is not standardised: its mean is not 0 or its variance not 1.",
                fix="pass (x - x.mean()) / x.std().",
            )
        if self.labels.max() == 0:
            raise InfeasibleInputError(
                "There is one group only, and one value cannot keep the variance.",
                fix="choose k of at most half the records, or aggregate by the mean.",
            )
        if not (np.isfinite(self.delta).all() and (self.delta >= 0).all()):
            raise JobError(
                "delta has entries that are negative or not finite.",
                fix="request distances of 0 or more, in standard deviations.",
            )
        if self.delta.max() > FARTHEST:
            raise JobError(
                f"delta has entries above {FARTHEST:g} standard deviations.",
                fix="request distances that a release can keep.",
            )
        if not ((self.importance >= 0).all() and (self.importance <= 1).all()):
            raise JobError(
                "importance has entries outside [0, 1].",
                fix="choose each importance from 0 (a wish) to 1 (a demand).",
            )
        require_variance_range(self.sizes, self.lower, self.upper)

    @property
    def bounded(self) -> bool:
        """Whether published values have a bound."""
        return is_bounded(self.lower, self.upper)

    @cached_property
    def sizes(self) -> Floats:
        """Number of records in each group, or the sum of their weights, n_j (m,)."""
        return np.bincount(self.labels, self.weights).astype(np.float64)

    @cached_property
    def means(self) -> Floats:
        """Mean of each group, C_j (m,)."""
        x = self.x if self.weights is None else self.weights * self.x
        return np.asarray(np.bincount(self.labels, x) / self.sizes)

    @cached_property
    def renormalised(self) -> Floats:
        """Group means, shifted and scaled to keep mean and variance (m,)."""
        return renormalise_means(self)

    @cached_property
    def hard(self) -> Bool:
        """Whether each record's wish has importance 1 (n,)."""
        return np.asarray(self.importance == 1)


def measure_row_errors(data: Wishes, c: Floats) -> dict[str, float]:
    """Return the errors of centroids c (m,) in mean, variance and bounds, by name."""
    n = len(data.x)
    mean = abs(np.sum(data.sizes * c)) / n
    variance = abs(np.sum(data.sizes * c**2) / n - 1)
    errors = {"mean": float(mean), "variance": float(variance)}
    return {**errors, **measure_excess(c, data.lower, data.upper)}


def require_mean_one(weights: Floats | None) -> None:
    """Raise unless weights are positive and have mean 1."""
    if weights is None or (weights.min() > 0 and abs(weights.mean() - 1) <= 1e-9):
        return
    raise TableError(
        "The weights are not all above 0, or their mean is not 1.",
        fix="pass w / w.mean().",
    )


def require_weight(alpha: float) -> None:
    """Raise a JobError unless alpha is from 0 to 1."""
    if not 0 <= alpha <= 1:
        raise JobError(f"alpha = {alpha}.", fix="choose alpha in [0, 1].")


def renormalise_means(data: Wishes) -> Floats:
    """Return the group means, shifted and scaled to keep mean and variance (m,).

    They are the optimum at alpha = 0.  If all group means coincide, the standardised
    group numbers replace them.  Centroids beyond a bound are moved to it, and the
    others stretched farther.  If that is impossible, bounds are ignored.
    """
    c = _stretch_means(data)
    if max(measure_excess(c, data.lower, data.upper).values()) == 0:
        return c
    centroids = fit_within(data.sizes, data.means, data.lower, data.upper)
    return c if centroids is None else centroids


def _stretch_means(data: Wishes) -> Floats:
    """Return the group means, or their numbers if equal, with mean 0 and variance 1."""
    c = data.means - np.sum(data.sizes * data.means) / len(data.x)
    spread = np.sqrt(np.sum(data.sizes * c**2) / len(data.x))
    if spread < 1e-9:
        number = np.arange(len(data.sizes), dtype=np.float64)
        c = number - np.sum(data.sizes * number) / len(data.x)
        spread = np.sqrt(np.sum(data.sizes * c**2) / len(data.x))
    return np.asarray(c / spread)


def centroids(problem: Any, data: Wishes) -> Floats | None:
    """Return the centroids (m,) of a solved problem; None without a solution."""
    if hasattr(problem, "var_dict"):
        shift = problem.var_dict["shift"].value
    else:
        shift = [v.value for v in problem.shift.values()]
    if shift is None or any(v is None for v in shift):
        return None
    values = data.means + np.asarray(shift, dtype=np.float64)
    return values if np.isfinite(values).all() else None


def make_small_example() -> tuple[Floats, Labels, Floats, Floats]:
    """Return x, labels, delta and importance of six records in three groups."""
    x = np.array([-1.5, -1.0, -0.5, 0.5, 1.0, 1.5])
    return x / x.std(), np.arange(6) // 2, np.full(6, 0.2), np.full(6, 0.5)
