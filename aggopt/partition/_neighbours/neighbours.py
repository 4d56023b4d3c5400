"""Nearest records of each record.

Equal records share one place: neighbours of places are translated into neighbours of
records. In a pile of hundreds of copies, the nearest records of each are its own
copies, which give a search no other candidates.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from aggopt.core.deadline import Deadline
from aggopt.core.threads import ThreadPool
from aggopt.core.validation import Floats, Labels
from aggopt.partition._box_tree.build import build
from aggopt.partition._shared.scaling import exponent_of, squared_back, within_one
from aggopt.partition._unassigned import pool as unassigned

COPIES = 2  # records at one place in a list, at most


class RecordPlaces(NamedTuple):
    """Distinct records, and the place of each record among them.

    Attributes
    ----------
    rows : (m, d)
        Distinct records, ordered by the first record of each place.
    place : (n,)
        Place of each record.
    """

    rows: Floats
    place: Labels

    @classmethod
    def of(cls, records: Floats) -> "RecordPlaces":
        """Return the places of records (n, d)."""
        plain = np.ascontiguousarray(records + 0.0)  # turns -0.0 into 0.0
        entries = plain.view(f"V{plain.dtype.itemsize * plain.shape[1]}").ravel()
        _, first, place = np.unique(entries, return_index=True, return_inverse=True)
        order = np.argsort(first)
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        return cls(records[first[order]], rank[place.ravel()])

    def __repr__(self) -> str:
        """Return the number of places, without values."""
        return f"RecordPlaces({len(self.rows)} of {len(self.place)} records)"

    def of_records(self, near: Labels, count: int) -> Labels:
        """Return `count` others of each record (n, count), from places near each place.

        `near` (m, c) are the places near each place, nearest first.  A record's own
        place precedes them.  A list contains COPIES records of one place at most,
        different ones in different lists; a short list repeats its first record, and an
        empty one its owner.
        """
        own = np.arange(len(self.rows))[:, None]
        return _first_few(self._copies(np.hstack([own, near])), count)

    def _copies(self, near: Labels) -> Labels:
        """Return records (n, c) at the places near each record, -1 if missing."""
        place = self.place
        sizes = np.bincount(place)
        start = np.cumsum(sizes) - sizes
        order = np.argsort(place, kind="stable")
        rank = np.empty(len(place), np.intp)
        rank[order] = np.arange(len(place)) - np.repeat(start, sizes)
        there = near[place]
        size = sizes[there]
        out = np.empty((*there.shape, COPIES), np.intp)
        for c in range(COPIES):
            turn = (rank[:, None] + 1 + c) % size
            out[..., c] = np.where(c < size, order[start[there] + turn], -1)
        out = out.reshape(len(place), -1)
        return np.where(out == np.arange(len(place))[:, None], -1, out)


def _first_few(found: Labels, count: int) -> Labels:
    """Return the first `count` entries of each row that are not -1.

    The first one fills up a short row; a row without any gets its own number.

    A row of nothing else gets its own number.
    """
    order = (found < 0).argsort(axis=1, kind="stable")[:, :count]
    kept = np.take_along_axis(found, order, axis=1)
    kept = np.where(kept < 0, kept[:, :1], kept)
    kept = np.where(kept < 0, np.arange(len(kept))[:, None], kept)
    short = count - kept.shape[1]
    return np.ascontiguousarray(
        np.hstack([kept, np.repeat(kept[:, :1], short, axis=1)])
    )


LEAVES = 256  # searched in one call


def sum_of_nearest(rows: Floats, k: int, threads: ThreadPool) -> float:
    """Return the sum of squared distances to the k nearest of each row.

    The rows are (n, d); each is its own nearest. The distances are exact.

    The rows are (n, d); each is its own nearest.  The nearest are exact, not those
    that a search makes do with.
    """
    from aggopt.partition._neighbours import knn_sum_kernels as kernels  # imports numba

    (tree,) = threads.each(build, [unassigned.start(rows)])

    def add_up(start: int) -> float:
        stop = min(start + LEAVES, len(tree.waiting))
        return float(kernels.sum_of_nearest(tree, k, start, stop))

    total = sum(threads.each(add_up, range(0, len(tree.waiting), LEAVES)))
    return squared_back(total, exponent_of(rows))  # a pool is scaled by it


EXACT = 5000  # places up to which the nearest are exact
TREE = 14  # attributes up to which a tree is faster than comparing all
PART = 500  # records between two checks of the clock, and of Ctrl-C
CHUNK = 1_000_000  # distances held at a time
LEAF = 64  # records of a part without an internal order
TREES, LOT = 8, 2048  # trees, and records per part: nearly exact

Look = Callable[[Floats, Floats, int], tuple[Floats, Labels]]


def neighbours(Z: Floats, count: int, clock: Deadline | None = None) -> Labels:
    """Return the `count` nearest others of each record of Z (n, d), n >= 2.

    (n, c) ints, nearest first, c = min(count, n - 1). A list contains only a few of
    several equal records, so that searches get other candidates however many copies
    exist: see `RecordPlaces`. With more than EXACT places, most of the nearest are
    found, and near ones in place of the others. If the clock runs out, the remaining
    records are in their own lists.

    (n, c) ints, nearest first, c = min(count, n - 1).  Of records that are equal a list
    holds a few, so that it leads elsewhere however many there are: see `RecordPlaces`.

    With more than EXACT places, most of the nearest are found, and near ones for the
    others.  Records that the clock leaves no time for stand in their own lists.
    """
    n, clock = len(Z), clock or Deadline(None)
    count = min(count, n - 1)
    places = RecordPlaces.of(Z)
    m = len(places.rows)
    if m == n:
        return _others(Z, count, clock)
    return places.of_records(_others(places.rows, min(count, m - 1), clock), count)


def nearest(Z: Floats, count: int) -> tuple[Floats, Labels]:
    """Return distances and numbers (n, count) of the nearest records of each.

    Exact, nearest first; each record is in its own list.

    Exact, nearest first; each is among its own.
    """
    return _looked_up(Z, count, Deadline(None))


def _others(Z: Floats, count: int, clock: Deadline) -> Labels:
    if len(Z) > EXACT:
        return _by_forest(Z, count, clock)
    near = np.repeat(np.arange(len(Z), dtype=np.intp)[:, None], count, axis=1)
    found = _looked_up(Z, count + 1, clock)[1]
    near[: len(found)] = _without_itself(found, count)
    return near


def _by_forest(Z: Floats, count: int, clock: Deadline) -> Labels:
    """Return others near each record, (n, count); for more than `count` records."""
    from aggopt.core.threads import ThreadPool
    from aggopt.partition._neighbours.spatial_order import in_space, near_ones

    small, _ = within_one(Z)
    with ThreadPool(seconds=None if clock.seconds is None else clock.left) as threads:
        rows, who = in_space(small, LEAF, threads)
        near = np.empty((len(Z), count), np.intp)
        near[who] = who[near_ones(rows, count, threads, trees=TREES, part=LOT)]
    return near


def _looked_up(Z: Floats, count: int, clock: Deadline) -> tuple[Floats, Labels]:
    """Return the result of `nearest` for the records that time allows."""
    parts = []
    for part in nearest_by_part(Z, count):
        parts.append(part)
        if clock.over:
            break
    return np.vstack([p[0] for p in parts]), np.vstack([p[1] for p in parts])


def nearest_by_part(Z: Floats, count: int) -> Iterator[tuple[Floats, Labels]]:
    """Yield the result of `nearest`, some records at a time."""
    look: Look = _by_looking_at_all
    step = max(1, CHUNK // len(Z))
    if Z.shape[1] <= TREE:
        look, step = _by_tree(Z), PART
    for a in range(0, len(Z), step):
        yield look(Z, Z[a : a + step], count)


def _by_tree(Z: Floats) -> Look:
    from scipy.spatial import cKDTree

    tree = cKDTree(Z)
    return lambda _, some, count: tree.query(some, np.arange(1, count + 1))


def _by_looking_at_all(Z: Floats, some: Floats, count: int) -> tuple[Floats, Labels]:
    from scipy.spatial.distance import cdist

    apart = cdist(some, Z)
    found = np.argpartition(apart, count - 1, axis=1)[:, :count]
    distances = np.take_along_axis(apart, found, axis=1)
    order = distances.argsort(axis=1, kind="stable")
    return np.take_along_axis(distances, order, 1), np.take_along_axis(found, order, 1)


def _without_itself(found: Labels, count: int) -> Labels:
    own = found == np.arange(len(found))[:, None]
    own[~own.any(axis=1), -1] = True
    return np.ascontiguousarray(found[~own].reshape(len(found), count), np.intp)
