"""Standardise attributes, and undo it."""

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from aggopt.core.types import Bool, Floats
from aggopt.errors import TableError


@dataclass(frozen=True, eq=False)
class Scale:
    """Centre and spread of each attribute, to compute z-scores and to undo them.

    Attributes
    ----------
    origin : (d,)
        A value of the attribute, in its unit.  Differences from it are used, so that
        values far from zero (1e9 + 1) lose no digits.
    centre : (d,)
        Mean less origin.
    spread : (d,)
        Population standard deviation (divisor n).  A constant attribute has spread
        0: its z-scores are 0, so that it has no part in any distance, and undoing
        returns the constant itself.
    """

    origin: Floats = field(repr=False)
    centre: Floats = field(repr=False)
    spread: Floats = field(repr=False)

    @classmethod
    def of(cls, X: Floats, weights: Floats | None = None) -> "Scale":
        """Return the scale of records X (n, d); that of its values, if some are nan.

        With `weights` (n,) mean and standard deviation are weighted.

        Raises
        ------
        TableError
            An attribute spans more than a float can hold.

        Examples
        --------
        >>> Scale.of(np.array([[1e9 - 1, 5.0], [1e9 + 1, 5.0]])).spread
        array([1., 0.])
        """
        holes = np.isnan(X)
        if holes.any():
            columns = zip(X.T, ~holes.T, strict=True)
            return cls.concatenate(
                cls.of(x[rows, None], None if weights is None else weights[rows])
                for x, rows in columns
            )
        unit = _compute_widths(X)
        constant = unit == 0
        unit[constant] = 1.0
        shifted = X - X[0]
        shifted /= unit  # in [-1, 1]: squares neither overflow nor vanish
        centre = _compute_mean(shifted, weights)
        away = shifted - centre
        centre += _compute_mean(away, weights)
        np.subtract(shifted, centre, out=away)
        spread = np.sqrt(_compute_mean(np.square(away, out=away), weights))
        spread[constant] = 0.0
        return cls(X[0].copy(), centre * unit, spread * unit)

    @classmethod
    def concatenate(cls, scales: Iterable["Scale"]) -> "Scale":
        """Return one scale for the attributes of several scales, side by side."""
        parts = zip(*((s.origin, s.centre, s.spread) for s in scales), strict=True)
        return cls(*map(np.concatenate, parts))

    @property
    def mean(self) -> Floats:
        """Mean of each attribute (d,), in its unit."""
        return self.origin + self.centre

    @property
    def constant(self) -> Bool:
        """Whether each attribute has one value only, (d,)."""
        return np.asarray(self.spread == 0)

    def standardise(self, X: Floats) -> Floats:
        """Return z-scores of X (n, d), without unit; 0 where constant."""
        Z = X - self.origin
        Z -= self.centre
        Z /= np.where(self.constant, 1.0, self.spread)
        Z[..., self.constant] = 0.0
        return Z

    def undo(self, Z: Floats) -> Floats:
        """Return Z (n, d) in the attributes' own units."""
        return self.origin + (self.centre + Z * self.spread)


def to_unweighted_spreads(delta: Floats, X: Floats, weights: Floats | None) -> Floats:
    """Return distances in weighted standard deviations of X (n, d) in unweighted."""
    if weights is None:
        return delta
    plain = Scale.of(X).spread
    weighted = Scale.of(X, weights).spread
    return delta * np.divide(
        weighted, plain, out=np.ones_like(weighted), where=plain > 0
    )


def _compute_mean(X: Floats, weights: Floats | None) -> Floats:
    if weights is None:
        return np.asarray(X.mean(axis=0))
    return np.asarray(weights @ X / weights.sum())


def _compute_widths(X: Floats) -> Floats:
    with np.errstate(over="ignore"):
        widths = np.asarray(X.max(axis=0) - X.min(axis=0))
    endless = np.flatnonzero(~np.isfinite(widths))
    if endless.size:
        raise TableError(
            f"Column(s) {endless.tolist()} span more than a float can hold.",
            fix="divide them by a constant first.",
        )
    return widths
