"""Annealing: random changes, accepted at random if they increase the loss.

Importing this imports numba: do so late.
"""

import numpy as np

from aggopt.core.kernels import draw_below, draw_share
from aggopt.core.unrefcounted import compiled, inlined
from aggopt.core.validation import Floats
from aggopt.partition._local_search.constraint_kernels import (
    NOBODY,
    choose_move_share,
    has_chains,
    is_feasible,
    may_swap,
)
from aggopt.partition._local_search.descent_kernels import Change
from aggopt.partition._local_search.move_kernels import (
    has_room,
    move_silently,
    recompute_group,
)
from aggopt.partition._local_search.state import Groups, Space, Trail
from aggopt.partition._local_search.weight_kernels import (
    compute_join_cost,
    compute_leave_gain,
    compute_pass_cost,
    compute_swap_cost,
    squared_distance,
)

STEP = 1024  # proposals at one temperature
WIDTH = 256  # adjacent records that the proposals of one temperature are for


@compiled
def anneal(
    space: Space,
    groups: Groups,
    trail: Trail,
    temperature: Floats,
    spacing: Floats,
    done: int,
) -> float:
    """Return the change of SSE after STEP proposals at each temperature.

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


@inlined
def _is_accepted(more: float, temperature: float, trail: Trail) -> bool:
    """Whether a change that adds `more` to SSE is accepted at a temperature."""
    return more <= 0.0 or more <= -temperature * np.log(
        1.0 - draw_share(trail.random_state)
    )


@inlined
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


@inlined
def _is_allowed(space: Space, groups: Groups, i: int, change: Change) -> bool:
    """Whether the groups that a change touches still satisfy the requirements."""
    j = change.j
    D = change.on
    if D < 0 <= j:
        return may_swap(space, groups, i, j)
    if not is_feasible(space, groups, groups.label[i], i, NOBODY):
        return False
    if D >= 0 and not is_feasible(space, groups, D, NOBODY, j):
        return False
    return is_feasible(space, groups, change.to, j, i)


@inlined
def _make_change(space: Space, groups: Groups, i: int, change: Change) -> None:
    """Make a change, and update the groups that it touches."""
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
