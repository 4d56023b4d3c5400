"""Attributes about their means, and in units of their own spread."""

import numpy as np

from aggopt.core.validation import Floats
from aggopt.measure._pair import TOLERANCE


def centred(z: Floats) -> Floats:
    """Return records z (n, v) less the mean of each attribute."""
    return np.asarray(z - z.mean(axis=0))


def unit_spread(v: Floats) -> Floats:
    """Return centred v with spread 1, or 0 where it is constant up to rounding."""
    spread = np.sqrt((v**2).mean(axis=0))
    flat = spread <= TOLERANCE
    return np.where(flat, 0.0, v / np.where(flat, 1.0, spread))
