"""Algorithm 1: groups of any partition, merged until t holds."""

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from aggopt.core.progress import Progress
from aggopt.core.validation import Labels, group_size, groups
from aggopt.errors import JobError
from aggopt.partition._constraints.t_closeness import CloseToTable
from aggopt.partition._mdav import mdav
from aggopt.partition._merge.merge import merged
from aggopt.partition._registry import Partitioner
from aggopt.partition._shared.scaling import scaled


def merge_until_close(
    X: npt.ArrayLike,
    confidential: npt.ArrayLike,
    k: int,
    t: float | Fraction,
    *,
    start: Partitioner = mdav,
    bins: str = "distinct",
    scale: str = "z",
    progress: Progress | None = None,
) -> Labels:
    """Return labels (n,): groups of a partition, merged until all are t-close.

    While a group's EMD exceeds t, the group with the largest EMD is merged with the
    one whose centroid is nearest.

    Parameters
    ----------
    X : (n, d)
        Quasi-identifiers in their own units: numbers, none missing.
    confidential : (n,) or (n, c)
        Confidential attributes: numbers, none missing, in the order in which they are
        close.  Of several, each must be t-close.
    k, t, bins
        As in `closeness_first`.
    start : callable
        f(X, k) -> labels (n,): what makes the groups, from X in its own units.
    scale : "z" or "none"
        How distances between centroids are measured; see `mdav`.
    progress : callable, optional
        Progress callback: called with the share of merges done, as in `mdav`.

    Returns
    -------
    (n,) ints
        Group of each record, 0..m-1.  Every group has k or more records and an EMD of
        at most t, checked in whole numbers.

    Raises
    ------
    InfeasibleInputError, TableError
        As `closeness_first`.
    JobError
        As `closeness_first`, but for several attributes; and `start` makes groups of
        fewer than k records.

    Notes
    -----
    Of groups equally far, or with equal EMDs, the one that `start` made first.

    After `start`, time grows as m^2 d for its m groups, memory as n (c + d).

    Weaknesses: the nearest group is often alike in the confidential attribute too, so
    that merging helps little before groups are huge: with small t all records may end
    in one.  `closeness_first` loses less, except at large t.

    Source: Soria-Comas, Domingo-Ferrer, Sanchez and Martinez, t-closeness through
    microaggregation, IEEE TKDE 27(11), 2015, algorithm 1.  Their Table I, of much
    smaller groups, cannot be reproduced from this description.

    Examples
    --------
    >>> X, wage = [[0.0], [1.0], [2.0], [3.0]], [10, 40, 30, 20]
    >>> merge_until_close(X, wage, k=2, t=0.2)
    array([0, 0, 1, 1])
    >>> merge_until_close(X, wage, k=2, t=0.1)
    array([0, 0, 0, 0])
    """
    records = scaled(X, scale)
    n = len(records)
    k = group_size(k, n)
    promise = CloseToTable.of(confidential, n, t, bins)
    if not callable(start):
        raise JobError(
            "start is no function.",
            fix="pass one that takes X and k: aggopt.partition.mdav, not its name.",
        )
    labels = groups(start(X, k), n)
    smallest = int(np.bincount(labels).min())
    if smallest < k:
        raise JobError(
            f"start made a group of {smallest} records, and k is {k}.",
            fix="pass a partition of aggopt.partition that takes X and k, such as "
            "mdav, or one of your own that keeps k.",
        )
    return merged(records, labels, promise, progress)
