"""Compiled moves of records between groups, and descent by the best of them.

Importing this imports numba: do so late. Centres and losses are always summed again
from a group's members, so that they do not drift however long a search takes. Sums run
in a fixed order, and nothing is reassociated or fused: every processor returns
identical results.

Descent: with a and b records in groups A and B, and squared distances |.|, SSE changes
by

    i from A to B               b/(b+1) |i - B| - a/(a-1) |i - A|
    i and j swapped             |j - A| - |i - A| + |i - B| - |j - B|
                                - |i - j| (1/a + 1/b)
    i to B, j from B to D       as if j left B with i in it: see `_find_best_chain`

With sampling weights `constraint_kernels` has the formulas.  |i - j| is summed only if
the triangle inequality, by way of B, cannot exclude j.
"""

from typing import NamedTuple

from aggopt.core.compiled import unrefcounted, unrefcounted_inlined, unrefcounted_inner
from aggopt.partition._local_search.constraint_kernels import (
    NOBODY,
    arrange_members,
    compute_join_cost,
    compute_leave_gain,
    compute_pass_cost,
    compute_scale,
    compute_swap_cost,
    get_group_weight,
    get_weight,
    has_chains,
    has_weights,
    is_feasible,
    may_swap,
    squared_distance,
    sum_group_weight,
)
from aggopt.partition._local_search.state import (
    HEAD,
    LOOKED,
    MOVED,
    QUEUED,
    STAMP,
    TOUCHED,
    UNDOES,
    Groups,
    Space,
    Trail,
)


@unrefcounted_inlined
def has_room(groups: Groups, g: int) -> bool:
    """Whether the arrays of group g have room for one more record."""
    return bool(groups.start[g] + groups.size[g] + 1 < groups.start[g + 1])


@unrefcounted_inner
def recompute_group(space: Space, groups: Groups, g: int) -> None:
    """Recompute group g in place: centroid, distances of members, loss, and EMD."""
    first = groups.start[g]
    size = groups.size[g]
    groups.loss[g] = 0.0
    if size == 0:
        return
    arrange_members(space.promise, groups, g)
    centre = groups.centre[g]
    origin = space.Z[groups.ids[first]]
    centre[:] = 0.0
    sum_group_weight(space.weights, groups, g)
    for at in range(
        first + 1, first + size
    ):  # from a member: equal records have no loss
        i = groups.ids[at]
        w = get_weight(space.weights, i)
        for t in range(len(centre)):
            centre[t] += w * (space.Z[i, t] - origin[t])
    total = get_group_weight(space.weights, groups, g)
    for t in range(len(centre)):
        centre[t] = origin[t] + centre[t] / total
    for at in range(first, first + size):
        i = groups.ids[at]
        groups.spread[i] = squared_distance(space.Z, i, groups.centre, g)
        groups.loss[g] += get_weight(space.weights, i) * groups.spread[i]


@unrefcounted
def recompute_all(space: Space, groups: Groups) -> None:
    """Recompute all groups in place: centroids, distances, losses, and EMDs."""
    for g in range(len(groups.size)):
        recompute_group(space, groups, g)


@unrefcounted_inlined
def move_silently(groups: Groups, i: int, to: int) -> None:
    """Move record i to group `to`, without an update of loss and centroids."""
    g = groups.label[i]
    last = groups.start[g] + groups.size[g] - 1
    j = groups.ids[last]
    at = groups.where[i]
    groups.ids[at] = j
    groups.where[j] = at
    groups.size[g] -= 1
    at = groups.start[to] + groups.size[to]
    groups.ids[at] = i
    groups.where[i] = at
    groups.size[to] += 1
    groups.label[i] = to


@unrefcounted_inner
def mark_changed(groups: Groups, trail: Trail, g: int) -> None:
    """Store the loss of group g before its first change, for an undo."""
    if trail.mark[g] != trail.counts[STAMP]:
        trail.mark[g] = trail.counts[STAMP]
        trail.before[g] = groups.loss[g]
        trail.touched[trail.counts[TOUCHED]] = g
        trail.counts[TOUCHED] += 1


@unrefcounted_inner
def move_record(groups: Groups, trail: Trail, i: int, to: int) -> None:
    """Move record i to group `to`, and record the move so that it can be undone."""
    g = groups.label[i]
    mark_changed(groups, trail, g)
    mark_changed(groups, trail, to)
    trail.moved[trail.counts[MOVED]] = i
    trail.origin[trail.counts[MOVED]] = g
    trail.counts[MOVED] += 1
    move_silently(groups, i, to)


@unrefcounted_inner
def start_trail(trail: Trail) -> None:
    """Forget all recorded changes."""
    trail.counts[MOVED] = 0
    trail.counts[TOUCHED] = 0
    trail.counts[STAMP] += 1


@unrefcounted_inner
def undo_changes(space: Space, groups: Groups, trail: Trail) -> None:
    """Undo the recorded changes, the last one first, and recompute their groups."""
    for c in range(trail.counts[MOVED] - 1, -1, -1):
        move_silently(groups, trail.moved[c], trail.origin[c])
    for c in range(trail.counts[TOUCHED]):
        recompute_group(space, groups, trail.touched[c])


@unrefcounted_inner
def compute_increase(groups: Groups, trail: Trail) -> float:
    """Return by how much the recorded changes increase the loss."""
    before = 0.0
    now = 0.0
    for c in range(trail.counts[TOUCHED]):
        g = trail.touched[c]
        before += trail.before[g]
        now += groups.loss[g]
    return now - before


REAL = 1e-9  # share of the distances that a change must gain
ROUNDING = 1e-22  # bound of rounding, for records within [-1, 1]


class Change(NamedTuple):
    """Best change of a record: to group `to`, for record j, which moves `on`."""

    gain: float
    to: int
    j: int
    on: int


@unrefcounted_inner
def descend(space: Space, groups: Groups, trail: Trail, turns: int) -> bool:
    """Improve up to `turns` queued records; return whether the queue is empty.

    If changes have to be undone, it ends when the trail is full.
    """
    for _ in range(turns):
        if trail.counts[QUEUED] == 0:
            return True
        if trail.counts[UNDOES] == 0:
            start_trail(trail)
        elif trail.counts[MOVED] + 2 > len(trail.moved):
            return False
        i = take_queued(trail)
        change = find_best_change(space, groups, trail, i)
        if change.to >= 0:
            make_change(space, groups, trail, i, change)
    return False


@unrefcounted_inner
def take_queued(trail: Trail) -> int:
    """Remove the first record from the queue, and return it."""
    i: int = trail.queue[trail.counts[HEAD]]
    trail.counts[HEAD] += 1
    if trail.counts[HEAD] == len(trail.queue):
        trail.counts[HEAD] = 0
    trail.counts[QUEUED] -= 1
    trail.queued[i] = False
    return i


@unrefcounted_inner
def queue_group(groups: Groups, trail: Trail, g: int) -> None:
    """Append the records of group g to the queue of records to improve."""
    for at in range(groups.start[g], groups.start[g] + groups.size[g]):
        i = groups.ids[at]
        if not trail.queued[i]:
            trail.queued[i] = True
            end = trail.counts[HEAD] + trail.counts[QUEUED]
            if end >= len(trail.queue):
                end -= len(trail.queue)
            trail.queue[end] = i
            trail.counts[QUEUED] += 1


@unrefcounted_inner
def empty_queue(trail: Trail) -> None:
    """Remove all records from the queue."""
    while trail.counts[QUEUED] > 0:
        take_queued(trail)


@unrefcounted_inner
def find_best_change(space: Space, groups: Groups, trail: Trail, i: int) -> Change:
    """Return the move or swap of record i that lowers SSE most; group -1 if none."""
    A = groups.label[i]
    trail.counts[LOOKED] += 1
    trail.examined[A] = trail.counts[LOOKED]
    a = groups.size[A]
    out = groups.spread[i]
    weights = space.weights
    leave = 0.0
    enough = REAL * compute_scale(weights, groups, i) + ROUNDING
    best = Change(-enough, NOBODY, NOBODY, NOBODY)
    free = a > space.k and is_feasible(space, groups, A, i, NOBODY)
    if free:
        leave = compute_leave_gain(weights, groups, i)
    on = free and has_chains(space.promise)
    for near in space.near[i]:
        B = groups.label[near]
        if trail.examined[B] == trail.counts[LOOKED]:
            continue
        trail.examined[B] = trail.counts[LOOKED]
        into = squared_distance(space.Z, i, groups.centre, B)
        b = groups.size[B]
        if free and has_room(groups, B):
            gain = compute_join_cost(weights, groups, i, B, into) - leave
            better = gain < best.gain - REAL * into
            if better and is_feasible(space, groups, B, NOBODY, i):
                best = Change(gain, B, NOBODY, NOBODY)
        f = 1.0 / a + 1.0 / b
        centres = squared_distance(groups.centre, A, groups.centre, B)
        offset = centres + into - out - f * into
        slope = 4.0 * (centres - f * (centres + into - out) + f * f * into)
        spare = (b - 1.0) * into - b * (leave + best.gain)
        for at in range(groups.start[B], groups.start[B] + b):
            j = groups.ids[at]
            own_distance = groups.spread[j]
            slack = offset - f * own_distance - best.gain
            may = (
                has_weights(weights)
                or slack <= 0.0
                or slack * slack < slope * own_distance
            )
            far = spare - (b + 1.0) * own_distance
            go = on and (
                has_weights(weights)
                or far <= 0.0
                or far * far < 4.0 * into * own_distance
            )
            if not (may or go):
                continue
            between = squared_distance(space.Z, i, space.Z, j)
            if may:
                gain = compute_swap_cost(
                    weights, space, groups, i, j, A, B, into, between
                )
                if gain < best.gain - REAL * into and may_swap(space, groups, i, j):
                    best = Change(gain, B, j, NOBODY)
            if go:
                gain = compute_pass_cost(weights, space, groups, i, j, B, into, between)
                gain -= leave
                if gain < best.gain - REAL * into:
                    best = _find_best_chain(space, groups, i, j, gain, best)
    return best


@unrefcounted_inner
def _find_best_chain(
    space: Space, groups: Groups, i: int, j: int, gain: float, best: Change
) -> Change:
    """Return the best chain (i replaces j, j moves on), or `best` if none is better."""
    # with i in B and j out of it, b records stay: a swap, less what joining A costs
    A = groups.label[i]
    B = groups.label[j]
    for near in space.near[j]:
        D = groups.label[near]
        if D in (A, B) or not has_room(groups, D):
            continue
        into = squared_distance(space.Z, j, groups.centre, D)
        total = gain + compute_join_cost(space.weights, groups, j, D, into)
        if total >= best.gain - REAL * into:
            continue
        if not is_feasible(space, groups, B, j, i):
            return best
        if is_feasible(space, groups, D, NOBODY, j):
            best = Change(total, B, j, D)
    return best


@unrefcounted_inner
def make_change(
    space: Space, groups: Groups, trail: Trail, i: int, change: Change
) -> None:
    """Apply a change of record i, and queue the records of all groups changed."""
    A = groups.label[i]
    B = change.to
    D = change.on
    if D >= 0:
        move_record(groups, trail, change.j, D)
    move_record(groups, trail, i, B)
    if D < 0 <= change.j:
        move_record(groups, trail, change.j, A)
    for g in (A, B, D):
        if g >= 0:
            recompute_group(space, groups, g)
            queue_group(groups, trail, g)
