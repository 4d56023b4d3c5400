"""Probability that chance alone would move a statistic by less."""

import numpy as np

from aggopt.core.validation import Floats
from aggopt.measure._pair import TOLERANCE


def probability(gap: Floats, deviation: Floats) -> Floats:
    """Return P(|N(0, deviation^2)| <= |gap|), elementwise.

    If the deviation is 0, the probability is 0 without a gap, and 1 with any gap.
    """
    from scipy.special import erf

    sure = deviation <= TOLERANCE
    likely = erf(np.abs(gap) / (np.sqrt(2) * np.where(sure, 1.0, deviation)))
    chances: Floats = np.where(sure, np.abs(gap) > TOLERANCE, likely)
    return chances
