"""Integer programs over groups of least reduced cost: few groups first, then more."""

import numpy as np

from aggopt.core.deadline import Deadline
from aggopt.core.validation import Labels
from aggopt.partition._optimal.column_generation import ColumnGeneration
from aggopt.partition._optimal.initial_columns import Searches, search_on
from aggopt.partition._optimal.pricing import PricingEffort
from aggopt.partition._optimal.restricted_ip import chosen
from aggopt.solvers import Solver

# a solver is fast among few groups; many contain a better choice, but take too
# long
FIRST, MORE, FEWER = 1.5, 1.5, 0.6  # groups for each record, and times as many then
NARROW = (
    1 / 64
)  # of the gap: the reduced cost up to which all groups are searched first
SOUGHT, ROOM = 4, 10  # groups for each record that are searched, and may be found
PERTURBATIONS = 30  # per record, of local search after a program


def choose_among(
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
    _seek(generation, clock)
    most, asked, before = int(FIRST * len(best.Z)), 0, best.value
    while not (clock.over or best.ended):
        wanted = _wanted(generation, most)
        if len(wanted) in (0, asked):
            return
        done = chosen(generation, solver, wanted, clock, seconds)
        if best.value < before:
            search_on(generation, searches, best.labels, PERTURBATIONS, clock)
        elif not done and not asked:
            most = int(FEWER * most)
            continue
        if not done:
            return
        most, asked, before = int(MORE * most), len(wanted), best.value


def _wanted(generation: ColumnGeneration, most: int) -> Labels:
    """Return up to `most` groups that may belong to a better partition."""
    solved = generation.solve()
    if solved is None:
        return np.empty(0, np.intp)
    gap = generation.best.value - solved.value
    reduced = generation.master.reduced(solved.duals, generation.pool.costs)
    order = np.argsort(reduced, kind="stable")
    return order[reduced[order] <= gap][:most]


def _seek(generation: ColumnGeneration, clock: Deadline) -> None:
    """Add the groups of least reduced cost among all groups."""
    if generation.proof is None or generation.pricer.duplicates.some:
        return
    best, n = generation.best, len(generation.best.Z)
    duals, every = generation.proof[0], PricingEffort(keep=ROOM * n, room=ROOM * n)
    gap = best.value - generation.pricer.bound(*generation.proof)
    share, count = NARROW, SOUGHT * n
    while share <= 1:
        found = generation.pricer.paying(duals, every, clock, most=share * gap)
        if not found.complete:
            return
        order = np.argsort(found.reduced, kind="stable")[:count]
        generation.add(found.groups.at(order))
        if len(found.reduced) >= count:
            return
        share *= 2
