"""Algorithm 3: groups with about one record from each stratum of values."""

from fractions import Fraction
from typing import Literal

import numpy as np
import numpy.typing as npt

from aggopt.core.deadline import Deadline, Progress, throttle
from aggopt.core.types import I64
from aggopt.core.validation import Floats, Labels, check_group_size
from aggopt.partition import _unassigned_pool as unassigned
from aggopt.partition._unassigned_pool import SortedPool
from aggopt.partition.constraints import CloseToTable
from aggopt.partition.merging import merge_with_nearest
from aggopt.partition.registry import ConfidentialUse, Partitioner
from aggopt.partition.shared.evidence import certify_squares
from aggopt.partition.shared.result import Partition
from aggopt.partition.shared.scaling import scale_records
from aggopt.partition.shared.settings import Grouping


def closeness_first(
    X: npt.ArrayLike,
    confidential: npt.ArrayLike,
    k: int,
    t: float | Fraction,
    *,
    bins: str = "distinct",
    scale: str = "z",
    progress: Progress | None = None,
) -> Partition:
    """Return t-close groups of k or more records, one from each stratum of values.

    The records, sorted by the confidential attribute, are cut into k' strata of equal
    size.  A group is the records nearest to one of the outermost records, one from each
    stratum, and one more from the middle if records are left over; so its EMD can
    hardly exceed t.  With

        k' = max(k, ceil(n / (2 (n - 1) t + 1))),

    then k' += floor((n mod k') / floor(n / k')), there are floor(n / k') groups. Groups
    that exceed t because of ties are merged with their nearest, as by
    `merge_until_close`.  Distances are Euclidean.

    Parameters
    ----------
    X : (n, d)
        Quasi-identifiers in their own units: numbers, none missing.
    confidential : (n,)
        The confidential attribute: numbers, none missing, ordered by closeness; a
        UserWarning names a constant attribute.
    k : int
        Records per group, at least; 1 <= k <= n.
    t : float
        Largest ordered EMD between a group and the table, 0 < t < 1, read as the
        decimal it is written as.
    bins : "distinct" or "rank"
        Bins of the EMD: "distinct" values certify t; "rank" breaks ties by the position
        of the record, as published experiments do.
    scale : "z" or "none"
        As in `mdav`.
    progress : callable, optional
        As in `mdav`.

    Returns
    -------
    Partition
        Group of each record, 0..m-1.  Every group has k or more records and an EMD of
        at most t, checked in whole numbers.

    Raises
    ------
    InfeasibleInputError
        k exceeds n, or n is too large for exact EMDs.  No t is infeasible: one group
        of all records has EMD 0.
    JobError
        k is below 1 or not a whole number; t is not a number strictly between 0 and 1;
        several confidential attributes; unknown bins or scale.
    TableError
        X or the confidential attribute is not of finite numbers, or they differ in
        length.

    Notes
    -----
    Ties are broken by record order; see `mdav` on ties. A constant confidential
    attribute has EMD 0 in any group: then any partition keeps t, including that of
    `mdav`, which loses less.

    Time grows as n^2 d / k', memory as n d.

    Weaknesses: k' is chosen for the worst case, and the unused EMD does not reduce the
    loss: the loss hardly falls with t once k exceeds k'.

    Source: Soria-Comas, Domingo-Ferrer, Sanchez and Martinez, t-closeness through
    microaggregation, IEEE TKDE 27(11), 2015, algorithm 3.  Formula (4) with floor, as
    in the text; the pseudo-code's ceiling makes groups of one record.  If k' is even,
    the middle pair of strata receives the remaining records.

    Examples
    --------
    >>> X, wage = [[0.0], [1.0], [2.0], [3.0]], [10, 20, 30, 40]
    >>> closeness_first(X, wage, k=2, t=0.4).labels
    array([0, 1, 0, 1])
    """
    clock = Deadline(None, progress)
    records = scale_records(X, scale)
    n = len(records)
    k = check_group_size(k, n)
    promise = CloseToTable.of(confidential, n, t, bins)
    place = promise.only("closeness_first").place
    count = fit_count(n, compute_stratum_count(n, k, promise.t))
    labels = merge_with_nearest(
        records, partition_by_strata(records, place, count, progress), promise
    )
    by = "closeness_first"
    spent = clock.spent
    evidence = certify_squares(
        records, labels, k, by=by, seconds=spent, requirements=promise.requirements
    )
    return Partition(labels, evidence)


def compute_stratum_count(n: int, k: int, t: Fraction) -> int:
    """Return the smallest group size k' that makes n distinct values t-close."""
    return max(k, int(-(-n // (2 * (n - 1) * t + 1))))


def fit_count(n: int, count: int) -> int:
    """Return group size `count`, raised until fewer records than groups remain."""
    return count + n % count // (n // count)


def partition_by_strata(
    records: Floats, place: I64, count: int, progress: Progress | None = None
) -> Labels:
    """Return labels (n,) of groups with one or two records from each stratum.

    The strata are `count` runs of the records (n, d) by `place` (n,); `fit_count`
    returns a suitable count.
    """
    sizes = _size_strata(len(records), count)
    stratum = np.empty(len(records), np.int64)
    by_value = np.argsort(place, kind="stable")
    stratum[by_value] = np.repeat(np.arange(count), sizes)
    return _assign_groups(
        unassigned.create_sorted_pool(records, stratum), sizes, progress
    )


def _size_strata(n: int, count: int) -> I64:
    """Return the sizes of `count` strata of n records: equal, extras in the middle."""
    size, extra = divmod(n, count)
    sizes = np.full(count, size)
    below = (count - 1) // 2 or count - 1  # not 0: kernels compare with it
    sizes[below] += (extra + 1) // 2
    sizes[count // 2] += extra // 2
    return sizes


def _assign_groups(
    candidates: SortedPool, sizes: I64, progress: Progress | None
) -> Labels:
    """Return labels (n,) of groups with one or two records from each stratum."""
    from aggopt.partition import _sorted_pool_kernels as kernels

    report = throttle(progress)
    while candidates.remaining:
        report(candidates.done)
        kernels.take_stratum_groups(candidates, sizes, candidates.turns)
    return unassigned.collect_labels(candidates.pool, progress)


class ClosenessFirst(Grouping):
    """Settings of `aggopt.partition.closeness_first`."""

    method: Literal["closeness_first"]


PARTITIONER = Partitioner(
    name="closeness_first",
    when="keeps t of one confidential attribute, by strata of its values",
    rank=140,
    function=closeness_first,
    settings=ClosenessFirst,
    excused={
        "order_of_records_does_not_matter": "of records with one confidential value, "
        "the first ones are taken first"
    },
    guarantees=frozenset("kt"),
    confides=ConfidentialUse.ONE,
)
