"""Groups that are too large split, and groups numbered."""

import numpy as np

from aggopt.arrays import Floats, Labels
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


def numbered(labels: Labels) -> Labels:
    """Return labels (n,), 0..m-1 in the order of the groups' first records."""
    _, first, group = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.intp)
    rank[np.argsort(first)] = np.arange(len(first))
    return np.asarray(rank[group])
