"""The records nearest to each."""

from collections.abc import Callable, Iterator

import numpy as np

from aggopt.core.deadline import Deadline
from aggopt.core.validation import Floats, Labels
from aggopt.partition._neighbours.places import RecordPlaces
from aggopt.partition._shared.power_of_two import within_one

EXACT = 5000  # places up to which the nearest are found for certain
TREE = 14  # attributes up to which a tree is faster than looking at all
PART = 500  # records looked up between two looks at the clock, and at Ctrl-C
CHUNK = 1_000_000  # distances held at a time
LEAF = 64  # records that are in no order of their own
TREES, LOT = 8, 2048  # and records that each tree compares: nearly exact ones lose less

Look = Callable[[Floats, Floats, int], tuple[Floats, Labels]]


def neighbours(Z: Floats, count: int, clock: Deadline | None = None) -> Labels:
    """Return the `count` nearest others of each record of Z (n, d), n of 2 or more.

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
    """Return distances and numbers (n, count) of the records nearest to each.

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
    """Return others near each, (n, count); for more than `count` records."""
    from aggopt.core.threads import ThreadPool
    from aggopt.partition._neighbours.rp_forest import near_ones
    from aggopt.partition._neighbours.spatial_order import in_space

    small, _ = within_one(Z)
    with ThreadPool(seconds=None if clock.seconds is None else clock.left) as threads:
        rows, who = in_space(small, LEAF, threads)
        near = np.empty((len(Z), count), np.intp)
        near[who] = who[near_ones(rows, count, threads, trees=TREES, part=LOT)]
    return near


def _looked_up(Z: Floats, count: int, clock: Deadline) -> tuple[Floats, Labels]:
    """Return what `nearest` does, of the records that there is time for."""
    parts = []
    for part in nearest_by_part(Z, count):
        parts.append(part)
        if clock.over:
            break
    return np.vstack([p[0] for p in parts]), np.vstack([p[1] for p in parts])


def nearest_by_part(Z: Floats, count: int) -> Iterator[tuple[Floats, Labels]]:
    """Yield what `nearest` returns, some records at a time."""
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
