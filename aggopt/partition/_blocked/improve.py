"""From the groups of blocks to groups that lose less: passes over all records."""

from functools import partial
from itertools import chain, repeat
from typing import NamedTuple

import numpy as np

from aggopt.core.deadline import Deadline
from aggopt.core.group_sums import group_sse
from aggopt.core.progress import Progress
from aggopt.core.threads import ThreadPool
from aggopt.core.validation import Floats, Labels
from aggopt.partition._blocked.regions import Map, Region, Search, pass_over
from aggopt.partition._local_search.cooling import Cooling
from aggopt.partition._local_search.setup import weights_of
from aggopt.partition._neighbours.places import COPIES, RecordPlaces
from aggopt.partition._neighbours.rp_forest import near_ones
from aggopt.solvers import Status


class RegionEffort(NamedTuple):
    """How much is done.

    Attributes
    ----------
    passes
        In each, every record is perturbed once.
    near
        Neighbours whose groups a record may change with.
    proposals
        Random changes per record, of an annealing that comes before the passes.
    """

    passes: int
    near: int
    proposals: int = 0


Searches = tuple[Search, Search]  # of the two cuts of a pass

ANNEALED = 8  # smallest k for which annealing pays
SMALL = {
    "fast": RegionEffort(1, 8),
    "default": RegionEffort(2, 10),
    "best": RegionEffort(30, 12),
}
LARGE = {
    "fast": RegionEffort(0, 8, 100),
    "default": RegionEffort(1, 10, 1000),
    "best": RegionEffort(10, 12, 3000),
}
EFFORTS = tuple(SMALL)
SPARE = 0.25  # records beyond k, on average, of groups that annealing begins with
COOLING = Cooling(1.0, 0.1)  # of annealing
SHARE = 0.4  # of the time, that annealing may take
COPIED = 2  # records at a place, on average, from which on places are searched
REGION = 32768  # records of a region, at least
REGIONS = 16  # about: a core each, and few borders


def _how_much(effort: str, k: int, clock: Deadline) -> RegionEffort:
    efforts = LARGE if k >= ANNEALED else SMALL
    if clock.seconds is None:
        return efforts[effort]
    return efforts["default"]._replace(proposals=efforts["best"].proposals)


class ReportedSteps(NamedTuple):
    """A progress callback: of `of` steps, or of the time where that is limited."""

    listener: Progress
    clock: Deadline
    of: int

    def step(self, done: int) -> Progress:
        """Return the progress callback of one step, those before it done."""
        return partial(self._report, done)

    def _report(self, done: int, share: float) -> None:
        limit, spent = self.clock.seconds, self.clock.spent
        self.listener((done + share) / self.of if limit is None else spent / limit)


def improve(
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
    """Return how the search ended; `first` (n,), as in `Map`, is changed.

    The rows (n, d), and their weights (n,), are in spatial order.  Where the pool's
    time is limited, passes go on until it is over, whatever the effort.  Regions have
    `region_size` records at least, if it is given.
    """
    if k > 1 and len(rows) >= 2 * k and not threads.clock.over:
        how = _how_much(effort, k, threads.clock)
        steps = ReportedSteps(
            progress, threads.clock, 1 + how.passes + bool(how.proposals)
        )
        seeds = np.random.default_rng(seed)
        try:
            near = _near(rows, how.near, threads, _drawn(seeds), steps.step(0))
            size = max(region_size or REGION, len(rows) // REGIONS)
            where = Map(rows, near, first, weights)
            _passes(where, k, how, size, seeds, threads, steps)
        except KeyboardInterrupt:
            return Status.INTERRUPTED
    return Status.LIMIT if threads.clock.over else Status.LOCAL


def _near(
    rows: Floats, count: int, threads: ThreadPool, seed: int, progress: Progress
) -> Labels:
    """Return neighbours of rows in spatial order (n, c), c = count.

    Of many copies they are found by place, and c is larger.
    """
    places = RecordPlaces.of(rows)
    if COPIED * len(places.rows) > len(rows):
        return near_ones(rows, count, threads, seed=seed, progress=progress)
    near = near_ones(places.rows, count, threads, seed=seed, progress=progress)
    return places.of_records(near, COPIES * count)  # so many places, about


def _passes(
    where: Map,
    k: int,
    how: RegionEffort,
    size: int,
    seeds: np.random.Generator,
    threads: ThreadPool,
    steps: ReportedSteps,
) -> None:
    clock = threads.clock
    first = _first(k, how, threads, _pause(where, size, threads))
    perturb = partial(_searched, k, clock, 1)
    pair: Searches = perturb, perturb
    perturbations = repeat(pair, how.passes) if clock.seconds is None else repeat(pair)
    for done, searches in enumerate(chain(first, perturbations), 1):
        if clock.over:
            return
        progress = steps.step(done)
        pass_over(
            where, searches, threads, size=size, seed=_drawn(seeds), progress=progress
        )


def _first(
    k: int, how: RegionEffort, threads: ThreadPool, pause: float | None
) -> list[Searches]:
    """Return what comes before perturbations, which begin with a descent themselves.

    Where time may end them, all regions are to have descended by then.
    """
    descend = partial(_searched, k, threads.clock, 0)
    if how.proposals:
        return [(partial(_annealed, k, threads.clock, how.proposals, pause), descend)]
    return [] if threads.clock.seconds is None else [(descend, descend)]


def _pause(where: Map, size: int, threads: ThreadPool) -> float | None:
    """Return the seconds per record that annealing may take, None for all it needs."""
    if threads.clock.seconds is None:
        return None
    at_once = min(threads.jobs, -(-len(where.rows) // size))
    return SHARE * max(0.0, threads.clock.left) * at_once / len(where.rows)


def _drawn(seeds: np.random.Generator) -> int:
    return int(seeds.integers(2**32))


def _searched(k: int, clock: Deadline, perturbations: int, region: Region) -> Labels:
    """Return the labels of one region after a descent and perturbations."""
    from aggopt.partition._local_search.search import searched

    rows, labels, near, turn, seed, weights = region
    return searched(
        rows,
        labels,
        k,
        near,
        perturbations=perturbations,
        seed=seed,
        clock=clock,
        order=turn,
        weights=weights_of(weights, len(rows), k),
    )


def _annealed(
    k: int, clock: Deadline, proposals: int, pause: float | None, region: Region
) -> Labels:
    """Return the labels of one region after annealing and descent."""
    from aggopt.partition._local_search.search import annealed

    rows, labels, near, _, seed, weights = region
    own = clock if pause is None else Deadline(min(pause * len(rows), clock.left))
    warm = annealed(
        rows,
        labels,
        k,
        near,
        proposals=proposals,
        seed=seed,
        clock=own,
        cooling=COOLING,
        spare=SPARE,
        weights=weights_of(weights, len(rows), k),
    )
    everyone = np.arange(len(rows))
    cold = _searched(k, clock, 0, region._replace(labels=warm, turn=everyone))
    return min(labels, cold, key=partial(group_sse, rows, weights=weights))
