r"""Separable programs: every group pays for its own centroid, two rows couple them.

Minimise
    sum_j f_j(c_j)
Subject to
    mean:      sum_j n_j c_j = total
    variance:  sum_j n_j c_j^2 = squares
    count:     sum_j u_j(c_j) = tally

f_j is quartic in pieces.  A piece is a quartic on a closed interval, and f_j(c) is
the lowest of the pieces that hold c: pieces may touch, overlap, leave gaps, jump where
they touch, and shrink to a point.  u_j is constant on each piece; the count row is
vacuous (all 0) as a program is stated, and branching makes use of it.
"""

from typing import NamedTuple

import numpy as np

from aggopt.core.types import I64
from aggopt.core.validation import Floats


class Program(NamedTuple):
    """A separable program; group j owns the pieces first[j]..first[j+1]-1.

    Attributes
    ----------
    first : (m + 1,)
        Where the pieces of each group begin, in rising order of their intervals.
    low, high : (p,)
        Interval of each piece, in t = c - centre of the group; may be infinite.
    quartic : (p, 5)
        Coefficients a_0..a_4 of each piece in powers of t, a_4 >= 0.
    step : (p,)
        u_j on each piece.
    sizes, centres : (m,)
        n_j, and where t = 0 lies.
    terms : (m,)
        Sum of the magnitudes that were added up to a_0: what rounding is relative to.
    total, squares, tally
        What the rows ask for.
    """

    first: I64
    low: Floats
    high: Floats
    quartic: Floats
    step: Floats
    sizes: Floats
    centres: Floats
    terms: Floats
    total: float
    squares: float
    tally: float


class Box(NamedTuple):
    """Where each group may be: low, high (m,), in t."""

    low: Floats
    high: Floats


SLACK = 1e-12  # relative; keeps rounding from cutting off the ends of the box


def reach(program: Program) -> Box:
    """Return the box that the mean and the variance imply.

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


def holds(program: Program, box: Box) -> bool:
    """Whether the box holds a piece of every group."""
    group = np.repeat(np.arange(len(program.sizes)), np.diff(program.first))
    inside = (program.low <= box.high[group]) & (program.high >= box.low[group])
    return bool((np.bincount(group[inside], minlength=len(box.low)) > 0).all())
