"""Incumbent partition and the best lower bound."""

from math import ceil, log2

from aggopt.core.validation import Floats, Labels
from aggopt.core.weights import weighted
from aggopt.partition._optimal.columns import (
    GroupColumns,
    compute_group_sse,
    group_columns,
)

PROVEN = 1e-6  # a gap that solvers' tolerances may leave
SAFE = 1e-9  # of the SSE, for rounding
ENOUGH = 100.0  # SSE for which absolute tolerances of solvers are small
LITTLE = 0.01  # share of that below which they are large
CENTRED = 1e-12  # of SST; if SSE is less, centring may round off a share of 1e-9 of it


class Incumbent:
    """Labels (n,) of the best partition found, and a lower bound of every SSE.

    Attributes
    ----------
    value, bound
        SSE and lower bound, in units of Z (n, d).
    priced
        Whether the bound is from pricing.
    by
        Method that found the partition, if not.
    unanswered
        Whether the solver of an integer program did not answer.
    exact
        Whether Z was not centred, and its differences are those of the records.
    weights
        Sampling weights (n,), of mean 1; None if all are equal.
    """

    def __init__(
        self,
        Z: Floats,
        k: int,
        labels: Labels,
        bound: float,
        gap: float,
        exact: bool = False,
        weights: Floats | None = None,
    ) -> None:
        self.Z, self.k, self.gap, self.bound, self.exact = Z, k, gap, bound, exact
        self.weights = weights
        self.labels, self.value = labels, self.cost(group_columns(labels, k))
        self.priced, self.by = False, "local search"
        self.unanswered = False
        self.centred = 0.0
        if not exact:
            self.centred = CENTRED * float(weighted(Z**2, weights).sum())
        self.little = LITTLE * min(self.value, ENOUGH)

    def cost(self, groups: GroupColumns) -> float:
        """Return the SSE of a partition into these groups."""
        costs = compute_group_sse(self.Z, groups, self.exact, self.weights)
        return float(costs.sum())

    def offer(self, labels: Labels) -> bool:
        """Accept these labels if their SSE is less; return whether it is."""
        value = self.cost(group_columns(labels, self.k))
        if value >= self.value:
            return False
        self.labels, self.value = labels, value
        return True

    def take(self, labels: Labels) -> None:
        """Accept labels that are known to be optimal."""
        self.offer(labels)
        self.prove(self.value)
        self.by = "all partitions"

    def prove(self, bound: float) -> None:
        """Raise the bound to this, less a margin for rounding."""
        self.bound = max(self.bound, bound - SAFE * self.value)

    @property
    def closed(self) -> bool:
        """Whether the gap is within the tolerance."""
        return self.within(max(self.gap, SAFE))

    @property
    def proven(self) -> bool:
        """Whether the partition is proven optimal."""
        return self.within(PROVEN)

    @property
    def rounded(self) -> bool:
        """Whether the SSE is so small that the rounding of centring affects it."""
        return not self.exact and self.value <= self.centred

    @property
    def outgrown(self) -> bool:
        """Whether the loss has fallen so far that other units are necessary.

        In the present units, tolerances of solvers are too large for a bound.
        """
        return self.rounded or 0 < self.value < self.little

    @property
    def ended(self) -> bool:
        """Whether no improvement is possible in these units."""
        return self.closed or self.outgrown

    def within(self, gap: float) -> bool:
        """Whether the gap is at most `gap`."""
        return self.value - self.bound <= gap * self.value

    def magnified(self) -> tuple["Incumbent", float]:
        """Return the incumbent in smaller units if its SSE is small, and the factor."""
        if not 0 < self.value < ENOUGH:
            return self, 1.0
        factor = 2.0 ** ceil(log2(ENOUGH / self.value) / 2)  # a power of two: exact
        magnified = Incumbent(
            factor * self.Z,
            self.k,
            self.labels,
            self.bound * factor**2,
            self.gap,
            self.exact,
            self.weights,
        )
        magnified.priced = self.priced
        magnified.by = self.by
        return magnified, factor
