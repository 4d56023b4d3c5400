"""Column generation, cuts, and the integer program over the columns."""

from collections.abc import Sequence

import numpy as np

from aggopt.core.deadline import Deadline
from aggopt.core.record_weights import multiply_by_weights
from aggopt.core.validation import Floats, Labels
from aggopt.models import set_partition as model
from aggopt.partition._optimal.columns import (
    ColumnPool,
    GroupColumns,
    group_columns,
    number_groups,
)
from aggopt.partition._optimal.incumbent import Incumbent
from aggopt.partition._optimal.master import (
    GroupMaster,
    MasterSolution,
    count_halves,
    find_violated_cuts,
)
from aggopt.partition._optimal.pricing import (
    Cut,
    Duals,
    PricedGroups,
    Pricer,
    PricingEffort,
)
from aggopt.solvers import Solver, Status
from aggopt.solvers.certificate import Answer
from aggopt.solvers.options import EXACTLY
from aggopt.solvers.run_solver import GRACE, run_with_hard_limit

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

    The first stability centre is each record's share of the SSE of the labels `start`,
    the incumbent's by default: duals that are too high fall fast, low ones rise slowly.

    Attributes
    ----------
    solved
        Last solution of the restricted master.
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
    ) -> None:
        self.best = best
        self.pricer = pricer
        self.clock = clock
        self.pool = ColumnPool(best.Z, best.k, best.exact, best.weights)
        self.master = GroupMaster(len(best.Z))
        self.solved: MasterSolution | None = None
        self.proof: tuple[Duals, Floats] | None = None
        self.bound = -np.inf
        first = best.labels if start is None else start
        self.centre = _share_sse(best.Z, first, best.weights)
        self.add(group_columns(best.labels, best.k))

    def add(self, groups: GroupColumns) -> int:
        """Add the new groups; return their number."""
        new = self.pool.add(groups)
        self.master.add(self.pool.all.at(new), self.pool.costs[new])
        return len(new)

    def offer(self, labels: Labels) -> bool:
        """Add the groups of labels (n,); return whether they are a new incumbent."""
        self.add(group_columns(labels, self.best.k))
        return self.best.offer(labels)

    def solve(self) -> MasterSolution | None:
        """Solve the restricted master; None if the time is up."""
        solved = self.master.solve(self.clock.left)
        if solved is not None:
            self.solved = solved
            if solved.is_integral:
                self._offer_chosen(self.pool.all.at(solved.share > 0.5))
        return solved

    def _offer_chosen(self, chosen: GroupColumns) -> None:
        n = self.master.n
        if chosen.sizes.sum() == n:  # no single record is chosen
            self.best.offer(number_groups(chosen, n))

    def price_heuristically(self, clock: Deadline) -> bool:
        """Add columns by heuristic pricing until none pays; False if time is up."""
        while not clock.over and (solved := self.solve()) is not None:
            if not self._price_smoothed(solved):
                return True
        return False

    def _price_smoothed(self, solved: MasterSolution) -> int:
        """Add columns that price out at smoothed duals, else at the duals; count them.

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
        """Add groups that price out by heuristic pricing; return their number."""
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
        """Smoothed duals; for small k those of the master."""
        if self.best.k <= CALM and self.solved is not None:
            return self.solved.duals
        return Duals(self.centre)

    def _enter(self, groups: GroupColumns) -> int:
        """Add groups, and their variants in duplicates."""
        duplicates = self.pricer.duplicates
        if duplicates.some and self.solved is not None:
            groups = duplicates.list_variants(groups, self.solved.duals.u)
        return self.add(groups)

    def price(self, *, exact: bool = True) -> bool:
        """Add all columns that price out; return whether provably none is left."""
        phase = 0
        while (solved := self.solve()) is not None and not self.pruned:
            if phase == 0 and self._price_heuristically(solved.duals):
                continue
            priced, phase = self._price_by_phases(solved.duals, phase, exact)
            if priced is None or not self._enter(_select_cheapest(priced)):
                return priced is not None and priced.done
        return False

    def _price_by_phases(
        self, duals: Duals, phase: int, exact: bool
    ) -> tuple[PricedGroups | None, int]:
        """Return groups that price out, and the phase of effort that found them."""
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
        """Raise the bound to the one that these duals prove, if that is higher."""
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
        """Whether the present branch cannot improve the incumbent by half the gap."""
        best = self.best
        return best.value - self.bound <= best.gap * best.value / 2

    def cut(self) -> int:
        """Add cuts that the last solution violates; return their number."""
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
    """Return each record's share of the SSE of these labels, (n,)."""
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
    return priced.groups.at(np.argsort(priced.reduced, kind="stable")[:20_000])


DENSE = 4  # times the entries of the records' rows: denser cuts slow the solver down


def choose_groups(
    generation: ColumnGeneration,
    solver: Solver,
    candidates: Labels,
    clock: Deadline,
    seconds: float,
) -> bool:
    """Find the best partition into these groups; return whether the solver proved it.

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
    """Solve in a separate process, as the time limit of HiGHS is soft."""
    native = solver.native.lower()
    return run_with_hard_limit(model.MODEL, data, solver, limit, EXACTLY.get(native))


def _build_data(
    Z: Floats,
    k: int,
    groups: GroupColumns,
    cuts: Sequence[Cut],
    weights: Floats | None = None,
) -> model.Data:
    """Return the data of the integer program, without cuts if these are dense."""
    inside = groups.members >= 0
    if count_halves(groups, list(cuts), len(Z)).nnz > DENSE * inside.sum():
        cuts = ()
    return model.Data(
        Z,
        k,
        np.repeat(np.arange(len(groups.sizes)), groups.sizes),
        groups.members[inside].astype(np.intp),
        np.repeat(np.arange(len(cuts)), [len(cut) for cut in cuts]).astype(np.intp),
        np.array([i for cut in cuts for i in cut], np.intp),
        weights=weights,
    )
