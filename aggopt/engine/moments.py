"""Means and products of records that are read in pieces, as if they were read at once.

Source: Chan, Golub and LeVeque, Updating formulae and a pairwise algorithm for
computing sample variances, 1979.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from aggopt.core.validation import Floats
from aggopt.core.weights import weighted
from aggopt.errors import TableError


@dataclass(frozen=True, eq=False)
class PartMoments:
    """What some records have, in their own units.

    Attributes
    ----------
    n : (d,)
        How many have a value of each attribute, or how much those weigh.
    mean, low, high : (d,)
        Of each attribute: its mean, and its least and largest value.
    products : (d, d)
        Sums of products of what lies beside the means, of records that have both.
    """

    n: Floats
    mean: Floats
    products: Floats
    low: Floats
    high: Floats

    @classmethod
    def of(cls, X: Floats, weights: Floats | None = None) -> "PartMoments":
        """Return those of records X (n, d), by weights (n,) if they have some.

        What is missing is nan.
        """
        there = ~np.isnan(X)
        n = weighted(there.astype(np.float64), weights).sum(axis=0)
        low = np.where(there, X, np.inf).min(axis=0, initial=np.inf)
        high = np.where(there, X, -np.inf).max(axis=0, initial=-np.inf)
        _require_width(low, high)
        mean = _mean(np.where(there, X, 0.0), n, weights)
        mean += _mean(np.where(there, X - mean, 0.0), n, weights)
        away = np.where(there, X - mean, 0.0)
        # on any number of threads
        products = np.einsum("ij,ik->jk", weighted(away, weights), away)
        return cls(n, mean, products, low, high)

    @classmethod
    def together(cls, parts: Sequence["PartMoments"]) -> "PartMoments":
        """Return those of all records, in the order of the parts."""
        whole = parts[0]
        for part in parts[1:]:
            whole = whole._with(part)
        return whole

    def _with(self, other: "PartMoments") -> "PartMoments":
        both = self.n + other.n
        n = np.where(both > 0, both, 1.0)
        low, high = np.minimum(self.low, other.low), np.maximum(self.high, other.high)
        _require_width(low, high)
        gap = other.mean - self.mean
        products = self.products + other.products
        products = products + np.outer(gap, gap) * (self.n * other.n / n)
        mean = self.mean + gap * (other.n / n)
        return PartMoments(both, mean, products, low, high)

    @property
    def variance(self) -> Floats:
        """Population variance of each attribute (d,)."""
        return np.asarray(np.diag(self.products) / np.where(self.n > 0, self.n, 1.0))


def _mean(X: Floats, n: Floats, weights: Floats | None) -> Floats:
    return np.asarray(weighted(X, weights).sum(axis=0) / np.where(n > 0, n, 1.0))


def _require_width(low: Floats, high: Floats) -> None:
    """Refuse attributes of which squares would not fit a float."""
    with np.errstate(over="ignore"):
        wide = np.flatnonzero((high >= low) & ~np.isfinite((high - low) ** 2))
    if wide.size:
        raise TableError(
            f"Column(s) {wide.tolist()} span more than a float can hold.",
            fix="divide them by a constant first.",
        )
