"""Compiled moves of records between groups, and their effect on distances.

Importing this imports numba: do so late. Centres and losses are always summed again
from a group's members, so that they do not drift however long a search takes. Sums run
in a fixed order, and nothing is reassociated or fused: every processor returns
identical results.
"""

from aggopt.core.unrefcounted import compiled, inlined, inner
from aggopt.partition._local_search.constraint_kernels import arrange_members
from aggopt.partition._local_search.state import (
    MOVED,
    STAMP,
    TOUCHED,
    Groups,
    Space,
    Trail,
)
from aggopt.partition._local_search.weight_kernels import (
    get_group_weight,
    get_weight,
    squared_distance,
    sum_group_weight,
)


@inlined
def has_room(groups: Groups, g: int) -> bool:
    """Whether group g has room for one more record."""
    return bool(groups.start[g] + groups.size[g] + 1 < groups.start[g + 1])


@inner
def recompute_group(space: Space, groups: Groups, g: int) -> None:
    """Recompute group g: its centre, its members' distances, its loss, its EMD."""
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


@compiled
def recompute_all(space: Space, groups: Groups) -> None:
    """Recompute all groups."""
    for g in range(len(groups.size)):
        recompute_group(space, groups, g)


@inlined
def move_silently(groups: Groups, i: int, to: int) -> None:
    """Move record i to another group, which has room; neither is recomputed."""
    g = groups.label[i]
    last = groups.start[g] + groups.size[g] - 1
    j = groups.ids[last]
    at = groups.where[i]
    groups.ids[at], groups.where[j] = j, at
    groups.size[g] -= 1
    at = groups.start[to] + groups.size[to]
    groups.ids[at], groups.where[i] = i, at
    groups.size[to] += 1
    groups.label[i] = to


@inner
def mark_changed(groups: Groups, trail: Trail, g: int) -> None:
    """Record the loss of group g before its first change."""
    if trail.mark[g] != trail.counts[STAMP]:
        trail.mark[g] = trail.counts[STAMP]
        trail.before[g] = groups.loss[g]
        trail.touched[trail.counts[TOUCHED]] = g
        trail.counts[TOUCHED] += 1


@inner
def move_record(groups: Groups, trail: Trail, i: int, to: int) -> None:
    """Move record i to another group, which has room, and record it on the trail."""
    g = groups.label[i]
    mark_changed(groups, trail, g)
    mark_changed(groups, trail, to)
    trail.moved[trail.counts[MOVED]], trail.origin[trail.counts[MOVED]] = i, g
    trail.counts[MOVED] += 1
    move_silently(groups, i, to)


@inner
def start_trail(trail: Trail) -> None:
    """Begin a new trail."""
    trail.counts[MOVED], trail.counts[TOUCHED] = 0, 0
    trail.counts[STAMP] += 1


@inner
def undo_changes(space: Space, groups: Groups, trail: Trail) -> None:
    """Undo the changes on the trail, the last one first."""
    for c in range(trail.counts[MOVED] - 1, -1, -1):
        move_silently(groups, trail.moved[c], trail.origin[c])
    for c in range(trail.counts[TOUCHED]):
        recompute_group(space, groups, trail.touched[c])


@inner
def compute_increase(groups: Groups, trail: Trail) -> float:
    """Return the increase of the loss of the groups on the trail."""
    before = 0.0
    now = 0.0
    for c in range(trail.counts[TOUCHED]):
        g = trail.touched[c]
        before += trail.before[g]
        now += groups.loss[g]
    return now - before
