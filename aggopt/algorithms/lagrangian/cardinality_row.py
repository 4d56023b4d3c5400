"""The cardinality row: the number of symmetric groups that take their upper basin.

Groups of like records have like basins.  It hardly matters which of them take the upper
one, but their number is an integer K, while the dual alone would take half a group.
Splitting f_j at its barrier, with u_j = 0 below and an integer above, makes K a row
with its own multiplier (orbital branching).  The values of K are then enumerated.
"""

import numpy as np

from aggopt.algorithms.lagrangian.basin_swaps import BasinSwaps
from aggopt.algorithms.lagrangian.program import Separable
from aggopt.core.validation import Floats

MOST_TIMES = 3  # largest coefficient: how many first groups one group may stand for
FEW = 3  # symmetric groups; with no more, each is branched on separately


def symmetric_groups(swaps: BasinSwaps, j: int) -> Floats:
    """Return each group's swap as a multiple of group j's swap (m,).

    An integer, from below to above; 0 for groups unlike j, or without a second basin.
    """
    w11, w12, w22 = swaps.metric
    a1, a2 = swaps.change.T
    size = w11 * a1 * a1 + 2 * w12 * a1 * a2 + w22 * a2 * a2
    able = np.isfinite(swaps.price)
    if np.sum(able & (size > size[j] / 4)) <= FEW:
        return np.zeros(len(size))
    with np.errstate(divide="ignore", invalid="ignore"):
        times = np.rint(np.abs(a1 / a1[j]))
    alike = able & (times <= MOST_TIMES) & (size <= 4 * times**2 * size[j])
    return np.where(alike, times, 0)


def with_cardinality_row(program: Separable, cuts: Floats, times: Floats) -> Separable:
    """Return the program with f_j split at cuts_j, and u_j = times_j above."""
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
        level=np.where(above, times[group[copies]], 0.0),
    )


def ends_of_levels(program: Separable, j: int, cut: float) -> tuple[float, float]:
    """Return the end of the lower level of group j, and the begin of its upper level.

    At the cut itself u_j could have either value.  A group that is kept on one side of
    the cut would still be on both, and a node would be split into itself.  So a
    rounding is left out, which changes no piece by more than `bound` allows.  A piece
    that is a point stays.
    """
    pieces = slice(program.first[j], program.first[j + 1])
    low, high = program.low[pieces], program.high[pieces]
    point = bool(np.any((low == cut) & (high == cut)))
    above = cut if point else float(np.nextafter(cut, np.inf))
    return float(np.nextafter(cut, -np.inf)), above
