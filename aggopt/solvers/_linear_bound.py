"""A bound of a linear program from any multipliers; no solver need be trusted.

For multipliers y, x in its box, and rows between low and high,

    c'x + sum_j p_j x_j^2 / 2 = y'(A x) + sum_j (p_j x_j^2 / 2 + (c - A'y)_j x_j)

and each term has a least value.  Rounding is accounted for, so that the bound holds in
exact arithmetic.  If x is unbounded, a term has no least value when its reduced cost is
0 up to rounding, such as 1 - .3 - .7.  Multipliers a little nearer to 0 leave that
reduced cost a share of the cost.

Source: Neumaier and Shcherbina, Mathematical Programming 99, 2004.
"""

from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import fsum, isfinite
from typing import Any

import numpy as np

from aggopt.core.types import Floats

# more than the rounding of a few operations, with those that made the program's data
EPS = 16 * float(np.finfo(float).eps)
ROUNDS = 2  # of narrowing the box; each looks at every row once
NEARER = 1 - 2**-33  # times multipliers: far less than an optimum is shown by
EXACT = 1000  # columns that are worked out in exact fractions, at most


@dataclass(frozen=True, eq=False)
class LinearProgram:
    """Minimise cost'x + sum curve x^2 / 2 + constant over low <= A x <= high and a box.

    Attributes
    ----------
    cost, curve : (n,)
        curve >= 0; all zero in a linear program.
    rows : (m, n)
        A, sparse.
    low, high : (m,)
        Infinite for a side that a row does not have.
    left, right : (n,)
        The box of x.
    """

    cost: Floats = field(repr=False)
    curve: Floats = field(repr=False)
    constant: float
    rows: Any = field(repr=False)
    low: Floats = field(repr=False)
    high: Floats = field(repr=False)
    left: Floats = field(repr=False)
    right: Floats = field(repr=False)


def prove_bound(program: LinearProgram, multipliers: Floats) -> float | None:
    """Return the bound that multipliers (m,) of either sign prove; None without one.

    >>> from scipy.sparse import csr_array
    >>> no = np.array([0.0, 0.0])
    >>> box, row = np.array([np.inf, np.inf]), csr_array([[1.0, 1.0]])
    >>> program = LinearProgram(
    ...     np.array([2.0, 1.0]), no, 0.0, row, np.array([3.0]), box[:1], no, box
    ... )
    >>> round(prove_bound(program, np.array([-1.0])), 9)
    3.0
    """
    if multipliers.shape != program.low.shape or (program.curve < 0).any():
        return None
    for _ in range(ROUNDS):
        program = narrow_box(program)
    y = np.where(np.isfinite(multipliers), multipliers, 0.0)
    bounds = [_bound(program, part * y) for part in (1.0, -1.0, NEARER, -NEARER)]
    return max((b for b in bounds if isfinite(b)), default=None)


def narrow_box(program: LinearProgram) -> LinearProgram:
    """Return the program with the box that each row leaves, given the others' box."""
    table = program.rows.tocoo()
    real = table.data != 0
    i = table.row[real]
    j = table.col[real]
    a = table.data[real]
    up = a > 0
    down = a < 0
    smallest = a * np.where(up, program.left[j], program.right[j])
    largest = a * np.where(up, program.right[j], program.left[j])
    above = _compute_slack(i, smallest, program.high)
    below = -_compute_slack(i, -largest, -program.low)
    with np.errstate(invalid="ignore"):
        top = above / a
        bottom = below / a
    top, bottom = np.where(up, top, bottom), np.where(up, bottom, top)
    left = program.left.copy()
    right = program.right.copy()
    np.minimum.at(right, j[up | down], top + EPS * np.abs(top))
    np.maximum.at(left, j[up | down], bottom - EPS * np.abs(bottom))
    return replace(program, left=left, right=right)


def _compute_slack(i: Any, lower: Floats, high: Floats) -> Floats:
    """Return the most that row i leaves each term: high less the others' least values.

    Infinite if another term has no least value.
    """
    m = len(high)
    endless = np.isinf(lower)
    finite = np.where(endless, 0.0, lower)
    total = np.bincount(i, finite, m)
    size = np.bincount(i, np.abs(finite), m)
    number = np.bincount(i, minlength=m)
    others_endless = np.bincount(i, endless, m)[i] - endless > 0
    with np.errstate(invalid="ignore"):
        error = EPS * (number + 4)[i] * (size[i] + np.abs(high[i]))
        left = high[i] - (total[i] - finite) + error
    return np.where(others_endless | np.isinf(high[i]), np.inf, left)


def _bound(program: LinearProgram, y: Floats) -> float:
    """Return the bound that multipliers (m,) prove, -inf if they prove nothing."""
    rows = program.rows.tocsc()
    y = np.where(np.isinf(np.where(y > 0, program.low, program.high)), 0.0, y)
    sides = np.where(y == 0, 0.0, np.where(y > 0, program.low, program.high))
    reduced = program.cost - rows.T @ y
    size = np.abs(program.cost) + abs(rows).T @ np.abs(y)
    error = EPS * (np.diff(rows.indptr) + 3) * size
    low = reduced - error
    high = reduced + error
    endless = np.flatnonzero(np.isneginf(_minimise_curves(program, low, high)))
    if len(endless) > EXACT:
        return -np.inf
    for j in endless:
        exact = _compute_exact_cost(program, rows, y, int(j))
        low[j] = max(low[j], 0.0) if exact >= 0 else low[j]
        high[j] = min(high[j], 0.0) if exact <= 0 else high[j]
    minima = _minimise_curves(program, low, high)
    terms = [*(y * sides), *minima, program.constant]
    if np.isneginf(minima).any():
        return -np.inf
    return fsum(terms) - EPS * fsum(map(abs, terms))


def _minimise_curves(program: LinearProgram, low: Floats, high: Floats) -> Floats:
    """Return the least curve x^2 / 2 + r x, low <= r <= high, of each x in its box."""
    minima = np.full(len(low), np.inf)
    bent = program.curve > 0
    p = np.where(program.curve > 0, program.curve, 1.0)
    for r in (low, high):
        end = np.where(r > 0, program.left, program.right)
        x = np.where(bent, np.clip(-r / p, program.left, program.right), end)
        with np.errstate(invalid="ignore"):  # 0 times an infinite side
            square = np.where(bent, p * x**2 / 2, 0.0)
            product = np.where(r == 0, 0.0, r * x)
            value = square + product - EPS * (np.abs(square) + np.abs(product))
        minima = np.minimum(minima, np.where(np.isnan(value), -np.inf, value))
    return minima


def _compute_exact_cost(
    program: LinearProgram, rows: Any, y: Floats, j: int
) -> Fraction:
    """Return the reduced cost of column j, in fractions."""
    part = slice(rows.indptr[j], rows.indptr[j + 1])
    pairs = zip(rows.indices[part], rows.data[part], strict=True)
    products = (Fraction(float(a)) * Fraction(float(y[i])) for i, a in pairs)
    taken = sum(products, Fraction())
    return Fraction(float(program.cost[j])) - taken


def solve_for_multipliers(program: LinearProgram, seconds: float | None) -> Floats:
    """Return the multipliers (m,) that HiGHS finds within `seconds`.

    They need not be right: any multipliers prove a bound.  All are 0 if HiGHS finds
    none.
    """
    import highspy

    solver = highspy.Highs()
    solver.silent()
    if seconds is not None:
        solver.setOptionValue("time_limit", max(seconds, 0.1))
    rows = program.rows.tocsr()
    model = highspy.HighsModel()
    lp = model.lp_
    lp.num_row_, lp.num_col_ = rows.shape
    lp.col_cost_ = program.cost
    lp.col_lower_ = program.left
    lp.col_upper_ = program.right
    lp.row_lower_ = program.low
    lp.row_upper_ = program.high
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_ = rows.indptr
    lp.a_matrix_.index_ = rows.indices
    lp.a_matrix_.value_ = rows.data
    if program.curve.any():
        bent = np.flatnonzero(program.curve)
        model.hessian_.dim_ = len(program.cost)
        model.hessian_.format_ = highspy.HessianFormat.kTriangular
        model.hessian_.start_ = np.searchsorted(bent, np.arange(len(program.cost) + 1))
        model.hessian_.index_ = bent
        model.hessian_.value_ = program.curve[bent]
    solver.passModel(model)
    solver.run()
    duals = np.asarray(solver.getSolution().row_dual, np.float64)
    return duals if duals.shape == program.low.shape else np.zeros_like(program.low)
