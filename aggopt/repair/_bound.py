"""What groups of k or more, or t-close ones, lose at least, as a sum of squares."""

from collections.abc import Iterable
from dataclasses import replace

from aggopt.models import closeness_bound as model
from aggopt.partition import _loss_bound as free
from aggopt.repair._problem import Problem
from aggopt.solvers import Certificate, Status, choose, solve

PIECES = (4, 8)  # of f; more prove more, but are harder on the solver
MET = 1e-9  # share of the objective that rounding may leave between it and a bound
ROUNDING = 1e-26  # loss for each entry of z-scores that is none


def least_loss(problem: Problem) -> float:
    """Return the higher of the bounds on SSE for groups of k, and for t-close ones."""
    return max(free.least_loss(problem.Z, problem.k), close_loss(problem))


def close_loss(problem: Problem) -> float:
    """Return the bound on SSE over all records and attributes, 0.0 if none is proven.

    It is of t alone, whatever the sizes of groups.  Whatever the solver says of itself,
    the multipliers that it found prove the bound.
    """
    if problem.ordered.m == 1:
        return 0.0
    place = problem.ordered.place / (problem.ordered.m - 1)
    solver = choose(None, model.MODEL.kind).name
    best = 0.0
    for pieces in PIECES:
        data = model.Data(problem.Z, place, problem.t, pieces)
        program = model.build(data, "cvxpy")
        if solve(program, solver).status.usable:
            found = model.multipliers(program, data)
            best = max(best, 0.0 if found is None else model.proven(data, found))
    return best * problem.Z.size


def highest(
    found: Certificate, bounds: Iterable[float | None], entries: int
) -> Certificate:
    """Return a certificate of SSE with the highest of its bound and these.

    OPTIMAL where that is met, but for the rounding of sums over so many entries.
    """
    known = [b for b in (found.bound, *bounds) if b is not None]
    if not known:
        return found
    bound, objective = min(max(known), found.objective), found.objective
    met = objective - bound <= MET * objective + ROUNDING * entries
    status = Status.OPTIMAL if met else found.status
    return replace(found, bound=bound, status=status)
