"""Incumbent partition and the best lower bound; the bound of the pair program."""

from dataclasses import dataclass, field, replace
from math import ceil, log2
from typing import TYPE_CHECKING, Any

import numpy as np

from aggopt.core.deadline import Deadline, Progress
from aggopt.core.record_weights import compute_sse, multiply_by_weights
from aggopt.core.validation import Floats, Labels, renumber_groups
from aggopt.partition._mdav import mdav_labels
from aggopt.partition._optimal.columns import (
    GroupColumns,
    compute_group_sse,
    group_columns,
)
from aggopt.partition.shared.evidence import has_equal_records, make_certificate
from aggopt.partition.shared.neighbour_bound import prove_loss
from aggopt.partition.shared.result import Partition
from aggopt.partition.shared.scaling import (
    NONE,
    Weighing,
    find_exponent,
    rescale_squares,
    scale_to_unit,
    zero_constants,
)
from aggopt.solvers import Status

if TYPE_CHECKING:
    from aggopt.algorithms.pair_bound import PairPrices

SMALL = 5  # largest k for which exact pricing mostly ends
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
        self.Z = Z
        self.k = k
        self.gap = gap
        self.bound = bound
        self.exact = exact
        self.weights = weights
        self.labels, self.value = labels, self.cost(group_columns(labels, k))
        self.priced = False
        self.by = "local search"
        self.unanswered = False
        self.centred = 0.0
        if not exact:
            self.centred = CENTRED * float(multiply_by_weights(Z**2, weights).sum())
        self.little = LITTLE * min(self.value, ENOUGH)

    def cost(self, groups: GroupColumns) -> float:
        """Return the SSE of the partition into these groups."""
        costs = compute_group_sse(self.Z, groups, self.exact, self.weights)
        return float(costs.sum())

    def offer(self, labels: Labels) -> bool:
        """Make labels (n,) the incumbent if their SSE is less; return whether it is."""
        value = self.cost(group_columns(labels, self.k))
        if value >= self.value:
            return False
        self.labels = labels
        self.value = value
        return True

    def take(self, labels: Labels) -> None:
        """Make labels (n,) the incumbent, which are known to be optimal."""
        self.offer(labels)
        self.prove(self.value)
        self.by = "all partitions"

    def prove(self, bound: float) -> None:
        """Raise the lower bound to `bound`, less a margin for rounding."""
        self.bound = max(self.bound, bound - SAFE * self.value)

    @property
    def closed(self) -> bool:
        """Whether the gap of SSE and lower bound is within the tolerance."""
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
        """Whether SSE is too small for the tolerances of solvers in these units.

        In the present units, tolerances of solvers are too large for a bound.
        """
        return self.rounded or 0 < self.value < self.little

    @property
    def ended(self) -> bool:
        """Whether the search is over: the gap is closed, or other units are needed."""
        return self.closed or self.outgrown

    def within(self, gap: float) -> bool:
        """Whether SSE less lower bound is at most the share `gap` of the SSE."""
        return self.value - self.bound <= gap * self.value

    def magnify(self) -> tuple["Incumbent", float]:
        """Return the incumbent in units that magnify a small SSE, and the factor."""
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


@dataclass(eq=False)
class ScaledIncumbent:
    """Records (n, d), also divided by 2^exponent; and the best so far, in own units.

    Losses are by weights of mean 1: `scale` converts them to the original weights.

    Attributes
    ----------
    bound
        Bound that pairs of records prove, in units of the records: the neighbour bound,
        or the larger one of the pair program.
    pair_prices
        Prices that prove the bound of the pair program, in units of the records; None
        without it.
    """

    original: Floats = field(repr=False)
    records: Floats = field(repr=False)
    exponent: int
    unit: float
    best: Incumbent = field(repr=False)
    bound: float
    scale: float = 1.0
    pair_prices: Any = field(default=None, repr=False)  # PairPrices of numba, or None

    @classmethod
    def of(
        cls, records: Floats, k: int, gap: float, weighing: Weighing = NONE
    ) -> "ScaledIncumbent":
        """Return MDAV's partition of the records, scaled to a mean square of 1."""
        original = records
        records, exponent = scale_to_unit(zero_constants(records))
        Z = records - records.mean(axis=0)
        largest = float(np.abs(Z).max()) or 1.0
        Z = Z / largest
        root = float(np.sqrt((Z**2).mean())) or 1.0
        Z = np.ascontiguousarray(Z / root)
        unit = largest * root
        start = renumber_groups(mdav_labels(records, k))
        weights = weighing.values
        proven = prove_loss(records, k, weights=weights, seconds=0.0)
        bound = proven.require_uninterrupted()
        best = Incumbent(Z, k, start, bound / unit**2, gap, weights=weights)
        work = cls(original, records, exponent, unit, best, bound, weighing.unit)
        work.refine()
        return work

    def refine(self) -> bool:
        """Use uncentred records if SSE is tiny; return whether that was done now.

        Their differences are then exact to a float's last digit. Return whether they
        were substituted now.
        """
        best = self.best
        if not best.rounded:
            return False
        power = find_exponent(np.array(self.unit))
        Z = np.ldexp(self.records, -power)
        self.unit = 2.0**power
        bound = self.bound / self.unit**2
        self.best = Incumbent(
            Z, best.k, best.labels, bound, best.gap, True, best.weights
        )
        return True

    def bound_by_pairs(self, seconds: float, clock: Deadline, report: Progress) -> None:
        """Raise the bound by the pair program, within a budget in seconds.

        Raises
        ------
        KeyboardInterrupt
            Ctrl-C ended it; the bound so far counts.
        """
        from aggopt.algorithms.pair_bound import bound_partitions

        best = self.best
        pairs = bound_partitions(
            self.records,
            best.k,
            seconds,
            weights=best.weights,
            loss=best.value * self.unit**2,
            clock=clock,
            progress=report,
        )
        self.bound = max(self.bound, pairs.bound)
        self.pair_prices = pairs.prices
        best.bound = max(best.bound, self.bound / self.unit**2)
        if pairs.interrupted:
            raise KeyboardInterrupt

    @property
    def prices(self) -> "PairPrices | None":
        """Prices that prove the bound of the pair program, in the units of `best`."""
        prices: PairPrices | None = self.pair_prices
        if prices is None:
            return None
        factor = 1 / self.unit**2
        return replace(
            prices, records=factor * prices.records, charges=factor * prices.charges
        )

    def magnify(self) -> None:
        """Choose smaller units if SSE is below the resolution of solvers."""
        best, times = self.best.magnify()
        self.unit = self.unit / times
        self.best = best

    def result(self, status: Status, solver: str, clock: Deadline) -> Partition:
        """Return the incumbent partition and certificate, in the records' units."""
        best = self.best
        objective = compute_sse(self.records, best.labels, best.weights)
        bound = min(best.bound * self.unit**2, objective)
        by = solver if best.priced else best.by
        is_exact = objective > 0 or has_equal_records(
            self.original, best.labels
        )  # not rounded to 0
        met = best.proven and is_exact and objective - bound <= PROVEN * objective
        certificate = make_certificate(
            met,
            status,
            rescale_squares(objective, self.exponent) * self.scale,
            rescale_squares(bound, self.exponent) * self.scale,
            by,
            clock.spent,
        )
        return Partition(best.labels, certificate)
