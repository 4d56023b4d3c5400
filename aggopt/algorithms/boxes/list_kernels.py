"""Compiled search for all boxes of k records or more.  Importing this imports numba."""

import numpy as np

from aggopt.algorithms.boxes.loss_kernels import (
    find_greatest,
    find_least,
    measure_loss,
)
from aggopt.algorithms.boxes.state import (
    BOXES,
    MEMBERS,
    WORK,
    BoxArrays,
    BoxKinds,
    BoxLevels,
    LossTables,
)
from aggopt.core.compiled import compiled, inner
from aggopt.core.types import I32, I64

EFFORT = 50  # members looked at for each member that a list may have
FEW = 32  # members up to which insertion sorts faster than counting


@compiled
def write_box_list(
    losses: LossTables,
    positions: I64,
    counts: I64,
    k: int,
    kinds: BoxKinds,
    cap: float,
    max_members: int,
    levels: BoxLevels,
    boxes: BoxArrays,
) -> bool:
    """List the boxes of k records or more, of l kinds, that lose less than `cap`.

    Boxes restrict one attribute after the other.  Each is the statement about its own
    members in all attributes, so that no box occurs twice.  Returns False if they have
    more than `max_members` members together, or are as slow to find.
    """
    d = positions.shape[1]
    boxes.counts[:] = 0
    for i in range(len(counts)):
        levels.order[0, i] = i
    levels.size[0] = len(counts)
    levels.loss[0] = 0.0
    a = 0
    _open_level(positions, counts, levels, boxes, a)
    while a >= 0:
        if not _find_next_box(losses, levels, a, k, cap):
            a -= 1
            continue
        begin = levels.run_start[a, levels.left[a]]
        end = levels.run_start[a, levels.right[a] + 1]
        boxes.counts[WORK] += end - begin
        if boxes.counts[WORK] > EFFORT * max_members:
            return False
        if not _is_closed(losses, positions, levels, a, begin, end):
            continue
        if kinds.l > 1 and not _has_kinds(kinds, levels.order[a, begin:end]):
            continue
        if a == d - 1:
            if not _add_box(levels, boxes, begin, end, max_members):
                return False
            continue
        for t in range(begin, end):
            levels.order[a + 1, t - begin] = levels.order[a, t]
        levels.size[a + 1] = end - begin
        a += 1
        _open_level(positions, counts, levels, boxes, a)
    return True


@inner
def _has_kinds(kinds: BoxKinds, members: I32) -> bool:
    """Whether records, named by their combinations, have l kinds."""
    for i in members:
        kinds.seen[kinds.kinds[i]] = -1
    missing = kinds.l
    for i in members:
        s = kinds.kinds[i]
        if kinds.seen[s] < 0:
            kinds.seen[s] = i
            missing -= 1
            if missing == 0:
                return True
    return False


@inner
def _add_box(
    levels: BoxLevels, boxes: BoxArrays, begin: int, end: int, max_members: int
) -> bool:
    """Add the box of a range of members of the last level; return whether it fits."""
    a = levels.order.shape[0] - 1
    b, p = boxes.counts[BOXES], boxes.counts[MEMBERS]
    boxes.counts[BOXES] = b + 1
    boxes.counts[MEMBERS] = p + end - begin
    if boxes.counts[MEMBERS] > max_members:
        return False
    if len(boxes.losses) > 0:
        boxes.losses[b] = levels.loss[a + 1]
        for t in range(begin, end):
            boxes.members[p + t - begin] = levels.order[a, t]
        boxes.starts[b + 1] = p + end - begin
    return True


@inner
def _open_level(
    positions: I64, counts: I64, levels: BoxLevels, boxes: BoxArrays, a: int
) -> None:
    """Sort the members of a level by its attribute, and find its runs."""
    size = levels.size[a]
    boxes.counts[WORK] += size
    _sort_members(positions, levels, a)
    runs = 0
    mass = 0
    last = -1
    for t in range(size):
        i = levels.order[a, t]
        if positions[i, a] != last:
            last = positions[i, a]
            levels.run_start[a, runs] = t
            levels.run_position[a, runs] = last
            levels.mass[a, runs] = mass
            runs += 1
        mass += counts[i]
    levels.run_start[a, runs] = size
    levels.mass[a, runs] = mass
    levels.runs[a] = runs
    levels.left[a] = 0
    levels.right[a] = -1


@inner
def _sort_members(positions: I64, levels: BoxLevels, a: int) -> None:
    """Sort the members of a level by their positions; equal ones keep their order."""
    size = levels.size[a]
    order = levels.order[a]
    if size <= FEW:
        for end in range(1, size):
            i = order[end]
            at = end
            while at > 0 and positions[order[at - 1], a] > positions[i, a]:
                order[at] = order[at - 1]
                at -= 1
            order[at] = i
        return
    top = 0
    for t in range(size):
        top = max(top, positions[order[t], a])
    place = np.zeros(top + 2, np.int64)
    for t in range(size):
        place[positions[order[t], a] + 1] += 1
    for v in range(top):
        place[v + 1] += place[v]
    copy = order[:size].copy()
    for t in range(size):
        v = positions[copy[t], a]
        order[place[v]] = copy[t]
        place[v] += 1


@inner
def _find_next_box(
    losses: LossTables, levels: BoxLevels, a: int, k: int, cap: float
) -> bool:
    """Find the level's next statement with k records that loses less than `cap`.

    A statement begins at the first run, and ends at the last one, that it covers.
    """
    left = levels.left[a]
    right = levels.right[a] + 1
    while left < levels.runs[a]:
        p = levels.run_position[a, left]
        while right < levels.runs[a]:
            q = levels.run_position[a, right]
            loss = levels.loss[a] + measure_loss(losses, a, p, q)
            lowest = find_least(losses, a, p, q)
            if loss >= cap or (left > 0 and levels.run_position[a, left - 1] >= lowest):
                break
            highest = find_greatest(losses, a, p, q)
            while (
                right + 1 < levels.runs[a]
                and levels.run_position[a, right + 1] <= highest
            ):
                right += 1
            if levels.mass[a, right + 1] - levels.mass[a, left] >= k:
                levels.left[a] = left
                levels.right[a] = right
                levels.loss[a + 1] = loss
                levels.least[a] = lowest
                levels.greatest[a] = highest
                return True
            right += 1
        left += 1
        right = left
    return False


@inner
def _is_closed(
    losses: LossTables, positions: I64, levels: BoxLevels, a: int, begin: int, end: int
) -> bool:
    """Whether members still need the statements of all attributes before this one."""
    for j in range(a):
        low = levels.greatest[j]
        high = levels.least[j]
        for t in range(begin, end):
            v = positions[levels.order[a, t], j]
            low = min(low, v)
            high = max(high, v)
        if find_least(losses, j, low, high) != levels.least[j]:
            return False
        if find_greatest(losses, j, low, high) != levels.greatest[j]:
            return False
    return True
