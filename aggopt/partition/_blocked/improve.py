"""From the groups of blocks to groups that lose less: sweeps over all records."""

from functools import partial
from itertools import chain, repeat
from typing import NamedTuple

import numpy as np

from aggopt.core.deadline import Deadline
from aggopt.core.group_sums import group_sse
from aggopt.core.progress import Progress
from aggopt.core.threads import Crew
from aggopt.core.validation import Floats, Labels
from aggopt.partition._blocked.regions import Map, Region, Search, sweep
from aggopt.partition._local_search.cooling import Cooling
from aggopt.partition._neighbours.rp_forest import near_ones
from aggopt.solvers import Status


class RegionEffort(NamedTuple):
    """How much is done.

    Attributes
    ----------
    sweeps
        In each, every record is perturbed once.
    near
        Neighbours whose groups a record may change with.
    proposals
        Random changes per record, of an annealing that comes before the sweeps.
    """

    sweeps: int
    near: int
    proposals: int = 0


Searches = tuple[Search, Search]  # of the two cuts of a sweep

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
REGION = 32768  # records of a region, at least
REGIONS = 16  # about: a core each, and few borders


def _how_much(effort: str, k: int, clock: Deadline) -> RegionEffort:
    efforts = LARGE if k >= ANNEALED else SMALL
    if clock.seconds is None:
        return efforts[effort]
    return efforts["default"]._replace(proposals=efforts["best"].proposals)


class Told(NamedTuple):
    """Who is told of progress: of `of` steps, or of the time where that is limited."""

    listener: Progress
    clock: Deadline
    of: int

    def step(self, done: int) -> Progress:
        """Return what tells the progress of one step, the others before it done."""
        return partial(self._tell, done)

    def _tell(self, done: int, share: float) -> None:
        limit, spent = self.clock.seconds, self.clock.spent
        self.listener((done + share) / self.of if limit is None else spent / limit)


def improve(
    rows: Floats,
    first: Labels,
    k: int,
    effort: str,
    seed: int,
    crew: Crew,
    told: Progress,
) -> Status:
    """Return how the search ended; `first` (n,), as in `Map`, is changed.

    The rows (n, d) are in spatial order.  Where the crew's time is limited, sweeps go
    on until it is over, whatever the effort.
    """
    if k > 1 and len(rows) >= 2 * k and not crew.clock.over:
        how = _how_much(effort, k, crew.clock)
        steps = Told(told, crew.clock, 1 + how.sweeps + bool(how.proposals))
        seeds = np.random.default_rng(seed)
        try:
            near = near_ones(
                rows, how.near, crew, seed=_drawn(seeds), told=steps.step(0)
            )
            _sweeps(Map(rows, near, first), k, how, seeds, crew, steps)
        except KeyboardInterrupt:
            return Status.INTERRUPTED
    return Status.LIMIT if crew.clock.over else Status.LOCAL


def _sweeps(
    where: Map,
    k: int,
    how: RegionEffort,
    seeds: np.random.Generator,
    crew: Crew,
    steps: Told,
) -> None:
    size, clock = max(REGION, len(where.rows) // REGIONS), crew.clock
    first = _first(k, how, crew, _pause(where, size, crew))
    perturb = partial(_searched, k, clock, 1)
    pair: Searches = perturb, perturb
    perturbations = repeat(pair, how.sweeps) if clock.seconds is None else repeat(pair)
    for done, searches in enumerate(chain(first, perturbations), 1):
        if clock.over:
            return
        told = steps.step(done)
        sweep(where, searches, crew, size=size, seed=_drawn(seeds), told=told)


def _first(
    k: int, how: RegionEffort, crew: Crew, pause: float | None
) -> list[Searches]:
    """Return what comes before perturbations, which begin with a descent themselves.

    Where time may end them, all regions are to have descended by then.
    """
    descend = partial(_searched, k, crew.clock, 0)
    if how.proposals:
        return [(partial(_annealed, k, crew.clock, how.proposals, pause), descend)]
    return [] if crew.clock.seconds is None else [(descend, descend)]


def _pause(where: Map, size: int, crew: Crew) -> float | None:
    """Return the seconds per record that annealing may take, None for all it needs."""
    if crew.clock.seconds is None:
        return None
    at_once = min(crew.jobs, -(-len(where.rows) // size))
    return SHARE * max(0.0, crew.clock.left) * at_once / len(where.rows)


def _drawn(seeds: np.random.Generator) -> int:
    return int(seeds.integers(2**32))


def _searched(k: int, clock: Deadline, perturbations: int, region: Region) -> Labels:
    """Return the labels of one region after a descent and perturbations."""
    from aggopt.partition._local_search.search import searched

    rows, labels, near, turn, seed = region
    return searched(
        rows,
        labels,
        k,
        near,
        perturbations=perturbations,
        seed=seed,
        clock=clock,
        order=turn,
    )


def _annealed(
    k: int, clock: Deadline, proposals: int, pause: float | None, region: Region
) -> Labels:
    """Return the labels of one region after annealing and descent."""
    from aggopt.partition._local_search.search import annealed

    rows, labels, near, _, seed = region
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
    )
    everyone = np.arange(len(rows))
    cold = _searched(k, clock, 0, region._replace(labels=warm, turn=everyone))
    return min(labels, cold, key=partial(group_sse, rows))
