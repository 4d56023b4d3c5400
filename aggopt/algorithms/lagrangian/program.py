r"""Separable programs: one cost function a group, coupled by two rows.

Minimise
    sum_j f_j(c_j)
Subject to
    mean:         sum_j n_j c_j = total
    variance:     sum_j n_j c_j^2 = squares
    cardinality:  sum_j u_j(c_j) = cardinality

f_j is piecewise quartic.  A piece is a quartic on a closed interval, and f_j(c) is the
minimum over the pieces whose interval contains c.  Pieces may touch, overlap, leave
gaps, jump where they touch, and shrink to a point.  u_j is constant on each piece.  The
cardinality row is vacuous (all 0) in a new program, and added by branching.
"""

from typing import NamedTuple

import numpy as np

from aggopt.core.types import I64, Floats


class Separable(NamedTuple):
    """A separable program; group j owns the pieces first[j]..first[j+1]-1.

    Attributes
    ----------
    first : (m + 1,)
        Index of each group's first piece; pieces ascend with their intervals.
    low, high : (p,)
        Interval of each piece, in t = c - centre of the group; may be infinite.
    quartic : (p, 5)
        Coefficients a_0..a_4 of each piece in powers of t, a_4 >= 0.
    level : (p,)
        u_j on each piece.
    sizes, centres : (m,)
        n_j, and the c of t = 0.
    terms : (m,)
        Sum of the magnitudes that were added up to a_0: the scale of rounding errors.
    total, squares, cardinality
        Right-hand sides of the rows.
    """

    first: I64
    low: Floats
    high: Floats
    quartic: Floats
    level: Floats
    sizes: Floats
    centres: Floats
    terms: Floats
    total: float
    squares: float
    cardinality: float


class Box(NamedTuple):
    """Interval of each group's t: low, high (m,)."""

    low: Floats
    high: Floats


SLACK = 1e-12  # relative; so that rounding does not cut off the ends of the box


def compute_implied_box(program: Separable) -> Box:
    """Return the interval of each centroid that mean and variance imply.

    With mean v = total / n and V = squares / n - v^2, the other groups can balance
    group j only while (c_j - v)^2 <= V (n - n_j) / n_j.
    """
    n = program.sizes.sum()
    mean = program.total / n
    variance = max(program.squares / n - mean**2, 0.0)
    radius = np.sqrt(variance * (n - program.sizes) / program.sizes)
    radius = radius * (1 + SLACK) + SLACK
    middle = mean - program.centres
    return Box(middle - radius, middle + radius)


def is_in_every_group(program: Separable, box: Box) -> bool:
    """Whether each group has a piece in the box; otherwise it is infeasible."""
    group = np.repeat(np.arange(len(program.sizes)), np.diff(program.first))
    inside = (program.low <= box.high[group]) & (program.high >= box.low[group])
    return bool((np.bincount(group[inside], minlength=len(box.low)) > 0).all())
