"""Pool of records without a group, and the rules that assign them.

Fixed-size partitioners share these steps: `create_pool`, `take_groups` of k, assign the
remaining records by `close_with_one_group` or `assign_to_nearest_groups`, then
`collect_labels`.

Partitioners that use one confidential attribute share this pool: neighbours in that
attribute are adjacent, so that a scan of some values reads nothing else.
"""

from typing import NamedTuple

import numpy as np

from aggopt.core.deadline import Progress, throttle
from aggopt.core.types import I64, Bool, Floats, Labels
from aggopt.partition._unassigned_state import CHUNK, GROUPS, UNASSIGNED, Pool
from aggopt.partition.shared.scaling import scale_to_unit


def create_pool(records: Floats) -> Pool:
    """Return the records (n, d) as a pool, all of them unassigned."""
    from aggopt.partition import _unassigned_kernels as kernels

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
    kernels.sum_records(pool)
    return pool


def take_groups(
    pool: Pool, k: int, *, paired: bool, enough: int, progress: Progress | None
) -> None:
    """Make groups of k, a turn at a time, while `enough` records are unassigned.

    A turn takes a group around the record r farthest from the centroid of the records
    without a group.  If `paired`, it then takes another around the record that was
    farthest from r.  If many records remain, a tree finds them, with a result identical
    to that of plain scans.
    """
    report = throttle(progress)
    take_groups_by_tree(pool, k, paired=paired, enough=enough, report=report)
    scan(pool, k, paired=paired, enough=enough, report=report)


def scan(pool: Pool, k: int, *, paired: bool, enough: int, report: Progress) -> None:
    """Make groups as `take_groups` does, by comparison of all unassigned records."""
    from aggopt.partition import _unassigned_kernels as kernels

    while pool.remaining >= enough:
        report(pool.done)
        turns = max(1, CHUNK // (pool.remaining * len(pool.records)))
        kernels.take_groups_in_turns(pool, k, paired, enough, turns)


def close_with_one_group(pool: Pool) -> None:
    """Make one group of all unassigned records; at least one must remain."""
    pool.labels[pool.ids[: pool.remaining]] = pool.counts[GROUPS]
    pool.counts[:] = 0, pool.counts[GROUPS] + 1


def assign_to_nearest_groups(pool: Pool) -> None:
    """Assign each unassigned record to the group whose centroid is nearest.

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
    """Return the group of each record (n,), and report full progress."""
    if progress:
        progress(1.0)
    return pool.labels.astype(np.intp)


# A tree is rebuilt when a third of its records are gone. Plain scans are faster if so
# few turns remain until then that building a tree costs more than it saves (with k = 3
# some 7000 records, with k = 10 some 24 000), or if a tree has read more than PAYS of
# the entries of plain scans, as with many independent attributes.
STAYS = 2 / 3  # share of its records after which a tree is rebuilt
TURNS = 400  # to take until then, at least
PAYS = 0.4  # an entry that a tree reads takes about twice as long as one scanned
TRIAL = 20  # times all entries: read before a tree is judged


def take_groups_by_tree(
    pool: Pool, k: int, *, paired: bool, enough: int, report: Progress
) -> None:
    """Make groups of k with searches in a tree, while these are faster than scans.

    The groups are those of plain scans; see `pool.take_groups`.
    """
    taken = 2 * k if paired else k
    while (
        pool.remaining - (goal := max(enough, int(STAYS * pool.remaining)))
    ) >= TURNS * taken:
        if not _take_from_tree(pool, k, paired, goal, report):
            return


def _take_from_tree(
    pool: Pool, k: int, paired: bool, enough: int, report: Progress
) -> bool:
    """Make groups with searches in one tree; return whether it stayed faster."""
    from aggopt.partition import _unassigned_kernels as kernels
    from aggopt.partition._box_tree import create_pivots, create_workspace
    from aggopt.partition._box_tree_kernels import build_tree

    tree = build_tree(pool)
    space = create_workspace(k)
    turns = (pool.remaining - enough) // (2 * k if paired else k)
    chosen = create_pivots(tree, turns if paired else 0)
    max_entries = max(1, min(CHUNK, TRIAL * pool.records.size))
    entries_read = scanned = 0
    while pool.remaining >= enough and entries_read <= PAYS * scanned:
        report(pool.done)
        scanned += kernels.take_groups_from_tree(
            pool, tree, chosen, space, k, paired, enough, max_entries
        )
        entries_read += int(space.read[0])
    _move_unassigned_first(pool)
    return pool.remaining < enough


def _move_unassigned_first(pool: Pool) -> None:
    """Move the columns of unassigned records to the front."""
    order = np.argsort(pool.labels[pool.ids] >= 0, kind="stable")
    pool.ids[:] = pool.ids[order]
    for row in pool.records:
        row[:] = row[order]


class SortedPool(NamedTuple):
    """A pool whose columns are sorted by bin, and within a bin by their order in X.

    Attributes
    ----------
    pool
        Its counts are the numbers of columns, taken ones included, and of groups; the
        distance of a taken column is inf.
    taken : (n,)
        Whether a column's record has a group.
    bins : (n,)
        Bin of each column, 0..m-1.
    first : (m + 1,)
        First column of each bin, and the end of the last.
    free : (1,) Number of records without a group.
    """

    pool: Pool
    taken: Bool
    bins: I64
    first: I64
    free: I64

    def __repr__(self) -> str:
        """Return the number of records left, without values."""
        return (
            f"SortedPool({self.remaining} of {len(self.bins)} records without a group)"
        )

    @property
    def remaining(self) -> int:
        """Number of unassigned records."""
        return int(self.free[0])

    @property
    def done(self) -> float:
        """Share of the work done, if each turn reads all unassigned records."""
        return 1.0 - (self.remaining / len(self.bins)) ** 2

    @property
    def turns(self) -> int:
        """Number of turns between two checks for Ctrl-C."""
        return max(1, CHUNK // (4 * max(self.remaining, 1) * len(self.pool[0])))


def create_sorted_pool(records: Floats, place: I64) -> SortedPool:
    """Return records (n, d), all unassigned, sorted by their bins `place` (n,)."""
    order = np.argsort(place, kind="stable")
    pool = create_pool(records[order])
    pool.ids[:] = order
    bins = place[order]
    first = np.searchsorted(bins, np.arange(bins[-1] + 2)).astype(np.int64)
    n = len(place)
    return SortedPool(pool, np.zeros(n, np.bool_), bins, first, np.array([n]))
