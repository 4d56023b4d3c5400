"""Orderings of the records by nearest point next, by groups, and by a tour."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial

import numpy as np

from aggopt.core.progress import Progress, part
from aggopt.core.types import I64
from aggopt.core.validation import Floats, Labels
from aggopt.partition._cbfs import cbfs_labels
from aggopt.partition._mdav import mdav_labels
from aggopt.partition._mhm import maximum_distance
from aggopt.partition._mhm.boxes import GroupMembers, Leaves, build_boxes, reset_boxes
from aggopt.partition._mhm.starts import find_outermost
from aggopt.partition._mhm.tour import find_places, shorten_tour
from aggopt.partition._path_split.shared import get_orderings
from aggopt.partition._unassigned.state import CHUNK


def _partition_by_mdav(records: Floats, k: int, progress: Progress) -> Labels:
    return mdav_labels(records, k, progress=progress)


def _partition_by_cbfs(records: Floats, k: int, progress: Progress) -> Labels:
    return cbfs_labels(records, k, progress=progress)


GROUPINGS: dict[str, Callable[[Floats, int, Progress], Labels]] = {
    "mdav": _partition_by_mdav,
    "cbfs": _partition_by_cbfs,
    "md": maximum_distance.partition_by_md,
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
    if order in GROUPINGS:
        labels = GROUPINGS[order](records, k, part(progress, 0.0, 0.5))
        yield from _iterate_npn(records, labels, starts, part(progress, 0.5, 1.0))
        return
    npn = _iterate_npn(records, np.arange(len(records)), starts, progress)
    yield from npn if order == "npn" else _iterate_tours(records, npn)


def _iterate_npn(
    records: Floats, labels: Labels, starts: int, progress: Progress
) -> Iterator[I64]:
    """Yield orderings by nearest point next that visit each group as a whole."""
    leaves, groups = build_boxes(records), GroupMembers.by(labels)
    first = find_outermost(records, starts)
    for turn, i in enumerate(first):
        share = part(progress, turn / len(first), (turn + 1) / len(first))
        yield _make_path(reset_boxes(leaves), groups, i, share)


def _make_path(
    leaves: Leaves, groups: GroupMembers, first: int, progress: Progress
) -> I64:
    from aggopt.partition._mhm import nearest_point_next_kernels as kernels

    n = len(groups.of)
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
