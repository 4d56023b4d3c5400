"""Compiled searches: perturbations, annealing, and a table of distinct groups.

Importing this imports numba: do so late.
"""

import numpy as np

from aggopt.core.compiled import unrefcounted, unrefcounted_inlined, unrefcounted_inner
from aggopt.core.kernels import copy_into, draw_below, draw_share
from aggopt.core.types import I64, Floats, Labels
from aggopt.partition._local_search.constraint_kernels import (
    NOBODY,
    choose_move_share,
    compute_join_cost,
    compute_leave_gain,
    compute_pass_cost,
    compute_swap_cost,
    has_chains,
    is_feasible,
    is_undominated,
    may_swap,
    squared_distance,
)
from aggopt.partition._local_search.move_kernels import (
    Change,
    compute_increase,
    descend,
    empty_queue,
    has_room,
    move_record,
    move_silently,
    queue_group,
    recompute_group,
    start_trail,
    undo_changes,
)
from aggopt.partition._local_search.state import (
    FOUND,
    HEAD,
    MOVED,
    QUEUED,
    SPARE,
    TOUCHED,
    UNDOES,
    Collected,
    Groups,
    Space,
    Trail,
)

RARE = 0.1  # share of perturbations that dissolve a group, and of those that make one
SWAPS = 3  # at most, in other perturbations


@unrefcounted_inner
def perturb_record(space: Space, groups: Groups, trail: Trail, i: int) -> bool:
    """Change groups near record i at random; return whether constraints hold."""
    chance = draw_share(trail.random_state)
    if chance < RARE:
        return dissolve_group(space, groups, trail, groups.label[i])
    if chance < 2 * RARE:
        done = _create_group(space, groups, trail, i)
        return _update_and_check(space, groups, trail) and done
    return _exchange_near(space, groups, trail, i)


@unrefcounted_inner
def dissolve_group(space: Space, groups: Groups, trail: Trail, g: int) -> bool:
    """Dissolve group g; return whether that succeeded and constraints hold."""
    done = _dissolve_group(space, groups, trail, g)
    return _update_and_check(space, groups, trail) and done


@unrefcounted_inner
def _update_and_check(space: Space, groups: Groups, trail: Trail) -> bool:
    """Recompute the changed groups; return whether all satisfy the constraints."""
    for c in range(trail.counts[TOUCHED]):
        recompute_group(space, groups, trail.touched[c])
    for c in range(trail.counts[TOUCHED]):
        g = trail.touched[c]
        if groups.size[g] > 0 and not is_feasible(space, groups, g, NOBODY, NOBODY):
            return False
    return True


@unrefcounted_inner
def _dissolve_group(space: Space, groups: Groups, trail: Trail, g: int) -> bool:
    """Move each record of group g to a near group; False if a record fits in none."""
    while groups.size[g] > 0:
        i = groups.ids[groups.start[g] + draw_below(trail.random_state, groups.size[g])]
        to = -1
        lowest = np.inf
        for near in space.near[i]:
            B = groups.label[near]
            if g != B and has_room(groups, B):
                into = squared_distance(space.Z, i, groups.centre, B)
                cost = compute_join_cost(space.weights, groups, i, B, into)
                if cost < lowest:
                    to = B
                    lowest = cost
        if to < 0:
            return False
        move_record(groups, trail, i, to)
        recompute_group(space, groups, to)
    return True


@unrefcounted_inner
def _create_group(space: Space, groups: Groups, trail: Trail, i: int) -> bool:
    """Make a group of k records near record i; return whether that was possible.

    More are moved if otherwise one record has too much of the group's weight.
    """
    if trail.counts[SPARE] == 0:
        return False
    new = trail.spare[trail.counts[SPARE] - 1]
    if groups.size[groups.label[i]] > space.k:
        move_record(groups, trail, i, new)
    for j in space.near[i]:
        if groups.size[new] >= space.k and is_undominated(
            space.weights, groups, new, NOBODY, NOBODY
        ):
            return True
        if groups.label[j] != new and groups.size[groups.label[j]] > space.k:
            move_record(groups, trail, j, new)
    return bool(groups.size[new] >= space.k)


@unrefcounted_inner
def _exchange_near(space: Space, groups: Groups, trail: Trail, i: int) -> bool:
    """Move or swap records near i at random; return whether any record moved."""
    near = space.near[i]
    for turn in range(1 + draw_below(trail.random_state, SWAPS)):
        one = i if turn == 0 else near[draw_below(trail.random_state, len(near))]
        other = space.near[one, draw_below(trail.random_state, len(near))]
        A = groups.label[one]
        B = groups.label[other]
        if A != B:
            _exchange_record(space, groups, trail, one, B)
    return bool(trail.counts[MOVED] > 0)


@unrefcounted_inner
def _exchange_record(
    space: Space, groups: Groups, trail: Trail, i: int, B: int
) -> None:
    """Move record i to group B, or swap it with a random record of B, if feasible."""
    A = groups.label[i]
    b = groups.size[B]
    j = groups.ids[groups.start[B] + draw_below(trail.random_state, b)]
    if (
        groups.size[A] > space.k
        and has_room(groups, B)
        and draw_share(trail.random_state) < 0.5
    ):
        if _may_move(space, groups, i, B):
            move_record(groups, trail, i, B)
    elif may_swap(space, groups, i, j):
        move_record(groups, trail, i, B)
        move_record(groups, trail, j, A)
    recompute_group(space, groups, A)
    recompute_group(space, groups, B)


@unrefcounted_inner
def _may_move(space: Space, groups: Groups, i: int, B: int) -> bool:
    """Whether both groups satisfy the constraints if record i moves to B."""
    if not is_feasible(space, groups, groups.label[i], i, NOBODY):
        return False
    return is_feasible(space, groups, B, NOBODY, i)


NEAREST = 5  # nearest records that determine the local scale of distances


@unrefcounted
def queue_all(trail: Trail, order: Labels) -> None:
    """Queue all records, in this order, for improvement."""
    empty_queue(trail)
    trail.counts[HEAD] = 0
    trail.counts[QUEUED] = len(order)
    for c in range(len(order)):
        trail.queue[c] = order[c]
        trail.queued[order[c]] = True


@unrefcounted
def descend_without_undo(
    space: Space, groups: Groups, trail: Trail, turns: int
) -> bool:
    """Improve up to `turns` queued records; return whether the queue is empty."""
    trail.counts[UNDOES] = 0
    return descend(space, groups, trail, turns)


@unrefcounted
def perturb_each(
    space: Space,
    groups: Groups,
    trail: Trail,
    records: Labels,
    temperature: Floats,
    collected: Collected | None,
) -> float:
    """Perturb and descend near each record; return the change of the loss.

    A result that increases SSE by x is kept with probability exp(-x / temperature[i]).
    """
    changed = 0.0
    turns = len(trail.moved) * len(trail.queue)  # no limit
    trail.counts[UNDOES] = 1
    for c in range(len(records)):
        start_trail(trail)
        i = records[c]
        done = perturb_record(space, groups, trail, i)
        if done:
            for t in range(trail.counts[TOUCHED]):
                queue_group(groups, trail, trail.touched[t])
            descend(space, groups, trail, turns)
            empty_queue(trail)
            more = compute_increase(groups, trail)
            done = more <= 0.0 or more < -temperature[c] * np.log(
                1.0 - draw_share(trail.random_state)
            )
        if done:
            changed += more
            _update_spare(groups, trail)
            collect_groups(groups, trail, collected)
        else:
            undo_changes(space, groups, trail)
    return changed


@unrefcounted
def dissolve_random(space: Space, groups: Groups, trail: Trail, turns: int) -> None:
    """Dissolve up to `turns` random groups, if constraints allow it."""
    for _ in range(turns):
        start_trail(trail)
        i = draw_below(trail.random_state, len(groups.label))
        if dissolve_group(space, groups, trail, groups.label[i]):
            _update_spare(groups, trail)
        else:
            undo_changes(space, groups, trail)


@unrefcounted_inner
def _update_spare(groups: Groups, trail: Trail) -> None:
    """Update the list of empty groups after the recorded changes."""
    if trail.counts[SPARE] and groups.size[trail.spare[trail.counts[SPARE] - 1]]:
        trail.counts[SPARE] -= 1
    for c in range(trail.counts[TOUCHED]):
        g = trail.touched[c]
        if groups.size[g] == 0:
            trail.spare[trail.counts[SPARE]] = g
            trail.counts[SPARE] += 1


@unrefcounted
def measure_spacing(space: Space, lowest: Floats, out: Floats) -> None:
    """Write half the mean squared distance to each record's nearest into `out` (n,).

    `lowest`, which is overwritten, determines their number.
    """
    for i in range(len(out)):
        lowest[:] = np.inf
        for j in space.near[i]:
            total = 0.0
            for t in range(space.Z.shape[1]):
                total += (space.Z[i, t] - space.Z[j, t]) ** 2
            _insert_sorted(lowest, total)
        total = 0.0
        for x in lowest:
            total += x
        out[i] = 0.5 * (total / len(lowest))


@unrefcounted_inner
def _insert_sorted(lowest: Floats, x: float) -> None:
    """Insert x into the ascending array of the lowest numbers, and drop the largest."""
    at = len(lowest)
    while at > 0 and lowest[at - 1] > x:
        if at < len(lowest):
            lowest[at] = lowest[at - 1]
        at -= 1
    if at < len(lowest):
        lowest[at] = x


STEP = 1024  # proposals at one temperature
WIDTH = 256  # adjacent records that the proposals of one temperature are for


@unrefcounted
def anneal(
    space: Space,
    groups: Groups,
    trail: Trail,
    temperature: Floats,
    spacing: Floats,
    done: int,
) -> float:
    """Propose STEP random changes at each temperature; return the change of the loss.

    A change proposed for record i that increases SSE by x is made with probability
    exp(-x / (temperature spacing[i])). `done` temperatures preceded these: the records
    have their turns in order, WIDTH of them at each temperature.
    """
    changed = 0.0
    n, c = space.near.shape
    for turn in range(STEP * len(temperature)):
        i = ((done + turn // STEP) * WIDTH + draw_below(trail.random_state, WIDTH)) % n
        B = groups.label[space.near[i, draw_below(trail.random_state, c)]]
        if groups.label[i] == B:
            continue
        change = _propose_change(space, groups, trail, i, B)
        limit = temperature[turn // STEP] * spacing[i]
        if change.to < 0 or not _is_accepted(change.gain, limit, trail):
            continue
        if _is_allowed(space, groups, i, change):
            _make_change(space, groups, i, change)
            changed += change.gain
    return changed


@unrefcounted_inlined
def _is_accepted(more: float, temperature: float, trail: Trail) -> bool:
    """Whether annealing accepts a change that adds `more` to the loss."""
    return more <= 0.0 or more <= -temperature * np.log(
        1.0 - draw_share(trail.random_state)
    )


@unrefcounted_inlined
def _propose_change(
    space: Space, groups: Groups, trail: Trail, i: int, B: int
) -> Change:
    """Return a random move, swap or chain of record i towards group B."""
    weights = space.weights
    A = groups.label[i]
    a = groups.size[A]
    b = groups.size[B]
    into = squared_distance(space.Z, i, groups.centre, B)
    if (
        a > space.k
        and has_room(groups, B)
        and draw_share(trail.random_state) < choose_move_share(space.promise)
    ):
        gain = compute_join_cost(weights, groups, i, B, into) - compute_leave_gain(
            weights, groups, i
        )
        return Change(gain, B, NOBODY, NOBODY)
    j = groups.ids[groups.start[B] + draw_below(trail.random_state, b)]
    between = squared_distance(space.Z, i, space.Z, j)
    if (
        a > space.k
        and has_chains(space.promise)
        and draw_share(trail.random_state) < 0.3
    ):
        D = groups.label[
            space.near[j, draw_below(trail.random_state, space.near.shape[1])]
        ]
        if D in (A, B) or not has_room(groups, D):
            return Change(0.0, NOBODY, NOBODY, NOBODY)
        gain = compute_pass_cost(weights, space, groups, i, j, B, into, between)
        gain -= compute_leave_gain(weights, groups, i)
        onto = squared_distance(space.Z, j, groups.centre, D)
        return Change(gain + compute_join_cost(weights, groups, j, D, onto), B, j, D)
    gain = compute_swap_cost(weights, space, groups, i, j, A, B, into, between)
    return Change(gain, B, j, NOBODY)


@unrefcounted_inlined
def _is_allowed(space: Space, groups: Groups, i: int, change: Change) -> bool:
    """Whether all groups satisfy the constraints after a change of record i."""
    j = change.j
    D = change.on
    if D < 0 <= j:
        return may_swap(space, groups, i, j)
    if not is_feasible(space, groups, groups.label[i], i, NOBODY):
        return False
    if D >= 0 and not is_feasible(space, groups, D, NOBODY, j):
        return False
    return is_feasible(space, groups, change.to, j, i)


@unrefcounted_inlined
def _make_change(space: Space, groups: Groups, i: int, change: Change) -> None:
    """Apply a change of record i, and recompute its groups."""
    A = groups.label[i]
    B = change.to
    D = change.on
    if D >= 0:
        move_silently(groups, change.j, D)
    move_silently(groups, i, B)
    if D < 0 <= change.j:
        move_silently(groups, change.j, A)
    for g in (A, B, D):
        if g >= 0:
            recompute_group(space, groups, g)


NONE = np.uint64(0)
ONE = np.uint64(1)


@unrefcounted_inner
def collect_groups(groups: Groups, trail: Trail, collected: Collected | None) -> None:
    """Add the changed groups to a collection while it has space; None: do nothing."""
    if collected is None:  # then the compiler omits the rest
        return
    for c in range(trail.counts[TOUCHED]):
        g = trail.touched[c]
        first = groups.start[g]
        size = groups.size[g]
        if size > 0:
            _add_group(collected, groups.ids[first : first + size])


@unrefcounted
def add_groups(collected: Collected, ids: I64, start: I64) -> None:
    """Add groups to the collection; group c is ids[start[c] : start[c + 1]]."""
    for c in range(len(start) - 1):
        _add_group(collected, ids[start[c] : start[c + 1]])


@unrefcounted_inner
def _add_group(collected: Collected, members: I64) -> None:
    """Add a group to the collection, unless it is in it or space is used up."""
    count = collected.counts[FOUND]
    begin = collected.start[count]
    end = begin + len(members)
    if 2 * count + 2 >= len(collected.slots) or end > len(collected.ids):
        return
    name = NONE
    for i in members:
        name ^= collected.key[i]
    last = np.uint64(len(collected.slots) - 1)
    slot = name & last
    while collected.slots[slot] != NONE:
        if collected.slots[slot] == name:
            return
        slot = (slot + ONE) & last
    collected.slots[slot] = name
    copy_into(collected.ids[begin:end], members)
    collected.start[count + 1] = end
    collected.counts[FOUND] = count + 1
