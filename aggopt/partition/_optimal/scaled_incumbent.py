"""Incumbent in its own units, and its certificate in those of the records."""

from dataclasses import dataclass, field

import numpy as np

from aggopt.core.deadline import Deadline
from aggopt.core.validation import Floats, numbered
from aggopt.partition._loss_bound import compute_loss_bound
from aggopt.partition._mdav import mdav_labels
from aggopt.partition._optimal.incumbent import PROVEN, Incumbent
from aggopt.partition._shared.evidence import has_equal_records, make_certificate
from aggopt.partition._shared.result import Partition
from aggopt.partition._shared.scaling import (
    NONE,
    Weighing,
    find_exponent,
    rescale_squares,
    scale_to_unit,
    zero_constants,
)
from aggopt.partition._shared.sse import compute_sse
from aggopt.solvers import Status


@dataclass(eq=False)
class ScaledIncumbent:
    """Records (n, d), also divided by 2^exponent; and the best so far, in own units.

    Losses are by weights of mean 1: `scale` converts them to the original weights.
    """

    given: Floats = field(repr=False)
    records: Floats = field(repr=False)
    exponent: int
    unit: float
    best: Incumbent = field(repr=False)
    scale: float = 1.0

    @classmethod
    def of(
        cls, records: Floats, k: int, gap: float, weighing: Weighing = NONE
    ) -> "ScaledIncumbent":
        """Return MDAV's groups, in units in which a mean square is 1."""
        original, (records, exponent) = records, scale_to_unit(zero_constants(records))
        Z = records - records.mean(axis=0)
        largest = float(np.abs(Z).max()) or 1.0
        Z = Z / largest
        root = float(np.sqrt((Z**2).mean())) or 1.0
        Z = np.ascontiguousarray(Z / root)
        unit = largest * root
        start = numbered(mdav_labels(records, k))
        lower_bound = compute_loss_bound(records, k, weights=weighing.of) / unit**2
        best = Incumbent(Z, k, start, lower_bound, gap, weights=weighing.of)
        work = cls(original, records, exponent, unit, best, weighing.unit)
        work.refine()
        return work

    def refine(self) -> bool:
        """Use uncentred records if the SSE is so small that centring would affect it.

        Their differences are then exact to a float's last digit. Return whether they
        were substituted now.
        """
        best = self.best
        if not best.rounded:
            return False
        power = find_exponent(np.array(self.unit))
        Z = np.ldexp(self.records, -power)
        k = best.k
        bound = compute_loss_bound(Z, k, weights=best.weights)
        self.best = Incumbent(Z, k, best.labels, bound, best.gap, True, best.weights)
        self.unit = 2.0**power
        return True

    def magnify(self) -> None:
        """Choose smaller units if the loss is below the resolution of solvers."""
        best, times = self.best.magnified()
        self.unit, self.best = self.unit / times, best

    def result(self, status: Status, solver: str, clock: Deadline) -> Partition:
        """Return the best so far with its certificate, in the units of the records."""
        best = self.best
        objective = compute_sse(self.records, best.labels, best.weights)
        bound = min(best.bound * self.unit**2, objective)
        by = solver if best.priced else best.by
        is_exact = objective > 0 or has_equal_records(
            self.given, best.labels
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
