"""Branching variable selection: the group to branch on at the dual optimum.

Importing this imports numba: do so late.
"""

from typing import NamedTuple

import numpy as np

from aggopt.algorithms.lagrangian.ascent import DualOptimum
from aggopt.algorithms.lagrangian.basin_swaps import BasinSwaps
from aggopt.algorithms.lagrangian.local_minima import LEVEL
from aggopt.algorithms.lagrangian.program import Separable
from aggopt.algorithms.lagrangian.two_lowest import TwoLowest
from aggopt.core.types import I64
from aggopt.core.validation import Floats


class NodeOptimum(NamedTuple):
    """Dual optimum of a node, its bound, and the basins of its groups."""

    optimum: DualOptimum
    bound: float
    at: TwoLowest
    swaps: BasinSwaps
    share: Floats  # of each group that the dual puts into its second basin


def symmetry_classes(program: Separable) -> I64:
    """Return a number for each group (m,), equal if f_j and n_j are equal."""
    pieces = np.column_stack([program.low, program.high, program.quartic])
    one = np.diff(program.first) == 1
    rows = np.column_stack([program.sizes, program.centres])[one]
    number = np.arange(len(one)) + len(one)
    if one.any():
        whole = np.column_stack([rows, pieces[program.first[:-1][one]]])
        number[one] = np.unique(whole, axis=0, return_inverse=True)[1].ravel()
    return number


def branching_group(optimum: NodeOptimum) -> int:
    """Return the group that costs most to round, else the nearest to a tie."""
    w11, w12, w22 = optimum.swaps.metric
    a1, a2 = unexplained_changes(optimum).T
    size = w11 * a1 * a1 + 2 * w12 * a1 * a2 + w22 * a2 * a2
    impact = np.where(optimum.at.gap < np.inf, optimum.share * size, 0)
    j = int(np.argmax(impact))
    return j if impact[j] > 0 else int(np.argmin(optimum.at.gap))


def unexplained_changes(optimum: NodeOptimum) -> Floats:
    """Return the change of the rows (m, 2) by each swap, less the part u explains."""
    change = optimum.swaps.change
    able = optimum.at.gap < np.inf
    u = np.where(able, optimum.at.other[:, LEVEL] - optimum.at.best[:, LEVEL], 0)
    if not u.any():
        return change
    return change - np.outer(u, u @ change / (u @ u))
