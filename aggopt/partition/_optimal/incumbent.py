"""The best partition so far, and the best bound."""

from math import ceil, log2

from aggopt.core.validation import Floats, Labels
from aggopt.partition._optimal.columns import GroupColumns, groups_of, sums_of_squares

PROVEN = 1e-6  # a gap that solvers' tolerances may leave
SAFE = 1e-9  # of the loss, for rounding
ENOUGH = 100.0  # loss, beside which the absolute tolerances of solvers are small
ROUNDING = 1e-26  # loss for each entry of Z, of mean square 1, that is none


class Incumbent:
    """Labels (n,) of the partition that loses least so far, and what none loses less.

    Attributes
    ----------
    value, bound
        What it loses, and what is proven, in units of Z (n, d).
    priced
        Whether groups were priced for the bound.
    by
        Who found it, if they were not.
    """

    def __init__(self, Z: Floats, k: int, labels: Labels, bound: float, gap: float):
        self.Z, self.k, self.gap, self.bound = Z, k, gap, bound
        self.labels, self.value = labels, self.cost(groups_of(labels, k))
        self.priced, self.by = False, "local search"

    def cost(self, groups: GroupColumns) -> float:
        """Return the loss of a partition into these groups."""
        return float(sums_of_squares(self.Z, groups).sum())

    def offer(self, labels: Labels) -> bool:
        """Keep these labels if they lose less; return whether they do."""
        value = self.cost(groups_of(labels, self.k))
        if value >= self.value:
            return False
        self.labels, self.value = labels, value
        return True

    def take(self, labels: Labels) -> None:
        """Take labels that are known to lose least of all."""
        self.offer(labels)
        self.prove(self.value)
        self.by = "all partitions"

    def prove(self, bound: float) -> None:
        """Keep this bound, less what rounding may have added, if it is higher."""
        self.bound = max(self.bound, bound - SAFE * self.value)

    @property
    def closed(self) -> bool:
        """Whether the partition is proven to be as good as was asked for."""
        return self.within(max(self.gap, SAFE))

    @property
    def proven(self) -> bool:
        """Whether it is proven the best."""
        return self.within(PROVEN)

    def within(self, gap: float) -> bool:
        """Whether the gap is no more than this."""
        return self.value - self.bound <= max(gap * self.value, self._nothing)

    def magnified(self) -> tuple["Incumbent", float]:
        """Return the same in smaller units if it loses little, and how much smaller."""
        if not self._nothing < self.value < ENOUGH:
            return self, 1.0
        times = 2.0 ** ceil(log2(ENOUGH / self.value) / 2)  # which rounds nothing
        bound = self.bound * times**2
        return Incumbent(times * self.Z, self.k, self.labels, bound, self.gap), times

    @property
    def _nothing(self) -> float:
        return ROUNDING * self.Z.size
