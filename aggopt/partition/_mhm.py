"""MHM: an ordering of the records, split optimally into groups."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field, StrictInt

from aggopt.core.deadline import Deadline, Progress, progress_part, throttle
from aggopt.core.types import I64
from aggopt.core.validation import Floats, Labels, check_group_size, is_whole_number
from aggopt.errors import JobError, require_known
from aggopt.partition import _unassigned_pool as unassigned
from aggopt.partition._cbfs import cbfs_labels
from aggopt.partition._mdav import mdav_labels
from aggopt.partition._mhm_boxes import (
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
from aggopt.partition._unassigned_state import CHUNK
from aggopt.partition.path_split import find_best_split, get_orderings
from aggopt.partition.registry import Partitioner
from aggopt.partition.shared.evidence import certify_squares
from aggopt.partition.shared.result import Partition
from aggopt.partition.shared.scaling import scale_records, scale_to_unit
from aggopt.partition.shared.settings import Grouping

STARTS = 8  # orderings that are tried for small tables
MANY = 5000  # records above which further orderings gain little


def mhm(
    X: npt.ArrayLike,
    k: int,
    *,
    order: str = "mdav",
    starts: int | None = None,
    scale: str = "z",
    progress: Progress | None = None,
) -> Partition:
    """Return groups: an ordering of the records, split optimally (MHM).

    The records are ordered so that neighbours are similar.  Among all splits of the
    ordering into groups of k to 2k - 1 consecutive records, the result has minimum SSE.
    Distances are Euclidean.

    Parameters
    ----------
    X : (n, d)
        Quasi-identifiers in their own units: numbers, none missing.
    k : int
        Records per group, 1 <= k <= n.  With n < 2k all records are one group.
    order : "mdav", "cbfs", "md", "npn" or "tsp"
        "npn", nearest point next: the next record is the nearest that has not been
        visited. "mdav", "cbfs", "md": likewise, but each group of that heuristic is
        visited as a whole.  MD is MDAV with its ending "nearest" in which r and s are
        the two records farthest apart, r the one farther out. "tsp": the ordering of
        "npn", closed to a tour and improved by 2-opt (two edges are replaced) and
        Or-opt (up to three records are moved), in which each change joins a record to
        one of its ten nearest neighbours.  The tour is split as a ring, cut at each of
        2k - 1 consecutive records, or at 63 of them.
    starts : int, optional
        Number of orderings; the one with the least SSE is chosen.  They begin at the
        record farthest from the centroid, at the record farthest from it, at the record
        farthest from these two, and so on.  None: 8 with up to 5000 records, 40 000 / n
        with more, at least 1.
    scale : "z" or "none"
        "z" measures distances on z-scores (population standard deviation), and a
        constant attribute weighs nothing.  "none" uses X unchanged: for attributes that
        you have weighted yourself.
    progress : callable, optional
        Progress callback: called with the completed share, from 0.0 to 1.0, a few dozen
        times at most.  An error that it raises stops the work, as Ctrl-C does.

    Returns
    -------
    Partition
        Group of each record, numbered 0..m-1 along the ordering.  Each group has k to
        2k - 1 records.

    Raises
    ------
    InfeasibleInputError
        k exceeds n.
    JobError
        k or starts is below 1 or not a whole number; an unknown order or scale
        (UnknownNameError).
    TableError
        X is not a matrix of finite numbers.

    Notes
    -----
    Choice of `order`: with "mdav" and "cbfs" the SSE is at most the heuristic's, whose
    groups are one of the splits.  "tsp" mostly has less SSE than these for k of 3 or 4
    or clustered records, and far more for k of 10 and records without clusters.  "npn"
    and "md" are for comparison.

    Ties are broken by record order; see `mdav` on ties. Duplicates are consecutive with
    "npn" and "tsp": if each record occurs k times or more, SSE is 0.

    Time grows as n^2 d / k for "mdav" and "cbfs", as n^2 d for the others, and less if
    records cluster; the split adds n k d, for a ring several times that.  For n = 100
    000 normal records, d = 10 and k = 5, `mdav` takes 3.2 seconds, "mdav" 4.4, "npn"
    5.2, "tsp" 20 and "md" some 80.  Memory grows as n d: distances are not stored.

    Weaknesses: the groups are optimal for one ordering only, and most have k records,
    so that "mdav" gains a few percent at k = 3 and little at k = 10, unless the
    records cluster; confidential attributes are ignored.

    Source: Domingo-Ferrer, Martinez-Balleste, Mateo-Sanz and Sebe, Efficient
    multivariate data-oriented microaggregation, VLDB Journal 15(4), 2006.  This package
    adds two rules: a group is entered at the record nearest to the last, and several
    starts are tried.  On their data "mdav" and "npn" have less SSE than they report.
    The split: Hansen and Mukherjee, IEEE TKDE 15(4), 2003.  2-opt and Or-opt with lists
    of neighbours: Bentley, Fast algorithms for geometric traveling salesman problems,
    ORSA Journal on Computing 4(4), 1992.

    Examples
    --------
    >>> mhm([[0.0], [12.0], [2.0], [11.0], [3.0], [10.0], [1.0]], k=3).labels
    array([1, 0, 1, 0, 1, 0, 1])
    """
    clock = Deadline(None, throttle(progress))
    require_known("order", order, ORDERS)
    records, exponent = scale_to_unit(scale_records(X, scale))
    n = len(records)
    k = check_group_size(k, n)
    starts = _require_starts(starts, n)
    labels = _split_ordering(records, k, order, starts, clock.report)
    clock.report(1.0)
    spent = clock.spent
    evidence = certify_squares(
        records, labels, k, by="mhm", seconds=spent, exponent=exponent
    )
    return Partition(labels, evidence)


def _split_ordering(
    records: Floats, k: int, order: str, starts: int, report: Progress
) -> Labels:
    """Return labels (n,): the optimal split of the best of several orderings."""
    if len(records) < 2 * k:
        return np.zeros(len(records), np.intp)
    paths = list_paths(records, k, order, starts, report)
    return find_best_split(records, paths, k, closed=order == "tsp")


def _require_starts(starts: int | None, n: int) -> int:
    """Return the number of orderings, by default from n; raise if it is invalid."""
    if starts is None:
        return max(1, STARTS * MANY // max(n, MANY))
    if is_whole_number(starts) and starts >= 1:
        return int(starts)
    raise JobError(
        "starts must be a whole number of at least 1.",
        fix="pass the number of orderings to try, starts=8, or leave it out.",
    )


class Mhm(Grouping):
    """Settings of `aggopt.partition.mhm`."""

    method: Literal["mhm"]
    order: Literal["npn", "mdav", "cbfs", "md", "tsp"] = "mdav"
    starts: StrictInt | None = Field(default=None, ge=1)

    @property
    def same_orderings(self) -> bool:
        """Whether the method orders records in the same way for all k."""
        return self.order in INDEPENDENT_OF_K


PARTITIONER = Partitioner(
    name="mhm",
    when="for comparison: an ordering of the records, split optimally",
    rank=60,
    function=mhm,
    settings=Mhm,
    initial=True,
)


def find_outermost(records: Floats, count: int) -> list[int]:
    """Return `count` records: farthest from the centroid, then from chosen ones.

    Fewer are returned if the table has fewer distinct records.
    """
    records_found = [int(measure_from_mean(records).argmax())]
    nearest = measure_from_point(records, records[records_found[0]])
    while len(records_found) < count and nearest.any():
        records_found.append(int(nearest.argmax()))
        nearest = np.minimum(
            nearest, measure_from_point(records, records[records_found[-1]])
        )
    return records_found


def measure_from_mean(records: Floats) -> Floats:
    """Return each record's squared distance from the centroid, times n^2, (n,).

    The factor n keeps integers integers, and ties remain ties.
    """
    return measure_from_point(len(records) * records, records.sum(axis=0))


def measure_from_point(records: Floats, point: Floats) -> Floats:
    """Return each record's squared distance from a point, (n,).

    They are summed attribute by attribute, as in the compiled loops.
    """
    total = np.zeros(len(records))
    for t, p in enumerate(point):
        total += (records[:, t] - p) ** 2
    return total


ROUNDING = 1e-9  # relative: above the rounding errors of the bound
LOOKS = 1000  # records examined between two checks for Ctrl-C


def partition_by_md(records: Floats, k: int, progress: Progress) -> Labels:
    """Return labels (n,) of groups of k to 2k - 1 around pairs of farthest records.

    A step forms two groups from at least 2k unassigned records: the k nearest
    to r, then the k nearest to s among the rest, where r and s are the two farthest
    apart, r the one farther from the centroid of all.  Then k or more are a group;
    fewer are assigned one by one to the nearest centroid.
    """
    from aggopt.partition import _mhm_kernels as kernels

    n = len(records)
    leaves = build_boxes(records)
    labels = np.full(n, -1)
    reach = _bound_reach(records, leaves)
    while (left := int(leaves.waiting.sum())) >= 2 * k:
        progress(1.0 - left / n)
        kernels.take_pairs(leaves, reach, labels, k, LOOKS)
    return _assign_rest(records, labels, k)


def _bound_reach(records: Floats, leaves: Leaves) -> Reach:
    """Return upper bounds on the distance from each record to its farthest one."""
    n = len(records)
    out = measure_from_mean(records)
    bounds = (np.sqrt(out) + np.sqrt(out.max())) / n  # by way of the centroid
    squared_bounds = bounds**2 * (1 + ROUNDING)
    peaks = np.maximum.reduceat(squared_bounds[leaves.ids], leaves.first)
    return Reach(squared_bounds, np.full(n, -1), out, peaks)


def _assign_rest(records: Floats, labels: I64, k: int) -> Labels:
    """Return labels (n,) with remaining records in one group or the nearest ones."""
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
    """Return the distinct records, in the order in which a path visits them.

    Duplicates, which are consecutive there, are one place.
    """
    from aggopt.partition import _mhm_kernels as kernels

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
            kernels.fill_nearest_of_each(leaves, begin, stop, near, distances)
    return Places(distinct, near, place_of)


def shorten_tour(places: Places, path: I64) -> I64:
    """Return a record ordering (n,): a closed tour that no local move shortens.

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
    """Shorten a tour by local moves at each record; return whether it got shorter."""
    from aggopt.partition import _mhm_kernels as kernels

    m = len(tour.order)
    moves = tour.counts[MOVES]
    tour.queue[:] = np.arange(m)
    tour.queued[:] = True
    tour.counts[TAKEN] = 0
    tour.counts[QUEUED] = m
    while tour.counts[TAKEN] < tour.counts[QUEUED]:
        kernels.shorten_path(tour, TURNS)
    return bool(tour.counts[MOVES] > moves)


def _partition_by_mdav(records: Floats, k: int, progress: Progress) -> Labels:
    """Return labels (n,) by MDAV."""
    return mdav_labels(records, k, progress=progress)


def _partition_by_cbfs(records: Floats, k: int, progress: Progress) -> Labels:
    """Return labels (n,) by CBFS."""
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
    """Return up to `starts` orderings (n,) of the records, by the method `order`."""
    make = partial(_iterate_paths, records, k, order, starts, progress)
    if order in INDEPENDENT_OF_K:
        return get_orderings((order, starts), records, make)
    return make()


def _iterate_paths(
    records: Floats, k: int, order: str, starts: int, progress: Progress
) -> Iterator[I64]:
    """Yield record orderings (n,) by groups, nearest neighbours, or short tours."""
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
    """Yield record orderings (n,) by nearest neighbour next, group after group."""
    leaves = build_boxes(records)
    groups = GroupMembers.by(labels)
    first = find_outermost(records, starts)
    for turn, i in enumerate(first):
        share = progress_part(progress, turn / len(first), (turn + 1) / len(first))
        yield _make_path(reset_boxes(leaves), groups, i, share)


def _make_path(
    leaves: Leaves, groups: GroupMembers, first: int, progress: Progress
) -> I64:
    """Return a record ordering (n,) from `first` on, by nearest neighbour next."""
    from aggopt.partition import _mhm_kernels as kernels

    n = len(groups.group_of)
    path = np.full(n, first)
    step = max(1, CHUNK // leaves.records.size)
    for done in range(0, n, step):
        progress(done / n)
        kernels.continue_path(leaves, groups, path, done, min(done + step, n))
    return path


def _iterate_tours(records: Floats, npn: Iterator[I64]) -> Iterator[I64]:
    """Yield record orderings (n,): each of `npn` as a closed tour, shortened."""
    first = next(npn)
    tour_places = find_places(records, first)
    yield shorten_tour(tour_places, first)
    for path in npn:
        yield shorten_tour(tour_places, path)
