"""Means and products of records that are read in pieces, as if they were read at once.

Source: Chan, Golub and LeVeque, Updating formulae and a pairwise algorithm for
computing sample variances, 1979.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from aggopt.core.record_weights import multiply_by_weights
from aggopt.core.standardise import Scale
from aggopt.core.types import Floats
from aggopt.engine.storage.scratch_files import load_arrays


@dataclass(frozen=True, eq=False)
class PartMoments:
    """Moments of some records, in their own units.

    Attributes
    ----------
    n : (d,)
        Number, or total weight, of the records with a value of each attribute.
    mean, low, high : (d,)
        Of each attribute: its mean, and its least and largest value.
    products : (d, d)
        Sums of products of deviations from the means, of records that have both.
    """

    n: Floats
    mean: Floats
    products: Floats
    low: Floats
    high: Floats

    @classmethod
    def of(cls, X: Floats, weights: Floats | None = None) -> "PartMoments":
        """Return the moments of records X (n, d), by sampling weights if given.

        Missing values are nan; no number is beyond what `check_magnitudes` permits.
        """
        is_present = ~np.isnan(X)
        n = multiply_by_weights(is_present.astype(np.float64), weights).sum(axis=0)
        low, high = find_finite_range(X)
        mean = _compute_mean(np.where(is_present, X, 0.0), n, weights)
        mean += _compute_mean(np.where(is_present, X - mean, 0.0), n, weights)
        away = np.where(is_present, X - mean, 0.0)
        # on any number of threads
        products = np.einsum("ij,ik->jk", multiply_by_weights(away, weights), away)
        return cls(n, mean, products, low, high)

    @classmethod
    def together(cls, parts: Sequence["PartMoments"]) -> "PartMoments":
        """Return the moments of the union of several parts, added in order."""
        result = parts[0]
        for part in parts[1:]:
            result = result._add(part)
        return result

    def _add(self, other: "PartMoments") -> "PartMoments":
        """Return the moments of the records of both parts."""
        both = self.n + other.n
        n = np.where(both > 0, both, 1.0)
        low = np.minimum(self.low, other.low)
        high = np.maximum(self.high, other.high)
        gap = other.mean - self.mean
        products = self.products + other.products
        products = products + np.outer(gap, gap) * (self.n * other.n / n)
        mean = self.mean + gap * (other.n / n)
        return PartMoments(both, mean, products, low, high)

    @property
    def variance(self) -> Floats:
        """Population variance of each attribute (d,)."""
        return np.asarray(np.diag(self.products) / np.where(self.n > 0, self.n, 1.0))

    @property
    def scale(self) -> Scale:
        """The origin and the standard deviation of each attribute."""
        same = self.high == self.low
        spread = np.where(same, 0.0, np.sqrt(self.variance))
        origin = np.where(same, self.low, self.mean)
        return Scale(origin, np.zeros_like(origin), spread)


def _compute_mean(X: Floats, n: Floats, weights: Floats | None) -> Floats:
    """Return the mean (d,) of records X (n, d) of total weights n (d,)."""
    return np.asarray(
        multiply_by_weights(X, weights).sum(axis=0) / np.where(n > 0, n, 1.0)
    )


def find_finite_range(X: Floats) -> tuple[Floats, Floats]:
    """Return least and largest value (d,) of records X (n, d); infinite if absent."""
    low = np.where(np.isnan(X), np.inf, X).min(axis=0, initial=np.inf)
    return low, np.where(np.isnan(X), -np.inf, X).max(axis=0, initial=-np.inf)


@dataclass(frozen=True, eq=False)
class PublishedMoments:
    """Moments of the deciding values of each number.

    Attributes
    ----------
    scale
        Their scale, on z-scores of all values that are present.
    factor : (p,)
        Factor that gives the weights of their records the mean 1.
    """

    scale: Scale = field(repr=False)
    factor: Floats = field(repr=False)

    @classmethod
    def of(cls, paths: Sequence[Path], n: int) -> "PublishedMoments | None":
        """Return the moments of the values kept in all blocks; None if all are.

        Each block's moments are as from `block_moments`.
        """
        arrays = [load_arrays(path) for path in paths]
        counts = sum(requirement.pop("count") for requirement in arrays)
        if (counts == n).all():
            return None
        part_moments = PartMoments.together(
            [PartMoments(**requirement) for requirement in arrays]
        )
        return cls(part_moments.scale, counts / part_moments.n)

    def costs(self, costs: Floats, power: int) -> Floats:
        """Return sums (p,) of distances to this power, on z-scores of kept values."""
        return np.asarray(costs * self.factor / self._unit**power)

    def standardised(
        self, mean: Floats, covariance: Floats
    ) -> tuple[Floats, Floats, Floats]:
        """Return mean and covariance on z-scores of kept values, and the target."""
        unit = self._unit
        target = np.diag((~self.scale.constant).astype(np.float64))
        scaled = covariance / np.outer(unit, unit)
        return (mean - self.scale.mean) / unit, scaled, target

    @property
    def _unit(self) -> Floats:
        """Standard deviations (p,) of kept values; 1 if constant."""
        return np.where(self.scale.constant, 1.0, self.scale.spread)


def compute_block_moments(Z: Floats, weights: Floats | None) -> dict[str, Any]:
    """Return counts and moments of the numbers Z (n, p) of a block, by name."""
    return {"count": (~np.isnan(Z)).sum(axis=0), **vars(PartMoments.of(Z, weights))}
