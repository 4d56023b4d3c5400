"""Choice of t-close unions of groups by an integer program."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from aggopt.core.deadline import Deadline
from aggopt.core.record_weights import compute_plain_group_means
from aggopt.core.validation import Labels
from aggopt.models.closeness_merge import MODEL
from aggopt.privacy.distance import compute_starts
from aggopt.repair._large_neighbourhood_search import search_unions
from aggopt.repair._pricing import UnionPrices, price_unions
from aggopt.repair._problem import Problem, make_close
from aggopt.repair._unions import Unions, find_close_unions
from aggopt.solvers import Certificate, Solver, Status
from aggopt.solvers.certificate import Answer
from aggopt.solvers.options import EXACTLY, TRUST
from aggopt.solvers.run_solver import GRACE, run_with_hard_limit

ROUNDING = 1e-9
MANY = 40_000  # unions in the last integer program, at most
FEW = 10_000  # of least reduced cost, if an optimum may contain more than MANY


class Chosen(NamedTuple):
    """Labels (n,), and the certificate of the program that chose them."""

    labels: Labels
    certificate: Certificate


def choose_unions(
    problem: Problem, labels: Labels, start: Labels, solver: Solver, clock: Deadline
) -> Chosen:
    """Return t-close unions of the groups of labels (n,), as good as `start` or better.

    `start` (n,) are unions of that kind.
    """
    unions = find_close_unions(problem, labels, start, clock)
    return choose_from(unions, int(start.max()) + 2, start, solver, clock)


def choose_from(
    unions: Unions, known_count: int, start: Labels, solver: Solver, clock: Deadline
) -> Chosen:
    """Return the best choice of unions found, with its certificate.

    The last `known` unions cover every group, and include those of `start`. Small
    programs come first, part by part, in HiGHS; then `solver` chooses among all unions
    that a better choice may contain. These are known by reduced cost: a better choice
    contains no union that costs more than its groups' prices by the whole gap between
    the best choice and the bound. So the program over the others is as good as the one
    over all.

    Small programs first, part by part, in HiGHS; then `solver` has the last word over
    all unions that a better choice may hold.  By reduced cost: a union that costs more
    than its groups' prices by all that separates the best choice from the bound is in
    no better choice.  So the program over all others is as good as that over all.
    """
    problem = unions.problem
    prices = price_unions(unions, known_count, clock, _limit_share(clock, 0.5))
    clock.report(0.4)
    best = start
    best_sse = problem.sse(start)
    missed = prices.missed  # then HiGHS is not called again
    if not (missed or _is_proven(prices, best_sse)):
        search = search_unions(
            unions, prices, best_sse + 1.0, clock, _limit_share(clock, 0.7)
        )
        best = min(best, _complete_choice(unions, search.owner, best), key=problem.sse)
        best_sse = problem.sse(best)
        missed = search.missed
    clock.report(0.7)
    complete = _is_proven(prices, best_sse)
    status = Status.LIMIT
    left = clock.left
    if not complete and left > 1:
        candidates = _select_for_program(prices, best_sse, known_count)
        last = _solve_program(unions, candidates, solver, left)
        status = last.status
        if last.reading is not None and problem.sse(last.reading) < best_sse:
            best = last.reading
            best_sse = problem.sse(last.reading)
        left_out = np.setdiff1d(_select_unions(prices, best_sse), candidates)
        complete = status is Status.OPTIMAL and len(left_out) == 0
    certificate = _make_certificate(prices, best_sse, complete, status, solver, clock)
    if missed and not complete:
        certificate = replace(certificate, status=missed)
    return Chosen(best, certificate if unions.complete else _drop_bound(certificate))


def _drop_bound(certificate: Certificate) -> Certificate:
    """Return a certificate that claims nothing about unions not considered."""
    optimal = certificate.status is Status.OPTIMAL
    status = Status.LOCAL if optimal else certificate.status
    return replace(certificate, status=status, bound=None)


def _limit_share(clock: Deadline, share: float) -> float:
    return max(0.0, share * clock.left) if np.isfinite(clock.left) else np.inf


def _is_proven(prices: UnionPrices, sse: float) -> bool:
    return sse - prices.bound <= ROUNDING * max(1.0, sse)


def _complete_choice(unions: Unions, owner: Labels, known_labels: Labels) -> Labels:
    """Return labels (n,) of a choice; groups without a union are merged.

    If the groups are single records, which would take long, or if time was too short
    for any choice, the known labels are returned.
    """
    single = unions.m == len(unions.labels)
    if (owner < 0).all() or (single and (owner < 0).any()):
        return known_labels
    alone = np.arange(len(owner)) + len(unions.costs)
    whose = np.where(owner < 0, alone, owner)[unions.labels]
    united = np.unique(whose, return_inverse=True)[1].astype(np.intp)
    return united if (owner >= 0).all() else make_close(unions.problem, united)


def _select_for_program(prices: UnionPrices, sse: float, known_count: int) -> Labels:
    """Return the unions of the last program."""
    wanted = _select_unions(prices, sse)
    q = len(prices.reduced)
    if len(wanted) > MANY:
        wanted = np.argsort(prices.reduced, kind="stable")[:FEW]
    return np.union1d(wanted, np.arange(q - known_count, q))


def _select_unions(prices: UnionPrices, sse: float) -> Labels:
    gap = max(0.0, sse - prices.bound)
    return np.flatnonzero(prices.reduced <= gap * (1 + ROUNDING) + ROUNDING)


def _solve_program(
    unions: Unions, candidates: Labels, solver: Solver, left: float
) -> Answer:
    """Solve in a separate process, as the time limit of HiGHS is soft."""
    limit = max(left - GRACE, left / 2) if np.isfinite(left) else None
    exactly = EXACTLY.get(solver.native.lower())
    return run_with_hard_limit(MODEL, unions.data(candidates), solver, limit, exactly)


def _make_certificate(
    prices: UnionPrices,
    sse: float,
    complete: bool,
    status: Status,
    solver: Solver,
    clock: Deadline,
) -> Certificate:
    """Return the certificate of a choice, OPTIMAL if it is complete."""
    stopped = status in (Status.LIMIT, Status.UNANSWERED)
    ended = Status.OPTIMAL if complete else status if stopped else Status.UNPROVEN
    if not complete and status in (Status.OPTIMAL, Status.LOCAL):
        ended = Status.LOCAL
    bound = max(prices.bound, (1 - TRUST) * sse) if complete else prices.bound
    bound = min(bound, sse)
    return Certificate(ended, sse, bound, 0.0, solver.name, clock.spent)


INTO = 12  # nearest records that may join a group


class Exchanged(NamedTuple):
    """Labels (n,), and the status of the last program."""

    labels: Labels
    status: Status


def exchange_records(
    problem: Problem, labels: Labels, solver: Solver, clock: Deadline
) -> Exchanged:
    """Return t-close labels (n,), as good as the given ones or better.

    A program of `closeness_merge`, of records in place of groups, chooses from the
    groups unchanged, with one record less, one more, or one replaced: it finds cycles
    of changes whose single steps would each increase the loss or break t. The program
    is repeated on its result until it finds nothing better or time is up.
    """
    status = Status.LIMIT
    while not clock.over:
        m = int(labels.max()) + 1
        before = problem.sse(labels)
        changes = _list_changes(problem, labels, clock)
        if changes is None:
            return Exchanged(labels, Status.LIMIT)
        chosen = choose_from(changes, m, labels, solver, clock)
        status = chosen.certificate.status
        if problem.sse(chosen.labels) >= before - 1e-9:
            break
        labels = chosen.labels
    is_local = status in (Status.OPTIMAL, Status.LOCAL)
    return Exchanged(labels, Status.LOCAL if is_local else status)


def _list_changes(problem: Problem, labels: Labels, clock: Deadline) -> Unions | None:
    """Return the t-close groups with a record or two changed, then all unchanged ones.

    None if the changes take half of the time: the program takes longer.
    """
    from scipy.spatial import cKDTree

    sizes = np.bincount(labels)
    n = len(labels)
    means = compute_plain_group_means(problem.Z, labels)
    wanted = min(n, int(sizes.max()) + INTO)
    near = cKDTree(problem.Z).query(means, np.arange(1, wanted + 1))[1]
    members = np.split(np.argsort(labels, kind="stable"), np.cumsum(sizes)[:-1])
    groups: list[Labels] = []
    until = clock.spent + clock.left / 2
    for now, row in zip(members, near, strict=True):
        if clock.spent > until:
            return None
        groups += _change_group(now, row[~np.isin(row, now)][:INTO])
    column, record = _flatten(groups)
    fits = _check_groups(problem, column, record, len(groups))
    close_groups = [group for group, fit in zip(groups, fits, strict=True) if fit]
    column, record = _flatten(close_groups + members)
    return Unions(problem, np.arange(n), column, record, complete=False)


def _change_group(now: Labels, into: Labels) -> list[Labels]:
    """Return a group with one record less, one more, or one replaced."""
    less = [np.delete(now, i) for i in range(len(now)) if len(now) > 1]
    more = [np.append(now, b) for b in into]
    other = [np.append(rest, b) for rest in less for b in into]
    return less + more + other


def _flatten(groups: list[Labels]) -> tuple[Labels, Labels]:
    lengths = np.array([len(group) for group in groups], np.intp)
    records = np.concatenate(
        [np.empty(0, np.intp), *groups]
    )  # for groups of one record
    return np.repeat(np.arange(len(groups)), lengths), records


def _check_groups(
    problem: Problem, column: Labels, record: Labels, count: int
) -> Labels:
    """Return whether each proposed group is t-close and has k records."""
    sizes = np.bincount(column, minlength=count)
    places = problem.ordered.place[record]
    ordered = places[np.lexsort((places, column))]
    numerators = problem.ordered.runs(ordered, compute_starts(sizes))
    return np.asarray((numerators <= problem.limits[sizes]) & (sizes >= problem.k))
