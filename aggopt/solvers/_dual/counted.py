"""The count row: how many of the groups that are alike take their upper well.

Groups of like records have like wells.  Which of them go up hardly matters, but how
many do is a whole number K, where the dual alone would take half a group.  Cutting f_j
in two at its barrier, with u_j = 0 below and a whole number above, makes K a row with a
multiplier of its own; its values are then tried one by one.
"""

import numpy as np

from aggopt.core.validation import Floats
from aggopt.solvers._dual.flips import Flips
from aggopt.solvers._dual.program import Program

MOST = 3  # groups of the first kind that one group may stand for
FEW = 3  # groups that are alike: below, each is branched on alone


def likeness(flips: Flips, j: int) -> Floats:
    """Return how many times the flip of group j the flip of each group is (m,).

    A whole number, from below to above; 0 for groups unlike j, or that cannot flip.
    """
    w11, w12, w22 = flips.metric
    a1, a2 = flips.change.T
    size = w11 * a1 * a1 + 2 * w12 * a1 * a2 + w22 * a2 * a2
    able = np.isfinite(flips.price)
    if np.sum(able & (size > size[j] / 4)) <= FEW:
        return np.zeros(len(size))
    with np.errstate(divide="ignore", invalid="ignore"):
        times = np.rint(np.abs(a1 / a1[j]))
    alike = able & (times <= MOST) & (size <= 4 * times**2 * size[j])
    return np.where(alike, times, 0)


def counted(program: Program, cuts: Floats, times: Floats) -> Program:
    """Return the program with f_j cut at cuts_j, and u_j = times_j above the cut."""
    group = np.repeat(np.arange(len(program.sizes)), np.diff(program.first))
    cut = np.where(times != 0, cuts, np.nan)[group]
    across = (program.low < cut) & (cut < program.high)
    copies = np.repeat(np.arange(len(group)), np.where(across, 2, 1))
    upper = np.r_[False, copies[1:] == copies[:-1]]
    lower = np.r_[upper[1:], False]
    low, high = program.low[copies], program.high[copies]
    low[upper], high[lower] = cut[copies[upper]], cut[copies[lower]]
    above = low >= cut[copies]
    pieces = np.bincount(group[copies], minlength=len(program.sizes))
    return program._replace(
        first=np.r_[0, np.cumsum(pieces)],
        low=low,
        high=high,
        quartic=program.quartic[copies],
        step=np.where(above, times[group[copies]], 0.0),
    )
