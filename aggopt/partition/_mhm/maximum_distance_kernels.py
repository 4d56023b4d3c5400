"""Compiled search for the two records farthest apart.  Importing this imports numba.

See `nearest_point_next_kernels`: here the distance to the far corner of a box is
never exceeded.
"""

import numpy as np

from aggopt.core.compiled import compiled, inner
from aggopt.core.types import I64
from aggopt.core.validation import Floats
from aggopt.partition._mhm.boxes import Leaves, Reach
from aggopt.partition._mhm.nearest_point_next_kernels import (
    fill_nearest,
    mark_visited,
    measure_waiting,
)


@compiled
def take_pairs(leaves: Leaves, reach: Reach, labels: I64, k: int, looks: int) -> None:
    """Take groups around the two farthest records, after `looks` looks at most.

    A look finds the farthest record from one that may be one of the two.
    """
    near = np.empty(k, np.int64)
    for _ in range(looks):
        if leaves.waiting.sum() < 2 * k:
            return
        r = _find_outermost(leaves, reach)
        s = reach.whom[r]
        if s >= 0 and labels[s] < 0:
            if reach.out[s] > reach.out[r]:
                r, s = s, r
            first_point = _copy_record(leaves, r)
            second_point = _copy_record(leaves, s)
            _take_nearest(leaves, reach, labels, first_point, near)
            _take_nearest(leaves, reach, labels, second_point, near)
        else:
            reach.whom[r], reach.far[r] = _find_farthest(leaves, r)
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
        mark_visited(leaves, j)
        _raise_peak(leaves, reach, leaves.box[leaves.column[j]])


@inner
def _raise_peak(leaves: Leaves, reach: Reach, box: int) -> None:
    """Set the peak of a box to the maximum over its unassigned records."""
    reach.peaks[box] = -1.0
    first = leaves.first[box]
    for i in leaves.ids[first : first + leaves.waiting[box]]:
        reach.peaks[box] = max(reach.peaks[box], reach.far[i])


@inner
def _find_outermost(leaves: Leaves, reach: Reach) -> int:
    """Return the record whose bound on the farthest distance is largest."""
    # among equally distant records, the one first in X
    peak = reach.peaks.max()
    best = -1
    for box in range(len(reach.peaks)):
        if reach.peaks[box] == peak:
            first = leaves.first[box]
            for i in leaves.ids[first : first + leaves.waiting[box]]:
                if reach.far[i] == peak and (best < 0 or i < best):
                    best = i
    return best


@inner
def _find_farthest(leaves: Leaves, i: int) -> tuple[int, float]:
    """Return the record farthest from record i, and its squared distance."""
    point = _copy_record(leaves, i)
    _measure_far_corners(leaves, point)
    home = int(leaves.bounds.argmax())
    best, largest = _search_box(leaves, home, point, i, -1, -1.0)
    for box in range(len(leaves.bounds)):
        if leaves.bounds[box] >= largest:
            best, largest = _search_box(leaves, box, point, i, best, largest)
    return best, largest


@inner
def _search_box(
    leaves: Leaves, box: int, point: Floats, i: int, best: int, largest: float
) -> tuple[int, float]:
    """Return the farthest record so far, including those of a box."""
    ids, distances = measure_waiting(leaves, box, point)
    for j in range(len(ids)):
        v = distances[j]
        if v >= largest and ids[j] != i and (v > largest or ids[j] < best):
            best = ids[j]
            largest = v
    return best, largest


@inner
def _measure_far_corners(leaves: Leaves, point: Floats) -> None:
    """Set `bounds` to the squared distance of the far corner of each box."""
    bounds = leaves.bounds
    bounds[:] = 0.0
    for t in range(len(point)):
        low = leaves.low[t]
        high = leaves.high[t]
        p = point[t]
        for b in range(len(bounds)):
            gap = max(p - low[b], high[b] - p)
            bounds[b] += gap * gap
    bounds[leaves.waiting == 0] = -2.0


@inner
def _copy_record(leaves: Leaves, i: int) -> Floats:
    """Return record i, (d,)."""
    return leaves.records[:, leaves.column[i]].copy()
