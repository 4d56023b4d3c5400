"""The records that have no group yet, and the rules that give them one.

What fixed-size partitioners share: `start` a pool, `take` groups of k from it,
deal with the rest by `close_with_one_group` or `spread_over_nearest_groups`,
then `finish`.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from aggopt.arrays import Floats, Labels, matrix
from aggopt.clock import require_progress
from aggopt.errors import require_known
from aggopt.scale import Scale

Integers = npt.NDArray[np.int64]
Progress = Callable[[float], None]

SCALES = ("z", "none")
REPORTS = 32  # how often progress is told, about
CHUNK = 30_000_000  # entries read between two looks at Ctrl-C: some 0.05 seconds


class Pool(NamedTuple):
    """Records in columns: first those without a group, then those with one.

    Attributes
    ----------
    records : (d, n)
        Attribute by attribute, so that a scan reads memory in order; within
        [-1, 1], so that no distance overflows.
    who : (n,)
        Which record each column holds.
    sums : (2, d)
        Sum of the records without a group, in whole numbers of 1 / unit and, for
        what is left of them, of 1 / unit^2.  Taking a record away is exact: nothing
        drifts, and a sum does not depend on the order of the records.
    unit
        The largest power of two with which no sum can overflow.
    distances : (n,)
        Room to work in.
    labels : (n,)
        Group of each record, -1 while it has none.
    counts : (2,)
        How many records have no group, and how many groups there are.
    """

    records: Floats
    who: Integers
    sums: Integers
    unit: float
    distances: Floats
    labels: Integers
    counts: Integers

    def __repr__(self) -> str:
        """Tell how many records are left, and show none."""
        return f"Pool({self.remaining} of {len(self.who)} records without a group)"

    @property
    def remaining(self) -> int:
        """How many records have no group."""
        return int(self.counts[0])

    @property
    def done(self) -> float:
        """Share of the work done: a turn reads all records without a group."""
        return 1.0 - (self.remaining / len(self.who)) ** 2


def scaled(X: npt.ArrayLike, scale: str) -> Floats:
    """Return records (n, d) as distances are to see them: z-scores, or X as it is."""
    require_known("scale", scale, SCALES)
    records = matrix(X)
    return Scale.of(records).standardise(records) if scale == "z" else records


def start(records: Floats) -> Pool:
    """Return a pool in which no record of (n, d) has a group."""
    from aggopt.partition import _kernels  # imports numba: not before it is needed

    n, d = records.shape
    _, exponent = np.frexp(np.abs(records).max())
    pool = Pool(
        records=np.ascontiguousarray(np.ldexp(records.T, -exponent)),
        who=np.arange(n, dtype=np.int64),
        sums=np.zeros((2, d), dtype=np.int64),
        unit=2.0 ** (62 - n.bit_length()),
        distances=np.empty(n),
        labels=np.full(n, -1, dtype=np.int64),
        counts=np.array([n, 0], dtype=np.int64),
    )
    _kernels.add_up(pool)
    return pool


def rarely(progress: Progress | None) -> Progress:
    """Return what may be told as often as one likes, and passes on a few dozen."""
    require_progress(progress)
    reported = -1.0

    def report(share: float) -> None:
        nonlocal reported
        if progress and share >= min(reported + 1 / REPORTS, 1.0):
            reported = share
            progress(share)

    return report


def take(
    pool: Pool, k: int, *, paired: bool, enough: int, progress: Progress | None
) -> None:
    """Take groups of k, a turn at a time, while `enough` records have none.

    A turn takes a group around the record r farthest from the centroid of the
    records without a group.  If `paired`, it then takes another around the record
    that was farthest from r.  Where there are many records, a tree finds them: the
    same ones that plain scans find.
    """
    from aggopt.partition._tree.take import take as take_by_tree

    report = rarely(progress)
    take_by_tree(pool, k, paired=paired, enough=enough, report=report)
    scan(pool, k, paired=paired, enough=enough, report=report)


def scan(pool: Pool, k: int, *, paired: bool, enough: int, report: Progress) -> None:
    """Do as `take` says by plain scans of all records without a group."""
    from aggopt.partition import _kernels

    while pool.remaining >= enough:
        report(pool.done)
        turns = max(1, CHUNK // (pool.remaining * len(pool.records)))
        _kernels.take(pool, k, paired, enough, turns)


def close_with_one_group(pool: Pool) -> None:
    """Make one group of all records that have none; there must be some."""
    pool.labels[pool.who[: pool.remaining]] = pool.counts[1]
    pool.counts[:] = 0, pool.counts[1] + 1


def spread_over_nearest_groups(pool: Pool) -> None:
    """Put each record without a group into the one whose centroid is nearest.

    The centroids are those of the groups before any record is added.  Of centroids
    equally near, the group that was made first is taken.
    """
    sizes, totals = groups_made(pool)
    for j in range(pool.remaining):
        pool.labels[pool.who[j]] = apart(pool.records[:, j], sizes, totals).argmin()
    pool.counts[0] = 0


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
