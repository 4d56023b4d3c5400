"""Which released rows are nearest to each original record, ties among them.

Among few attributes a tree finds them.  Among many it would look at nearly every row,
and one product of matrices says sooner, up to rounding, how far all are from all; what
may be nearest is then measured exactly.
"""

from collections.abc import Iterator

import numpy as np

from aggopt.core.types import F64, I64, Bool

FEW = 12  # attributes up to which the tree is faster
ROUNDING = 1e-13  # of the lengths that enter a distance
_DOUBT = 1e-11  # of their squares: more than the product can be wrong by
_AT_ONCE = 2**21  # distances of one product, or coordinates of one measurement


def own_among_nearest(z: F64, rows: F64, own: I64, sizes: I64) -> F64:
    """Return the chance (n,) that a record's own is drawn among those nearest to it.

    0 where its own row is not among the nearest, up to rounding, else 1 / number of
    records in all rows that are.

    Parameters
    ----------
    z : (n, v)
        Original records.
    rows : (m, v)
        Distinct released rows.
    own : (n,)
        Which of them each record has.
    sizes : (m,)
        How many records have each row.
    """
    apart = np.linalg.norm(z - rows[own], axis=1)
    if z.shape[1] <= FEW:
        return _by_tree(z, rows, apart, sizes[own], sizes)
    people, place = np.unique(z, axis=0, return_inverse=True)
    reach, there = np.empty((2, len(people)))
    step = max(_AT_ONCE // len(rows), 1)
    for start in range(0, len(people), step):
        part = slice(start, start + step)
        reach[part], there[part] = _by_product(people[part], rows, sizes)
    return np.where(apart <= reach[place.ravel()], 1 / there[place.ravel()], 0.0)


def _reach(z: F64, nearest: F64) -> F64:
    """Return up to which distance (n,) rows count as nearest."""
    return np.asarray(nearest + ROUNDING * (np.linalg.norm(z, axis=1) + nearest))


def _by_tree(z: F64, rows: F64, apart: F64, there: I64, sizes: I64) -> F64:
    from scipy.spatial import cKDTree

    tree = cKDTree(rows)
    nearest, second = tree.query(z, k=2)[0].T  # infinite where there is no second
    reach = _reach(z, nearest)
    found: Bool = apart <= reach
    for i in np.flatnonzero(found & (second <= reach)):
        there[i] = sizes[tree.query_ball_point(z[i], reach[i])].sum()
    return np.asarray(found / there)


def _by_product(z: F64, rows: F64, sizes: I64) -> tuple[F64, I64]:
    """Return how far rows count as nearest (n,), and how many records have these."""
    squares, lengths = (z**2).sum(axis=1), (rows**2).sum(axis=1)
    beyond = np.c_[z, np.ones(len(z))] @ np.c_[-2.0 * rows, lengths].T  # less squares
    doubt = _DOUBT * (squares + lengths.max())
    record, row = np.nonzero(beyond <= (beyond.min(axis=1) + doubt)[:, None])
    apart = np.concatenate(list(_distances(z, rows, record, row)))
    first = np.searchsorted(record, np.arange(len(z)))
    reach = _reach(z, np.minimum.reduceat(apart, first))
    there = np.where(apart <= reach[record], sizes[row], 0)
    return reach, np.add.reduceat(there, first)


def _distances(z: F64, rows: F64, record: I64, row: I64) -> Iterator[F64]:
    step = max(_AT_ONCE // z.shape[1], 1)
    for start in range(0, len(record), step):
        part = slice(start, start + step)
        yield np.linalg.norm(z[record[part]] - rows[row[part]], axis=1)
