"""V-MDAV: MDAV whose groups grow where records cluster."""

from fractions import Fraction
from typing import Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from aggopt.core.deadline import Deadline, Progress, throttle
from aggopt.core.types import I64
from aggopt.core.validation import check_group_size, is_number
from aggopt.errors import JobError, UnknownNameError
from aggopt.partition import _unassigned_pool as unassigned
from aggopt.partition._mdav import split_large
from aggopt.partition._unassigned_state import CHUNK, Pool
from aggopt.partition.registry import Partitioner
from aggopt.partition.shared.evidence import certify_squares
from aggopt.partition.shared.result import Partition
from aggopt.partition.shared.scaling import scale_records
from aggopt.partition.shared.settings import Grouping

CENTROIDS = ("fixed", "remaining")


def vmdav(
    X: npt.ArrayLike,
    k: int,
    *,
    gamma: float = 0.2,
    centroid: str = "fixed",
    scale: str = "z",
    progress: Progress | None = None,
) -> Partition:
    """Return groups of k to 2k - 1 similar records, larger if records cluster.

    While k records have no group, the k nearest to the one farthest from the centroid
    become one.  It grows: let e be the record without a group that is nearest to any of
    its members, at d_in, and d_out the distance from e to the nearest other record
    without a group.  If d_in < gamma d_out, e joins, until the group has 2k - 1.  The
    remaining records, fewer than k, are assigned one by one to the group whose
    centroid, before any is added, is nearest; `mdav` splits a group that reaches 2k or
    more. Distances are Euclidean.

    Parameters
    ----------
    X : (n, d)
        Quasi-identifiers in their own units: numbers, none missing.
    k : int
        Records per group, at least; 1 <= k <= n.  With n < 2k all are one group.
    gamma : float
        Tendency of groups to grow, 0 (never) or more: about 0.2 for scattered records,
        about 1.1 for clustered ones.
    centroid : "fixed" or "remaining"
        Centroid from which a group begins farthest: of all records, as published, or of
        the records without a group, as in `mdav`.
    scale : "z" or "none"
        As in `mdav`.
    progress : callable, optional
        As in `mdav`.

    Returns
    -------
    Partition
        Group of each record, 0..m-1; each has k to 2k - 1 records.

    Raises
    ------
    InfeasibleInputError
        k exceeds n.
    JobError
        k is below 1 or not a whole number; gamma is not a finite number of at least 0;
        an unknown centroid or scale (UnknownNameError).
    TableError
        X is not a matrix of finite numbers.

    Notes
    -----
    Ties are broken by record order; see `mdav` on ties.

    Time grows as n^2 d, about k times as long as `mdav`: each member of a group is
    compared with all records without a group.  Memory grows as n d.

    Weaknesses: it is not always better than `mdav`.  With gamma = 0.2 it loses less on
    about one in three settings of the usual test files; centroid="remaining" is the
    better choice on Census.  It ignores confidential attributes.

    Source: Solanas and Martinez-Balleste, V-MDAV: a multivariate microaggregation with
    variable group size, COMPSTAT 2006.  The split of groups of 2k or more, which only
    lessens the loss, is this package's.

    Examples
    --------
    >>> vmdav([[0.0], [1.0], [2.0], [9.0], [10.0], [30.0]], k=2, gamma=1.1).labels
    array([1, 1, 1, 0, 0, 0])
    """
    clock = Deadline(None, progress)
    records = scale_records(X, scale)
    k = check_group_size(k, len(records))
    squared = square_gamma(gamma)
    if centroid not in CENTROIDS:
        raise UnknownNameError("centroid", str(centroid), CENTROIDS)
    pool = unassigned.create_pool(records)
    _take_groups(pool, k, squared, centroid, progress)
    unassigned.assign_to_nearest_groups(pool)
    pool.labels[:] = split_large(records, pool.labels, k)
    labels = unassigned.collect_labels(pool, progress)
    evidence = certify_squares(records, labels, k, by="vmdav", seconds=clock.spent)
    return Partition(labels, evidence)


def square_gamma(gamma: object) -> float:
    """Return gamma^2 as the nearest float, with gamma read as a decimal.

    Raises
    ------
    JobError
        gamma is not a number from 0 up to 1e100.
    """
    if not (is_number(gamma) and 0 <= gamma < 1e100):  # type: ignore[operator]
        shown = repr(gamma) if is_number(gamma) else type(gamma).__name__
        raise JobError(
            f"gamma = {shown}.",
            fix="pass a number of at least 0: 0.2 where records are scattered, 1.1 "
            "where they cluster.",
        )
    return float(Fraction(repr(float(gamma))) ** 2)  # type: ignore[arg-type]


def _take_groups(
    pool: Pool, k: int, gamma2: float, centroid: str, progress: Progress | None
) -> None:
    """Make growing groups of the pool's records while k are unassigned."""
    from aggopt.partition import _vmdav_kernels as kernels

    outermost = np.empty(0, np.int64)
    if centroid == "fixed":
        outermost = sort_by_outermost(pool)
    turns = max(1, CHUNK // (pool.records.size * (k + 2)))
    report = throttle(progress)
    while pool.remaining >= k:
        report(pool.done)
        kernels.take_growing_groups(pool, k, gamma2, outermost, turns)


def sort_by_outermost(pool: Pool) -> I64:
    """Return record numbers by distance from the overall centroid, farthest first.

    Equally distant records keep their order in X.
    """
    from aggopt.partition import _unassigned_kernels as kernels

    kernels.measure_from_centroid(pool)
    return np.argsort(-pool.distances, kind="stable").astype(np.int64)


class Vmdav(Grouping):
    """Settings of `aggopt.partition.vmdav`."""

    method: Literal["vmdav"]
    gamma: float = Field(default=0.2, ge=0, allow_inf_nan=False, strict=True)
    centroid: Literal["fixed", "remaining"] = "fixed"


PARTITIONER = Partitioner(
    name="vmdav",
    when="for comparison: groups that grow where records cluster",
    rank=80,
    function=vmdav,
    settings=Vmdav,
    initial=True,
    inner=True,
)
