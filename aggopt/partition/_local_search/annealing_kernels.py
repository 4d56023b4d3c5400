"""Annealing: random changes, taken by chance when they lose more.

Importing this imports numba: do so late.
"""

import numpy as np

from aggopt.core.compiled import compiled, inlined
from aggopt.core.random_kernels import below, share
from aggopt.core.validation import Floats
from aggopt.partition._local_search.constraint_kernels import (
    NOBODY,
    chains,
    may_swap,
    moves,
    stays,
)
from aggopt.partition._local_search.descent_kernels import Change
from aggopt.partition._local_search.distance_kernels import apart
from aggopt.partition._local_search.move_kernels import has_room, recompute, transfer
from aggopt.partition._local_search.state import Groups, Space, Trail

STEP = 1024  # proposals at one temperature
WIDTH = 256  # records, next to each other in memory, that they are for


@compiled
def anneal(
    space: Space,
    groups: Groups,
    trail: Trail,
    temperature: Floats,
    spacing: Floats,
    done: int,
) -> float:
    """Return by how much SSE changed after STEP proposals at each temperature.

    A change proposed for record i that loses more by x is made with probability
    exp(-x / (temperature spacing[i])).  `done` temperatures came before these: the
    records have their turns one after the other, WIDTH of them at each.
    """
    changed = 0.0
    n, c = space.near.shape
    for turn in range(STEP * len(temperature)):
        i = ((done + turn // STEP) * WIDTH + below(trail.random_state, WIDTH)) % n
        B = groups.label[space.near[i, below(trail.random_state, c)]]
        if groups.label[i] == B:
            continue
        change = _proposed(space, groups, trail, i, B)
        limit = temperature[turn // STEP] * spacing[i]
        if change.to < 0 or not _by_chance(change.gain, limit, trail):
            continue
        if _allowed(space, groups, i, change):
            _make(space, groups, i, change)
            changed += change.gain
    return changed


@inlined
def _by_chance(more: float, temperature: float, trail: Trail) -> bool:
    """Whether a change that adds `more` to SSE is accepted at a temperature."""
    return more <= 0.0 or more <= -temperature * np.log(1.0 - share(trail.random_state))


@inlined
def _proposed(space: Space, groups: Groups, trail: Trail, i: int, B: int) -> Change:
    """Return a random move, swap or chain of record i towards group B."""
    A = groups.label[i]
    a, b = groups.size[A], groups.size[B]
    out, into = groups.own[i], apart(space.Z, i, groups.centre, B)
    if (
        a > space.k
        and has_room(groups, B)
        and share(trail.random_state) < moves(space.promise)
    ):
        return Change(into * b / (b + 1.0) - out * a / (a - 1.0), B, NOBODY, NOBODY)
    j = groups.who[groups.start[B] + below(trail.random_state, b)]
    between = apart(space.Z, i, space.Z, j)
    if a > space.k and chains(space.promise) and share(trail.random_state) < 0.3:
        D = groups.label[space.near[j, below(trail.random_state, space.near.shape[1])]]
        d = groups.size[D]
        if D in (A, B) or not has_room(groups, D):
            return Change(0.0, NOBODY, NOBODY, NOBODY)
        gain = into - groups.own[j] - between / b - out * a / (a - 1.0)
        gain += apart(space.Z, j, groups.centre, D) * d / (d + 1.0)
        return Change(gain, B, j, D)
    gain = apart(space.Z, j, groups.centre, A) - groups.own[j] + into - out
    return Change(gain - between * (1.0 / a + 1.0 / b), B, j, NOBODY)


@inlined
def _allowed(space: Space, groups: Groups, i: int, change: Change) -> bool:
    """Whether the groups that a change touches still satisfy the requirements."""
    promise, j, D = space.promise, change.j, change.on
    if D < 0 <= j:
        return may_swap(promise, groups, i, j)
    if not stays(promise, groups, groups.label[i], i, NOBODY):
        return False
    if D >= 0 and not stays(promise, groups, D, NOBODY, j):
        return False
    return stays(promise, groups, change.to, j, i)


@inlined
def _make(space: Space, groups: Groups, i: int, change: Change) -> None:
    """Make a change, and sum up the groups that it touches."""
    A, B, D = groups.label[i], change.to, change.on
    if D >= 0:
        transfer(groups, change.j, D)
    transfer(groups, i, B)
    if D < 0 <= change.j:
        transfer(groups, change.j, A)
    for g in (A, B, D):
        if g >= 0:
            recompute(space, groups, g)
