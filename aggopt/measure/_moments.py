"""Attributes about their means, and in units of their own spread."""

import numpy as np

from aggopt.core.record_weights import multiply_by_weights
from aggopt.core.validation import Floats
from aggopt.measure._pair import TOLERANCE


def mean_of(values: Floats, weights: Floats | None = None) -> Floats:
    """Return the mean of each column of (n, v), by weights (n,) of mean 1 if given."""
    return np.asarray(multiply_by_weights(values, weights).mean(axis=0))


def centred(z: Floats, weights: Floats | None = None) -> Floats:
    """Return records z (n, v) less the mean of each attribute, as `mean_of`."""
    return np.asarray(z - mean_of(z, weights))


def unit_spread(v: Floats, weights: Floats | None = None) -> Floats:
    """Return centred v with spread 1, or 0 if it is constant up to rounding."""
    spread = np.sqrt(mean_of(v**2, weights))
    spread[spread <= TOLERANCE] = np.inf
    return np.asarray(v / spread)
