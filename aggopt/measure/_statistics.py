"""Certainty that quantiles of a release differ from the original's."""

import numpy as np

from aggopt.core.record_weights import multiply_by_weights
from aggopt.core.types import F64, Floats
from aggopt.measure._pair import TOLERANCE, Pair


def compute_means(values: Floats, weights: Floats | None = None) -> Floats:
    """Return the mean of each column of (n, v), by weights (n,) of mean 1 if given."""
    return np.asarray(multiply_by_weights(values, weights).mean(axis=0))


def centre_records(z: Floats, weights: Floats | None = None) -> Floats:
    """Return records z (n, v) less the mean of each attribute, as `compute_means`."""
    return np.asarray(z - compute_means(z, weights))


def scale_to_unit_spread(v: Floats, weights: Floats | None = None) -> Floats:
    """Return centred v with spread 1, or 0 if it is constant up to rounding."""
    spread = np.sqrt(compute_means(v**2, weights))
    spread[spread <= TOLERANCE] = np.inf
    return np.asarray(v / spread)


def compute_probability(gap: Floats, deviation: Floats) -> Floats:
    """Return P(|N(0, deviation^2)| <= |gap|), elementwise.

    If the deviation is 0, the probability is 0 without a gap, and 1 with any gap.
    """
    from scipy.special import erf

    sure = deviation <= TOLERANCE
    likely = erf(np.abs(gap) / (np.sqrt(2) * np.where(sure, 1.0, deviation)))
    chances: Floats = np.where(sure, np.abs(gap) > TOLERANCE, likely)
    return chances


_PERCENTS = np.arange(5, 100, 5)
_BINS = 1000  # a density is counted within range / _BINS on either side


def compute_quantile_moves(pair: Pair) -> Floats:
    """Return the probability of the change of each quantile (19, v): see `pil_parts`.

    By weight, where records have weights.
    """
    by = np.ones(pair.n) if pair.weights is None else pair.weights
    pairs = zip(pair.original.T, pair.released.T, strict=True)
    return np.stack([_compare_quantiles(z, w, by) for z, w in pairs], axis=1)


def _compare_quantiles(z: F64, w: F64, by: F64) -> F64:
    """Return the PIL of the percentiles of an attribute."""
    n = len(z)
    q = _PERCENTS / 100
    values, below = _sort_with_weights(z, by)
    at = _read_quantiles(values, below)
    after = _read_quantiles(*_sort_with_weights(w, by))
    radius = (values[-1] - values[0]) / _BINS
    near = _weigh_within(values, below, at, radius * (1 - TOLERANCE))
    many = n / (by**2).mean()  # equally informative number of records of equal weight
    return compute_probability(
        after - at, np.sqrt(q * (1 - q) / many) / (near / (2 * radius * n))
    )


def _sort_with_weights(z: F64, by: F64) -> tuple[F64, F64]:
    """Return values in order, and the weight below each (n + 1,), at last of all."""
    order = np.argsort(z)
    return z[order], np.concatenate([[0.0], np.cumsum(by[order])])


def _read_quantiles(values: F64, below: F64) -> F64:
    """Return the last values with no more than (n - 1) q of the weight below them."""
    wanted = (len(values) - 1) * _PERCENTS / 100
    return np.asarray(values[np.searchsorted(below[:-1], wanted, side="right") - 1])


def _weigh_within(values: F64, below: F64, centres: F64, radius: float) -> F64:
    """Return the weight of values strictly within reach of centres."""
    above = np.searchsorted(values, centres + radius)
    start = np.searchsorted(values, centres - radius, side="right")
    return np.asarray(below[above] - below[start])
