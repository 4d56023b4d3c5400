"""What each centroid costs: a quartic for each group and attribute.

Where a record insists (importance 1), the group's centroid of that attribute is one of
two values, or the only one that all such records of the group accept.
"""

from dataclasses import dataclass, field

import numpy as np

from aggopt.core.types import Bool
from aggopt.core.validation import Floats
from aggopt.models import p3m, p3m_joint
from aggopt.solvers._lagrangian.piecewise_quartics import quartics

STEPS = 3  # Newton steps that polish a root in closed form


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
    """

    powers: Floats = field(repr=False)
    centres: Floats = field(repr=False)
    allowed: Floats = field(repr=False)

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
        return cls(powers, data.means, allowed)

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

    def plus(self, line: Floats, square: Floats) -> Floats:
        """Return the coefficients (5, m, d) of cost + line c + square c^2."""
        a, C = self.powers.copy(), self.centres
        a[0] += (line + square * C) * C
        a[1] += line + 2 * square * C
        a[2] += square
        return a

    def minima(self, a: Floats) -> tuple[Floats, Floats]:
        """Return two local minima of each quartic, as c (m, d): equal where one is."""
        one, other = minima(a)
        low, high = one + self.centres, other + self.centres
        held = self.demanded
        low, high = (
            np.where(held, pin, c)
            for pin, c in zip(self.allowed, (low, high), strict=True)
        )
        return low, high

    def lowest(self, a: Floats) -> tuple[Floats, Floats]:
        """Return the least value of each quartic, and where it is, as c (m, d)."""
        low, high = self.minima(a)
        below, above = at(a, low - self.centres), at(a, high - self.centres)
        left = below <= above
        return np.where(left, below, above), np.where(left, low, high)


def at(a: Floats, t: Floats) -> Floats:
    """Return quartics a (5, ...) at t."""
    return np.asarray((((a[4] * t + a[3]) * t + a[2]) * t + a[1]) * t + a[0])


def minima(a: Floats) -> tuple[Floats, Floats]:
    """Return the outer roots of the slopes of quartics a (5, ...), a_4 > 0.

    With t = z - a_3 / (4 a_4) a slope is 4 a_4 (z^3 + p z + q): three roots by cosines,
    or one by Cardano; both polished by Newton's method.  Where a_4 = 0 and no
    quartic is left, that of the square.
    """
    flat = a[4] <= 0
    top = np.where(flat, 1.0, a[4])
    b = a[3] / (4 * top)
    p = a[2] / (2 * top) - 3 * b**2
    q = (((-4 * top * b + 3 * a[3]) * -b + 2 * a[2]) * -b + a[1]) / (4 * top)
    inside = q**2 / 4 + p**3 / 27
    three = inside < 0
    r = 2 * np.sqrt(np.where(three, -p / 3, 1.0))
    angle = np.arccos(np.clip(np.where(three, 3 * q / (p * r + ~three), 0), -1, 1)) / 3
    root = np.sqrt(np.where(three, 0.0, inside))
    one = np.cbrt(-q / 2 + root) + np.cbrt(-q / 2 - root)
    square = -a[1] / np.where(a[2] > 0, 2 * a[2], 1.0)
    found = []
    for turn in (4 * np.pi / 3, 0.0):
        z = np.where(three, r * np.cos(angle - turn), one)
        found.append(np.where(flat, square, _polished(a, z - b)))
    return found[0], found[1]


def _polished(a: Floats, t: Floats) -> Floats:
    for _ in range(STEPS):
        slope = ((4 * a[4] * t + 3 * a[3]) * t + 2 * a[2]) * t + a[1]
        curvature = (12 * a[4] * t + 6 * a[3]) * t + 2 * a[2]
        step = slope / np.where(curvature > 0, curvature, np.inf)
        better = at(a, t - step) < at(a, t)
        t = np.where(better, t - step, t)
    return t
