"""MDAV, the partition heuristic that serves as the reference for all others."""

from typing import Literal

import numpy as np
import numpy.typing as npt

from aggopt.core.deadline import Deadline, Progress
from aggopt.core.types import F64
from aggopt.core.validation import Floats, Labels, check_group_size
from aggopt.errors import require_known
from aggopt.partition import _unassigned_pool as unassigned
from aggopt.partition.registry import Partitioner
from aggopt.partition.shared.evidence import certify_squares
from aggopt.partition.shared.result import Partition
from aggopt.partition.shared.scaling import scale_records
from aggopt.partition.shared.settings import Grouping

ENDINGS = ("3k", "nearest")


def mdav(
    X: npt.ArrayLike,
    k: int,
    *,
    ending: str = "3k",
    scale: str = "z",
    progress: Progress | None = None,
) -> Partition:
    """Return groups of k similar records, the outermost records first (MDAV).

    A turn takes two groups from the records that have none.  Let r be the record
    farthest from their centroid, and s the one farthest from r.  The first group is the
    k records nearest to r (r is one of them), the second the k records nearest to s
    among the rest.  Distances are Euclidean.  `ending` is the rule for the last few
    records.

    Parameters
    ----------
    X : (n, d)
        Quasi-identifiers in their own units: numbers, none missing.
    k : int
        Records per group, 1 <= k <= n.  With n < 2k all records are one group.
    ending : "3k" or "nearest"
        "3k" (MDAV-generic): turns while at least 3k records are left; of 2k or more, k
        nearest to the record farthest from the centroid are a group; the rest is a
        group. "nearest": turns while at least 2k are left; k or more are a group; fewer
        are assigned one by one to the group whose centroid, before any is added, is
        nearest.
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
        Each group has k to 2k - 1 records; with "3k", all but the last have k.

    Raises
    ------
    InfeasibleInputError
        k exceeds n.
    JobError
        k is below 1 or not a whole number; an unknown ending or scale
        (UnknownNameError).
    TableError
        X is not a matrix of finite numbers.

    Notes
    -----
    Among equally distant records, the first one in X is taken, so that every machine
    returns an identical result.  It depends on the order of the records if many ties
    occur.  Rounding may break ties in z-scores; those of whole numbers with
    scale="none" are exact.

    Some thousands of records are searched by plain scans, whose time grows as n^2 d / k
    (0.04 seconds for n = 10 000, d = 10, k = 5).  More are searched through a tree of
    boxes, with an identical result.  It pays if attributes are few or depend on each
    other: for n = 100 000 in 10 clusters, d = 10, k = 3, a fifth of the time or less;
    for n = 30 000 with 10 unrelated attributes some 60 %; with 20 of them, nothing.
    Memory grows as n d.

    Weaknesses: nearly all groups have exactly k records, however the records cluster,
    which on the usual test files costs a tenth to a half of the loss; it cuts through
    piles of equal records, as categories have, and loses several times as much there as
    `local_search` does; and it ignores confidential attributes, so that a group may
    well share one value.

    Source: Domingo-Ferrer and Mateo-Sanz, IEEE TKDE 14(1), 2002, whose last steps are
    "nearest" (they specify only that fewer than k records are added "to the closest
    group"; Domingo-Ferrer, Solanas and Martinez-Balleste, IEEE GrC 2006, are read as
    sending them all to one); Domingo-Ferrer and Torra, Data Mining and Knowledge
    Discovery 11(2), 2005, for "3k", which mu-Argus and sdcMicro also use.

    Examples
    --------
    >>> mdav([[0.0], [12.0], [2.0], [11.0], [3.0], [10.0]], k=3).labels
    array([0, 1, 0, 1, 0, 1])
    """
    clock = Deadline(None, progress)
    require_known("ending", ending, ENDINGS)
    records = scale_records(X, scale)
    k = check_group_size(k, len(records))
    labels = mdav_labels(records, k, ending=ending, progress=progress)
    evidence = certify_squares(records, labels, k, by="mdav", seconds=clock.spent)
    return Partition(labels, evidence)


def mdav_labels(
    records: F64, k: int, *, ending: str = "3k", progress: Progress | None = None
) -> Labels:
    """Return the groups (n,) that MDAV makes of scaled records (n, d)."""
    pool = unassigned.create_pool(records)
    if ending == "3k":
        unassigned.take_groups(pool, k, paired=True, enough=3 * k, progress=progress)
        unassigned.take_groups(pool, k, paired=False, enough=2 * k, progress=progress)
    else:
        unassigned.take_groups(pool, k, paired=True, enough=2 * k, progress=progress)
    if pool.remaining >= k:
        unassigned.close_with_one_group(pool)
    unassigned.assign_to_nearest_groups(pool)
    return unassigned.collect_labels(pool, progress)


class Mdav(Grouping):
    """Settings of `aggopt.partition.mdav`."""

    method: Literal["mdav"]
    ending: Literal["3k", "nearest"] = "3k"


PARTITIONER = Partitioner(
    name="mdav",
    when="the method that all others are compared with",
    rank=40,
    function=mdav,
    settings=Mdav,
    initial=True,
    inner=True,
)


def split_large(records: Floats, labels: Labels, k: int) -> Labels:
    """Return labels (n,) with each group of 2k or more split by MDAV: less SSE.

    The first part keeps the number of its group; the others are numbered after all
    groups.
    """
    labels = labels.copy()
    for group in np.flatnonzero(np.bincount(labels) >= 2 * k):
        members = np.flatnonzero(labels == group)
        parts = mdav_labels(records[members], k)
        labels[members] = np.where(parts == 0, group, labels.max() + parts)
    return labels
