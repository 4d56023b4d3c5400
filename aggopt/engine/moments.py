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
    n
        How many they are, or how much they weigh.
    mean, low, high : (d,)
        Of each attribute: its mean, and its least and largest value.
    products : (d, d)
        Sums of products of what lies beside the means.
    """

    n: float
    mean: Floats
    products: Floats
    low: Floats
    high: Floats

    @classmethod
    def of(cls, X: Floats, weights: Floats | None = None) -> "PartMoments":
        """Return those of records X (n, d), by weights (n,) if they have some."""
        if not len(X):
            nothing, d = np.full(X.shape[1], np.nan), X.shape[1]
            return cls(0.0, nothing, np.zeros((d, d)), nothing, nothing)
        low, high = X.min(axis=0), X.max(axis=0)
        _require_width(low, high)
        mean = np.average(X, axis=0, weights=weights)
        mean += np.average(X - mean, axis=0, weights=weights)
        away = X - mean
        # on any number of threads
        products = np.einsum("ij,ik->jk", weighted(away, weights), away)
        n = float(len(X) if weights is None else weights.sum())
        return cls(n, mean, products, low, high)

    @classmethod
    def together(cls, parts: Sequence["PartMoments"]) -> "PartMoments":
        """Return those of all records, in the order of the parts."""
        whole = parts[0]
        for part in parts[1:]:
            whole = whole._with(part)
        return whole

    def _with(self, other: "PartMoments") -> "PartMoments":
        n = self.n + other.n
        low, high = np.minimum(self.low, other.low), np.maximum(self.high, other.high)
        _require_width(low, high)
        gap = other.mean - self.mean
        products = self.products + other.products
        products = products + np.outer(gap, gap) * (self.n * other.n / n)
        return PartMoments(n, self.mean + gap * (other.n / n), products, low, high)

    @property
    def variance(self) -> Floats:
        """Population variance of each attribute (d,)."""
        return np.asarray(np.diag(self.products) / self.n)


def _require_width(low: Floats, high: Floats) -> None:
    """Refuse attributes of which squares would not fit a float."""
    with np.errstate(over="ignore"):
        wide = np.flatnonzero(~np.isfinite((high - low) ** 2))
    if wide.size:
        raise TableError(
            f"Column(s) {wide.tolist()} span more than a float can hold.",
            fix="divide them by a constant first.",
        )
