"""Cost of each centroid: a quartic for each group and attribute.

If a record has importance 1, the group's centroid of that attribute is one of two
values, or the only one that all these records of the group accept.
"""

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import numpy as np

from aggopt.algorithms.lagrangian.piecewise_quartics import (
    build_separable_program,
    compute_quartics,
)
from aggopt.algorithms.lagrangian.program import Box, Separable, compute_implied_box
from aggopt.core.types import I64, Bool, Floats
from aggopt.models import p3m, p3m_joint
from aggopt.models.shared.joint_wishes import JointWishes

if TYPE_CHECKING:
    from aggopt.algorithms.stiefel.kernels import Cells, Penalty


class CellCost(Protocol):
    """Interface of a cost of centroids c (m, d), for the search and the bound."""

    def value(self, c: Floats) -> float:
        """Return the total cost of centroids c (m, d)."""

    def slope(self, c: Floats) -> Floats:
        """Return the cost's derivative by each centroid (m, d)."""

    def curvature(self, c: Floats) -> Floats:
        """Return the cost's second derivative by each centroid (m, d)."""

    def rooms(self, c: Floats) -> tuple[Floats, Floats]:
        """Return ends (m, d) of intervals around c on which the cost is smooth."""

    def smooth(
        self, line: Floats, lam: Floats, soft: float, mean: Floats, square: Floats
    ) -> float:
        """Return the sum of the smoothed minima of f + n (line c + lam c^2).

        Of several local minima with values h, -soft log(sum exp(-h / soft)).  Writes
        the means of c and of c^2 there, (m, d).
        """

    def descend(self, c: Floats, price: "Penalty", order: I64) -> None:
        """Move each centroid c_ja in turn to its least cost; order lists j d + a.

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
        """Return the cost of the centroids of joint P3M."""
        m, d = data.means.shape
        powers = np.empty((5, m, d))
        allowed = np.full((2, m, d), np.nan)
        for a, alone in enumerate(data.apart):
            powers[:, :, a] = compute_quartics(alone)[0].T
            groups, values = p3m.list_demanded_values(alone)
            twice = np.where(np.isnan(values), values[:, ::-1], values)
            allowed[:, groups, a] = twice.T
        return cls(powers, np.ascontiguousarray(data.means), allowed, data.sizes)

    @property
    def demanded(self) -> Bool:
        """Whether a hard wish leaves each centroid one of two values (m, d)."""
        return np.asarray(~np.isnan(self.allowed[0]))

    def value(self, c: Floats) -> float:
        """Return the total cost of centroids c (m, d)."""
        return float(evaluate_quartics(self.powers, c - self.centres).sum())

    def slope(self, c: Floats) -> Floats:
        """Return the cost's derivative by each centroid (m, d)."""
        a = self.powers
        t = c - self.centres
        return np.asarray(((4 * a[4] * t + 3 * a[3]) * t + 2 * a[2]) * t + a[1])

    def curvature(self, c: Floats) -> Floats:
        """Return the cost's second derivative by each centroid (m, d)."""
        a = self.powers
        t = c - self.centres
        return np.asarray((12 * a[4] * t + 6 * a[3]) * t + 2 * a[2])

    def rooms(self, c: Floats) -> tuple[Floats, Floats]:
        """Return intervals (m, d): all numbers, or the nearer value of a hard wish."""
        low, high = self.allowed
        nearer = np.where(np.abs(low - c) <= np.abs(high - c), low, high)
        demanded = self.demanded
        return np.where(demanded, nearer, -np.inf), np.where(demanded, nearer, np.inf)

    def smooth(
        self, line: Floats, lam: Floats, soft: float, mean: Floats, square: Floats
    ) -> float:
        """Return the sum of the smoothed minima: see `CellCost`."""
        from aggopt.algorithms.stiefel.kernels import smooth_quartics

        return smooth_quartics(self.cells, line, lam, soft, mean, square)

    def descend(self, c: Floats, price: "Penalty", order: I64) -> None:
        """Move each centroid to its least cost: see `CellCost`."""
        from aggopt.algorithms.stiefel.kernels import descend_quartics

        descend_quartics(self.cells, c, price, order)

    @cached_property
    def cells(self) -> "Cells":
        """The cost's arrays, as input of kernels."""
        from aggopt.algorithms.stiefel.kernels import Cells

        reach = np.sqrt(np.maximum(self.sizes.sum() / self.sizes - 1, 0.0))
        return Cells(self.powers, self.centres, self.allowed, self.sizes, reach)


def evaluate_quartics(a: Floats, t: Floats) -> Floats:
    """Return the values of quartics, with coefficients a (5, ...), at t."""
    return np.asarray((((a[4] * t + a[3]) * t + a[2]) * t + a[1]) * t + a[0])


if TYPE_CHECKING:
    from aggopt.algorithms.stiefel.kernels import Penalty


@dataclass(frozen=True, eq=False)
class PieceCost:
    """The cost of each group and attribute in pieces.

    Attributes
    ----------
    pieces
        Pieces of all cells; group j and attribute a have cell a m + j.
    box
        Range that the variances leave each cell.
    shape
        Groups and attributes, (m, d).
    """

    pieces: Separable = field(repr=False)
    box: Box = field(repr=False)
    shape: tuple[int, int]

    @classmethod
    def of(cls, data: JointWishes) -> "PieceCost":
        """Return the piecewise cost of the centroids of a joint program."""
        programs = [build_separable_program(alone) for alone in data.apart]
        counts = np.cumsum([0, *(len(p.low) for p in programs)])
        firsts = [
            p.first[:-1] + count for p, count in zip(programs, counts[:-1], strict=True)
        ]
        parts = {
            name: np.ascontiguousarray(
                np.concatenate([getattr(p, name) for p in programs])
            )
            for name in ("low", "high", "quartic", "level", "sizes", "centres", "terms")
        }
        first = np.concatenate([*firsts, counts[-1:]]).astype(np.int64)
        boxes = [compute_implied_box(p) for p in programs]
        box = Box(*(np.concatenate(ends) for ends in zip(*boxes, strict=True)))
        cells = Separable(first, **parts, total=0.0, squares=0.0, cardinality=0.0)
        return cls(cells, box, data.means.shape)

    def value(self, c: Floats) -> float:
        """Return the total cost of centroids c (m, d); inf if one is not allowed."""
        return float(self._look_up_pieces(c)[0].sum())

    def slope(self, c: Floats) -> Floats:
        """Return the cost's derivative by each centroid (m, d)."""
        return np.asarray(self._look_up_pieces(c)[1])

    def curvature(self, c: Floats) -> Floats:
        """Return the cost's second derivative by each centroid (m, d)."""
        return np.asarray(self._look_up_pieces(c)[2])

    def rooms(self, c: Floats) -> tuple[Floats, Floats]:
        """Return ends (m, d) of intervals around c on which the cost is smooth."""
        _, _, _, low, high = self._look_up_pieces(c)
        return low, high

    def _look_up_pieces(self, c: Floats) -> Floats:
        """Return cost, slope, curvature and smooth interval by centroid (5, m, d)."""
        from aggopt.algorithms.stiefel.kernels import look_up

        looked_up = np.empty((5, *self.shape))
        look_up(self.pieces, np.ascontiguousarray(c), looked_up)
        return looked_up

    def smooth(
        self, line: Floats, lam: Floats, soft: float, mean: Floats, square: Floats
    ) -> float:
        """Return the sum of the smoothed minima: see `CellCost`."""
        from aggopt.algorithms.stiefel.kernels import smooth_pieces

        return smooth_pieces(self.pieces, self.box, line, lam, soft, mean, square)

    def descend(self, c: Floats, price: "Penalty", order: I64) -> None:
        """Move each centroid to its least cost: see `CellCost`."""
        from aggopt.algorithms.stiefel.kernels import descend_pieces

        descend_pieces(self.pieces, self.box, c, price, order)


def build_cost(data: JointWishes) -> CellCost:
    """Return the cost of centroids in a joint program."""
    return Cost.of(data) if isinstance(data, p3m_joint.Data) else PieceCost.of(data)
