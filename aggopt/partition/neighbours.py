"""Nearest records of each record.

Equal records share one place: neighbours of places are translated into neighbours of
records. In a pile of hundreds of copies, the nearest records of each are its own
copies, which give a search no other candidates.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from aggopt.core.deadline import Deadline
from aggopt.core.types import Floats, Labels
from aggopt.partition.shared.scaling import scale_to_unit

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
        """Return the distinct records (places) among records (n, d)."""
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
        """Return `count` neighbours of each record (n, count), from near places.

        `near` (m, c) are the places near each place, nearest first.  A record's own
        place precedes them.  A list contains COPIES records of one place at most,
        different ones in different lists; a short list repeats its first record, and an
        empty one its owner.
        """
        own_place = np.arange(len(self.rows))[:, None]
        return _select_first(self._list_copies(np.hstack([own_place, near])), count)

    def _list_copies(self, near: Labels) -> Labels:
        """Return records (n, c) at each record's near places, -1 if missing."""
        place = self.place
        sizes = np.bincount(place)
        start = np.cumsum(sizes) - sizes
        order = np.argsort(place, kind="stable")
        rank = np.empty(len(place), np.intp)
        rank[order] = np.arange(len(place)) - np.repeat(start, sizes)
        near_places = near[place]
        size = sizes[near_places]
        out = np.empty((*near_places.shape, COPIES), np.intp)
        for c in range(COPIES):
            turn = (rank[:, None] + 1 + c) % size
            out[..., c] = np.where(c < size, order[start[near_places] + turn], -1)
        out = out.reshape(len(place), -1)
        return np.where(out == np.arange(len(place))[:, None], -1, out)


def _select_first(rows: Labels, count: int) -> Labels:
    """Return the first `count` numbers of each row that are not -1.

    The first one fills up a short row; a row without any gets its own number.
    """
    order = (rows < 0).argsort(axis=1, kind="stable")[:, :count]
    first_entries = np.take_along_axis(rows, order, axis=1)
    first_entries = np.where(first_entries < 0, first_entries[:, :1], first_entries)
    first_entries = np.where(
        first_entries < 0, np.arange(len(first_entries))[:, None], first_entries
    )
    short = count - first_entries.shape[1]
    return np.ascontiguousarray(
        np.hstack([first_entries, np.repeat(first_entries[:, :1], short, axis=1)])
    )


EXACT = 5000  # places up to which the nearest are exact
TREE = 14  # attributes up to which a tree is faster than comparing all
PART = 500  # records between two checks of the clock, and of Ctrl-C
CHUNK = 1_000_000  # distances held at a time
LEAF = 64  # records of a part without an internal order
TREES = 8  # of the forest: more find more of the nearest
LOT = 2048  # records per part of a tree: nearly exact lists lose less

Search = Callable[[Floats, Floats, int], tuple[Floats, Labels]]


def find_neighbours(Z: Floats, count: int, clock: Deadline | None = None) -> Labels:
    """Return the `count` nearest other records of each record of Z (n, d).

    (n, c) ints, nearest first, c = min(count, n - 1). A list contains only a few of
    several equal records, so that searches get other candidates however many copies
    exist: see `RecordPlaces`. With more than EXACT places, most of the nearest are
    found, and near ones in place of the others. If the clock runs out, the remaining
    records are in their own lists.
    """
    n = len(Z)
    count = min(count, n - 1)
    places = RecordPlaces.of(Z)
    m = len(places.rows)
    if m == n:
        return _find_others(Z, count, clock)
    return places.of_records(_find_others(places.rows, min(count, m - 1), clock), count)


def _find_others(Z: Floats, count: int, clock: Deadline | None) -> Labels:
    """Return the numbers of near other records, (n, count); for distinct records."""
    if len(Z) > EXACT:
        return _search_forest(Z, count, clock)
    near = np.repeat(np.arange(len(Z), dtype=np.intp)[:, None], count, axis=1)
    nearest = _search_until(Z, count + 1, clock)[1]
    near[: len(nearest)] = _drop_itself(nearest, count)
    return near


def _search_forest(Z: Floats, count: int, clock: Deadline | None) -> Labels:
    """Return near records of each record, (n, count), by several spatial orders."""
    from aggopt.core.parallel import ThreadPool
    from aggopt.partition.spatial_order import find_near, sort_in_space

    small, _ = scale_to_unit(Z)
    seconds = None if clock is None or clock.seconds is None else clock.left
    with ThreadPool(seconds=seconds) as threads:
        rows, ids = sort_in_space(small, LEAF, threads)
        near = np.empty((len(Z), count), np.intp)
        near[ids] = ids[find_near(rows, count, threads, trees=TREES, part=LOT)]
    return near


def _search_until(
    Z: Floats, count: int, clock: Deadline | None
) -> tuple[Floats, Labels]:
    """Return distances and numbers (n, count) of each record's nearest, with itself.

    Exact, nearest first; each record is in its own list.  The records that are not
    reached within the time are left out.
    """
    parts = []
    for part in _iterate_nearest(Z, count):
        parts.append(part)
        if clock is not None and clock.over:
            break
    return np.vstack([p[0] for p in parts]), np.vstack([p[1] for p in parts])


def _iterate_nearest(Z: Floats, count: int) -> Iterator[tuple[Floats, Labels]]:
    """Yield the nearest of each record, for chunks of records."""
    search: Search = _compare_all
    step = max(1, CHUNK // len(Z))
    if Z.shape[1] <= TREE:
        search = _make_tree_search(Z)
        step = PART
    for a in range(0, len(Z), step):
        yield search(Z, Z[a : a + step], count)


def _make_tree_search(Z: Floats) -> Search:
    """Return a function that searches the nearest of Z by a k-d tree."""
    from scipy.spatial import cKDTree

    tree = cKDTree(Z)
    return lambda _, some, count: tree.query(some, np.arange(1, count + 1))


def _compare_all(Z: Floats, some: Floats, count: int) -> tuple[Floats, Labels]:
    """Return distances and numbers of the records of Z nearest to each of `some`."""
    from scipy.spatial.distance import cdist

    all_distances = cdist(some, Z)
    columns = np.argpartition(all_distances, count - 1, axis=1)[:, :count]
    distances = np.take_along_axis(all_distances, columns, axis=1)
    order = distances.argsort(axis=1, kind="stable")
    return np.take_along_axis(distances, order, 1), np.take_along_axis(
        columns, order, 1
    )


def _drop_itself(nearest: Labels, count: int) -> Labels:
    """Return rows of the nearest records without the row's own record."""
    is_itself = nearest == np.arange(len(nearest))[:, None]
    is_itself[~is_itself.any(axis=1), -1] = True
    return np.ascontiguousarray(
        nearest[~is_itself].reshape(len(nearest), count), np.intp
    )
