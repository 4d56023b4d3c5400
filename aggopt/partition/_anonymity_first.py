"""Algorithm 2: groups of near records, swapped until they are t-close."""

from fractions import Fraction
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from aggopt.core.deadline import Deadline, Progress, throttle
from aggopt.core.validation import Labels, check_group_size
from aggopt.partition import _screened_distances as screens
from aggopt.partition import _unassigned_pool as unassigned
from aggopt.partition._unassigned_pool import SortedPool
from aggopt.partition.constraints import CloseToTable
from aggopt.partition.merging import merge_with_nearest
from aggopt.partition.registry import ConfidentialUse, Partitioner
from aggopt.partition.shared.evidence import certify_squares
from aggopt.partition.shared.result import Partition
from aggopt.partition.shared.scaling import scale_records
from aggopt.partition.shared.settings import Grouping

if TYPE_CHECKING:
    from aggopt.partition._anonymity_first_kernels import EmdTable


def anonymity_first(
    X: npt.ArrayLike,
    confidential: npt.ArrayLike,
    k: int,
    t: float | Fraction,
    *,
    bins: str = "distinct",
    scale: str = "z",
    progress: Progress | None = None,
) -> Partition:
    """Return t-close groups of k or more similar records, made by swaps of records.

    A group begins as the k records nearest to one of the outermost records.  While its
    EMD exceeds t, the next nearest record is swapped in for the member without which
    the EMD is least, if that lowers it; the removed record is free for other groups.
    Groups that still exceed t in the end are merged with their nearest, as by
    `merge_until_close`.  Distances are Euclidean.

    Parameters
    ----------
    X, confidential, k, t, bins, scale, progress
        As in `closeness_first`.

    Returns
    -------
    Partition
        Group of each record, 0..m-1.  Every group has k or more records and an EMD of
        at most t, checked in whole numbers.

    Raises
    ------
    InfeasibleInputError, JobError, TableError
        As `closeness_first`.

    Notes
    -----
    Among equally distant records, the first one in X is taken.  Among members whose
    removal gives equal EMDs, the member in the nearest position is removed; a record
    that is swapped in takes over the position.

    Time grows as n^2 d / k, nearly independently of t: a record that cannot lower the
    EMD is skipped, and all k swaps of one that can cost O(k).  Memory grows as n d.

    Weaknesses: with t small, groups of k cannot be t-close, and merging then makes
    large groups.  `closeness_first` loses less on most settings.

    Source: Soria-Comas, Domingo-Ferrer, Sanchez and Martinez, t-closeness through
    microaggregation, IEEE TKDE 27(11), 2015, algorithm 2.

    Examples
    --------
    >>> X, wage = [[0.0], [1.0], [2.0], [3.0]], [10, 20, 40, 30]
    >>> anonymity_first(X, wage, k=2, t=0.2).labels
    array([1, 0, 0, 1])
    """
    from aggopt.partition import _anonymity_first_kernels as kernels

    clock = Deadline(None, progress)
    records = scale_records(X, scale)
    n = len(records)
    k = check_group_size(k, n)
    promise = CloseToTable.of(confidential, n, t, bins)
    attribute = promise.only("anonymity_first")
    candidates = unassigned.create_sorted_pool(records, attribute.place)
    limit = int(promise.limits[0, k])
    table = kernels.EmdTable(
        n, k, limit, attribute.sums, attribute.first, *np.empty((4, k + 1), int)
    )
    labels = merge_with_nearest(
        records, _assign_groups(candidates, table, progress), promise
    )
    by = "anonymity_first"
    spent = clock.spent
    evidence = certify_squares(
        records, labels, k, by=by, seconds=spent, requirements=promise.requirements
    )
    return Partition(labels, evidence)


def _assign_groups(
    candidates: SortedPool, table: "EmdTable", progress: Progress | None
) -> Labels:
    """Return the group of each record, (n,), before groups that miss t are merged."""
    from aggopt.partition import _anonymity_first_kernels as kernels

    k = table.s
    report = throttle(progress)
    screen = screens.create_screen(*candidates.pool.records.shape)
    kernels.start_tables(candidates, screen, table)
    group = kernels.Group(*np.zeros((3, k), np.int64), *np.zeros((3, k + 1), np.int64))
    while candidates.remaining:
        report(candidates.done)
        kernels.take_close_groups(candidates, screen, table, group, candidates.turns)
    return unassigned.collect_labels(candidates.pool, progress)


class AnonymityFirst(Grouping):
    """Settings of `aggopt.partition.anonymity_first`."""

    method: Literal["anonymity_first"]


PARTITIONER = Partitioner(
    name="anonymity_first",
    when="keeps t of one confidential attribute, by swapping records",
    rank=130,
    function=anonymity_first,
    settings=AnonymityFirst,
    guarantees=frozenset("kt"),
    confides=ConfidentialUse.ONE,
)
