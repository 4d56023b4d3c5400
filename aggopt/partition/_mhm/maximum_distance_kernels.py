"""Compiled search for the two records farthest apart.  Importing this imports numba.

See `nearest_point_next_kernels`: here the distance to the far corner of a box is
never exceeded.
"""

import numpy as np

from aggopt.core.compiled import compiled, inner
from aggopt.core.types import I64
from aggopt.core.validation import Floats
from aggopt.partition._mhm.boxes import Leaves
from aggopt.partition._mhm.maximum_distance_state import Reach
from aggopt.partition._mhm.nearest_point_next_kernels import (
    fill_nearest,
    leave,
    measure,
)


@compiled
def take_pairs(leaves: Leaves, reach: Reach, labels: I64, k: int, looks: int) -> None:
    """Take groups around the two farthest records, after `looks` looks at most.

    A look finds the farthest record from one that may be one of the two.

    A look finds which record is farthest from one that may be of the two.
    """
    near = np.empty(k, np.int64)
    for _ in range(looks):
        if leaves.waiting.sum() < 2 * k:
            return
        r = _outermost(leaves, reach)
        s = reach.whom[r]
        if s >= 0 and labels[s] < 0:
            if reach.out[s] > reach.out[r]:
                r, s = s, r
            here, there = _point(leaves, r), _point(leaves, s)
            _take_nearest(leaves, reach, labels, here, near)
            _take_nearest(leaves, reach, labels, there, near)
        else:
            reach.whom[r], reach.far[r] = _farthest(leaves, r)
            _raise_peak(leaves, reach, leaves.box[leaves.column[r]])


@inner
def _take_nearest(
    leaves: Leaves, reach: Reach, labels: I64, point: Floats, near: I64
) -> None:
    """Make a group of the unassigned records nearest to a point."""
    fill_nearest(leaves, point, -1, near, np.empty(len(near)))
    group = labels.max() + 1
    for j in near:
        labels[j] = group
        leave(leaves, j)
        _raise_peak(leaves, reach, leaves.box[leaves.column[j]])


@inner
def _raise_peak(leaves: Leaves, reach: Reach, box: int) -> None:
    """Set the peak of a box to the maximum over its unassigned records."""
    reach.peaks[box] = -1.0
    first = leaves.first[box]
    for i in leaves.who[first : first + leaves.waiting[box]]:
        reach.peaks[box] = max(reach.peaks[box], reach.far[i])


@inner
def _outermost(leaves: Leaves, reach: Reach) -> int:
    """Return the record whose bound on the farthest distance is largest."""
    # among equally distant records, the one first in X
    peak, best = reach.peaks.max(), -1
    for box in range(len(reach.peaks)):
        if reach.peaks[box] == peak:
            first = leaves.first[box]
            for i in leaves.who[first : first + leaves.waiting[box]]:
                if reach.far[i] == peak and (best < 0 or i < best):
                    best = i
    return best


@inner
def _farthest(leaves: Leaves, i: int) -> tuple[int, float]:
    """Return the record farthest from record i, and its squared distance."""
    point = _point(leaves, i)
    _measure_far_corners(leaves, point)
    home = int(leaves.bounds.argmax())
    best, most = _look(leaves, home, point, i, -1, -1.0)
    for box in range(len(leaves.bounds)):
        if leaves.bounds[box] >= most:
            best, most = _look(leaves, box, point, i, best, most)
    return best, most


@inner
def _look(
    leaves: Leaves, box: int, point: Floats, i: int, best: int, most: float
) -> tuple[int, float]:
    """Return the farthest record so far, including those of a box."""
    who, distances = measure(leaves, box, point)
    for j in range(len(who)):
        v = distances[j]
        if v >= most and who[j] != i and (v > most or who[j] < best):
            best, most = who[j], v
    return best, most


@inner
def _measure_far_corners(leaves: Leaves, point: Floats) -> None:
    """Set `bounds` to the squared distance of the far corner of each box."""
    bounds = leaves.bounds
    bounds[:] = 0.0
    for t in range(len(point)):
        low, high, p = leaves.low[t], leaves.high[t], point[t]
        for b in range(len(bounds)):
            gap = max(p - low[b], high[b] - p)
            bounds[b] += gap * gap
    bounds[leaves.waiting == 0] = -2.0


@inner
def _point(leaves: Leaves, i: int) -> Floats:
    """Return record i, (d,)."""
    return leaves.records[:, leaves.column[i]].copy()
