"""Proof by enumeration of all groups of a better partition (route enumeration)."""

import numpy as np

from aggopt.core.deadline import Deadline
from aggopt.partition._optimal.column_generation import ColumnGeneration
from aggopt.partition._optimal.pricing import PricingEffort
from aggopt.partition._optimal.restricted_ip import TRUST, choose_groups
from aggopt.solvers import Solver

ENUMERATED = 60_000  # most groups of the integer program
FIRST_ENUMERATED = (
    25_000  # groups of a first program, whose better incumbent leaves fewer
)
EDGE = 1 + 1e-9  # for rounding in the gap


def prove_by_enumeration(
    generation: ColumnGeneration, solver: Solver, clock: Deadline, seconds: float
) -> bool:
    """Close the gap by enumeration; return whether it is closed.

    A partition with a group of reduced cost r or more costs at least the bound plus r.
    So the best partition into groups below r is optimal, or the optimum is at least the
    bound plus r.  Once the groups up to r have no better partition, one must have a
    group above r, and its others below the gap less r.
    """
    best = generation.best
    if generation.proof is None or generation.pricer.duplicates.some:
        return False
    bound = generation.pricer.bound(*generation.proof)
    gap = (best.value - bound) * EDGE
    effort = PricingEffort(keep=ENUMERATED, room=ENUMERATED)
    priced = generation.pricer.paying(generation.proof[0], effort, clock, max_cost=gap)
    if not priced.complete:
        return False
    covered = -np.inf
    for count in (FIRST_ENUMERATED, ENUMERATED):
        order = priced.reduced.argsort(kind="stable")[: count + 1]
        gap = (best.value - bound) * EDGE
        highest = gap
        if len(order) > count:
            highest = min(highest, float(priced.reduced[order[-1]]))
        reduced = priced.reduced[order[:count]]
        beside = (reduced <= gap - covered) | (reduced >= covered)
        cheap = priced.groups.at(order[:count][(reduced <= highest) & beside])
        generation.add(cheap)
        which = generation.pool.places(cheap)
        if not choose_groups(generation, solver, which, clock, seconds):
            return False
        best.prove(min(best.value - TRUST * best.value, bound + highest))
        if best.closed:
            return True
        covered = highest
    return False
