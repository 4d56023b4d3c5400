"""Compiled orderings by nearest point next.  Importing this imports numba.

Sums over attributes run in the attributes' order, and nothing may be reassociated or
fused.  As rounding is monotone, the distance to a box then never exceeds that to a
record in it: skipped boxes are farther, rounded or not.
"""

import numpy as np

from aggopt.core.compiled import compiled, inner
from aggopt.core.types import I64
from aggopt.core.validation import Floats
from aggopt.partition._mhm.boxes import GroupMembers, Leaves


@compiled
def continue_path(
    leaves: Leaves, groups: GroupMembers, path: I64, done: int, stop: int
) -> None:
    """Continue path[:done] to path[:stop]; path[0] is given."""
    if done == 0:
        mark_visited(leaves, path[0])
    for p in range(max(done, 1), stop):
        path[p] = _find_next(leaves, groups, path[p - 1])
        mark_visited(leaves, path[p])


@compiled
def find_nearest(
    leaves: Leaves, begin: int, stop: int, nearest: I64, distances: Floats
) -> None:
    """Fill found[i] with the records nearest to record i, excluding itself."""
    for i in range(begin, stop):
        point = leaves.records[:, leaves.column[i]].copy()
        fill_nearest(leaves, point, i, nearest[i], distances[i])


@inner
def fill_nearest(leaves: Leaves, point: Floats, i: int, near: I64, far: Floats) -> None:
    """Fill `near` with the waiting records nearest to the point, excluding i."""
    near[:] = len(leaves.ids)
    far[:] = np.inf
    _measure_boxes(leaves, point)
    home = int(leaves.bounds.argmin())
    _gather_nearest(leaves, home, point, i, near, far)
    for box in range(len(leaves.bounds)):
        if box != home and leaves.bounds[box] <= far[-1]:
            _gather_nearest(leaves, box, point, i, near, far)


@inner
def mark_visited(leaves: Leaves, i: int) -> None:
    """Mark record i as visited."""
    a = leaves.column[i]
    box = leaves.box[a]
    leaves.waiting[box] -= 1
    _swap_columns(leaves, a, leaves.first[box] + leaves.waiting[box])
    if leaves.waiting[box] == 0:
        leaves.low[:, box] = np.inf


@inner
def measure_waiting(leaves: Leaves, box: int, point: Floats) -> tuple[I64, Floats]:
    """Return the waiting records of a box, and their squared distances from a point."""
    first = leaves.first[box]
    count = leaves.waiting[box]
    distances = leaves.distances[:count]
    distances[:] = 0.0
    for t in range(len(point)):
        row = leaves.records[t, first : first + count]
        p = point[t]
        for j in range(count):
            gap = row[j] - p
            distances[j] += gap * gap
    return leaves.ids[first : first + count], distances


@inner
def _find_next(leaves: Leaves, groups: GroupMembers, i: int) -> int:
    """Return the nearest waiting record of the group, else of all records."""
    point = leaves.records[:, leaves.column[i]].copy()
    best = -1
    lowest = np.inf
    group = groups.group_of[i]
    for at in range(groups.first[group], groups.first[group + 1]):
        j = groups.members[at]
        if _is_waiting(leaves, j):
            v = _measure_column(leaves, leaves.column[j], point)
            if v < lowest or (v == lowest and j < best):
                best = j
                lowest = v
    return best if best >= 0 else _find_nearest_waiting(leaves, point)


@inner
def _find_nearest_waiting(leaves: Leaves, point: Floats) -> int:
    """Return the waiting record nearest to a point."""
    _measure_boxes(leaves, point)
    home = int(leaves.bounds.argmin())
    best, lowest = _search_box(leaves, home, point, -1, np.inf)
    for box in range(len(leaves.bounds)):
        if box != home and leaves.bounds[box] <= lowest:
            best, lowest = _search_box(leaves, box, point, best, lowest)
    return best


@inner
def _search_box(
    leaves: Leaves, box: int, point: Floats, best: int, lowest: float
) -> tuple[int, float]:
    """Return the nearest record so far, including those of a box."""
    # among equally near records, the one first in X
    ids, distances = measure_waiting(leaves, box, point)
    for j in range(len(ids)):
        v = distances[j]
        if v <= lowest and (v < lowest or best < 0 or ids[j] < best):
            best = ids[j]
            lowest = v
    return best, lowest


@inner
def _gather_nearest(
    leaves: Leaves, box: int, point: Floats, i: int, near: I64, far: Floats
) -> None:
    """Insert the records of a box into the ascending list of the nearest so far."""
    ids, distances = measure_waiting(leaves, box, point)
    for c in range(len(ids)):
        v = distances[c]
        j = ids[c]
        if j == i or v > far[-1] or (v == far[-1] and j > near[-1]):
            continue
        at = len(near) - 1
        while at and (far[at - 1] > v or (far[at - 1] == v and near[at - 1] > j)):
            near[at], far[at] = near[at - 1], far[at - 1]
            at -= 1
        near[at], far[at] = j, v


@inner
def _measure_boxes(leaves: Leaves, point: Floats) -> None:
    """Set `bounds` to the squared distance of a point from each box."""
    bounds = leaves.bounds
    bounds[:] = 0.0
    for t in range(len(point)):
        low = leaves.low[t]
        high = leaves.high[t]
        p = point[t]
        for b in range(len(bounds)):
            gap = max(low[b] - p, 0.0, p - high[b])
            bounds[b] += gap * gap


@inner
def _measure_column(leaves: Leaves, column: int, point: Floats) -> float:
    """Return the squared distance of a column from a point."""
    total = 0.0
    for t in range(len(point)):
        gap = leaves.records[t, column] - point[t]
        total += gap * gap
    return total


@inner
def _is_waiting(leaves: Leaves, i: int) -> bool:
    """Whether record i has not been visited."""
    box = leaves.box[leaves.column[i]]
    return bool(leaves.column[i] < leaves.first[box] + leaves.waiting[box])


@inner
def _swap_columns(leaves: Leaves, a: int, b: int) -> None:
    """Exchange two columns."""
    i = leaves.ids[a]
    j = leaves.ids[b]
    leaves.ids[a], leaves.ids[b] = j, i
    leaves.column[i], leaves.column[j] = b, a
    for row in leaves.records:
        row[a], row[b] = row[b], row[a]
