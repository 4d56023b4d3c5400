"""Orderings of the records by nearest point next, by groups, and by a tour."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial

import numpy as np

from aggopt.core.deadline import Progress, progress_part
from aggopt.core.types import I64
from aggopt.core.validation import Floats, Labels
from aggopt.partition._cbfs import cbfs_labels
from aggopt.partition._mdav import mdav_labels
from aggopt.partition._mhm.boxes import (
    MOVES,
    QUEUED,
    TAKEN,
    GroupMembers,
    Leaves,
    Places,
    Reach,
    Tour,
    build_boxes,
    reset_boxes,
)
from aggopt.partition._unassigned import pool as unassigned
from aggopt.partition._unassigned.state import CHUNK
from aggopt.partition.path_split.shared import get_orderings


def find_outermost(records: Floats, count: int) -> list[int]:
    """Return `count` records: farthest from the centroid, then from previous ones.

    Fewer are returned if the table has fewer distinct records.
    """
    records_found = [int(measure_from_centroid(records).argmax())]
    nearest = measure_from_point(records, records[records_found[0]])
    while len(records_found) < count and nearest.any():
        records_found.append(int(nearest.argmax()))
        nearest = np.minimum(
            nearest, measure_from_point(records, records[records_found[-1]])
        )
    return records_found


def measure_from_centroid(records: Floats) -> Floats:
    """Return squared distances (n,) from the centroid, times n^2.

    The factor n keeps integers integers, and ties remain ties.
    """
    return measure_from_point(len(records) * records, records.sum(axis=0))


def measure_from_point(records: Floats, point: Floats) -> Floats:
    """Return squared distances (n,) from a point.

    They are summed attribute by attribute, as in the compiled loops.
    """
    total = np.zeros(len(records))
    for t, p in enumerate(point):
        total += (records[:, t] - p) ** 2
    return total


ROUNDING = 1e-9  # relative: above the rounding errors of the bound
LOOKS = 1000  # records examined between two checks for Ctrl-C


def partition_by_md(records: Floats, k: int, progress: Progress) -> Labels:
    """Return labels (n,): groups of k to 2k - 1, by MD.

    A step forms two groups from at least 2k unassigned records: the k nearest
    to r, then the k nearest to s among the rest, where r and s are the two farthest
    apart, r the one farther from the centroid of all.  Then k or more are a group;
    fewer are assigned one by one to the nearest centroid.
    """
    from aggopt.partition._mhm import maximum_distance_kernels as kernels

    n = len(records)
    leaves = build_boxes(records)
    labels = np.full(n, -1)
    reach = _bound_reach(records, leaves)
    while (left := int(leaves.waiting.sum())) >= 2 * k:
        progress(1.0 - left / n)
        kernels.take_pairs(leaves, reach, labels, k, LOOKS)
    return _assign_rest(records, labels, k)


def _bound_reach(records: Floats, leaves: Leaves) -> Reach:
    n = len(records)
    out = measure_from_centroid(records)
    bounds = (np.sqrt(out) + np.sqrt(out.max())) / n  # by way of the centroid
    squared_bounds = bounds**2 * (1 + ROUNDING)
    peaks = np.maximum.reduceat(squared_bounds[leaves.ids], leaves.first)
    return Reach(squared_bounds, np.full(n, -1), out, peaks)


def _assign_rest(records: Floats, labels: I64, k: int) -> Labels:
    """Return labels (n,) after assigning the rest to one group or the nearest ones."""
    rest = labels < 0
    if rest.sum() >= k:
        return np.where(rest, labels.max() + 1, labels)
    order = np.argsort(~rest, kind="stable")
    pool = unassigned.create_pool(records[order])
    pool.labels[:] = labels[order]
    pool.counts[:] = rest.sum(), labels.max() + 1
    unassigned.assign_to_nearest_groups(pool)
    labels[order] = pool.labels
    return labels


NEAR = 10  # neighbours that a place may be joined to
TURNS = 1000  # places examined between two checks for Ctrl-C


def find_places(records: Floats, path: I64) -> Places:
    """Return the distinct records (places) of an ordering by nearest point next.

    Duplicates, which are consecutive there, are one place.
    """
    from aggopt.partition._mhm import nearest_point_next_kernels as kernels

    ordered = records[path]
    is_new = np.append(True, (ordered[1:] != ordered[:-1]).any(axis=1))
    place_of = np.empty(len(path), np.int64)
    place_of[path] = np.cumsum(is_new) - 1
    distinct = np.ascontiguousarray(ordered[is_new])
    m = len(distinct)
    near = np.empty((m, min(NEAR, m - 1)), np.int64)
    if near.size:
        leaves = build_boxes(distinct)
        distances = np.empty(near.shape)
        step = max(1, CHUNK // distinct.size)
        for begin in range(0, m, step):
            stop = min(begin + step, m)
            kernels.find_nearest(leaves, begin, stop, near, distances)
    return Places(distinct, near, place_of)


def shorten_tour(places: Places, path: I64) -> I64:
    """Return the ordering (n,) of a locally shortest closed tour.

    A change joins a place to one of its nearest: by 2-opt (two edges are replaced) or
    Or-opt (up to three places move elsewhere, in either direction).
    """
    visited = places.place_of[path]
    order = visited[np.sort(np.unique(visited, return_index=True)[1])]
    m = len(order)
    if m > 3:
        tour = Tour(
            places.records,
            places.near,
            order,
            np.argsort(order),
            np.empty(m, np.int64),
            np.empty(m, np.bool_),
            np.zeros(3, np.int64),
        )
        while _improve_tour(tour):
            pass
    return np.argsort(np.argsort(order)[places.place_of], kind="stable")


def _improve_tour(tour: Tour) -> bool:
    """Examine all places, then changed ones; return whether the tour improved."""
    from aggopt.partition._mhm import two_opt_kernels as kernels

    m = len(tour.order)
    moves = tour.counts[MOVES]
    tour.queue[:] = np.arange(m)
    tour.queued[:] = True
    tour.counts[TAKEN], tour.counts[QUEUED] = 0, m
    while tour.counts[TAKEN] < tour.counts[QUEUED]:
        kernels.shorten(tour, TURNS)
    return bool(tour.counts[MOVES] > moves)


def _partition_by_mdav(records: Floats, k: int, progress: Progress) -> Labels:
    return mdav_labels(records, k, progress=progress)


def _partition_by_cbfs(records: Floats, k: int, progress: Progress) -> Labels:
    return cbfs_labels(records, k, progress=progress)


GROUPINGS: dict[str, Callable[[Floats, int, Progress], Labels]] = {
    "mdav": _partition_by_mdav,
    "cbfs": _partition_by_cbfs,
    "md": partition_by_md,
}
INDEPENDENT_OF_K = ("npn", "tsp")  # orderings that do not depend on k
ORDERS = (*INDEPENDENT_OF_K, *GROUPINGS)


def list_paths(
    records: Floats, k: int, order: str, starts: int, progress: Progress
) -> Iterable[I64]:
    """Return orderings (n,) of the records (n, d), `starts` at most."""
    make = partial(_iterate_paths, records, k, order, starts, progress)
    if order in INDEPENDENT_OF_K:
        return get_orderings((order, starts), records, make)
    return make()


def _iterate_paths(
    records: Floats, k: int, order: str, starts: int, progress: Progress
) -> Iterator[I64]:
    """Yield the orderings by groups, by nearest point next, or by tours."""
    if order in GROUPINGS:
        labels = GROUPINGS[order](records, k, progress_part(progress, 0.0, 0.5))
        yield from _iterate_npn(
            records, labels, starts, progress_part(progress, 0.5, 1.0)
        )
        return
    npn = _iterate_npn(records, np.arange(len(records)), starts, progress)
    yield from npn if order == "npn" else _iterate_tours(records, npn)


def _iterate_npn(
    records: Floats, labels: Labels, starts: int, progress: Progress
) -> Iterator[I64]:
    """Yield orderings by nearest point next that visit each group as a whole."""
    leaves = build_boxes(records)
    groups = GroupMembers.by(labels)
    first = find_outermost(records, starts)
    for turn, i in enumerate(first):
        share = progress_part(progress, turn / len(first), (turn + 1) / len(first))
        yield _make_path(reset_boxes(leaves), groups, i, share)


def _make_path(
    leaves: Leaves, groups: GroupMembers, first: int, progress: Progress
) -> I64:
    """Return the ordering by nearest point next that begins with record `first`."""
    from aggopt.partition._mhm import nearest_point_next_kernels as kernels

    n = len(groups.group_of)
    path = np.full(n, first)
    step = max(1, CHUNK // leaves.records.size)
    for done in range(0, n, step):
        progress(done / n)
        kernels.continue_path(leaves, groups, path, done, min(done + step, n))
    return path


def _iterate_tours(records: Floats, npn: Iterator[I64]) -> Iterator[I64]:
    first = next(npn)
    tour_places = find_places(records, first)
    yield shorten_tour(tour_places, first)
    for path in npn:
        yield shorten_tour(tour_places, path)
