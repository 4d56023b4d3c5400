"""Proof: all groups that a better partition could hold, and a program over them."""

import numpy as np

from aggopt.core.deadline import Deadline
from aggopt.partition._optimal.column_generation import Generation
from aggopt.partition._optimal.pricing import PricingEffort
from aggopt.partition._optimal.restricted_ip import TRUST, chosen
from aggopt.solvers import Solver

MANY = 60_000  # groups that an integer program is given
SOME = 25_000  # groups in a first one, which finds a better partition and fewer groups
EDGE = 1 + 1e-9


def proved(
    generation: Generation, solver: Solver, clock: Deadline, seconds: float
) -> bool:
    """Close the gap by enumeration, as far as it can be; return whether it is closed.

    A partition that holds a group of reduced cost r or more costs the bound and r, at
    least.  So the best one of all groups below r is the best of all, or none is
    better than the bound and r.  Once the groups up to r are known to hold no better
    partition, one must hold a group above r, and then others below the gap less r only.
    """
    best = generation.best
    if generation.proof is None or generation.pricer.copies.some:
        return False
    bound = generation.pricer.bound(*generation.proof)
    gap = (best.value - bound) * EDGE
    every = PricingEffort(keep=MANY, room=MANY)
    found = generation.pricer.paying(generation.proof[0], every, clock, most=gap)
    if not found.complete:
        return False
    known = -np.inf
    for count in (SOME, MANY):
        order = found.reduced.argsort(kind="stable")[: count + 1]
        gap = (best.value - bound) * EDGE
        highest = gap
        if len(order) > count:
            highest = min(highest, float(found.reduced[order[-1]]))
        reduced = found.reduced[order[:count]]
        beside = (reduced <= gap - known) | (reduced >= known)
        cheap = found.groups.at(order[:count][(reduced <= highest) & beside])
        generation.add(cheap)
        which = generation.pool.places(cheap)
        if not chosen(generation, solver, which, clock, seconds):
            return False
        best.prove(min(best.value - TRUST * best.value, bound + highest))
        if best.closed:
            return True
        known = highest
    return False
