"""From records to the best partition that is found, and the best bound."""

from dataclasses import dataclass

import numpy as np

from aggopt.core.deadline import Deadline
from aggopt.core.progress import Progress
from aggopt.core.validation import Floats, Labels
from aggopt.partition._optimal.branch_and_price import Branches
from aggopt.partition._optimal.column_generation import Generation
from aggopt.partition._optimal.enumeration import proved
from aggopt.partition._optimal.incumbent import Incumbent
from aggopt.partition._optimal.initial_columns import Searches, search_on
from aggopt.partition._optimal.pricing import Pricer
from aggopt.partition._optimal.restricted_ip_search import choose_among
from aggopt.partition._optimal.rounding import round_up
from aggopt.partition._optimal.scaled_duals import scaled_bounds
from aggopt.solvers import Solver

RESTARTS, KICKS = 4, 30  # local searches at first, and kicks per record in each
SMALL = 5  # up to this k, prices of all groups can mostly be searched to the end
TRIALS, PATIENCE = 8, 3  # roundings at a time, and times that they may fail
STALLED = 1e-3  # of the gap that a round of cuts has to close
LONGEST = 300.0  # seconds for an integer program where there is no limit
QUICK = 200  # records up to which branches are tried before integer programs
FEW = 8  # branches that are


@dataclass(frozen=True, eq=False)
class OptimalProblem:
    """Records (n, d), k, neighbours (n, c), labels to begin with, and who solves."""

    Z: Floats
    k: int
    near: Labels
    start: Labels
    solver: Solver
    seed: int


def drive(
    task: OptimalProblem, best: Incumbent, clock: Deadline, report: Progress
) -> None:
    """Improve and bound `best` until it is closed, time is up, or nothing helps."""
    searches = Searches(task.Z, task.k, task.near, task.seed)
    pricer, within = Pricer(task.Z, task.k, task.near), _part(clock, 0.15)
    generation = Generation(best, pricer, clock, task.start)
    for _ in range(RESTARTS):
        if not within.over:
            search_on(generation, searches, task.start, KICKS, within)
    report(0.1)
    generation.climb(_part(clock, 0.25))
    if task.k >= SMALL:
        _round(generation, searches, _part(clock, 0.1))
    if task.k > SMALL:  # prices may take all the time that there is
        _choose(generation, searches, task, _part(clock, 0.2))
    report(0.2)
    converged = _price(generation, task, clock)
    report(0.4)
    if converged:
        _cut(generation, _part(clock, 0.5))
    report(0.5)
    branches = Branches(generation)
    if converged and len(task.Z) <= QUICK:
        branches.look(_part(clock, 0.5), FEW)
    if not best.closed:
        _round(generation, searches, _part(clock, 0.1))
        _choose(generation, searches, task, _part(clock, 0.5))
    report(0.7)
    if converged and not best.closed:
        _cut(generation, _part(clock, 0.3))  # against a smaller gap: more is worth it
        proved(generation, task.solver, clock, _longest(clock, 0.6))
    report(0.8)
    if converged:
        branches.look(clock)


def _part(clock: Deadline, share: float) -> Deadline:
    """Return a clock for this share of the time that is left."""
    return Deadline(share * clock.left if np.isfinite(clock.left) else None)


def _longest(clock: Deadline, share: float) -> float:
    """Return seconds that an integer program may take."""
    return share * clock.left if np.isfinite(clock.left) else LONGEST


def _round(generation: Generation, searches: Searches, within: Deadline) -> None:
    """Round the linear program's choice, search on, and let in what is met."""
    failed = 0
    while failed < PATIENCE and not within.over:
        better = round_up(generation, searches, TRIALS, within)
        failed = 0 if better else failed + 1
        generation.climb(within)


def _price(generation: Generation, task: OptimalProblem, clock: Deadline) -> bool:
    if task.k <= SMALL and generation.price():
        return True
    if generation.best.closed or not scaled_bounds(generation, _part(clock, 0.7)):
        return False
    return generation.price()


def _cut(generation: Generation, within: Deadline) -> None:
    """Cut and price until the gap is closed, nothing is broken, or little is gained."""
    best = generation.best
    while not (best.closed or within.over):
        before = best.bound
        if not generation.cut() or not generation.price():
            return
        if best.bound - before < STALLED * (best.value - before):
            return


def _choose(
    generation: Generation, searches: Searches, task: OptimalProblem, within: Deadline
) -> None:
    """Let integer programs choose; none of them takes more than a part of the time."""
    choose_among(generation, searches, task.solver, within, _longest(within, 0.3))
