"""Pool of records without a group, and the rules that assign them.

Fixed-size partitioners share these steps: `create_pool`, `take_groups` of k, assign the
remaining records by `close_with_one_group` or `assign_to_nearest_groups`, then
`collect_labels`.
"""

import numpy as np

from aggopt.core.deadline import Progress, throttle
from aggopt.core.validation import Floats, Labels
from aggopt.partition._unassigned.state import CHUNK, GROUPS, UNASSIGNED, Pool
from aggopt.partition.shared.scaling import scale_to_unit


def create_pool(records: Floats) -> Pool:
    """Return a pool in which no record of (n, d) has a group."""
    from aggopt.partition._unassigned import (
        kernels,  # imports numba: only when needed
    )

    n, d = records.shape
    pool = Pool(
        records=np.ascontiguousarray(scale_to_unit(records)[0].T),
        ids=np.arange(n, dtype=np.int64),
        sums=np.zeros((2, d), dtype=np.int64),
        unit=2.0 ** (62 - n.bit_length()),
        distances=np.empty(n),
        labels=np.full(n, -1, dtype=np.int64),
        counts=np.array([n, 0], dtype=np.int64),
    )
    kernels.add_up(pool)
    return pool


def take_groups(
    pool: Pool, k: int, *, paired: bool, enough: int, progress: Progress | None
) -> None:
    """Take groups of k, a turn at a time, while `enough` records have none.

    A turn takes a group around the record r farthest from the centroid of the records
    without a group.  If `paired`, it then takes another around the record that was
    farthest from r.  If many records remain, a tree finds them, with a result identical
    to that of plain scans.
    """
    from aggopt.partition._unassigned.by_tree import take_groups as take_by_tree

    report = throttle(progress)
    take_by_tree(pool, k, paired=paired, enough=enough, report=report)
    scan(pool, k, paired=paired, enough=enough, report=report)


def scan(pool: Pool, k: int, *, paired: bool, enough: int, report: Progress) -> None:
    """Take groups as `take_groups` does, by plain scans of records without a group."""
    from aggopt.partition._unassigned import kernels

    while pool.remaining >= enough:
        report(pool.done)
        turns = max(1, CHUNK // (pool.remaining * len(pool.records)))
        kernels.take_groups(pool, k, paired, enough, turns)


def close_with_one_group(pool: Pool) -> None:
    """Make one group of all records without a group; at least one must remain."""
    pool.labels[pool.ids[: pool.remaining]] = pool.counts[GROUPS]
    pool.counts[:] = 0, pool.counts[GROUPS] + 1


def assign_to_nearest_groups(pool: Pool) -> None:
    """Assign each record without a group to the group whose centroid is nearest.

    The centroids are those of the groups before any record is added. Among equally near
    centroids, the group that was made first is chosen.
    """
    sizes, totals = sum_groups(pool)
    for j in range(pool.remaining):
        pool.labels[pool.ids[j]] = measure_to_centroids(
            pool.records[:, j], sizes, totals
        ).argmin()
    pool.counts[UNASSIGNED] = 0


def sum_groups(pool: Pool) -> tuple[Floats, Floats]:
    """Return the size (m,) and the sum of records (d, m) of each group."""
    left = pool.remaining
    group = pool.labels[pool.ids[left:]]
    totals = [np.bincount(group, row[left:]) for row in pool.records]
    return np.bincount(group).astype(np.float64), np.array(totals)


def measure_to_centroids(point: Floats, sizes: Floats, totals: Floats) -> Floats:
    """Return the squared distance of a point (d,) from each centroid, (m,)."""
    gaps = sizes * point[:, None] - totals  # see measure_from_centroid
    return np.asarray((gaps**2).sum(axis=0) / sizes**2)


def collect_labels(pool: Pool, progress: Progress | None) -> Labels:
    """Return the group of each record, (n,), and report completion."""
    if progress:
        progress(1.0)
    return pool.labels.astype(np.intp)
