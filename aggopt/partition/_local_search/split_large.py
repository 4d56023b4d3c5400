"""Groups that are too large, split."""

import numpy as np

from aggopt.core.validation import Floats, Labels, numbered
from aggopt.partition._mdav import mdav


def split(Z: Floats, labels: Labels, k: int) -> Labels:
    """Return labels (n,), each group of 2k or more split by `mdav`: it loses less."""
    labels = numbered(labels)
    sizes = np.bincount(labels)
    for g in np.flatnonzero(sizes >= 2 * k):
        members = np.flatnonzero(labels == g)
        parts = mdav(Z[members], k, scale="none")
        labels[members] = np.where(parts == 0, g, labels.max() + parts)
    return labels
