"""Choice of t-close unions of groups by integer programs: whole, or part by part."""

from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from aggopt.core.deadline import Deadline
from aggopt.core.highs_program import MODULES, HighsChoice, HighsProgram, HighsSolution
from aggopt.core.record_weights import compute_plain_group_means
from aggopt.core.types import Floats, Labels
from aggopt.models.closeness_merge import MODEL
from aggopt.partition.shared.restricted_master import RestrictedMaster, require_highs
from aggopt.privacy.distance import compute_starts
from aggopt.repair._problem import Problem, make_close
from aggopt.repair._unions import Unions, find_close_unions
from aggopt.solvers import Certificate, Solver, Status
from aggopt.solvers.certificate import Answer
from aggopt.solvers.options import EXACTLY, TRUST
from aggopt.solvers.process_pool import NoAnswer
from aggopt.solvers.run_solver import GRACE, run_with_hard_limit
from aggopt.solvers.separate_process import RemoteObject, find_status_without_answer

ENTERING = 600  # unions that a round adds to the linear program, at most


@dataclass(frozen=True, eq=False)
class UnionPrices:
    """Result of the linear program.

    Attributes
    ----------
    prices : (m,)
        Prices of the groups.
    reduced : (q,)
        Cost of every union less the prices of its groups.
    shares : (q,)
        Share of every union in the solution, 0 to 1.
    bound
        Bound that the prices prove: no choice of these unions costs less.
    missed
        Status of HiGHS if it did not answer: UNANSWERED or FAILED.
    """

    prices: Floats = field(repr=False)
    reduced: Floats = field(repr=False)
    shares: Floats = field(repr=False)
    bound: float
    missed: Status | None = None


def price_unions(
    unions: Unions, known_count: int, clock: Deadline, seconds: float
) -> UnionPrices:
    """Return the linear program's prices of groups, by adding unions that pay.

    The last `known_count` unions are in from the start. It stops after `seconds`; the
    bound holds then, too.
    """
    with _UnionMaster(unions.m) as master:
        return _price_unions(master, unions, known_count, clock, clock.spent + seconds)


def _price_unions(
    master: "_UnionMaster",
    unions: Unions,
    known_count: int,
    clock: Deadline,
    until: float,
) -> UnionPrices:
    """Return the best prices of groups, by adding unions to the master that pay."""
    q = len(unions.costs)
    m = unions.m
    within = np.zeros(q, bool)
    enter = np.arange(q - known_count, q)
    zero = np.zeros(m)
    best = UnionPrices(zero, unions.compute_reduced_costs(zero), np.zeros(q), 0.0)
    while enter.size and clock.spent < until:
        within[enter] = True
        try:
            solved = master.solve(unions, enter, until - clock.spent)
        except NoAnswer as error:
            return replace(best, missed=find_status_without_answer(error))
        if solved.duals is None:
            break
        prices = solved.duals
        reduced = unions.compute_reduced_costs(solved.duals)
        # a choice has m unions at most: each gains at most the least reduced cost
        proven = float(prices.sum() + m * min(0.0, reduced.min()))
        if proven > best.bound or not best.bound:
            shares = np.zeros(q)
            shares[np.concatenate(master.entered)] = solved.columns
            best = UnionPrices(prices, reduced, shares, max(proven, 0.0))
        paying = np.flatnonzero((reduced < -1e-9) & ~within)
        enter = paying[np.argsort(reduced[paying], kind="stable")[:ENTERING]]
    return best


class _UnionMaster(RestrictedMaster):
    """Restricted master over unions: a row for each group, a column for each union."""

    def __init__(self, m: int) -> None:
        require_highs("Unions")
        super().__init__(m)
        self.entered: list[Labels] = []

    def solve(self, unions: Unions, enter: Labels, seconds: float) -> HighsSolution:
        """Return the linear program's optimum after adding the unions `enter`.

        The duals are None if `seconds` were too few.
        """
        starts, index = unions.rows(enter)
        self.add_columns(unions.costs[enter], starts[:-1], index, np.ones(len(index)))
        self.entered.append(enter)
        return self.ask(seconds, HighsProgram.solve, seconds)


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
    """Return the best t-close unions of groups found, as good as `start` or better.

    `start` (n,) are unions of that kind.
    """
    unions = find_close_unions(problem, labels, start, clock)
    return choose_from(unions, int(start.max()) + 2, start, solver, clock)


def choose_from(
    unions: Unions, known_count: int, start: Labels, solver: Solver, clock: Deadline
) -> Chosen:
    """Return the best choice among unions of groups, with its certificate.

    The last `known_count` unions cover every group, and include those of `start`. Small
    programs come first, part by part, in HiGHS; then `solver` chooses among all unions
    that a better choice may contain. These are known by reduced cost: a better choice
    contains no union that costs more than its groups' prices by the whole gap between
    the best choice and the bound. So the program over the others is as good as the one
    over all.
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
    return Chosen(best, certificate if unions.complete else _remove_bound(certificate))


def _remove_bound(certificate: Certificate) -> Certificate:
    """Return a certificate without its bound, and LOCAL in place of OPTIMAL."""
    optimal = certificate.status is Status.OPTIMAL
    status = Status.LOCAL if optimal else certificate.status
    return replace(certificate, status=status, bound=None)


def _limit_share(clock: Deadline, share: float) -> float:
    """Return a share of the remaining seconds, inf without a limit."""
    return max(0.0, share * clock.left) if np.isfinite(clock.left) else np.inf


def _is_proven(prices: UnionPrices, sse: float) -> bool:
    """Whether the prices' bound shows that a choice of this SSE is optimal."""
    return sse - prices.bound <= ROUNDING * max(1.0, sse)


def _complete_choice(unions: Unions, owner: Labels, known_labels: Labels) -> Labels:
    """Return labels (n,) of chosen unions; groups without one are merged.

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
    """Return the unions that the last integer program may choose."""
    wanted = _select_unions(prices, sse)
    q = len(prices.reduced)
    if len(wanted) > MANY:
        wanted = np.argsort(prices.reduced, kind="stable")[:FEW]
    return np.union1d(wanted, np.arange(q - known_count, q))


def _select_unions(prices: UnionPrices, sse: float) -> Labels:
    """Return the unions that a choice of less SSE may contain, by reduced cost."""
    gap = max(0.0, sse - prices.bound)
    return np.flatnonzero(prices.reduced <= gap * (1 + ROUNDING) + ROUNDING)


def _solve_program(
    unions: Unions, candidates: Labels, solver: Solver, left: float
) -> Answer:
    """Return the solver's answer, from a process that a hard time limit ends."""
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
    """Return the certificate of chosen unions, OPTIMAL if the proof is complete."""
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
    """Return t-close labels (n,) of the same or less SSE, by exchange of records.

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
    """Return t-close groups with one or two changed records, and unchanged ones.

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
    column, record = _flatten_groups(groups)
    fits = _check_groups(problem, column, record, len(groups))
    close_groups = [group for group, fit in zip(groups, fits, strict=True) if fit]
    column, record = _flatten_groups(close_groups + members)
    return Unions(problem, np.arange(n), column, record, complete=False)


def _change_group(now: Labels, into: Labels) -> list[Labels]:
    """Return variants of group `now`: a record less, one more, or one replaced."""
    less = [np.delete(now, i) for i in range(len(now)) if len(now) > 1]
    more = [np.append(now, b) for b in into]
    other = [np.append(rest, b) for rest in less for b in into]
    return less + more + other


def _flatten_groups(groups: list[Labels]) -> tuple[Labels, Labels]:
    """Return the groups' numbers and records, one entry per member."""
    lengths = np.array([len(group) for group in groups], np.intp)
    records = np.concatenate(
        [np.empty(0, np.intp), *groups]
    )  # for groups of one record
    return np.repeat(np.arange(len(groups)), lengths), records


def _check_groups(
    problem: Problem, column: Labels, record: Labels, count: int
) -> Labels:
    """Return whether each of `count` proposed groups is t-close and has k records."""
    sizes = np.bincount(column, minlength=count)
    places = problem.ordered.place[record]
    ordered = places[np.lexsort((places, column))]
    numerators = problem.ordered.runs(ordered, compute_starts(sizes))
    return np.asarray((numerators <= problem.limits[sizes]) & (sizes >= problem.k))


GROUPS = 100  # in the first part, at most; later ones grow while programs are easy
COLUMNS = 3000  # unions in the program of a part, at most
NODES = 200  # of the search of one program, at most
PATIENCE = 60  # consecutive parts without a gain after which the search ends
LONGEST = 3.0  # seconds of one program, if time is limited


@dataclass(eq=False)
class _Choice:
    """Chosen union of each group, `owner` (m,): -1 for none yet."""

    unions: Unions
    owner: Labels = field(repr=False)
    missing: float  # cost of a group without a union

    @property
    def chosen(self) -> Labels:
        """Numbers of the chosen unions."""
        return np.unique(self.owner[self.owner >= 0])

    @property
    def cost(self) -> float:
        """Sum of squares of the chosen unions, and the cost of groups without one."""
        return self.cost_of(np.arange(len(self.owner)))

    def cost_of(self, part: Labels) -> float:
        """Return the cost of the unions that contain these groups."""
        owners = self.owner[part]
        unions = np.unique(owners[owners >= 0])
        missed = int((owners < 0).sum())
        return float(self.unions.costs[unions].sum() + self.missing * missed)

    def take(self, part: Labels, columns: Labels) -> None:
        """Replace the unions of the groups `part` by the unions `columns`."""
        self.owner[part] = -1
        for q in columns:
            self.owner[self.unions.members(q)] = q


class SearchedUnions(NamedTuple):
    """Union of each group (m,), -1 for none; the status of HiGHS without an answer."""

    owner: Labels
    missed: Status | None = None


def search_unions(
    unions: Unions, prices: UnionPrices, missing: float, clock: Deadline, seconds: float
) -> SearchedUnions:
    """Return unions of low total cost for all groups, found part by part.

    The first choice takes the unions of the largest shares in the linear program. Then,
    part by part: some unions of the choice, preferably those of high cost beyond their
    groups' prices, are replaced by the best choice among all unions within their
    groups; a choice costs no less than its groups' prices, so that unions with a
    reduced cost above the part's excess are left out. Random numbers are drawn from a
    fixed seed.
    """
    choice = _Choice(unions, np.full(unions.m, -1, np.intp), missing)
    _round_shares(choice, prices)
    try:
        with RemoteObject(HighsChoice, MODULES) as highs:
            _improve_choice(choice, prices, highs, clock, clock.spent + seconds)
    except NoAnswer as error:
        return SearchedUnions(choice.owner, find_status_without_answer(error))
    return SearchedUnions(choice.owner)


def _improve_choice(
    choice: _Choice,
    prices: UnionPrices,
    highs: RemoteObject[HighsChoice],
    clock: Deadline,
    until: float,
) -> None:
    """Improve a choice of unions part by part, until none improves or time is up."""
    rng = np.random.default_rng(0)
    m = choice.unions.m
    size = min(GROUPS, max(6.0, 2 * m / 3))
    idle = 0
    near = _select_near(choice, prices)
    while idle < PATIENCE and clock.spent < until:
        part = _draw_part(choice, prices, int(size), rng)
        before = choice.cost
        left = until - clock.spent
        # the first complete choice is worth more time than a better one
        incomplete = bool((choice.owner < 0).any())
        longest = max(LONGEST, left / 2) if incomplete else min(LONGEST, left)
        longest = max(0.1, longest) if np.isfinite(until) else np.inf
        easy = _choose_part(choice, prices, part, near, highs, longest)
        size = min(size * 1.05, float(m)) if easy else max(20.0, size * 0.8)
        better = choice.cost < before - 1e-9
        idle = 0 if better else idle + 1
        if better:
            near = _select_near(choice, prices)
        elif easy and len(part) == m:
            return  # the part was everything


def _round_shares(choice: _Choice, prices: UnionPrices) -> None:
    """Choose the unions with the largest shares in the linear program, if disjoint."""
    taken = np.flatnonzero(prices.shares > 1e-6)
    for q in taken[np.argsort(-prices.shares[taken], kind="stable")]:
        groups = choice.unions.members(q)
        if (choice.owner[groups] < 0).all():
            choice.owner[groups] = q


def _select_near(choice: _Choice, prices: UnionPrices) -> Labels:
    """Return the unions that a choice of less cost may contain."""
    excess = choice.cost - float(prices.prices.sum())
    return np.flatnonzero(prices.reduced <= excess + 1e-9)


def _draw_part(
    choice: _Choice, prices: UnionPrices, size: int, rng: np.random.Generator
) -> Labels:
    """Return about `size` groups: those without a union, and random unions."""
    chosen = choice.chosen
    excess = np.maximum(prices.reduced[chosen], 0.0)
    weights = excess + excess.sum() / max(1, len(excess)) / 10 + 1e-9
    order = chosen[np.argsort(-np.log(rng.random(len(chosen))) / weights)]
    groups = np.flatnonzero(choice.owner < 0)
    for q in order:
        members = choice.unions.members(q)
        if not len(groups) or len(groups) + len(members) <= size:
            groups = np.concatenate((groups, members))
    return np.sort(groups)


def _choose_part(
    choice: _Choice,
    prices: UnionPrices,
    part: Labels,
    near: Labels,
    highs: RemoteObject[HighsChoice],
    longest: float,
) -> bool:
    """Choose the best unions for a part of the groups; return whether HiGHS ended."""
    unions = choice.unions
    allowed = np.zeros(unions.m, bool)
    allowed[part] = True
    starts, index = unions.rows(near)
    inside = near[np.logical_and.reduceat(allowed[index], starts[:-1])]
    excess = choice.cost_of(part) - float(prices.prices[part].sum())
    inside = inside[prices.reduced[inside] <= excess + 1e-9]
    by_cost = inside[np.argsort(prices.reduced[inside], kind="stable")]
    current = np.unique(choice.owner[part])
    columns = np.union1d(by_cost[:COLUMNS], current[current >= 0])
    before = choice.cost_of(part)
    owner = choice.owner.copy()
    y, easy = _solve_part(choice, part, columns, highs, longest)
    choice.take(part, columns[y[: len(columns)] > 0.5])
    if choice.cost_of(part) > before:
        choice.owner[:] = owner
    return easy


def _solve_part(
    choice: _Choice,
    part: Labels,
    columns: Labels,
    highs: RemoteObject[HighsChoice],
    longest: float,
) -> tuple[Floats, bool]:
    """Return HiGHS's choice among `columns` for a part, and whether it ended.

    A last column for each group leaves it without a union.
    """
    unions = choice.unions
    starts, index = unions.rows(columns)
    place = np.empty(unions.m, np.intp)
    place[part] = np.arange(len(part))
    lacking = np.arange(len(part))
    is_current = np.isin(columns, choice.owner[part])
    return highs.ask(
        longest,
        HighsChoice.choose,
        np.concatenate((unions.costs[columns], np.full(len(part), choice.missing))),
        np.concatenate((starts, starts[-1] + 1 + lacking)),
        np.concatenate((place[index], lacking)),
        np.concatenate((is_current, choice.owner[part] < 0)).astype(float),
        len(part),
        NODES,
        longest,
    )
