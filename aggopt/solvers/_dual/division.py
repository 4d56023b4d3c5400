"""Which group to branch on: what is known of each where the dual is highest.

Importing this imports numba: do so late.
"""

from typing import NamedTuple

import numpy as np

from aggopt.core.types import I64
from aggopt.core.validation import Floats
from aggopt.solvers._dual.ascent import Top
from aggopt.solvers._dual.choices import Choices
from aggopt.solvers._dual.flips import Flips
from aggopt.solvers._dual.program import Program


class Found(NamedTuple):
    """What is known at the maximum of a node's dual function."""

    top: Top
    bound: float
    at: Choices
    flips: Flips
    share: Floats  # of each group that the dual puts into its second well


def kinds(program: Program) -> I64:
    """Return a number for each group (m,), the same where f_j and n_j are."""
    pieces = np.column_stack([program.low, program.high, program.quartic])
    one = np.diff(program.first) == 1
    rows = np.column_stack([program.sizes, program.centres])[one]
    number = np.arange(len(one)) + len(one)
    if one.any():
        whole = np.column_stack([rows, pieces[program.first[:-1][one]]])
        number[one] = np.unique(whole, axis=0, return_inverse=True)[1].ravel()
    return number


def divided(found: Found) -> int:
    """Return the group whose division costs most to undo, else the nearest to a tie."""
    w11, w12, w22 = found.flips.metric
    a1, a2 = unlike(found).T
    size = w11 * a1 * a1 + 2 * w12 * a1 * a2 + w22 * a2 * a2
    impact = np.where(found.at.gap < np.inf, found.share * size, 0)
    j = int(np.argmax(impact))
    return j if impact[j] > 0 else int(np.argmin(found.at.gap))


def unlike(found: Found) -> Floats:
    """Return how each flip changes the rows (m, 2), beyond what its count explains."""
    change = found.flips.change
    able = found.at.gap < np.inf
    u = np.where(able, found.at.other[:, 3] - found.at.best[:, 3], 0)
    if not u.any():
        return change
    return change - np.outer(u, u @ change / (u @ u))
