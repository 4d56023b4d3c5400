"""From the groups of blocks to groups that lose less: sweeps over all records."""

from functools import partial
from itertools import count
from typing import NamedTuple

import numpy as np

from aggopt.arrays import Floats, Labels
from aggopt.clock import Clock, Progress
from aggopt.partition._space._crew import Crew
from aggopt.partition._space._forest import near_ones
from aggopt.partition._space._regions import Map, Region, centroids, sweep
from aggopt.solvers import Status


class Effort(NamedTuple):
    """How much is done.

    Attributes
    ----------
    sweeps
        In each, every record is kicked once.
    proposals
        Random changes per record of annealing, which comes first for large k.
    near
        Neighbours whose groups a record may change with.
    """

    sweeps: int
    proposals: int
    near: int


EFFORTS = {
    "fast": Effort(1, 300, 8),
    "default": Effort(2, 1000, 10),
    "best": Effort(30, 3000, 12),
}
ANNEALED = 8  # smallest k for which annealing pays
REGION = 32768  # records of a region, at least
REGIONS = 16  # about: a core each, and few borders


class Told(NamedTuple):
    """Who is told of progress: of `of` steps, or of the time where that is limited."""

    listener: Progress
    clock: Clock
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
    on until it is over.
    """
    if k > 1 and len(rows) >= 2 * k and not crew.clock.over:
        how = EFFORTS[effort]
        steps = Told(told, crew.clock, 1 + how.sweeps)
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
    how: Effort,
    seeds: np.random.Generator,
    crew: Crew,
    steps: Told,
) -> None:
    proposals = how.proposals if k >= ANNEALED else 0
    size = max(REGION, len(where.rows) // REGIONS)
    for done in range(how.sweeps) if crew.clock.seconds is None else count():
        if crew.clock.over:
            return
        first = partial(_searched, k, crew.clock, 0 if done else proposals)
        searches = first, partial(_searched, k, crew.clock, 0)
        told = steps.step(done + 1)
        sweep(where, searches, crew, size=size, seed=_drawn(seeds), told=told)


def _drawn(seeds: np.random.Generator) -> int:
    return int(seeds.integers(2**32))


def _searched(k: int, clock: Clock, proposals: int, region: Region) -> Labels:
    """Return the labels of one region, annealed first if there are proposals."""
    from aggopt.partition._search import annealed, searched

    rows, labels, near, turn, seed = region
    if proposals:
        labels = annealed(
            rows, labels, k, near, proposals=proposals, seed=seed, clock=clock
        )
        turn = np.arange(len(rows))  # all may have changed
    found = searched(rows, labels, k, near, kicks=1, seed=seed, clock=clock, order=turn)
    return min(region.labels, found, key=partial(_loss, rows)) if proposals else found


def _loss(rows: Floats, labels: Labels) -> float:
    return float(((rows - centroids(rows, labels)[labels]) ** 2).sum())
