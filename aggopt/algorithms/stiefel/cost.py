"""Cost of each centroid: a quartic for each group and attribute.

If a record has importance 1, the group's centroid of that attribute is one of two
values, or the only one that all these records of the group accept.
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
    """Interface of a cost of centroids c (m, d), for the search and the bound."""

    def value(self, c: Floats) -> float:
        """Return the cost of centroids."""

    def slope(self, c: Floats) -> Floats:
        """Return the derivative by each centroid (m, d)."""

    def curvature(self, c: Floats) -> Floats:
        """Return the second derivative by each centroid (m, d)."""

    def rooms(self, c: Floats) -> tuple[Floats, Floats]:
        """Return intervals (m, d) around, or near, c on which the cost is smooth."""

    def smoothed(
        self, line: Floats, lam: Floats, soft: float, mean: Floats, square: Floats
    ) -> float:
        """Return the sum of the smoothed minima of f + n (line c + lam c^2).

        Of several local minima with values h, -soft log(sum exp(-h / soft)).  Writes
        the means of c and of c^2 there, (m, d).
        """

    def descended(self, c: Floats, price: "Penalty", order: I64) -> None:
        """Move each centroid c_ja, in the order of j d + a, to its least cost.

        The cost includes the price of mean and covariance; the other centroids are
        fixed.  The price is updated.
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
        The two values of c if it is demanded, equal if one is left; else nan.
    sizes : (m,)
        Records in each group, n_j.
    """

    powers: Floats = field(repr=False)
    centres: Floats = field(repr=False)
    allowed: Floats = field(repr=False)
    sizes: Floats = field(repr=False)

    @classmethod
    def of(cls, data: p3m_joint.Data) -> "Cost":
        """Return the cost of a program's centroids."""
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
        """Whether each centroid is one of two values (m, d)."""
        return np.asarray(~np.isnan(self.allowed[0]))

    def value(self, c: Floats) -> float:
        """Return the cost of centroids c (m, d)."""
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
        """Return the nearer of two values if one is demanded, else no ends."""
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
        """Move each centroid to its least cost: see `CellCost`."""
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
