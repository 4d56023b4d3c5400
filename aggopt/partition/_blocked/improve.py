"""Search over all records that improves the groups of blocks, in passes."""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from aggopt.core.deadline import Deadline, Progress
from aggopt.core.record_weights import group_sse
from aggopt.core.threads import ThreadPool
from aggopt.core.validation import Floats, Labels
from aggopt.partition._blocked.regions import Map, Region, Search, search_regions
from aggopt.partition._local_search.search import Cooling
from aggopt.partition._local_search.setup import create_weights
from aggopt.partition.neighbours.neighbours import COPIES, RecordPlaces
from aggopt.partition.neighbours.spatial_order import find_near
from aggopt.solvers import Status

SPARE = 0.25  # records beyond k, on average, in the initial groups of annealing


def descend_region(
    k: int, clock: Deadline, perturbations: int, region: Region
) -> Labels:
    """Return the labels of one region after a descent and perturbations."""
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
    """Return the labels of one region after annealing, which may lose more.

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
    """Return the labels of one region after annealing and a descent of all records."""
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
    """Return the effort by its name and k, or the one for a time limit."""
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
        """Return the progress callback of one step, after `done` others."""
        return partial(self._report, done)

    def _report(self, done: int, share: float) -> None:
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
    """Return the status of the search; `first` (n,), as in `Map`, is modified.

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
            where = Map(rows, near, first, weights)
            run = _PassSettings(where, k, region_effort, size, seeds, threads, steps)
            _anneal_regions(run, rounds)
            _perturb_regions(run, rounds)
        except KeyboardInterrupt:
            return Status.INTERRUPTED
    return Status.LIMIT if threads.clock.over else Status.LOCAL


def _find_neighbours(
    rows: Floats, count: int, threads: ThreadPool, seed: int, progress: Progress
) -> Labels:
    """Return neighbours of rows in spatial order (n, c), c = count.

    If many records are equal, distinct records are searched, and c is larger.
    """
    places = RecordPlaces.of(rows)
    if COPIED * len(places.rows) > len(rows):
        return find_near(rows, count, threads, seed=seed, progress=progress)
    near = find_near(places.rows, count, threads, seed=seed, progress=progress)
    return places.of_records(near, COPIES * count)  # roughly as many places


class _PassSettings(NamedTuple):
    """Arguments common to all passes over the records."""

    where: Map
    k: int
    how: RegionEffort
    size: int
    seeds: np.random.Generator
    threads: ThreadPool
    steps: ReportedSteps

    @property
    def clock(self) -> Deadline:
        """Deadline of the search."""
        return self.threads.clock

    def over(self, searches: Sequence[Search], done: int) -> None:
        """Run one pass over the records, `done` steps after the neighbour search."""
        if self.clock.over:
            return
        search_regions(
            self.where,
            searches,
            self.threads,
            size=self.size,
            seed=_draw_seed(self.seeds),
            progress=self.steps.step(done + 1),
        )


def _count_rounds(region_effort: RegionEffort, several: bool, clock: Deadline) -> int:
    """Return the number of rounds of annealing, each in regions with new borders.

    Records at a border in one round are inside a region in others. Under a time limit
    one round runs: the subsequent passes repair the borders.
    """
    if several and clock.seconds is None:
        return -(-region_effort.proposals // ROUND)
    return int(region_effort.proposals > 0)


def _anneal_regions(run: _PassSettings, rounds: int) -> None:
    """Anneal in rounds; restore the groups before them if those lose less."""
    if not rounds:
        return
    where = run.where
    pause = _limit_annealing(run)
    before = where.first.copy()
    edges = COOLING.at(np.arange(rounds + 1) / rounds)
    round_proposals = run.how.proposals / rounds
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
        if _compute_loss(where, before) < _compute_loss(where, where.first):
            where.first[:] = before


def _compute_loss(where: Map, first: Labels) -> float:
    """Return the loss of groups with these first records."""
    _, labels = np.unique(first, return_inverse=True)
    return group_sse(where.rows, labels, weights=where.weights)


def _perturb_regions(run: _PassSettings, rounds: int) -> None:
    """Perturb all records, in the configured number of passes, or until time is over.

    Perturbations begin with a descent; but if time may end them, all regions have to
    complete a descent first.
    """
    perturb = partial(descend_region, run.k, run.clock, 1)
    if run.clock.seconds is None:
        for done in range(run.how.passes):
            run.over([perturb, perturb], rounds + done)
        return
    if not rounds:
        descend = partial(descend_region, run.k, run.clock, 0)
        run.over([descend, descend], 0)
    while not run.clock.over:
        run.over([perturb, perturb], rounds)


def _limit_annealing(run: _PassSettings) -> float | None:
    """Return the seconds per record for annealing, None if unlimited."""
    clock = run.clock
    n = len(run.where.rows)
    if clock.seconds is None:
        return None
    at_once = min(run.threads.jobs, -(-n // run.size))
    return SHARE * max(0.0, clock.left) * at_once / n


def _draw_seed(seeds: np.random.Generator) -> int:
    return int(seeds.integers(2**32))
