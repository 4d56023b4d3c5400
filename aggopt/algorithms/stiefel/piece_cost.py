"""Piecewise cost of each centroid: records act only on centroids near them.

One-sided P3M has quartics that continue each other, and gaps at hard wishes.
Satisfaction has squares that jump at the distance that a record requires.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from aggopt.algorithms.lagrangian.piecewise_quartics import program_of
from aggopt.algorithms.lagrangian.program import Box, Separable, implied_box
from aggopt.algorithms.stiefel.cost import CellCost, Cost
from aggopt.core.types import I64
from aggopt.core.validation import Floats
from aggopt.models import p3m_joint
from aggopt.models.shared.joint_wishes import JointWishes

if TYPE_CHECKING:
    from aggopt.algorithms.stiefel.quartic_kernels import Penalty


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
        """Return the cost of a program's centroids."""
        programs = [program_of(alone) for alone in data.apart]
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
        boxes = [implied_box(p) for p in programs]
        box = Box(*(np.concatenate(ends) for ends in zip(*boxes, strict=True)))
        cells = Separable(first, **parts, total=0.0, squares=0.0, cardinality=0.0)
        return cls(cells, box, data.means.shape)

    def value(self, c: Floats) -> float:
        """Return the cost of centroids c (m, d); inf if one is not allowed."""
        return float(self._seen(c)[0].sum())

    def slope(self, c: Floats) -> Floats:
        """Return the derivative by each centroid (m, d)."""
        return np.asarray(self._seen(c)[1])

    def curvature(self, c: Floats) -> Floats:
        """Return the second derivative by each centroid (m, d)."""
        return np.asarray(self._seen(c)[2])

    def rooms(self, c: Floats) -> tuple[Floats, Floats]:
        """Return the intervals (m, d) of pieces that go over into each other at c."""
        _, _, _, low, high = self._seen(c)
        return low, high

    def _seen(self, c: Floats) -> Floats:
        """Return value, slope, curvature and the ends of the room of each (5, m, d)."""
        from aggopt.algorithms.stiefel.piece_kernels import look_up

        seen = np.empty((5, *self.shape))
        look_up(self.pieces, np.ascontiguousarray(c), seen)
        return seen

    def smoothed(
        self, line: Floats, lam: Floats, soft: float, mean: Floats, square: Floats
    ) -> float:
        """Return the smoothed minima's sum: see `CellCost`."""
        from aggopt.algorithms.stiefel.piece_kernels import smoothed

        return smoothed(self.pieces, self.box, line, lam, soft, mean, square)

    def descended(self, c: Floats, price: "Penalty", order: I64) -> None:
        """Move each centroid to its least cost: see `CellCost`."""
        from aggopt.algorithms.stiefel.piece_kernels import descended

        descended(self.pieces, self.box, c, price, order)


def cost_of(data: JointWishes) -> CellCost:
    """Return the cost of a program's centroids."""
    return Cost.of(data) if isinstance(data, p3m_joint.Data) else PieceCost.of(data)
