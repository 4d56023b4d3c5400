"""Sums, means and sums of squares of groups."""

import numpy as np

from aggopt.core.record_weights import multiply_by_weights
from aggopt.core.validation import Floats, Labels


def group_sums(X: Floats, labels: Labels) -> Floats:
    """Return the sum of each group's records, (m, d)."""
    return np.stack([np.bincount(labels, column) for column in X.T], axis=1)


def plain_group_means(
    X: Floats, labels: Labels, weights: Floats | None = None
) -> Floats:
    """Return the mean of each group, (m, d), as sum / size; weighted by (n,) if given.

    For standardised values; `aggopt.aggregate` averages about a value of each group.
    """
    sizes = np.bincount(labels, weights)[:, None]
    return np.asarray(group_sums(multiply_by_weights(X, weights), labels) / sizes)


def group_sse(X: Floats, labels: Labels, weights: Floats | None = None) -> float:
    """Return the sum of squares within groups, over all attributes.

    With `weights` (n,) squares are weighted, and taken from weighted means.
    """
    away = X - plain_group_means(X, labels, weights)[labels]
    return float(multiply_by_weights(away**2, weights).sum())
