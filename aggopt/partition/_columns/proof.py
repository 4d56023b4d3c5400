"""Proof: all groups that a better partition could hold, and a program over them."""

from aggopt.clock import Clock
from aggopt.partition._columns.choice import TRUST, chosen
from aggopt.partition._columns.generation import Generation
from aggopt.partition._columns.pricing import Effort
from aggopt.solvers import Solver

MANY = 60_000  # groups that an integer program is given
SHARES = (0.25, 1.0)  # of the gap that is asked for, one after the other
EDGE = 1 + 1e-9


def proved(
    generation: Generation, solver: Solver, clock: Clock, seconds: float
) -> bool:
    """Close the gap by enumeration, as far as it can be; return whether it is closed.

    A partition that holds a group of reduced cost r or more costs the bound and r, at
    least.  So the best one of all groups below r is the best of all, or none is
    better than the bound and r.
    """
    best = generation.best
    if generation.proof is None:
        return False
    duals, least = generation.proof
    bound = generation.pricer.bound(duals, least)
    every = Effort(keep=MANY, room=MANY)
    for share in SHARES:
        if best.closed:
            return True
        most = share * (best.value - bound) * EDGE
        found = generation.pricer.paying(duals, every, clock, most=most)
        if not found.complete:
            return False
        generation.add(found.groups)
        which = generation.pool.places(found.groups)
        if not chosen(generation, solver, which, clock, seconds):
            return False
        best.prove(min(best.value - TRUST * max(1.0, best.value), bound + most / EDGE))
    return best.closed
