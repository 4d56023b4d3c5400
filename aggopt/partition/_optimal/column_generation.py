"""Column generation: groups that pay, priced until there are none, and cuts."""

import numpy as np

from aggopt.core.deadline import Deadline
from aggopt.core.validation import Floats, Labels
from aggopt.partition._optimal.columns import (
    ColumnPool,
    GroupColumns,
    groups_of,
    labels_of,
)
from aggopt.partition._optimal.incumbent import Incumbent
from aggopt.partition._optimal.master import GroupMaster, MasterSolution
from aggopt.partition._optimal.pricing import Duals, PricedGroups, Pricer, PricingEffort
from aggopt.partition._optimal.subset_row_cuts import broken

CLIMBED = 3000  # groups of least reduced cost that neighbours are tried in
ENTERING = 4000  # groups that a round adds, at most
CALM = 5  # up to this k, duals are taken as they are
KEPT, PACE = 0.8, 0.1  # of calm prices, in a round; of the duals, that they take on
CUTS = 200  # cuts that a round adds, at most
# while prices are far off a look at all groups takes for ever: first at a few
PHASES = (
    PricingEffort(12, 3000),
    PricingEffort(20, 20_000),
    PricingEffort(40, 100_000),
)


class Generation:
    """A linear program that grows by the groups that pay, until none does.

    The first prices are what records add to the loss of the labels `start`, those of
    the best partition without.  High prices come down; low ones take long to rise.

    Attributes
    ----------
    solved
        What it said last.
    bound
        What is proven of the present branch.
    proof
        Duals, and the least reduced costs (n,), that proved it without a branch.
    """

    def __init__(
        self,
        best: Incumbent,
        pricer: Pricer,
        clock: Deadline,
        start: Labels | None = None,
    ) -> None:
        self.best, self.pricer, self.clock = best, pricer, clock
        self.pool, self.master = ColumnPool(best.Z, best.k), GroupMaster(len(best.Z))
        self.solved: MasterSolution | None = None
        self.proof: tuple[Duals, Floats] | None = None
        self.bound = -np.inf
        self.centre = _shares(best.Z, best.labels if start is None else start)
        self.add(groups_of(best.labels, best.k))

    def add(self, groups: GroupColumns) -> int:
        """Take in those that are new; return how many are."""
        new = self.pool.add(groups)
        self.master.add(self.pool.all.at(new), self.pool.costs[new])
        return len(new)

    def offer(self, labels: Labels) -> bool:
        """Take in the groups of labels (n,); return whether they are the best."""
        self.add(groups_of(labels, self.best.k))
        return self.best.offer(labels)

    def solve(self) -> MasterSolution | None:
        """Solve the linear program; None if time is up."""
        solved = self.master.solve(self.clock.left)
        if solved is not None:
            self.solved = solved
            if solved.whole:
                self._offer_chosen(self.pool.all.at(solved.share > 0.5))
        return solved

    def _offer_chosen(self, chosen: GroupColumns) -> None:
        n = self.master.n
        if chosen.sizes.sum() == n:  # no record is by itself
            self.best.offer(labels_of(chosen, n))

    def climb(self, clock: Deadline) -> bool:
        """Add groups that neighbours make pay, while there are any; False if late."""
        while not clock.over and (solved := self.solve()) is not None:
            if not self._stepped(solved):
                return True
        return False

    def _stepped(self, solved: MasterSolution) -> int:
        """Add groups that pay at calm prices, or at the present ones; say how many.

        Of large groups, a few hundred hold all records in so many ways that the duals
        jump from one end to the other: prices that change little lead farther.
        """
        if self.best.k <= CALM:
            return self._climbed(solved.duals)
        mixed = Duals(KEPT * self.centre + (1 - KEPT) * solved.duals.u)
        self.centre = PACE * solved.duals.u + (1 - PACE) * self.centre
        if found := self._climbed(mixed):
            return found
        self.centre = solved.duals.u
        return self._climbed(solved.duals)

    def _climbed(self, duals: Duals) -> int:
        master = self.master
        if master.cuts or master.together or master.apart or self.pricer.copies.some:
            return 0  # neighbours look at prices of records only, and at every copy
        reduced = self.master.reduced(duals, self.pool.costs)
        near = np.argsort(reduced, kind="stable")[:CLIMBED]
        found, paid = self.pricer.climbed(duals, self.pool.all.at(near))
        return self.add(found.at(np.argsort(paid, kind="stable")[:ENTERING]))

    @property
    def prices(self) -> Duals:
        """Calm prices, or those of the linear program where they are calm."""
        if self.best.k <= CALM and self.solved is not None:
            return self.solved.duals
        return Duals(self.centre)

    def _enter(self, groups: GroupColumns) -> int:
        """Take in groups that pay, with those of their copies that do."""
        copies = self.pricer.copies
        if copies.some and self.solved is not None:
            groups = copies.spread(groups, self.solved.duals.u)
        return self.add(groups)

    def price(self, *, exact: bool = True) -> bool:
        """Add all groups that pay; return whether it is proven that none is left."""
        phase = 0
        while (solved := self.solve()) is not None and not self.pruned:
            if phase == 0 and self._climbed(solved.duals):
                continue
            found, phase = self._paying(solved.duals, phase, exact)
            if found is None or not self._enter(_least(found)):
                return found is not None and found.done
        return False

    def _paying(
        self, duals: Duals, phase: int, exact: bool
    ) -> tuple[PricedGroups | None, int]:
        efforts = [*PHASES, PricingEffort()] if exact else PHASES
        for effort in efforts[phase:]:
            found = self.pricer.paying(duals, effort, self.clock)
            if found.done:
                self.prove(duals, found.least)
            if len(found.reduced) or found.done or self.clock.over:
                return found, phase
            phase += 1
        return None, phase

    def prove(self, duals: Duals, least: Floats) -> None:
        """Keep the bound that these duals prove, if it is the best."""
        bound = self.pricer.bound(duals, least)
        if bound <= self.bound:
            return
        self.bound = bound
        if not (duals.together or duals.apart):
            self.proof = duals, least
            self.best.prove(bound)
            self.best.priced = True

    @property
    def pruned(self) -> bool:
        """Whether the present branch holds nothing much better than the best."""
        best = self.best
        return best.value - self.bound <= best.gap * best.value / 2

    def cut(self) -> int:
        """Add cuts that the last choice breaks; return how many."""
        solved = self.solve()  # groups may have come since the last
        if solved is None:
            return 0
        have = set(self.master.cuts)
        few = ~self.pricer.copies.many
        groups = self.pool.all.at(np.arange(len(solved.share)))
        cuts = broken(groups, solved.share, few, have, CUTS)
        if cuts:
            self.master.add_cuts(cuts)
        return len(cuts)


def _shares(Z: Floats, labels: Labels) -> Floats:
    """Return what each record adds to the loss of these labels, (n,)."""
    means = [Z[labels == g].mean(axis=0) for g in range(labels.max() + 1)]
    return np.asarray(((Z - np.array(means)[labels]) ** 2).sum(axis=1))


def _least(found: PricedGroups) -> GroupColumns:
    return found.groups.at(np.argsort(found.reduced, kind="stable")[:20_000])
