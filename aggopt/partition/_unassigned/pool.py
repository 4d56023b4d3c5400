"""The records that have no group yet, and the rules that give them one.

What fixed-size partitioners share: `start` a pool, `take` groups of k from it,
deal with the rest by `close_with_one_group` or `spread_over_nearest_groups`,
then `finish`.
"""

import numpy as np

from aggopt.core.progress import Progress, rarely
from aggopt.core.validation import Floats, Labels
from aggopt.partition._shared.power_of_two import within_one
from aggopt.partition._unassigned.state import CHUNK, GROUPS, UNASSIGNED, Pool


def start(records: Floats) -> Pool:
    """Return a pool in which no record of (n, d) has a group."""
    from aggopt.partition._unassigned import (
        kernels,  # imports numba: not before it is needed
    )

    n, d = records.shape
    pool = Pool(
        records=np.ascontiguousarray(within_one(records)[0].T),
        who=np.arange(n, dtype=np.int64),
        sums=np.zeros((2, d), dtype=np.int64),
        unit=2.0 ** (62 - n.bit_length()),
        distances=np.empty(n),
        labels=np.full(n, -1, dtype=np.int64),
        counts=np.array([n, 0], dtype=np.int64),
    )
    kernels.add_up(pool)
    return pool


def take(
    pool: Pool, k: int, *, paired: bool, enough: int, progress: Progress | None
) -> None:
    """Take groups of k, a turn at a time, while `enough` records have none.

    A turn takes a group around the record r farthest from the centroid of the
    records without a group.  If `paired`, it then takes another around the record
    that was farthest from r.  Where there are many records, a tree finds them: the
    same ones that plain scans find.
    """
    from aggopt.partition._unassigned.by_tree import take as take_by_tree

    report = rarely(progress)
    take_by_tree(pool, k, paired=paired, enough=enough, report=report)
    scan(pool, k, paired=paired, enough=enough, report=report)


def scan(pool: Pool, k: int, *, paired: bool, enough: int, report: Progress) -> None:
    """Do as `take` says by plain scans of all records without a group."""
    from aggopt.partition._unassigned import kernels

    while pool.remaining >= enough:
        report(pool.done)
        turns = max(1, CHUNK // (pool.remaining * len(pool.records)))
        kernels.take(pool, k, paired, enough, turns)


def close_with_one_group(pool: Pool) -> None:
    """Make one group of all records that have none; there must be some."""
    pool.labels[pool.who[: pool.remaining]] = pool.counts[GROUPS]
    pool.counts[:] = 0, pool.counts[GROUPS] + 1


def spread_over_nearest_groups(pool: Pool) -> None:
    """Put each record without a group into the one whose centroid is nearest.

    The centroids are those of the groups before any record is added.  Of centroids
    equally near, the group that was made first is taken.
    """
    sizes, totals = groups_made(pool)
    for j in range(pool.remaining):
        pool.labels[pool.who[j]] = apart(pool.records[:, j], sizes, totals).argmin()
    pool.counts[UNASSIGNED] = 0


def groups_made(pool: Pool) -> tuple[Floats, Floats]:
    """Return the size (m,) and the sum of records (d, m) of each group."""
    left = pool.remaining
    group = pool.labels[pool.who[left:]]
    totals = [np.bincount(group, row[left:]) for row in pool.records]
    return np.bincount(group).astype(np.float64), np.array(totals)


def apart(point: Floats, sizes: Floats, totals: Floats) -> Floats:
    """Return the squared distance of a point (d,) from each centroid, (m,)."""
    gaps = sizes * point[:, None] - totals  # see measure_from_centroid
    return np.asarray((gaps**2).sum(axis=0) / sizes**2)


def finish(pool: Pool, progress: Progress | None) -> Labels:
    """Return the group of each record, (n,), and report that all is done."""
    if progress:
        progress(1.0)
    return pool.labels.astype(np.intp)
