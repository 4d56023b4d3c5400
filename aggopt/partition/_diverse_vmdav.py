"""Diverse V-MDAV: groups that are diverse in a confidential attribute."""

from math import log
from typing import Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from aggopt.core.deadline import Deadline, Progress, throttle
from aggopt.core.types import I64
from aggopt.core.validation import Floats, Labels, check_group_size
from aggopt.partition import _unassigned_pool as unassigned
from aggopt.partition._unassigned_state import CHUNK, Pool
from aggopt.partition._vmdav import sort_by_outermost, square_gamma
from aggopt.partition.constraints import (
    count_levels_by_group,
    is_diverse,
    read_levels,
    require_kind,
    require_l,
    require_reachable,
)
from aggopt.partition.registry import ConfidentialUse, Partitioner
from aggopt.partition.shared.evidence import certify_squares
from aggopt.partition.shared.result import Partition
from aggopt.partition.shared.scaling import scale_records
from aggopt.partition.shared.settings import Grouping
from aggopt.privacy.models.l_diversity import Diversity

FEW = 50  # nearest records that may join a group: d_in is hardly less for others


def diverse_vmdav(
    X: npt.ArrayLike,
    confidential: npt.ArrayLike,
    l: int,  # noqa: E741
    *,
    k: int | None = None,
    levels: int | str = 20,
    boundaries: npt.ArrayLike | None = None,
    diversity: str = "distinct",
    gamma: float = 0.2,
    scale: str = "z",
    progress: Progress | None = None,
) -> Partition:
    """Return groups of near records, each l-diverse in a confidential attribute.

    A group begins at the record farthest from the centroid of all, and takes the
    nearest that make it more diverse until it has diversity l, then the nearest that
    keep it so until it has k.  Up to 2k - 1 others join as in `vmdav`, unless they make
    it less diverse.  When no further group can be made, each remaining record joins the
    nearest group that stays diverse.  If no group does, the record joins the nearest
    one, which is then merged with its nearest until it is diverse.

    Parameters
    ----------
    X : (n, d)
        Quasi-identifiers in their own units: numbers, none missing.
    confidential : (n,)
        The confidential attribute: numbers; with levels="values" text as well.
    l : int
        Smallest diversity of a group.
    k : int, optional
        Records per group, at least; l by default, and l if k is less.
    levels : int or "values"
        Number of quantiles that form levels; equal values share one, so fewer may
        result.  Choose 2 l or more.  "values": each value is a level.
    boundaries : (b,), optional
        Boundaries between b + 1 levels, instead of `levels`; a value on a boundary
        belongs to the level above.
    diversity : "distinct" or "entropy"
        Diversity of a group: the number of its levels, at least l; or the entropy of
        their shares, at least log l.
    gamma, scale, progress
        As in `vmdav`.

    Returns
    -------
    Partition
        Group of each record, 0..m-1, with k records or more and diversity l, which is
        checked in whole numbers at the end.

    Raises
    ------
    InfeasibleInputError
        All records together are less diverse than l, so that no partition is; the
        message gives the largest l.  k exceeds n.
    JobError
        l or k is not a whole number of at least 1; boundaries do not ascend strictly;
        an unknown diversity or scale; gamma is not a finite number of at least 0.
    TableError
        X is not a matrix of finite numbers; the confidential attribute is not one
        value per record.

    Notes
    -----
    Among equally distant records, the first one in X is taken.  Only the 50 records
    nearest to a group may join it.

    Time grows as n^2 d, memory as n (d + levels).

    Weaknesses: the loss depends on the levels more than on anything else, and groups
    that receive the remaining records may be much larger than 2k - 1.  Diverse levels
    may still be close to each other; see `closeness_first`.

    Source: Han, Cen, Yu, an improved V-MDAV algorithm for l-diversity, ISIP 2008. That
    article specifies neither the levels nor the treatment of groups that the last step
    makes less diverse.

    Examples
    --------
    >>> X, illness = [[0.0], [1.0], [2.0], [7.0], [8.0], [9.0]], list("aababb")
    >>> diverse_vmdav(X, illness, l=2, levels="values").labels
    array([0, 0, 0, 1, 1, 1])
    """
    clock = Deadline(None, progress)
    records = scale_records(X, scale)
    n = len(records)
    require_kind(diversity)
    l = require_l(l)  # noqa: E741
    level = read_levels(confidential, n, levels, boundaries)
    require_reachable(np.bincount(level), l, diversity)  # and with it l <= n
    required_k = check_group_size(l if k is None else k, n)
    k = max(l, required_k)
    pool = unassigned.create_pool(records)
    _take_groups(
        pool, level, (k, l, diversity), square_gamma(gamma), throttle(progress)
    )
    labels = _assign_rest(pool, level, l, diversity)
    labels = _merge_until_diverse(records, labels, level, l, diversity)
    clock.report(1.0)
    by = "diverse_vmdav"
    spent = clock.spent
    evidence = certify_squares(
        records,
        labels,
        required_k,
        by=by,
        seconds=spent,
        requirements=(Diversity("", level, l, diversity),),
    )
    return Partition(labels, evidence)


def _take_groups(
    pool: Pool,
    level: I64,
    wanted: tuple[int, int, str],
    gamma2: float,
    report: Progress,
) -> None:
    """Make l-diverse groups of the pool's records while enough remain for another."""
    from aggopt.partition import _vmdav_kernels as kernels

    k, l, diversity = wanted  # noqa: E741
    entropy = diversity == "entropy"
    thresholds = k, l, log(l) if entropy else float(l), entropy
    outermost = sort_by_outermost(pool)
    turns = max(1, CHUNK // (pool.records.size * (k + FEW)))
    more = True
    while more:
        report(pool.done)
        more = kernels.take_diverse_groups(
            pool, level, outermost, thresholds, (gamma2, FEW), turns
        )


def _assign_rest(pool: Pool, level: I64, l: int, diversity: str) -> Labels:  # noqa: E741
    """Return labels (n,) with the remaining records in groups that stay l-diverse."""
    labels = pool.labels.astype(np.intp)
    left = pool.remaining
    if left == len(labels):
        return np.zeros_like(labels)
    sizes, totals = unassigned.sum_groups(pool)
    ids = pool.ids[:left]
    counts = count_levels_by_group(labels[pool.ids[left:]], level[pool.ids[left:]])
    counts = np.pad(counts, ((0, 0), (0, int(level.max()) + 1 - counts.shape[1])))
    for j in np.argsort(ids):
        i = ids[j]
        near = unassigned.measure_to_centroids(
            pool.records[:, j], sizes, totals
        ).argsort(kind="stable")
        labels[i] = _find_diverse_group(near, counts, level[i], l, diversity)
        counts[labels[i], level[i]] += 1
    return labels


def _find_diverse_group(
    near: npt.NDArray[np.intp],
    counts: I64,
    level: int,
    l: int,  # noqa: E741
    diversity: str,
) -> int:
    """Return the nearest group that stays l-diverse with `level`; else the nearest."""
    for group in near:
        then = counts[group].copy()
        then[level] += 1
        if is_diverse(then, l, diversity):
            return int(group)
    return int(near[0])


def _merge_until_diverse(
    records: Floats,
    labels: Labels,
    level: I64,
    l: int,  # noqa: E741
    diversity: str,
) -> Labels:
    """Return labels (n,) of l-diverse groups, by merging with the nearest ones."""
    while True:
        counts = count_levels_by_group(labels, level)
        short = [g for g, c in enumerate(counts) if not is_diverse(c, l, diversity)]
        if not short:
            return labels
        sizes = np.bincount(labels).astype(np.float64)
        totals = np.array([np.bincount(labels, column) for column in records.T])
        group = short[0]
        gaps = unassigned.measure_to_centroids(
            totals[:, group] / sizes[group], sizes, totals
        )
        gaps[group] = np.inf
        labels[labels == group] = gaps.argmin()
        labels = np.unique(labels, return_inverse=True)[1].astype(np.intp)


class DiverseVmdav(Grouping):
    """Settings of `aggopt.partition.diverse_vmdav`."""

    method: Literal["diverse_vmdav"]
    gamma: float = Field(default=0.2, ge=0, allow_inf_nan=False, strict=True)


PARTITIONER = Partitioner(
    name="diverse_vmdav",
    when="keeps l, distinct or entropy, of one confidential attribute",
    rank=110,
    function=diverse_vmdav,
    settings=DiverseVmdav,
    excused={"impossible_k_is_refused": "k = None is accepted, and means l"},
    guarantees=frozenset("kl"),
    confides=ConfidentialUse.ONE,
)
