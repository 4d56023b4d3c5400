"""Schedule of `optimal`: pricing, rounding, cuts, integer programs, branching."""

from dataclasses import dataclass

import numpy as np

from aggopt.core.deadline import Deadline
from aggopt.core.progress import Progress
from aggopt.core.validation import Floats, Labels
from aggopt.partition._optimal.branch_and_price import BranchAndPrice
from aggopt.partition._optimal.column_generation import ColumnGeneration
from aggopt.partition._optimal.enumeration import prove_by_enumeration
from aggopt.partition._optimal.incumbent import Incumbent
from aggopt.partition._optimal.initial_columns import Searches, continue_search
from aggopt.partition._optimal.pricing import Pricer
from aggopt.partition._optimal.restricted_ip_search import search_among_groups
from aggopt.partition._optimal.rounding import try_roundings
from aggopt.partition._optimal.scaled_duals import raise_bound_by_scaling
from aggopt.solvers import Solver

RESTARTS = 4  # initial local searches
PERTURBATIONS = 30  # per record, in each of them
SMALL = 5  # largest k for which exact pricing mostly ends
TRIALS, PATIENCE = 8, 3  # roundings in a batch; batches without improvement
STALLED = 1e-3  # share of the gap that a round of cuts must close
LONGEST = 300.0  # seconds for an integer program without a deadline
QUICK = 200  # records up to which branching precedes integer programs
FEW = 8  # nodes of that branching, at least
NODES = 4000  # for one record: an integer program also costs a process


@dataclass(frozen=True, eq=False)
class OptimalProblem:
    """Records (n, d), k, neighbours (n, c), initial labels and integer solver.

    Also sampling weights (n,), None if all are equal.
    """

    Z: Floats
    k: int
    near: Labels
    start: Labels
    solver: Solver
    seed: int
    weights: Floats | None = None


def run_schedule(
    task: OptimalProblem, best: Incumbent, clock: Deadline, report: Progress
) -> None:
    """Improve and bound `best` until the gap is closed or the deadline passes.

    It also ends when a partition is found that requires other units.

    Raises
    ------
    NoAnswer
        HiGHS did not return in time, or its process ended.
    """
    pricer = Pricer(task.Z, task.k, task.near, task.weights)
    generation = ColumnGeneration(best, pricer, clock, task.start)
    with generation.master:
        _run_steps(generation, task, best, clock, report)


def _run_steps(
    generation: ColumnGeneration,
    task: OptimalProblem,
    best: Incumbent,
    clock: Deadline,
    report: Progress,
) -> None:
    searches = Searches(task.Z, task.k, task.near, task.seed, task.weights)
    within = _make_deadline(clock, 0.15)
    for _ in range(RESTARTS):
        if not within.over:
            continue_search(generation, searches, task.start, PERTURBATIONS, within)
    if best.outgrown:
        return
    report(0.1)
    generation.price_heuristically(_make_deadline(clock, 0.25))
    if task.k >= SMALL:
        _round_until_idle(generation, searches, _make_deadline(clock, 0.1))
    if task.k > SMALL:  # pricing may take all the remaining time
        _choose_groups(generation, searches, task, _make_deadline(clock, 0.2))
    report(0.2)
    converged = _price_until_done(generation, task, clock)
    report(0.4)
    if converged:
        _cut_until_done(generation, _make_deadline(clock, 0.5))
    report(0.5)
    branches = BranchAndPrice(generation)
    if converged and len(task.Z) <= QUICK:
        branches.process(_make_deadline(clock, 0.5), max(FEW, NODES // len(task.Z)))
    if not best.ended:
        _round_until_idle(generation, searches, _make_deadline(clock, 0.1))
        _choose_groups(generation, searches, task, _make_deadline(clock, 0.5))
    report(0.7)
    if converged and not best.ended:
        _cut_until_done(
            generation, _make_deadline(clock, 0.3)
        )  # with a smaller gap more cuts pay
        prove_by_enumeration(generation, task.solver, clock, _limit_program(clock, 0.6))
    report(0.8)
    if converged:
        branches.process(clock)


def _make_deadline(clock: Deadline, share: float) -> Deadline:
    """Return a deadline after this share of the remaining time."""
    return Deadline(share * clock.left if np.isfinite(clock.left) else None)


def _limit_program(clock: Deadline, share: float) -> float:
    """Return the time limit of an integer program."""
    return share * clock.left if np.isfinite(clock.left) else LONGEST


def _round_until_idle(
    generation: ColumnGeneration, searches: Searches, within: Deadline
) -> None:
    """Round the master's solution, improve it, and add the collected groups."""
    failed = 0
    while failed < PATIENCE and not within.over:
        better = try_roundings(generation, searches, TRIALS, within)
        failed = 0 if better else failed + 1
        generation.price_heuristically(within)


def _price_until_done(
    generation: ColumnGeneration, task: OptimalProblem, clock: Deadline
) -> bool:
    if task.k <= SMALL and generation.price():
        return True
    if generation.best.ended or not raise_bound_by_scaling(
        generation, _make_deadline(clock, 0.7)
    ):
        return False
    return generation.price()


def _cut_until_done(generation: ColumnGeneration, within: Deadline) -> None:
    """Cut and price until the gap is closed, no cut is violated, or it stalls."""
    best = generation.best
    while not (best.ended or within.over):
        before = best.bound
        if not generation.cut() or not generation.price():
            return
        if best.bound - before < STALLED * (best.value - before):
            return


def _choose_groups(
    generation: ColumnGeneration,
    searches: Searches,
    task: OptimalProblem,
    within: Deadline,
) -> None:
    """Solve restricted integer programs, each within a part of the time."""
    search_among_groups(
        generation, searches, task.solver, within, _limit_program(within, 0.3)
    )
