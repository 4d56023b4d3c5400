"""Compiled moves of single records to the groups where they lose least.

Importing this imports numba.
"""

from aggopt.algorithms.boxes.loss_kernels import measure_hull
from aggopt.core.compiled import unrefcounted, unrefcounted_inner
from aggopt.core.types import I64
from aggopt.partition._generalising.group_kernels import (
    find_best_group,
    link,
    start_hull,
    unlink,
    widen,
)
from aggopt.partition._generalising.state import HullGroups, RebuildTrial, RecordSpace

EQUAL = 1e-12  # a gain that is less is none


@unrefcounted
def move_records(space: RecordSpace, groups: HullGroups, trial: RebuildTrial) -> int:
    """Move each record of a group above k to the best near group; return how many.

    Only for searches without requirements in addition to k.
    """
    d = space.positions.shape[1]
    lowest = trial.lowest[0]
    highest = trial.highest[0]
    moved = 0
    for i in range(len(space.positions)):
        g = groups.label[i]
        if groups.size[g] <= space.k or groups.loss[g] == 0.0:
            continue
        rest = _measure_without(space, groups, g, i, lowest, highest)
        v = space.weights[i]
        gain = groups.mass[g] * groups.loss[g] - (groups.mass[g] - v) * rest
        groups.open[g] = False
        to, _ = find_best_group(space, groups, i, trial.random_state, gain - EQUAL)
        groups.open[g] = True
        if to < 0:
            continue
        moved += 1
        unlink(groups, i)
        groups.size[g] -= 1
        groups.mass[g] -= v
        groups.loss[g] = rest
        for a in range(d):
            groups.lowest[g, a] = lowest[a]
            groups.highest[g, a] = highest[a]
        link(groups, i, to)
        groups.size[to] += 1
        groups.mass[to] += v
        widen(space, groups.lowest[to], groups.highest[to], i)
        groups.loss[to] = measure_hull(
            space.losses, groups.lowest[to], groups.highest[to]
        )
    return moved


@unrefcounted_inner
def _measure_without(
    space: RecordSpace, groups: HullGroups, g: int, i: int, lowest: I64, highest: I64
) -> float:
    """Return the loss of group g without record i, and write its hull."""
    r = groups.head[g]
    if r == i:
        r = groups.following[r]
    start_hull(space, lowest, highest, r)
    while r >= 0:
        if r != i:
            widen(space, lowest, highest, r)
        r = groups.following[r]
    return measure_hull(space.losses, lowest, highest)
