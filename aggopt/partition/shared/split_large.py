"""Split groups of 2k records or more."""

import numpy as np

from aggopt.core.validation import Floats, Labels
from aggopt.partition._mdav import mdav_labels


def split_large(records: Floats, labels: Labels, k: int) -> Labels:
    """Return labels (n,) after `mdav` has split each group of 2k or more: less SSE.

    The first part keeps the number of its group; the others are numbered after all
    groups.
    """
    labels = labels.copy()
    for group in np.flatnonzero(np.bincount(labels) >= 2 * k):
        members = np.flatnonzero(labels == group)
        parts = mdav_labels(records[members], k)
        labels[members] = np.where(parts == 0, group, labels.max() + parts)
    return labels
