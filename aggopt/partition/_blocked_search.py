"""Search that improves the groups of blocks, in passes over regions of near groups."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from aggopt.core.deadline import Deadline, Progress
from aggopt.core.parallel import ThreadPool, ignore_progress
from aggopt.core.record_weights import compute_plain_group_means, group_sse
from aggopt.core.types import Bool, Floats, Labels
from aggopt.partition._local_search.search import Cooling
from aggopt.partition._local_search.setup import create_weights
from aggopt.partition.neighbours import COPIES, RecordPlaces
from aggopt.partition.spatial_order import find_near, sort_in_space, split_in_parts
from aggopt.solvers import Status

SPARE = 0.25  # records beyond k, on average, in the initial groups of annealing


class GroupMap(NamedTuple):
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

    def get_records(self, number: int) -> Labels:
        """Return the numbers of the records in region `number`."""
        start = self.ends[number - 1] if number else 0
        return self.record[start : self.ends[number]]

    def within(self, near: Labels, records: Labels) -> tuple[Labels, Floats]:
        """Return positions of neighbours in a region, and their share per record.

        A neighbour in another region is replaced by the record itself, which has no
        effect.
        """
        others = near[records]
        inside = self.region[others] == self.region[records[0]]
        own_place = np.arange(len(records), dtype=np.intp)[:, None]
        return np.where(inside, self.place[others], own_place), inside.mean(axis=1)


def descend_region(
    k: int, clock: Deadline, perturbations: int, region: Region
) -> Labels:
    """Return labels of one region's records after local search with perturbations."""
    from aggopt.partition._local_search import search

    rows, labels, near, turn, seed, weights = region
    return search.improve_labels(
        rows,
        labels,
        k,
        near,
        perturbations=perturbations,
        seed=seed,
        clock=clock,
        order=turn,
        weights=create_weights(weights, len(rows), k),
    )


def anneal_region(
    k: int,
    clock: Deadline,
    proposals: float,
    cooling: Cooling,
    pause: float | None,
    region: Region,
) -> Labels:
    """Return the labels of one region's records after annealing; SSE may be higher.

    It takes `pause` seconds per record at most, unless that is None.
    """
    from aggopt.partition._local_search import search

    rows, labels, near, _, seed, weights = region
    region_clock = (
        clock if pause is None else Deadline(min(pause * len(rows), clock.left))
    )
    return search.anneal_labels(
        rows,
        labels,
        k,
        near,
        proposals=proposals,
        seed=seed,
        clock=region_clock,
        cooling=cooling,
        spare=SPARE,
        weights=create_weights(weights, len(rows), k),
    )


def anneal_and_descend_region(
    anneal: Search, k: int, clock: Deadline, region: Region
) -> Labels:
    """Return the labels of one region's records after annealing and local search."""
    everyone = np.arange(len(region.rows))
    return descend_region(
        k, clock, 0, region._replace(labels=anneal(region), turn=everyone)
    )


class RegionEffort(NamedTuple):
    """Amount of search.

    Attributes
    ----------
    passes
        Number of passes; each perturbs every record once.
    near
        Neighbours whose groups a record may change with.
    proposals
        Random changes per record, of an annealing before the passes.
    """

    passes: int
    near: int
    proposals: int = 0


ANNEALED = 8  # smallest k for which annealing pays
SMALL = {
    "fast": RegionEffort(1, 8),
    "default": RegionEffort(2, 10),
    "best": RegionEffort(30, 12),
}
LARGE = {
    "fast": RegionEffort(0, 8, 100),
    "default": RegionEffort(0, 10, 850),
    "best": RegionEffort(10, 12, 3000),
}
EFFORTS = tuple(SMALL)
COOLING = Cooling(1.0, 0.1)  # of annealing
ROUND = 64  # proposals per record, roughly, until regions get new borders
SHARE = 0.4  # of the time, at most, for annealing
COPIED = 2  # mean number of equal records from which distinct ones are searched
REGION = 32768  # records of a region, at least
REGIONS = 16  # roughly: one per core, and few borders


def _choose_effort(effort: str, k: int, clock: Deadline) -> RegionEffort:
    """Return the settings of the search by name and k, or for a time limit."""
    efforts = LARGE if k >= ANNEALED else SMALL
    if clock.seconds is None:
        return efforts[effort]
    return efforts["default"]._replace(proposals=efforts["best"].proposals)


class ReportedSteps(NamedTuple):
    """Progress callback of several steps, or of elapsed time if that is limited."""

    listener: Progress
    clock: Deadline
    total: int

    def step(self, done: int) -> Progress:
        """Return the progress callback of one step, after `done` completed steps."""
        return partial(self._report_progress, done)

    def _report_progress(self, done: int, share: float) -> None:
        """Report the share of steps completed, or of the time limit if one is set."""
        limit = self.clock.seconds
        spent = self.clock.spent
        self.listener((done + share) / self.total if limit is None else spent / limit)


def improve_groups(
    rows: Floats,
    first: Labels,
    k: int,
    effort: str,
    seed: int,
    threads: ThreadPool,
    progress: Progress,
    weights: Floats | None = None,
    region_size: int | None = None,
) -> Status:
    """Improve the groups `first` (n,) in place, region by region; return the status.

    The rows (n, d), and their weights (n,), are in spatial order. If the pool's time is
    limited, passes continue until it is over, whatever the effort. Regions have
    `region_size` records at least, if it is set.
    """
    if k > 1 and len(rows) >= 2 * k and not threads.clock.over:
        region_effort = _choose_effort(effort, k, threads.clock)
        seeds = np.random.default_rng(seed)
        try:
            size = max(region_size or REGION, len(rows) // REGIONS)
            rounds = _count_rounds(region_effort, len(rows) > size, threads.clock)
            steps = ReportedSteps(
                progress, threads.clock, 1 + rounds + region_effort.passes
            )
            near = _find_neighbours(
                rows, region_effort.near, threads, _draw_seed(seeds), steps.step(0)
            )
            group_map = GroupMap(rows, near, first, weights)
            run = _PassSettings(
                group_map, k, region_effort, size, seeds, threads, steps
            )
            _anneal_regions(run, rounds)
            _perturb_regions(run, rounds)
        except KeyboardInterrupt:
            return Status.INTERRUPTED
    return Status.LIMIT if threads.clock.over else Status.LOCAL


def _find_neighbours(
    rows: Floats, count: int, threads: ThreadPool, seed: int, progress: Progress
) -> Labels:
    """Return the numbers of `count` near records of each of n rows, (n, count).

    If many records are equal, distinct records are searched, and c is larger.
    """
    places = RecordPlaces.of(rows)
    if COPIED * len(places.rows) > len(rows):
        return find_near(rows, count, threads, seed=seed, progress=progress)
    near = find_near(places.rows, count, threads, seed=seed, progress=progress)
    return places.of_records(near, COPIES * count)  # roughly as many places


class _PassSettings(NamedTuple):
    """Arguments common to all passes over the records."""

    group_map: GroupMap
    k: int
    effort: RegionEffort
    size: int
    seeds: np.random.Generator
    threads: ThreadPool
    steps: ReportedSteps

    @property
    def clock(self) -> Deadline:
        """Deadline of the search."""
        return self.threads.clock

    def over(self, searches: Sequence[Search], done: int) -> None:
        """Run one pass of searches over all records, the step after `done` others."""
        if self.clock.over:
            return
        search_regions(
            self.group_map,
            searches,
            self.threads,
            size=self.size,
            seed=_draw_seed(self.seeds),
            progress=self.steps.step(done + 1),
        )


def _count_rounds(region_effort: RegionEffort, several: bool, clock: Deadline) -> int:
    """Return how many rounds of annealing to run, each in newly cut regions.

    Records at a border in one round are inside a region in others. Under a time limit
    one round runs: the subsequent passes repair the borders.
    """
    if several and clock.seconds is None:
        return -(-region_effort.proposals // ROUND)
    return int(region_effort.proposals > 0)


def _anneal_regions(run: _PassSettings, rounds: int) -> None:
    """Anneal the groups in rounds; restore the former groups if they lose less."""
    if not rounds:
        return
    group_map = run.group_map
    pause = _limit_annealing(run)
    before = group_map.first.copy()
    edges = COOLING.at(np.arange(rounds + 1) / rounds)
    round_proposals = run.effort.proposals / rounds
    try:
        for done in range(rounds):
            cooling = Cooling(*edges[done : done + 2])
            anneal = partial(
                anneal_region, run.k, run.clock, round_proposals, cooling, pause
            )
            if done < rounds - 1:
                run.over([anneal], done)
            else:
                anneal_and_descend = partial(
                    anneal_and_descend_region, anneal, run.k, run.clock
                )
                descend = partial(descend_region, run.k, run.clock, 0)
                run.over([anneal_and_descend, descend], done)
    finally:
        if _compute_loss(group_map, before) < _compute_loss(group_map, group_map.first):
            group_map.first[:] = before


def _compute_loss(group_map: GroupMap, first: Labels) -> float:
    """Return the loss (SSE) of the groups; `first` (n,) is each one's first record."""
    _, labels = np.unique(first, return_inverse=True)
    return group_sse(group_map.rows, labels, weights=group_map.weights)


def _perturb_regions(run: _PassSettings, rounds: int) -> None:
    """Run passes of perturbations, as many as configured or until time is over.

    Perturbations begin with a descent; but if time may end them, all regions have to
    complete a descent first.
    """
    perturb = partial(descend_region, run.k, run.clock, 1)
    if run.clock.seconds is None:
        for done in range(run.effort.passes):
            run.over([perturb, perturb], rounds + done)
        return
    if not rounds:
        descend = partial(descend_region, run.k, run.clock, 0)
        run.over([descend, descend], 0)
    while not run.clock.over:
        run.over([perturb, perturb], rounds)


def _limit_annealing(run: _PassSettings) -> float | None:
    """Return the seconds of annealing per record, or None without a limit."""
    clock = run.clock
    n = len(run.group_map.rows)
    if clock.seconds is None:
        return None
    at_once = min(run.threads.jobs, -(-n // run.size))
    return SHARE * max(0.0, clock.left) * at_once / n


def _draw_seed(seeds: np.random.Generator) -> int:
    """Return a random seed below 2^32."""
    return int(seeds.integers(2**32))


# share of its neighbours that a record needs in its region, by cut of a pass
WHOLE = (1.0, 0.0)


def search_regions(
    group_map: GroupMap,
    searches: Sequence[Search],
    threads: ThreadPool,
    *,
    size: int,
    seed: int,
    progress: Progress = ignore_progress,
) -> None:
    """Cut records into regions, and let the searches improve each region's groups.

    Groups near each other are in one region, of roughly `size` records, depending on
    the seed. Records at its border have their turn in a second cut, by the second
    search, if one is passed; there nearly all of them are far from a border.
    """
    waiting = np.ones(len(group_map.rows), dtype=np.bool_)
    for search, needed in zip(searches, WHOLE, strict=False):
        if waiting.any():
            cut = _cut_regions(group_map, size, threads, seed)
            task = partial(
                _search_region, group_map, cut, search, waiting, needed, seed
            )
            threads.map(task, range(len(cut.ends)), progress)
            seed += len(cut.ends)


def _search_region(
    group_map: GroupMap,
    cut: Cut,
    search: Search,
    waiting: Bool,
    needed: float,
    seed: int,
    number: int,
) -> None:
    """Improve the groups of one region, from the records whose turn is still due."""
    records = cut.get_records(number)
    near, share = cut.within(group_map.near, records)
    turn = np.flatnonzero(waiting[records] & (share >= needed))
    _, labels = np.unique(group_map.first[records], return_inverse=True)
    weights = None if group_map.weights is None else group_map.weights[records]
    region = Region(group_map.rows[records], labels, near, turn, seed + number, weights)
    new_labels = search(region)
    group_map.first[records] = records[find_first_records(new_labels)]
    waiting[records[turn]] = False


def find_first_records(labels: Labels) -> Labels:
    """Return, for each record, the first record of its group, (n,)."""
    first = np.empty(labels.max() + 1, dtype=np.intp)
    first[labels[::-1]] = np.arange(len(labels))[::-1]  # the first is written last
    return np.asarray(first[labels])


def _cut_regions(group_map: GroupMap, size: int, threads: ThreadPool, seed: int) -> Cut:
    """Return regions of whole groups, cut by group means along random axes."""
    rows = group_map.rows
    heads, labels = np.unique(group_map.first, return_inverse=True)
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
