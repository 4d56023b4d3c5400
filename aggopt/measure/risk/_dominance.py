"""Dominance: share of a group's weight that one record holds."""

from typing import Any

import numpy as np
import numpy.typing as npt

from aggopt.core.columns.values import labels_of
from aggopt.core.record_weights import weight_of_each
from aggopt.core.validation import Floats


def dominance(released: Any, weights: npt.ArrayLike) -> Floats:
    """Return the share of each group's weight that its heaviest record holds, (m,).

    A weighted mean leans on that record: if the share is near 1, its value is in effect
    published.  Fractions in (0, 1]; lower is better.

    Parameters
    ----------
    released
        The group of each record (n,), or the released quasi-identifiers (n, d).
    weights : (n,)
        Above 0.

    Raises
    ------
    TableError, JobError
        The table has no records, or the weights are not one positive number for each.

    Source: the (n, k) dominance rule of magnitude tables, with one record.

    Examples
    --------
    >>> dominance([0, 0, 1, 1], [1.0, 3.0, 2.0, 2.0]).tolist()
    [0.75, 0.5]
    """
    labels = labels_of(released)
    weight = weight_of_each(weights, len(labels))
    heaviest = np.zeros(labels.max() + 1)
    np.maximum.at(heaviest, labels, weight)
    return np.asarray(heaviest / np.bincount(labels, weight))
