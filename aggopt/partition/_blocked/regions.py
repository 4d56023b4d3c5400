"""Regions of groups near each other, each searched independently."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from aggopt.core.deadline import Progress
from aggopt.core.record_weights import compute_plain_group_means
from aggopt.core.threads import ThreadPool, ignore_progress
from aggopt.core.types import Bool
from aggopt.core.validation import Floats, Labels
from aggopt.partition.neighbours.spatial_order import sort_in_space, split_in_parts

# share of its neighbours that a record needs in its region, by cut of a pass
WHOLE = (1.0, 0.0)


class Map(NamedTuple):
    """Records in space, and their groups.

    Attributes
    ----------
    rows : (n, d)
        Records, scaled for distances, in spatial order.
    near : (n, c)
        Neighbours whose groups a record may change with.
    first : (n,)
        The first record of each record's group: it identifies the group, and remains
        unique whatever happens in other regions.  Searches modify it.
    weights : (n,)
        Sampling weights, None if all are equal.
    """

    rows: Floats
    near: Labels
    first: Labels
    weights: Floats | None = None


class Region(NamedTuple):
    """Input of a search in a region: its records, and the records to move."""

    rows: Floats
    labels: Labels
    near: Labels
    turn: Labels
    seed: int
    weights: Floats | None = None


Search = Callable[[Region], Labels]


class Cut(NamedTuple):
    """Groups cut into regions.

    Attributes
    ----------
    record : (n,)
        Records by region; within a region, in their previous order.
    ends : (regions,)
        End of each region in that order.
    region, place : (n,)
        Region of each record, and its place there.
    """

    record: Labels
    ends: Labels
    region: Labels
    place: Labels

    def of(self, number: int) -> Labels:
        """Return the records of a region."""
        start = self.ends[number - 1] if number else 0
        return self.record[start : self.ends[number]]

    def within(self, near: Labels, records: Labels) -> tuple[Labels, Floats]:
        """Return the places of the neighbours of `those`, and the share inside.

        A neighbour in another region is replaced by the record itself, which has no
        effect.
        """
        others = near[records]
        inside = self.region[others] == self.region[records[0]]
        own_place = np.arange(len(records), dtype=np.intp)[:, None]
        return np.where(inside, self.place[others], own_place), inside.mean(axis=1)


def search_regions(
    where: Map,
    searches: Sequence[Search],
    threads: ThreadPool,
    *,
    size: int,
    seed: int,
    progress: Progress = ignore_progress,
) -> None:
    """Give each record one turn in a search, region by region.

    Groups near each other are in one region, of roughly `size` records, depending on
    the seed. Records at its border have their turn in a second cut, by the second
    search, if one is passed; there nearly all of them are far from a border.
    """
    waiting = np.ones(len(where.rows), dtype=np.bool_)
    for search, needed in zip(searches, WHOLE, strict=False):
        if waiting.any():
            cut = _cut_regions(where, size, threads, seed)
            task = partial(_search_region, where, cut, search, waiting, needed, seed)
            threads.each(task, range(len(cut.ends)), progress)
            seed += len(cut.ends)


def _search_region(
    where: Map,
    cut: Cut,
    search: Search,
    waiting: Bool,
    needed: float,
    seed: int,
    number: int,
) -> None:
    """Search one region of a cut; waiting records with neighbours take a turn."""
    records = cut.of(number)
    near, share = cut.within(where.near, records)
    turn = np.flatnonzero(waiting[records] & (share >= needed))
    _, labels = np.unique(where.first[records], return_inverse=True)
    weights = None if where.weights is None else where.weights[records]
    region = Region(where.rows[records], labels, near, turn, seed + number, weights)
    new_labels = search(region)
    where.first[records] = records[find_first_records(new_labels)]
    waiting[records[turn]] = False


def find_first_records(labels: Labels) -> Labels:
    """Return the first record of each record's group, (n,)."""
    first = np.empty(labels.max() + 1, dtype=np.intp)
    first[labels[::-1]] = np.arange(len(labels))[::-1]  # the first is written last
    return np.asarray(first[labels])


def _cut_regions(where: Map, size: int, threads: ThreadPool, seed: int) -> Cut:
    """Return groups cut into regions along random axes, by the means of the groups."""
    rows = where.rows
    heads, labels = np.unique(where.first, return_inverse=True)
    region_groups = max(1, size * len(heads) // len(rows))
    region = np.empty(len(heads), dtype=np.intp)
    _, ids = sort_in_space(
        compute_plain_group_means(rows, labels),
        region_groups,
        threads,
        turns=1,
        seed=seed,
    )
    for number, part in enumerate(split_in_parts(len(heads), region_groups)):
        region[ids[part]] = number
    record = np.argsort(region[labels], kind="stable")
    ends = np.cumsum(np.bincount(region[labels]))
    place = np.empty(len(rows), dtype=np.intp)
    begin = np.concatenate([[0], ends[:-1]])
    place[record] = np.arange(len(rows)) - begin[region[labels][record]]
    return Cut(record, ends, region[labels], place)
