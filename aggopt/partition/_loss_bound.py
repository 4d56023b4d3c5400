"""What every partition into groups of k or more loses at least."""

import numpy as np
import numpy.typing as npt

from aggopt.core.validation import Floats, group_size
from aggopt.partition._shared.power_of_two import (
    squared_back,
    within_one,
    without_constants,
)
from aggopt.partition._shared.scaling import weighed
from aggopt.partition._shared.sse import loss
from aggopt.partition._shared.weighing import Weighing
from aggopt.partition._weighted_loss_bound import weighted_shares

MANY = 20_000  # records from which on a tree of our own is faster, on all cores
ROUNDING = 1e-12  # share of the bound that rounding may have added


def loss_bound(
    X: npt.ArrayLike,
    k: int,
    *,
    scale: str = "z",
    weights: npt.ArrayLike | None = None,
) -> float:
    """Return what each partition into groups of k or more loses at least.

    No partition of the records, by whatever method, has a smaller sum of squares
    within groups.  On usual tables the bound is some two thirds of the least loss; it
    takes one search for nearest neighbours.

    Parameters
    ----------
    X : (n, d)
        Quasi-identifiers in their own units: numbers, none missing.
    k : int
        Records per group, at least; 1 <= k <= n.
    scale : "z" or "none"
        "z" measures the loss on z-scores (population standard deviation), where a
        constant attribute weighs nothing; "none" in the units of X.
    weights : (n,), optional
        Sampling weights, above 0: the bound is of sum_i w_i |x_i - c|^2 with weighted
        means c, on the scale of the weights, and z-scores are by weighted moments.

    Returns
    -------
    float
        A bound on the sum of squares within groups, over all records and attributes,
        0.0 or more.  With n < 2k there is one group, and the bound is what it loses.

    Raises
    ------
    InfeasibleInputError
        k exceeds n.
    JobError
        k is below 1 or not a whole number; an unknown scale (UnknownNameError).
    TableError
        X is not a matrix of finite numbers; weights are not one number above 0 for
        each record, or span more than six orders of magnitude.

    Notes
    -----
    Proof.  Let A_i(q) be the sum of the q smallest squared distances of record i from
    other records.  The sum of squares of a group S of s records is

        (1 / 2s) sum_{i in S} sum_{j in S} |x_i - x_j|^2  >=  sum_{i in S} A_i(s-1)/2s,

    as each i has s - 1 others in S.  A_i(s-1) / 2s does not fall with s: the s-th
    smallest distance a is no less than the mean of the s - 1 before it, hence
    a >= A_i(s-1) / (s-1) >= A_i(s-1) / s, and

        A_i(s) / 2(s+1)  =  (A_i(s-1) + a) / 2(s+1)  >=  A_i(s-1) (1 + 1/s) / 2(s+1)
                         =  A_i(s-1) / 2s.

    So each record adds A_i(k-1) / 2k at least, whatever the size of its group, and
    the bound is sum_i A_i(k-1) / 2k.  No group need be as small as 2k - 1 for it.

    With weights the sum of squares of a group S of weight W is

        sum_{i in S} (w_i / 2) sum_{j in S} w_j |x_i - x_j|^2 / W,

    and each record adds at least what k - 1 to 2k - 2 others can make of its term:
    larger groups can be split, which adds nothing.  That least ratio is found by
    Dinkelbach's method.  It is weaker than without weights where these differ much, and
    from 3000 records on, where each is compared with its nearest only.

    Examples
    --------
    >>> round(loss_bound([[0.0], [1.0], [5.0], [6.0]], k=2, scale="none"), 6)
    1.0
    """
    records, _ = weighed(X, scale, weights)
    return least_loss(records, group_size(k, len(records)), weights=weights)


def least_loss(
    records: Floats,
    k: int,
    *,
    jobs: int | None = None,
    weights: npt.ArrayLike | None = None,
) -> float:
    """Return the bound for records (n, d), as distances are to see them."""
    known = Weighing.read(weights, len(records))
    if k == 1:
        return 0.0
    small, exponent = within_one(without_constants(records))
    if len(records) < 2 * k:
        least = loss(small, np.zeros(len(small), np.intp), known.of)
    elif known.of is None:
        least = _sum_of_nearest(small, k, jobs) / (2 * k)
    else:
        least = weighted_shares(small, k, known.of)
    return squared_back(least * (1 - ROUNDING), exponent) * known.unit


def _sum_of_nearest(records: Floats, k: int, jobs: int | None) -> float:
    """Return the sum of A_i(k - 1)."""
    if len(records) < MANY:
        from aggopt.partition._neighbours.neighbours import nearest

        return float((nearest(records, k)[0] ** 2).sum())
    from aggopt.core.threads import ThreadPool
    from aggopt.partition._neighbours.knn_sum import sum_of_nearest

    with ThreadPool(jobs) as threads:
        return sum_of_nearest(records, k, threads)
