"""Compiled primal-dual steps on the listed pairs.  Imports numba.

Chambolle and Pock, Journal of Mathematical Imaging and Vision 40, 2011, with diagonal
steps and restarts from averages, as in Applegate et al., NeurIPS 2021.
"""

from typing import NamedTuple

import numpy as np

from aggopt.core.compiled import compiled, inlined
from aggopt.core.types import I32, I64
from aggopt.core.validation import Floats


class Matrix(NamedTuple):
    """The program: degrees y of both records of a pair, and cuts by column.

    Attributes
    ----------
    first, second, costs : (m,)
        Listed pairs and what they cost.
    start, rows, entries : (m + n + 1,), (e,), (e,)
        Entries of each pair, and then of each record, in the rows of cuts.
    k
        Side of the degrees.
    sides : (r,)
        Sides of the cuts.
    low, high : (n,)
        Box of x; a pair is at most `high` of both records.
    limits : (n,)
        Greatest multipliers of degrees.
    masses : (n,)
        Weights of the records: a degree has the other record's on each pair.
    """

    first: I32
    second: I32
    costs: Floats
    start: I64
    rows: I32
    entries: Floats
    k: float
    sides: Floats
    low: Floats
    high: Floats
    limits: Floats
    masses: Floats


class Lengths(NamedTuple):
    """Lengths of the steps: of each pair, record, degree and cut."""

    w: Floats
    x: Floats
    y: Floats
    cuts: Floats


class Iterate(NamedTuple):
    """Values of the pairs w, the records x, and the multipliers y and `cuts`."""

    w: Floats
    x: Floats
    y: Floats
    cuts: Floats


@compiled
def set_lengths(
    matrix: Matrix, scales: Floats, row_scales: Floats, to: Lengths
) -> None:
    """Set the lengths of steps: inverse sums of the entries, by scales of the rows."""
    n = len(matrix.low)
    m = len(matrix.first)
    masses = matrix.masses
    to.y[:] = masses
    to.cuts[:] = 0.0
    for p in range(m):
        i = matrix.first[p]
        j = matrix.second[p]
        to.y[i] += masses[j]
        to.y[j] += masses[i]
        total = scales[i] * masses[j] + scales[j] * masses[i]
        for e in range(matrix.start[p], matrix.start[p + 1]):
            size = abs(matrix.entries[e])
            total += size * row_scales[matrix.rows[e]]
            to.cuts[matrix.rows[e]] += size
        to.w[p] = 1.0 / total
    for i in range(n):
        total = scales[i] * masses[i]
        for e in range(matrix.start[m + i], matrix.start[m + i + 1]):
            size = abs(matrix.entries[e])
            total += size * row_scales[matrix.rows[e]]
            to.cuts[matrix.rows[e]] += size
        to.x[i] = 1.0 / total
        to.y[i] = scales[i] / to.y[i]
    for r in range(len(to.cuts)):
        to.cuts[r] = row_scales[r] / max(to.cuts[r], 1e-9)


@compiled
def take_steps(
    matrix: Matrix,
    lengths: Lengths,
    at: Iterate,
    sums: Iterate,
    omega: float,
    steps: int,
) -> None:
    """Take steps from an iterate, and add each one to `sums`."""
    n = len(matrix.low)
    m = len(matrix.first)
    masses = matrix.masses
    degrees = np.empty(n)
    left = np.empty(len(matrix.sides))
    for _ in range(steps):
        for i in range(n):
            degrees[i] = matrix.k
        for r in range(len(left)):
            left[r] = matrix.sides[r]
        for p in range(m):
            i = matrix.first[p]
            j = matrix.second[p]
            reduced = matrix.costs[p] - masses[j] * at.y[i] - masses[i] * at.y[j]
            for e in range(matrix.start[p], matrix.start[p + 1]):
                reduced -= matrix.entries[e] * at.cuts[matrix.rows[e]]
            old = at.w[p]
            new = max(old - lengths.w[p] / omega * reduced, 0.0)
            new = min(new, min(matrix.high[i], matrix.high[j]))
            at.w[p] = new
            sums.w[p] += new
            ahead = 2.0 * new - old
            if ahead != 0.0:
                degrees[i] -= masses[j] * ahead
                degrees[j] -= masses[i] * ahead
                for e in range(matrix.start[p], matrix.start[p + 1]):
                    left[matrix.rows[e]] -= matrix.entries[e] * ahead
        for i in range(n):
            reduced = -masses[i] * at.y[i]
            for e in range(matrix.start[m + i], matrix.start[m + i + 1]):
                reduced -= matrix.entries[e] * at.cuts[matrix.rows[e]]
            old = at.x[i]
            new = max(old - lengths.x[i] / omega * reduced, matrix.low[i])
            new = min(new, matrix.high[i])
            at.x[i] = new
            sums.x[i] += new
            ahead = 2.0 * new - old
            degrees[i] -= masses[i] * ahead
            for e in range(matrix.start[m + i], matrix.start[m + i + 1]):
                left[matrix.rows[e]] -= matrix.entries[e] * ahead
        for i in range(n):
            new = at.y[i] + lengths.y[i] * omega * degrees[i]
            at.y[i] = min(max(new, 0.0), matrix.limits[i])
            sums.y[i] += at.y[i]
        for r in range(len(left)):
            at.cuts[r] = max(at.cuts[r] + lengths.cuts[r] * omega * left[r], 0.0)
            sums.cuts[r] += at.cuts[r]


@compiled
def evaluate_multipliers(matrix: Matrix, y: Floats, cuts: Floats) -> float:
    """Return the bound that multipliers give if only the listed pairs count."""
    n = len(matrix.low)
    m = len(matrix.first)
    total = 0.0
    for i in range(n):
        total += matrix.k * y[i]
    for r in range(len(cuts)):
        total += matrix.sides[r] * cuts[r]
    for p in range(m):
        i = matrix.first[p]
        j = matrix.second[p]
        reduced = matrix.costs[p] - _sum_cuts(matrix, cuts, p)
        reduced -= matrix.masses[j] * y[i] + matrix.masses[i] * y[j]
        total += min(reduced, 0.0) * min(matrix.high[i], matrix.high[j])
    for i in range(n):
        reduced = -matrix.masses[i] * y[i] - _sum_cuts(matrix, cuts, m + i)
        total += min(reduced * matrix.low[i], reduced * matrix.high[i])
    return total


@inlined
def _sum_cuts(matrix: Matrix, cuts: Floats, column: int) -> float:
    """Return what the cuts take off the cost of a column."""
    total = 0.0
    for e in range(matrix.start[column], matrix.start[column + 1]):
        total += matrix.entries[e] * cuts[matrix.rows[e]]
    return total
