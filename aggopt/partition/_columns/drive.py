"""From records to the best partition that is found, and the best bound."""

from dataclasses import dataclass

import numpy as np

from aggopt.arrays import Floats, Labels
from aggopt.clock import Clock, Progress
from aggopt.partition._columns.choice import chosen
from aggopt.partition._columns.generation import Generation
from aggopt.partition._columns.incumbent import Incumbent
from aggopt.partition._columns.ladder import scaled_bounds
from aggopt.partition._columns.pricing import Pricer
from aggopt.partition._columns.proof import proved
from aggopt.partition._columns.rounding import round_up
from aggopt.partition._columns.start import Searches, search_on
from aggopt.solvers import Solver

RESTARTS, KICKS = 4, 30  # local searches at first, and kicks per record in each
SMALL = 5  # up to this k, prices of all groups can mostly be searched to the end
ROUNDS, TRIALS = 5, 8  # of roundings
STALLED = 1e-4  # of the gap that a round of cuts has to close
STAGES = (4000, 12_000)  # groups in an integer program, those of least reduced cost


@dataclass(frozen=True)
class Task:
    """Records (n, d), k, neighbours (n, c), and who solves the integer programs."""

    Z: Floats
    k: int
    near: Labels
    solver: Solver
    seed: int


def drive(task: Task, best: Incumbent, clock: Clock, report: Progress) -> None:
    """Improve and bound `best` until it is closed, time is up, or nothing helps."""
    searches = Searches(task.Z, task.k, task.near, task.seed)
    generation = Generation(best, Pricer(task.Z, task.k, task.near), clock)
    start = best.labels
    for _ in range(RESTARTS):
        if not clock.over:
            search_on(generation, searches, start, KICKS)
    report(0.1)
    generation.climb()
    if task.k >= SMALL:
        _round(generation, searches, clock)
    report(0.3)
    converged = _price(generation, task, clock)
    report(0.5)
    if converged:
        _cut(generation, _part(clock, 0.5))
    report(0.7)
    _choose(generation, searches, task, clock)
    report(0.9)
    if converged and not best.closed:
        proved(generation, task.solver, clock, clock.left)


def _part(clock: Clock, share: float) -> Clock:
    """Return a clock for this share of the time that is left."""
    return Clock(share * clock.left if np.isfinite(clock.left) else None)


def _round(generation: Generation, searches: Searches, clock: Clock) -> None:
    within = _part(clock, 0.3)
    for _ in range(ROUNDS):
        if within.over:
            return
        round_up(generation, searches, TRIALS)
        generation.climb()


def _price(generation: Generation, task: Task, clock: Clock) -> bool:
    if task.k <= SMALL and generation.price():
        return True
    if generation.best.closed or not scaled_bounds(generation, _part(clock, 0.7)):
        return False
    return generation.price()


def _cut(generation: Generation, within: Clock) -> None:
    """Cut and price until the gap is closed, nothing is broken, or little is gained."""
    best = generation.best
    while not (best.closed or within.over):
        before = best.bound
        if not generation.cut() or not generation.price(climbing=False):
            return
        if best.bound - before < STALLED * (best.value - before):
            return


def _choose(
    generation: Generation, searches: Searches, task: Task, clock: Clock
) -> None:
    """Choose among groups of low reduced cost, and search on from what is chosen."""
    best = generation.best
    for few in STAGES:
        if best.closed or clock.over or generation.solved is None:
            return
        solved = generation.solved
        reduced = generation.master.reduced(solved.duals, generation.pool.costs)
        order = np.argsort(reduced, kind="stable")
        wanted = order[reduced[order] <= best.value - solved.value][:few]
        chosen(generation, task.solver, wanted, clock, clock.left / 4)
        search_on(generation, searches, best.labels, KICKS)
        generation.price(climbing=False, exact=False)
