"""Sampling weights: the count of population members that each record represents."""

import numpy as np
import numpy.typing as npt

from aggopt.core.plural import plural
from aggopt.core.validation import Floats, Labels, check_vector
from aggopt.errors import TableError


def check_weights(weights: npt.ArrayLike | None, n: int) -> Floats | None:
    """Return the weights of n records; None if they have none or all are equal.

    Raises
    ------
    TableError
        The weights are not one number above 0 for each record, or one is missing or
        infinite.

    Examples
    --------
    >>> check_weights([2.0, 2.0, 2.0], 3) is None
    True
    """
    if weights is None:
        return None
    checked = weight_of_each(weights, n)
    return None if np.ptp(checked) == 0 else checked


def weight_of_each(weights: npt.ArrayLike | None, n: int) -> Floats:
    """Return the weight of each of n records; 1 if `weights` is None.

    Raises
    ------
    TableError
        As `check_weights`.
    """
    if weights is None:
        return np.ones(n)
    checked = check_vector(weights, name="weights")
    if len(checked) != n:
        raise TableError(
            f"There are {plural(len(checked), 'weight')} for {plural(n, 'record')}.",
            fix="pass one weight for each record.",
        )
    wrong = int((checked <= 0).sum())
    if wrong:
        raise TableError(
            f"{plural(wrong, 'weight')} of {n} {'is' if wrong == 1 else 'are'} 0 or "
            "below.",
            fix="remove records that represent nobody, or correct their weights.",
        )
    return checked


def scale_to_mean_one(weights: Floats | None) -> Floats | None:
    """Return weights (n,) with the mean 1: nothing depends on their scale."""
    return None if weights is None else np.asarray(weights / weights.mean())


def multiply_by_weights(of_records: Floats, weights: Floats | None) -> Floats:
    """Return values of records (n, d) times their weights (n,), if not None."""
    return of_records if weights is None else of_records * weights[:, None]


def group_sums(X: Floats, labels: Labels) -> Floats:
    """Return the sum of each group's records, (m, d)."""
    return np.stack([np.bincount(labels, column) for column in X.T], axis=1)


def compute_plain_group_means(
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
    away = X - compute_plain_group_means(X, labels, weights)[labels]
    return float(multiply_by_weights(away**2, weights).sum())


def compute_sse(
    records: Floats, labels: Labels, weights: Floats | None = None
) -> float:
    """Return the sum of squares within groups, over all attributes.

    With `weights` (n,) squares are weighted, and measured from weighted means.
    """
    order = np.argsort(labels, kind="stable")
    starts = np.flatnonzero(np.diff(labels[order], prepend=-1))
    sizes = np.bincount(labels, weights)
    base = records[order[starts]][labels]  # equal records have a loss of exactly 0
    gaps = records - base
    means = (
        np.add.reduceat(multiply_by_weights(gaps, weights)[order], starts)
        / sizes[:, None]
    )
    return float(multiply_by_weights((gaps - means[labels]) ** 2, weights).sum())
