"""Column generation, cuts, and the integer program over the columns."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from aggopt.core.deadline import Deadline
from aggopt.core.highs_program import HighsProgram
from aggopt.core.record_weights import multiply_by_weights
from aggopt.core.types import Bool, Floats, Labels
from aggopt.models import set_partition as model
from aggopt.partition._optimal.columns import (
    ColumnPool,
    GroupColumns,
    group_columns,
    number_groups,
)
from aggopt.partition._optimal.incumbent import Incumbent
from aggopt.partition._optimal.pricing import (
    Duals,
    Pair,
    PricedGroups,
    Pricer,
    PricingEffort,
    SubsetCut,
    _index_by_record,
)
from aggopt.partition.shared.restricted_master import RestrictedMaster
from aggopt.solvers import Solver, Status
from aggopt.solvers.certificate import Answer
from aggopt.solvers.options import EXACTLY
from aggopt.solvers.run_solver import GRACE, run_with_hard_limit

if TYPE_CHECKING:
    from aggopt.algorithms.pair_bound import PairPrices

ROOM = 10_000  # for violated cuts, at first
FEW = 20  # cuts of three from which on cuts of five are not separated


def find_violated_cuts(
    groups: GroupColumns, share: Floats, few: Bool, have: set[SubsetCut], max_cuts: int
) -> list[SubsetCut]:
    """Return up to `max_cuts` cuts of 3 or 5 records that the shares violate most.

    `share` (q,) is the chosen share of each group; cuts contain records of `few` (n,).
    """
    from aggopt.partition._optimal import subset_row_kernels as kernels

    fractional = (share > 1e-6) & (share < 1 - 1e-6)
    columns = groups.members[fractional]
    share = share[fractional]
    records = np.unique(columns[columns >= 0])
    records = records[few[records]]
    if not len(records):
        return []
    place = np.full(len(few) + 1, -1, np.int32)  # the last is for -1
    place[records] = np.arange(len(records))
    columns = place[columns]
    pairs = np.empty((len(records), len(records)))
    kernels.fill_pair_shares(columns, share, pairs)
    arguments = columns, share, pairs, *_index_columns(columns, len(records))
    separated = [_separate_cuts(kernels.find_triples, arguments, 3)]
    if len(separated[0][1]) < FEW:
        separated.append(_separate_cuts(kernels.find_quintuples, arguments, 5))
    violations = {}
    for rows, excess in separated:
        for row, violation in zip(records[rows].tolist(), excess.tolist(), strict=True):
            violations[SubsetCut(tuple(row))] = violation
    order = sorted(
        (cut for cut in violations if cut not in have),
        key=lambda c: (-violations[c], c),
    )
    return order[:max_cuts]


def _separate_cuts(
    kernel: Any, arguments: tuple[Any, ...], width: int
) -> tuple[Any, Any]:
    """Return all violated cuts that a kernel finds, and the violation of each."""
    room = ROOM
    while True:
        rows = np.empty((room, width), np.int32)
        excess = np.empty(room)
        count = kernel(*arguments, rows, excess)
        if count <= room:
            return rows[:count], excess[:count]
        room = count


def count_quotients(groups: GroupColumns, cuts: list[SubsetCut], n: int) -> Any:
    """Return floor(|S & T| / p) of each cut and group, sparse, by columns."""
    from scipy.sparse import csc_array

    inside = groups.members >= 0
    record = groups.members[inside]
    column = np.repeat(np.arange(len(groups.sizes)), groups.sizes)
    incidence = csc_array(
        (np.ones(len(record)), (record, column)), (n, len(groups.sizes))
    )
    cut = np.repeat(np.arange(len(cuts)), [len(c.records) for c in cuts])
    records = np.array([i for c in cuts for i in c.records], np.intp)
    counts = csc_array((np.ones(len(cut)), (cut, records)), (len(cuts), n)) @ incidence
    counts.data //= np.array([c.divisor for c in cuts], np.intp)[counts.indices]
    counts.eliminate_zeros()
    return counts


def _index_columns(columns: Any, r: int) -> tuple[Any, Any]:
    """Return (first, groups): record i is in groups[first[i] : first[i + 1]]."""
    q, at = np.nonzero(columns >= 0)
    return _index_by_record(columns[q, at].astype(np.int64), q.astype(np.int64), r)


EXACT = 1e-9  # tolerance of reduced costs


@dataclass(frozen=True, eq=False)
class MasterSolution:
    """Solution of the linear program: objective, shares of groups (q,), and duals."""

    value: float
    share: Floats
    duals: Duals

    @property
    def is_integral(self) -> bool:
        """Whether all shares of groups are whole numbers."""
        return bool((np.abs(self.share - np.rint(self.share)) < 1e-6).all())


class GroupMaster(RestrictedMaster):
    """Rows for records and cuts, columns for groups; see `aggopt.models.set_partition`.

    The first n columns are single records, allowed in branches only and at a cost above
    any group's: they keep the program feasible until the groups that a branch allows
    cover every record.
    """

    def __init__(self, n: int) -> None:
        super().__init__(n)
        self.n = n
        self.cuts: list[SubsetCut] = []
        self.groups = GroupColumns(np.empty((0, 0), np.int32), np.empty(0, np.intp))
        self.together: tuple[Pair, ...] = ()
        self.apart: tuple[Pair, ...] = ()
        self.then(HighsProgram.set_option, "dual_feasibility_tolerance", EXACT)
        records = np.arange(n, dtype=np.int32)
        zeros = np.zeros(n)
        self.then(HighsProgram.add_columns, zeros, zeros, records, records, np.ones(n))

    def add(self, groups: GroupColumns, costs: Floats) -> None:
        """Add groups (q, 2k - 1) as columns of the linear program, with their costs."""
        count = len(groups.sizes)
        if not count:
            return
        rows = [groups.members[groups.members >= 0]]
        column_parts = [np.repeat(np.arange(count), groups.sizes)]
        entries = [np.ones(len(rows[0]))]
        if self.cuts:
            quotients = count_quotients(groups, self.cuts, self.n).tocoo()
            rows.append(quotients.row + self.n)
            column_parts.append(quotients.col)
            entries.append(quotients.data)
        columns = np.concatenate(column_parts)
        order = np.argsort(columns, kind="stable")
        starts = np.searchsorted(columns[order], np.arange(count))
        index = np.concatenate(rows)[order]
        entry = np.concatenate(entries)[order]
        self.add_columns(costs, starts, index, entry)
        before = self.groups
        if not len(before.sizes):
            self.groups = groups
            return
        self.groups = GroupColumns(
            np.concatenate([before.members, groups.members]),
            np.concatenate([before.sizes, groups.sizes]),
        )

    def add_cuts(self, cuts: list[SubsetCut]) -> None:
        """Add cuts as rows of the linear program, valid for every partition."""
        quotients = count_quotients(self.groups, cuts, self.n).tocsr()
        for row, cut in enumerate(cuts):
            part = slice(quotients.indptr[row], quotients.indptr[row + 1])
            index = (self.n + quotients.indices[part]).astype(np.int32)
            self.then(HighsProgram.add_row, cut.side, index, quotients.data[part])
        self.cuts.extend(cuts)

    def solve(self, seconds: float = np.inf) -> MasterSolution | None:
        """Return the linear program's optimum; None if the time limit ends it."""
        solution = self.ask(seconds, HighsProgram.solve, seconds)
        if solution.status not in ("kOptimal", "kTimeLimit"):
            # a warm start may fail: solve from the beginning
            solution = self.ask(seconds, HighsProgram.solve_anew)
        if solution.status != "kOptimal" or solution.duals is None:
            return None
        duals = Duals(
            solution.duals[: self.n],
            tuple(self.cuts),
            np.minimum(solution.duals[self.n :], 0.0),
            self.together,
            self.apart,
        )
        return MasterSolution(solution.objective, solution.columns[self.n :], duals)

    def branch(
        self, together: Sequence[Pair], apart: Sequence[Pair], alone: float
    ) -> None:
        """Exclude groups that split a pair of `together` or contain one of `apart`.

        A single record costs `alone`.
        """
        members = self.groups.members
        n = self.n
        barred = np.zeros(len(members), bool)
        for i, j in together:
            barred |= (members == i).any(axis=1) ^ (members == j).any(axis=1)
        for i, j in apart:
            barred |= (members == i).any(axis=1) & (members == j).any(axis=1)
        self.together = tuple(together)
        self.apart = tuple(apart)
        branched = bool(together or apart)
        upper_bounds = np.where(
            np.append(np.full(n, not branched), barred), 0.0, np.inf
        )
        self.then(HighsProgram.change_bounds, upper_bounds)
        self.then(HighsProgram.change_costs, np.full(n, alone))

    def guess(self, iterations: int, seconds: float = np.inf) -> float:
        """Return a lower bound: the objective after some dual simplex iterations."""
        return self.ask(seconds, HighsProgram.objective_after, iterations)

    def compute_reduced_costs(
        self, duals: Duals, costs: Floats, which: Labels | None = None
    ) -> Floats:
        """Return the reduced cost of each group at these duals, (q,)."""
        groups = self.groups if which is None else self.groups.at(which)
        u = np.append(duals.u, 0.0)
        reduced = costs - u[groups.members].sum(axis=1)
        if len(duals.cuts):
            reduced -= count_quotients(groups, list(duals.cuts), self.n).T @ duals.s
        return np.asarray(reduced)


CLIMBED = 3000  # groups of least reduced cost that heuristic pricing starts from
ENTERING = 4000  # most groups that a round adds
CALM = 5  # largest k without dual smoothing
KEPT = 0.8  # weight of the stability centre
STEP = 0.1  # of the stability centre to the duals
CUTS = 200  # most cuts that a round adds
# exact pricing takes long while duals are far off: truncated first
PHASES = (
    PricingEffort(12, 3000),
    PricingEffort(20, 20_000),
    PricingEffort(40, 100_000),
)


class ColumnGeneration:
    """Restricted master with its column pool, pricing and cuts.

    The first stability centre is the prices of the pair program.  Without them it is
    each record's share of the SSE of the labels `start`, the incumbent's by default:
    duals that are too high fall fast, low ones rise slowly.

    Attributes
    ----------
    solved
        Last solution of the restricted master.
    root
        Duals of the pair program, at which no group prices out; None without it.
    bound
        Lower bound of the present branch.
    proof
        Duals and least reduced costs (n,) that prove the bound without branching.
    """

    def __init__(
        self,
        best: Incumbent,
        pricer: Pricer,
        clock: Deadline,
        start: Labels | None = None,
        prices: "PairPrices | None" = None,
    ) -> None:
        self.best = best
        self.pricer = pricer
        self.clock = clock
        self.pool = ColumnPool(best.Z, best.k, best.exact, best.weights)
        self.master = GroupMaster(len(best.Z))
        self.solved: MasterSolution | None = None
        self.proof: tuple[Duals, Floats] | None = None
        self.bound = -np.inf
        self.root: Duals | None = None
        if prices is not None:
            self.root = Duals.of_pairs(prices, best.k, pricer.duplicates.many)
            self.centre = self.root.spread
        else:
            first = best.labels if start is None else start
            self.centre = _share_sse(best.Z, first, best.weights)
        self.add(group_columns(best.labels, best.k))

    def add(self, groups: GroupColumns) -> int:
        """Add groups to the linear program; return how many are new."""
        new = self.pool.add(groups)
        self.master.add(self.pool.all.at(new), self.pool.costs[new])
        return len(new)

    def offer(self, labels: Labels) -> bool:
        """Add the groups of labels (n,); return whether they lower the best SSE."""
        self.add(group_columns(labels, self.best.k))
        return self.best.offer(labels)

    def solve(self) -> MasterSolution | None:
        """Return the linear program's solution; None if the time is up."""
        solved = self.master.solve(self.clock.left)
        if solved is not None:
            self.solved = solved
            if solved.is_integral:
                self._offer_chosen(self.pool.all.at(solved.share > 0.5))
        return solved

    def _offer_chosen(self, chosen: GroupColumns) -> None:
        """Offer groups as a new incumbent if they hold every record."""
        n = self.master.n
        if chosen.sizes.sum() == n:  # no single record is chosen
            self.best.offer(number_groups(chosen, n))

    def price_heuristically(self, clock: Deadline) -> bool:
        """Add groups by heuristic pricing until none pays; False if time is up."""
        while not clock.over and (solved := self.solve()) is not None:
            if not self._price_smoothed(solved):
                return True
        return False

    def _price_smoothed(self, solved: MasterSolution) -> int:
        """Add groups that price out at smoothed or exact duals; return their number.

        For large k the duals of a few hundred groups oscillate: smoothing converges in
        fewer rounds.
        """
        if self.best.k <= CALM:
            return self._price_heuristically(solved.duals)
        mixed = Duals(KEPT * self.centre + (1 - KEPT) * solved.duals.u)
        self.centre = STEP * solved.duals.u + (1 - STEP) * self.centre
        if added := self._price_heuristically(mixed):
            return added
        self.centre = solved.duals.u
        return self._price_heuristically(solved.duals)

    def _price_heuristically(self, duals: Duals) -> int:
        """Add groups of negative reduced cost by local search; return their number."""
        master = self.master
        if (
            master.cuts
            or master.together
            or master.apart
            or self.pricer.duplicates.some
        ):
            return 0  # it uses prices of records only, and treats duplicates one by one
        reduced = self.master.compute_reduced_costs(duals, self.pool.costs)
        near = np.argsort(reduced, kind="stable")[:CLIMBED]
        groups, group_costs = self.pricer.price_heuristically(
            duals, self.pool.all.at(near)
        )
        return self.add(groups.at(np.argsort(group_costs, kind="stable")[:ENTERING]))

    @property
    def prices(self) -> Duals:
        """Duals of the linear program, smoothed if k is large."""
        if self.best.k <= CALM and self.solved is not None:
            return self.solved.duals
        return Duals(self.centre)

    def _add_with_variants(self, groups: GroupColumns) -> int:
        """Add groups and variants with duplicates exchanged; return their number."""
        duplicates = self.pricer.duplicates
        if duplicates.some and self.solved is not None:
            groups = duplicates.list_variants(groups, self.solved.duals.u)
        return self.add(groups)

    def price(self, *, exact: bool = True) -> bool:
        """Add all groups that price out; return whether provably none is left."""
        phase = 0
        while (solved := self.solve()) is not None and not self.pruned:
            if phase == 0 and self._price_heuristically(solved.duals):
                continue
            priced, phase = self._price_by_phases(solved.duals, phase, exact)
            if priced is None or not self._add_with_variants(_select_cheapest(priced)):
                return priced is not None and priced.done
        return False

    def _price_by_phases(
        self, duals: Duals, phase: int, exact: bool
    ) -> tuple[PricedGroups | None, int]:
        """Return groups of negative reduced cost, and the phase that found them."""
        efforts = [*PHASES, PricingEffort()] if exact else PHASES
        for effort in efforts[phase:]:
            priced = self.pricer.price_groups(duals, effort, self.clock)
            if priced.done:
                self.prove(duals, priced.lowest)
            if len(priced.reduced) or priced.done or self.clock.over:
                return priced, phase
            phase += 1
        return None, phase

    def prove(self, duals: Duals, lowest: Floats) -> None:
        """Raise the lower bound to the one that duals and reduced costs prove."""
        bound = self.pricer.bound(duals, lowest)
        if bound <= self.bound:
            return
        self.bound = bound
        if not (duals.together or duals.apart):
            self.proof = duals, lowest
            self.best.prove(bound)
            self.best.priced = True

    @property
    def pruned(self) -> bool:
        """Whether the present node cannot improve the incumbent by half the gap."""
        best = self.best
        return best.value - self.bound <= best.gap * best.value / 2

    def add_sizes(self) -> None:
        """Add a cut for each set of the pair program: how many groups fit in it."""
        if self.root is not None and self.root.cuts:
            self.master.add_cuts([*self.root.cuts])

    def cut(self) -> int:
        """Add cuts that the linear program's solution violates; return their number."""
        solved = self.solve()  # there may be new columns
        if solved is None:
            return 0
        have = set(self.master.cuts)
        few = ~self.pricer.duplicates.many
        groups = self.pool.all.at(np.arange(len(solved.share)))
        cuts = find_violated_cuts(groups, solved.share, few, have, CUTS)
        if cuts:
            self.master.add_cuts(cuts)
        return len(cuts)


def _share_sse(Z: Floats, labels: Labels, weights: Floats | None) -> Floats:
    """Return each record's part of the SSE of the groups of labels, (n,)."""
    groups = [labels == g for g in range(labels.max() + 1)]
    if weights is None:
        means = [Z[members].mean(axis=0) for members in groups]
    else:
        means = [
            np.average(Z[members], axis=0, weights=weights[members])
            for members in groups
        ]
    squares = (Z - np.array(means)[labels]) ** 2
    return np.asarray(multiply_by_weights(squares, weights).sum(axis=1))


def _select_cheapest(priced: PricedGroups) -> GroupColumns:
    """Return up to 20,000 priced groups of least reduced cost."""
    return priced.groups.at(np.argsort(priced.reduced, kind="stable")[:20_000])


DENSE = 4  # times the entries of the records' rows: denser cuts slow the solver down


def choose_groups(
    generation: ColumnGeneration,
    solver: Solver,
    candidates: Labels,
    clock: Deadline,
    seconds: float,
) -> bool:
    """Solve an integer program over candidate groups; return whether it is optimal.

    The best partition so far is always feasible.
    """
    incumbent_groups = generation.pool.places(
        group_columns(generation.best.labels, generation.best.k)
    )
    groups = generation.pool.all.at(np.union1d(candidates, incumbent_groups))
    best = generation.best
    data = _build_data(best.Z, best.k, groups, generation.master.cuts, best.weights)
    limit = min(seconds, clock.left - GRACE)
    if limit <= 0:
        return False
    solved = _solve_program(data, solver, None if np.isinf(limit) else limit)
    best.unanswered |= solved.status is Status.UNANSWERED
    if solved.reading is not None:
        generation.offer(solved.reading)
    return solved.status is Status.OPTIMAL


def _solve_program(data: model.Data, solver: Solver, limit: float | None) -> Answer:
    """Return the solver's answer, from a process that a hard time limit ends."""
    native = solver.native.lower()
    return run_with_hard_limit(model.MODEL, data, solver, limit, EXACTLY.get(native))


def _build_data(
    Z: Floats,
    k: int,
    groups: GroupColumns,
    cuts: Sequence[SubsetCut],
    weights: Floats | None = None,
) -> model.Data:
    """Return the integer program's data, without cuts if these have many entries.

    Cuts of other divisors than 2 are left out, too: the model has none.
    """
    inside = groups.members >= 0
    cuts = [cut for cut in cuts if cut.divisor == 2]
    if count_quotients(groups, list(cuts), len(Z)).nnz > DENSE * inside.sum():
        cuts = []
    return model.Data(
        Z,
        k,
        np.repeat(np.arange(len(groups.sizes)), groups.sizes),
        groups.members[inside].astype(np.intp),
        np.repeat(np.arange(len(cuts)), [len(c.records) for c in cuts]).astype(np.intp),
        np.array([i for cut in cuts for i in cut.records], np.intp),
        weights=weights,
    )
