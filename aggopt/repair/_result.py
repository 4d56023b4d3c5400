"""Result of a repair: its certificate, and lower bounds on the sum of squares."""

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from aggopt.core.deadline import LONGEST, Deadline
from aggopt.core.types import F64
from aggopt.core.validation import Labels, renumber_groups
from aggopt.errors import SolverError
from aggopt.models import closeness_bound as model
from aggopt.partition import neighbour_bound as free
from aggopt.partition.shared.result import Partition
from aggopt.repair._problem import Problem
from aggopt.solvers import Certificate, Status, choose_solver, solve

PIECES = (4, 8)  # of f; more give better bounds, but harder programs
MET = 1e-9  # share of the objective that rounding may leave between objective and bound
WIDEST = 24  # directions of the program: 1 s, and seven with twice as many
GRACE = 10.0  # seconds for the bound, which takes one or two, after the search
ROUNDING = 1e-26  # loss for each entry of z-scores that counts as 0


def bound_loss(problem: Problem, left: float = np.inf) -> float:
    """Return the higher of the bounds on SSE for groups of k, and for t-close ones."""
    return max(
        free.compute_loss_bound(problem.Z, problem.k), bound_close_loss(problem, left)
    )


def bound_close_loss(problem: Problem, left: float = np.inf) -> float:
    """Return the bound on SSE over all records and attributes, 0.0 if none is proven.

    The bound is of t only, whatever the sizes of groups. The solver's multipliers prove
    it, whatever the solver reports. If the records have many coordinates, as encoded
    names do, only some directions are used: the loss in these is part of the loss in
    all.

    The solver has `left` seconds and GRACE more, LONGEST at most.
    """
    if problem.ordered.m == 1:
        return 0.0
    place = problem.ordered.place / (problem.ordered.m - 1)
    solver = choose_solver(None, model.MODEL.kind).name
    best = 0.0
    Z = _reduce_directions(problem, place)
    clock = Deadline(min(max(left, 0.0) + GRACE, LONGEST))
    for pieces in PIECES:
        if clock.over:
            break
        data = model.Data(Z, place, problem.t, pieces)
        program = model.build(data, "cvxpy")
        status = solve(program, solver, time_limit=clock.left).status
        if status.usable and status is not Status.UNANSWERED:
            multipliers = model.multipliers(program, data)
            best = max(
                best, 0.0 if multipliers is None else model.proven(data, multipliers)
            )
    return best * Z.size


def _reduce_directions(problem: Problem, place: F64) -> F64:
    """Return records (n, d) in at most WIDEST orthogonal directions.

    Those along which f varies are first, then those along which records vary most.
    """
    Z = problem.Z
    if Z.shape[1] <= WIDEST:
        return Z
    from scipy.linalg import eigh

    centred = Z - Z.mean(axis=0)
    last = Z.shape[1] - 1
    axes_of_records = eigh(
        centred.T @ centred, subset_by_index=[last - WIDEST + 1, last]
    )[1][:, ::-1]
    f_directions = model.Data(Z, place, problem.t, max(PIECES)).way
    axes = np.linalg.qr(np.hstack([centred.T @ f_directions, axes_of_records]))[0]
    return np.asarray(centred @ axes[:, :WIDEST])


def raise_bound(
    certificate: Certificate, bounds: Iterable[float | None], entries: int
) -> Certificate:
    """Return a certificate of SSE with the highest of its bound and `bounds`.

    Its status is OPTIMAL if that bound is met, up to rounding of sums of `entries`
    terms.
    """
    known_bounds = [b for b in (certificate.bound, *bounds) if b is not None]
    if not known_bounds:
        return certificate
    bound = min(max(known_bounds), certificate.objective)
    objective = certificate.objective
    met = objective - bound <= MET * objective + ROUNDING * entries
    status = Status.OPTIMAL if met else certificate.status
    return replace(certificate, bound=bound, status=status)


class MethodResult(NamedTuple):
    """Result of a method; `polished` is the solver of the last program."""

    labels: Labels
    status: Status
    merging: Certificate | None = None
    polished: str | None = None


def select_not_worse(
    problem: Problem, initial: Labels, result: MethodResult
) -> MethodResult:
    """Return the given labels if they satisfy k and t, and no better were found."""
    if problem.holds(initial) and problem.sse(initial) <= problem.sse(result.labels):
        return result._replace(labels=initial, status=Status.KEPT)
    if not problem.holds(result.labels):
        raise SolverError(
            "The groups of the search do not satisfy k and t.",
            fix="name another solver or method, and report this.",
        )
    return result


def certify_repair(
    problem: Problem, result: MethodResult, bound: float, clock: Deadline
) -> Partition:
    """Return the result, renumbered and with its certificate."""
    certificate = _make_certificate(problem, result, bound, clock)
    return Partition(
        renumber_groups(result.labels), certificate, merging=result.merging
    )


def _make_certificate(
    problem: Problem, result: MethodResult, bound: float, clock: Deadline
) -> Certificate:
    """Return the certificate of the result, with the bound."""
    by = result.merging.solver if result.merging else "swaps and moves"
    if result.polished:
        by += f", then {result.polished}"
    certificate = Certificate(
        result.status,
        problem.sse(result.labels),
        None,
        problem.violation(result.labels),
        by,
        clock.spent,
    )
    return raise_bound(certificate, [bound], problem.Z.size)
