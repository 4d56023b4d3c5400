"""Sum of squares within groups."""

import numpy as np

from aggopt.core.record_weights import multiply_by_weights
from aggopt.core.validation import Floats, Labels


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
