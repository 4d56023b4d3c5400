"""Compiled primal-dual steps on the listed pairs.  Imports numba.

Chambolle and Pock, Journal of Mathematical Imaging and Vision 40, 2011, with diagonal
steps and restarts from averages, as in Applegate et al., NeurIPS 2021.
"""

from typing import Any, NamedTuple

import numpy as np

from aggopt.core.compiled import unrefcounted, unrefcounted_inlined
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


def set_lengths(
    matrix: Matrix, columns: Any, scales: Floats, row_scales: Floats, to: Lengths
) -> None:
    """Set the lengths of steps: inverse sums of the entries, by scales of the rows.

    `columns` are those of `sort_by_column`.
    """
    n = len(matrix.low)
    m = len(matrix.first)
    masses, first, second = matrix.masses, matrix.first, matrix.second
    size = abs(columns)
    totals = size @ row_scales
    totals[:m] += scales[first] * masses[second] + scales[second] * masses[first]
    totals[m:] += scales * masses
    to.w[:], to.x[:] = 1.0 / totals[:m], 1.0 / totals[m:]
    degrees = masses + np.bincount(first, masses[second], n)
    to.y[:] = scales / (degrees + np.bincount(second, masses[first], n))
    to.cuts[:] = row_scales / np.maximum(size.sum(axis=0), 1e-9)


def sort_by_column(
    row_start: I64, columns: I32, entries: Floats, shape: tuple[int, int]
) -> Any:
    """Return the entries of cuts as a sparse matrix: a row for each pair and record."""
    from scipy.sparse import csc_array

    return csc_array((entries, columns, row_start), shape=shape).tocsr()


@unrefcounted_inlined
def _clip(value: float, low: float, high: float) -> float:
    """Return the number of [low, high] that is nearest to a value."""
    raised = value if value > low else low
    return raised if raised < high else high


@unrefcounted
def take_steps(
    matrix: Matrix,
    lengths: Lengths,
    at: Iterate,
    sums: Iterate,
    lacking: tuple[Floats, Floats],
    omega: float,
    steps: int,
) -> None:
    """Take steps from an iterate, and add each one to `sums`.

    `lacking` is room for what the degrees (n,) and the cuts (r,) lack.
    """
    n = len(matrix.low)
    m = len(matrix.first)
    masses = matrix.masses
    degrees, left = lacking
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
            new = _clip(old - lengths.w[p] / omega * reduced, 0.0, matrix.high[i])
            new = new if new < matrix.high[j] else matrix.high[j]
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
            new = old - lengths.x[i] / omega * reduced
            new = _clip(new, matrix.low[i], matrix.high[i])
            at.x[i] = new
            sums.x[i] += new
            ahead = 2.0 * new - old
            degrees[i] -= masses[i] * ahead
            for e in range(matrix.start[m + i], matrix.start[m + i + 1]):
                left[matrix.rows[e]] -= matrix.entries[e] * ahead
        for i in range(n):
            new = at.y[i] + lengths.y[i] * omega * degrees[i]
            at.y[i] = _clip(new, 0.0, matrix.limits[i])
            sums.y[i] += at.y[i]
        for r in range(len(left)):
            new = at.cuts[r] + lengths.cuts[r] * omega * left[r]
            at.cuts[r] = new if new > 0.0 else 0.0
            sums.cuts[r] += at.cuts[r]


def evaluate_multipliers(
    matrix: Matrix, columns: Any, y: Floats, cuts: Floats
) -> float:
    """Return the bound that multipliers give if only the listed pairs count.

    `columns` are those of `sort_by_column`.
    """
    m = len(matrix.first)
    first, second, high = matrix.first, matrix.second, matrix.high
    taken = columns @ cuts
    of_pairs = np.minimum(reduce_costs(matrix, taken, y)[1], 0.0)
    of_records = -matrix.masses * y - taken[m:]
    # sums of products, as a product of vectors may take several threads
    total = matrix.k * y.sum() + (matrix.sides * cuts).sum()
    total += (of_pairs * np.minimum(high[first], high[second])).sum()
    total += np.minimum(of_records * matrix.low, of_records * high).sum()
    return float(total)


def reduce_costs(matrix: Matrix, taken: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Return what degrees pay for each pair, and the cost less that and `taken`."""
    masses, first, second = matrix.masses, matrix.first, matrix.second
    degrees = masses[second] * y[first] + masses[first] * y[second]
    return degrees, matrix.costs - taken[: len(first)] - degrees
