"""What each centroid costs: a quartic for each group and attribute.

Where a record insists (importance 1), the group's centroid of that attribute is one of
two values, or the only one that all such records of the group accept.
"""

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import numpy as np

from aggopt.algorithms.lagrangian.piecewise_quartics import quartics
from aggopt.core.types import I64, Bool
from aggopt.core.validation import Floats
from aggopt.models import p3m, p3m_joint

if TYPE_CHECKING:
    from aggopt.algorithms.stiefel.quartic_kernels import Cells, Penalty


class CellCost(Protocol):
    """What the search and the bound ask of a cost of centroids c (m, d)."""

    def value(self, c: Floats) -> float:
        """Return what centroids cost."""

    def slope(self, c: Floats) -> Floats:
        """Return the derivative by each centroid (m, d)."""

    def curvature(self, c: Floats) -> Floats:
        """Return the second derivative by each centroid (m, d)."""

    def rooms(self, c: Floats) -> tuple[Floats, Floats]:
        """Return the intervals (m, d) around, or near, c where the cost is smooth."""

    def smoothed(
        self, line: Floats, lam: Floats, soft: float, mean: Floats, square: Floats
    ) -> float:
        """Return the sum of the smoothed minima of f + n (line c + lam c^2).

        Of several local minima with values h, -soft log(sum exp(-h / soft)).  Writes
        the means of c and of c^2 there, (m, d).
        """

    def descended(self, c: Floats, price: "Penalty", order: I64) -> None:
        """Move each centroid c_ja, in the order of j d + a, to where it costs least.

        The price of mean and covariance included, the other centroids as they are;
        the price follows.
        """


@dataclass(frozen=True, eq=False)
class Cost:
    """The cost of each group and attribute in powers of t = c - C, constant first.

    Attributes
    ----------
    powers : (5, m, d)
        Coefficients a_0..a_4.
    centres : (m, d)
        Group means C.
    allowed : (2, m, d)
        The two values of c where it is demanded; nan elsewhere, and twice the same
        where one is left.
    sizes : (m,)
        Records in each group, n_j.
    """

    powers: Floats = field(repr=False)
    centres: Floats = field(repr=False)
    allowed: Floats = field(repr=False)
    sizes: Floats = field(repr=False)

    @classmethod
    def of(cls, data: p3m_joint.Data) -> "Cost":
        """Return what a program's centroids cost."""
        m, d = data.means.shape
        powers, allowed = np.empty((5, m, d)), np.full((2, m, d), np.nan)
        for a, alone in enumerate(data.apart):
            powers[:, :, a] = quartics(alone)[0].T
            groups, values = p3m.demanded(alone)
            twice = np.where(np.isnan(values), values[:, ::-1], values)
            allowed[:, groups, a] = twice.T
        return cls(powers, np.ascontiguousarray(data.means), allowed, data.sizes)

    @property
    def demanded(self) -> Bool:
        """Which centroids are one of two values (m, d)."""
        return np.asarray(~np.isnan(self.allowed[0]))

    def value(self, c: Floats) -> float:
        """Return what centroids c (m, d) cost."""
        return float(at(self.powers, c - self.centres).sum())

    def slope(self, c: Floats) -> Floats:
        """Return the derivative by each centroid (m, d)."""
        a, t = self.powers, c - self.centres
        return np.asarray(((4 * a[4] * t + 3 * a[3]) * t + 2 * a[2]) * t + a[1])

    def curvature(self, c: Floats) -> Floats:
        """Return the second derivative by each centroid (m, d)."""
        a, t = self.powers, c - self.centres
        return np.asarray((12 * a[4] * t + 6 * a[3]) * t + 2 * a[2])

    def rooms(self, c: Floats) -> tuple[Floats, Floats]:
        """Return the nearer of two values where one is demanded, else no ends."""
        low, high = self.allowed
        nearer = np.where(np.abs(low - c) <= np.abs(high - c), low, high)
        there = self.demanded
        return np.where(there, nearer, -np.inf), np.where(there, nearer, np.inf)

    def smoothed(
        self, line: Floats, lam: Floats, soft: float, mean: Floats, square: Floats
    ) -> float:
        """Return the smoothed minima's sum: see `CellCost`."""
        from aggopt.algorithms.stiefel.quartic_kernels import smoothed

        return smoothed(self.cells, line, lam, soft, mean, square)

    def descended(self, c: Floats, price: "Penalty", order: I64) -> None:
        """Move each centroid to where it costs least: see `CellCost`."""
        from aggopt.algorithms.stiefel.quartic_kernels import descended

        descended(self.cells, c, price, order)

    @cached_property
    def cells(self) -> "Cells":
        """The same as kernels take it."""
        from aggopt.algorithms.stiefel.quartic_kernels import Cells

        reach = np.sqrt(np.maximum(self.sizes.sum() / self.sizes - 1, 0.0))
        return Cells(self.powers, self.centres, self.allowed, self.sizes, reach)


def at(a: Floats, t: Floats) -> Floats:
    """Return quartics a (5, ...) at t."""
    return np.asarray((((a[4] * t + a[3]) * t + a[2]) * t + a[1]) * t + a[0])
