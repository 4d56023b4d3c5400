"""Sums, means and sums of squares of groups."""

import numpy as np

from aggopt.core.validation import Floats, Labels


def group_sums(X: Floats, labels: Labels) -> Floats:
    """Return the sum of each group's records, (m, d)."""
    return np.stack([np.bincount(labels, column) for column in X.T], axis=1)


def plain_group_means(X: Floats, labels: Labels) -> Floats:
    """Return the mean of each group, (m, d), as sum / size.

    For standardised values; `aggopt.aggregate` averages about a value of each group.
    """
    return np.asarray(group_sums(X, labels) / np.bincount(labels)[:, None])


def group_sse(X: Floats, labels: Labels) -> float:
    """Return the sum of squares within groups, over all attributes."""
    return float(((X - plain_group_means(X, labels)[labels]) ** 2).sum())
