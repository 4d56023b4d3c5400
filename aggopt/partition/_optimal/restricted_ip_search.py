"""Integer programs over groups of least reduced cost: few groups first, then more."""

import numpy as np

from aggopt.core.deadline import Deadline
from aggopt.core.validation import Labels
from aggopt.partition._optimal.column_generation import ColumnGeneration
from aggopt.partition._optimal.initial_columns import Searches, continue_search
from aggopt.partition._optimal.pricing import PricingEffort
from aggopt.partition._optimal.restricted_ip import choose_groups
from aggopt.solvers import Solver

# a solver is fast among few groups; many contain a better choice, but take too
# long
FIRST = 1.5  # groups for each record in the first program
GROWTH = 1.5  # times as many after a proof
FEWER = 0.6  # times as many without one
NARROW = (
    1 / 64
)  # of the gap: the reduced cost up to which all groups are searched first
SOUGHT = 4  # groups for each record that are searched
ROOM = 10  # groups for each record that may be found
PROGRAM_PERTURBATIONS = 30  # per record, of local search after a program


def search_among_groups(
    generation: ColumnGeneration,
    searches: Searches,
    solver: Solver,
    clock: Deadline,
    seconds: float,
) -> None:
    """Choose among groups of least reduced cost, and search from the chosen ones.

    The number of groups grows until a solver cannot choose among them within `seconds`,
    or falls until it can.
    """
    best = generation.best
    if clock.over or best.ended:
        return
    _price_all(generation, clock)
    max_groups = int(FIRST * len(best.Z))
    tried = 0
    before = best.value
    while not (clock.over or best.ended):
        wanted = _select_groups(generation, max_groups)
        if len(wanted) in (0, tried):
            return
        done = choose_groups(generation, solver, wanted, clock, seconds)
        if best.value < before:
            continue_search(
                generation, searches, best.labels, PROGRAM_PERTURBATIONS, clock
            )
        elif not done and not tried:
            max_groups = int(FEWER * max_groups)
            continue
        if not done:
            return
        max_groups = int(GROWTH * max_groups)
        tried = len(wanted)
        before = best.value


def _select_groups(generation: ColumnGeneration, max_groups: int) -> Labels:
    """Return up to `most` groups that may belong to a better partition."""
    solved = generation.solve()
    if solved is None:
        return np.empty(0, np.intp)
    gap = generation.best.value - solved.value
    reduced = generation.master.reduced(solved.duals, generation.pool.costs)
    order = np.argsort(reduced, kind="stable")
    return order[reduced[order] <= gap][:max_groups]


def _price_all(generation: ColumnGeneration, clock: Deadline) -> None:
    """Add the groups of least reduced cost among all groups."""
    if generation.proof is None or generation.pricer.duplicates.some:
        return
    best = generation.best
    n = len(generation.best.Z)
    duals = generation.proof[0]
    effort = PricingEffort(keep=ROOM * n, room=ROOM * n)
    gap = best.value - generation.pricer.bound(*generation.proof)
    share = NARROW
    count = SOUGHT * n
    while share <= 1:
        priced = generation.pricer.paying(duals, effort, clock, max_cost=share * gap)
        if not priced.complete:
            return
        order = np.argsort(priced.reduced, kind="stable")[:count]
        generation.add(priced.groups.at(order))
        if len(priced.reduced) >= count:
            return
        share *= 2
