"""Whole numbers in place of centroids, with nearly the mean of the centroids."""

import numpy as np

from aggopt.core.types import F64, I64, Bool

GAIN = 1e-9  # of the largest group: less is rounding


def round_to_whole_numbers(c: F64, sizes: F64) -> F64:
    """Return a whole number next to each of c (m,), with sum_j n_j c_j nearly kept.

    Values with the largest remainders are rounded up (Hamilton's method), as many as
    bring the sum nearest to the original.  Then one further group is rounded up or
    down, or one each, as long as the sum becomes nearer.  If sizes differ, it is mostly
    met exactly.

    Examples
    --------
    >>> centroids, sizes = np.array([1.4, 2.4, 3.4]), np.array([5.0, 5.0, 5.0])
    >>> round_to_whole_numbers(centroids, sizes).tolist()
    [2.0, 2.0, 3.0]
    """
    low = np.floor(c)
    share = c - low
    some = np.flatnonzero(share > 0)
    order = some[np.argsort(-share[some], kind="stable")]
    missing = np.sum(sizes * share) - np.concatenate([[0.0], np.cumsum(sizes[order])])
    count = int(np.argmin(np.abs(missing)))
    up = np.zeros(len(c), dtype=bool)
    left = float(missing[count])
    up[order[:count]] = True
    while (changed := _exchange(share, sizes, up, left)).size:
        left += float(np.sum(np.where(up, sizes, -sizes)[changed]))
        up[changed] = ~up[changed]
    return low + up + 0.0


def _exchange(share: F64, sizes: F64, up: Bool, left: float) -> I64:
    """Return the group, or the two, whose change brings the sum nearest; else none."""
    rising = _pick_first_by_size(np.flatnonzero((share > 0) & ~up), -share, sizes)
    falling = _pick_first_by_size(np.flatnonzero(up), share, sizes)
    more = np.concatenate([[0.0], sizes[rising]])
    less = np.concatenate([[0.0], sizes[falling]])
    after = np.abs(left - more[:, None] + less)
    one, other = np.unravel_index(int(np.argmin(after)), after.shape)
    if after[one, other] >= abs(left) - GAIN * sizes.max():
        return np.empty(0, np.int64)
    return np.concatenate([rising[:one][-1:], falling[:other][-1:]])


def _pick_first_by_size(groups: I64, rank: F64, sizes: F64) -> I64:
    """Return the first group by rank of each size, among some groups."""
    ordered = groups[np.argsort(rank[groups], kind="stable")]
    return ordered[np.unique(sizes[ordered], return_index=True)[1]]
