"""Algorithm 1: groups of any partition, merged until t holds."""

from fractions import Fraction
from typing import Literal

import numpy as np
import numpy.typing as npt

from aggopt.core.deadline import Deadline, Progress
from aggopt.core.validation import check_group_size, check_groups
from aggopt.errors import JobError, require_known
from aggopt.partition.constraints import CloseToTable
from aggopt.partition.merging import merge_with_nearest
from aggopt.partition.registry import (
    PARTITIONERS,
    ConfidentialUse,
    FromGroups,
    InitialMethod,
    Partitioner,
    PartitionFunction,
    list_initial_methods,
)
from aggopt.partition.shared.evidence import certify_squares
from aggopt.partition.shared.result import Partition
from aggopt.partition.shared.scaling import scale_records


def merge_until_close(
    X: npt.ArrayLike,
    confidential: npt.ArrayLike,
    k: int,
    t: float | Fraction,
    *,
    initial: str | PartitionFunction = "mdav",
    bins: str = "distinct",
    scale: str = "z",
    progress: Progress | None = None,
) -> Partition:
    """Return the groups of a partition method, merged until all are t-close.

    While a group's EMD exceeds t, the group with the largest EMD is merged with the
    one whose centroid is nearest.

    Parameters
    ----------
    X : (n, d)
        Quasi-identifiers in their own units: numbers, none missing.
    confidential : (n,) or (n, c)
        Confidential attributes: numbers, none missing, ordered by closeness.  If there
        are several, each must be t-close.
    k, t, bins
        As in `closeness_first`.
    initial : str or callable
        Method that makes the groups, from X in its own units: a name, or a function
        f(X, k) -> labels (n,) or a Partition.
    scale : "z" or "none"
        Scale of the distances between centroids; see `mdav`.
    progress : callable, optional
        Progress callback: called with the share of merges done, as in `mdav`.

    Returns
    -------
    Partition
        Group of each record, 0..m-1.  Every group has k or more records and an EMD of
        at most t, checked in whole numbers.

    Raises
    ------
    InfeasibleInputError, TableError
        As `closeness_first`.
    JobError
        As `closeness_first`, except that several attributes are allowed; and `initial`
        makes groups of fewer than k records.

    Notes
    -----
    Ties between equally distant groups or equal EMDs are resolved in favour of the
    group that `initial` made first.

    After `initial`, time grows as m^2 d for its m groups, memory as n (c + d).

    Weaknesses: the nearest group often has similar confidential values, so that merging
    helps little before groups are huge: with small t all records may end in one.
    `closeness_first` loses less, except at large t.

    Source: Soria-Comas, Domingo-Ferrer, Sanchez and Martinez, t-closeness through
    microaggregation, IEEE TKDE 27(11), 2015, algorithm 1.  Their Table I, of much
    smaller groups, cannot be reproduced from this description.

    Examples
    --------
    >>> X, wage = [[0.0], [1.0], [2.0], [3.0]], [10, 40, 30, 20]
    >>> merge_until_close(X, wage, k=2, t=0.2).labels
    array([0, 0, 1, 1])
    >>> merge_until_close(X, wage, k=2, t=0.1).labels
    array([0, 0, 0, 0])
    """
    clock = Deadline(None, progress)
    records = scale_records(X, scale)
    n = len(records)
    k = check_group_size(k, n)
    promise = CloseToTable.of(confidential, n, t, bins)
    labels = check_groups(_resolve_method(initial)(X, k), n)
    smallest = int(np.bincount(labels).min())
    if smallest < k:
        raise JobError(
            f"initial made a group of {smallest} records, and k is {k}.",
            fix="pass a partition of aggopt.partition that takes X and k, such as "
            "mdav, or one of your own that keeps k.",
        )
    labels = merge_with_nearest(records, labels, promise, progress)
    by = "merge_until_close"
    spent = clock.spent
    evidence = certify_squares(
        records, labels, k, by=by, seconds=spent, requirements=promise.requirements
    )
    return Partition(labels, evidence)


def _resolve_method(initial: str | PartitionFunction) -> PartitionFunction:
    """Return the partition function by name, or the user's function unchanged."""
    if callable(initial):
        return initial
    require_known("initial method", initial, list_initial_methods())
    return PARTITIONERS[initial].function


class MergeUntilClose(FromGroups):
    """Settings of `aggopt.partition.merge_until_close`."""

    method: Literal["merge_until_close"]
    initial: InitialMethod = "mdav"


PARTITIONER = Partitioner(
    name="merge_until_close",
    when="keeps t of several confidential attributes, by merging groups",
    rank=120,
    function=merge_until_close,
    settings=MergeUntilClose,
    guarantees=frozenset("kt"),
    confides=ConfidentialUse.SEVERAL,
)
