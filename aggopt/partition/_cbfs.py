"""CBFS, centroid-based fixed-size partition: MDAV with one group per turn."""

from typing import Literal

import numpy.typing as npt

from aggopt.core.deadline import Deadline, Progress
from aggopt.core.types import F64, Labels
from aggopt.core.validation import check_group_size
from aggopt.partition import _unassigned_pool as unassigned
from aggopt.partition.registry import Partitioner
from aggopt.partition.shared.evidence import certify_squares
from aggopt.partition.shared.result import Partition
from aggopt.partition.shared.scaling import scale_records
from aggopt.partition.shared.settings import Grouping


def cbfs(
    X: npt.ArrayLike,
    k: int,
    *,
    scale: str = "z",
    progress: Progress | None = None,
) -> Partition:
    """Return groups of k similar records, each around the outermost unassigned record.

    While at least k records have no group, the k nearest to the record farthest from
    their centroid become one.  The remaining records, fewer than k, are assigned one by
    one to the group whose centroid, before any is added, is nearest.  Distances are
    Euclidean.

    Parameters
    ----------
    X : (n, d)
        Quasi-identifiers in their own units: numbers, none missing.
    k : int
        Records per group, 1 <= k <= n.  With n < 2k all records are one group.
    scale : "z" or "none"
        "z" measures distances on z-scores (population standard deviation), and a
        constant attribute weighs nothing.  "none" uses X unchanged: for attributes that
        you have weighted yourself.
    progress : callable, optional
        Progress callback: called with the share that is done, from 0.0 to 1.0, a few
        dozen times at most.  An error that it raises stops the work, as Ctrl-C does.

    Returns
    -------
    Partition
        Group of each record, numbered 0..m-1 in the order in which groups are made.
        There are m = n // k groups of k to 2k - 1 records.

    Raises
    ------
    InfeasibleInputError
        k exceeds n.
    JobError
        k is below 1 or not a whole number; an unknown scale (UnknownNameError).
    TableError
        X is not a matrix of finite numbers.

    Notes
    -----
    Ties are broken by record order; see `mdav` on ties.

    Time grows as n^2 d / k, a third more than `mdav` takes, and less if a tree pays, as
    in `mdav`; memory grows as n d.

    Weaknesses: those of `mdav`.  Nearly all groups have exactly k records, however the
    records cluster, and confidential attributes are ignored.

    Source: Laszlo and Mukherjee, Minimum spanning tree partitioning algorithm for
    microaggregation, IEEE TKDE 17(7), 2005.

    Examples
    --------
    >>> cbfs([[0.0], [12.0], [2.0], [11.0], [3.0], [10.0], [8.0]], k=3).labels
    array([0, 1, 0, 1, 0, 1, 1])
    """
    clock = Deadline(None, progress)
    records = scale_records(X, scale)
    k = check_group_size(k, len(records))
    labels = cbfs_labels(records, k, progress=progress)
    evidence = certify_squares(records, labels, k, by="cbfs", seconds=clock.spent)
    return Partition(labels, evidence)


def cbfs_labels(records: F64, k: int, *, progress: Progress | None = None) -> Labels:
    """Return the groups (n,) that CBFS makes of scaled records (n, d)."""
    pool = unassigned.create_pool(records)
    unassigned.take_groups(pool, k, paired=False, enough=k, progress=progress)
    unassigned.assign_to_nearest_groups(pool)
    return unassigned.collect_labels(pool, progress)


class Cbfs(Grouping):
    """Settings of `aggopt.partition.cbfs`."""

    method: Literal["cbfs"]


PARTITIONER = Partitioner(
    name="cbfs",
    when="for comparison: one group a turn, from the outside in",
    rank=50,
    function=cbfs,
    settings=Cbfs,
    initial=True,
    inner=True,
)
