"""Proof: all groups that a better partition could hold, and a program over them."""

import numpy as np

from aggopt.clock import Clock
from aggopt.partition._columns.choice import TRUST, chosen
from aggopt.partition._columns.generation import Generation
from aggopt.partition._columns.pricing import Effort, Priced
from aggopt.solvers import Solver

MANY = 60_000  # groups that an integer program is given
SOME = 25_000  # groups in a first one, which finds a better partition and fewer groups
LEAST = 0.2  # of the gap, below which a proof is not worth its time
EDGE = 1 + 1e-9


def proved(
    generation: Generation, solver: Solver, clock: Clock, seconds: float
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
    found, most = _cheapest(generation, bound, clock)
    if found is None:
        return False
    known = -np.inf
    for count in (SOME, MANY):
        order = found.reduced.argsort(kind="stable")[: count + 1]
        gap = (best.value - bound) * EDGE
        highest = min(most, gap)
        if len(order) > count:
            highest = min(highest, float(found.reduced[order[-1]]))
        reduced = found.reduced[order[:count]]
        beside = (reduced <= gap - known) | (reduced >= known)
        cheap = found.groups.at(order[:count][(reduced <= highest) & beside])
        generation.add(cheap)
        which = generation.pool.places(cheap)
        if not chosen(generation, solver, which, clock, seconds):
            return False
        best.prove(min(best.value - TRUST * max(1.0, best.value), bound + highest))
        if best.closed:
            return True
        known = highest
    return False


def _cheapest(
    generation: Generation, bound: float, clock: Clock
) -> tuple[Priced | None, float]:
    """Return all groups below some reduced cost, the gap if it can be, and that."""
    if generation.proof is None:
        return None, 0.0
    duals, every, share = generation.proof[0], Effort(keep=MANY, room=MANY), 1.0
    while share > LEAST and not clock.over:
        most = share * (generation.best.value - bound) * EDGE
        found = generation.pricer.paying(duals, every, clock, most=most)
        if found.complete:
            return found, most
        share /= 2
    return None, 0.0
