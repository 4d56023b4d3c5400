"""What a partition loses."""

import numpy as np

from aggopt.core.validation import Floats, Labels


def loss(records: Floats, labels: Labels) -> float:
    """Return the sum of squares within groups, over all attributes."""
    order = np.argsort(labels, kind="stable")
    starts = np.flatnonzero(np.diff(labels[order], prepend=-1))
    sizes = np.bincount(labels)
    base = records[order[starts]][labels]  # what is equal loses nothing
    gaps = records - base
    means = np.add.reduceat(gaps[order], starts) / sizes[:, None]
    return float(((gaps - means[labels]) ** 2).sum())
