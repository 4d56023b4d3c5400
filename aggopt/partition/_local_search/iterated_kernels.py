"""Iterated local search: perturb, descend, and keep what is not worse.

Importing this imports numba: do so late.
"""

import numpy as np

from aggopt.core.borrowed import compiled, inner
from aggopt.core.random_kernels import below, share
from aggopt.core.validation import Floats, Labels
from aggopt.partition._local_search.column_pool_kernels import collect
from aggopt.partition._local_search.column_pool_state import Collected
from aggopt.partition._local_search.descent_kernels import descend, empty, put
from aggopt.partition._local_search.move_kernels import forget, gained, undo
from aggopt.partition._local_search.perturbation_kernels import dissolve, perturb
from aggopt.partition._local_search.state import (
    HEAD,
    QUEUED,
    SPARE,
    TOUCHED,
    UNDOES,
    Groups,
    Space,
    Trail,
)

NEAREST = 5  # records that say how far apart others are hereabouts


@compiled
def queue_all(trail: Trail, order: Labels) -> None:
    """Queue all records."""
    empty(trail)
    trail.counts[HEAD], trail.counts[QUEUED] = 0, len(order)
    for c in range(len(order)):
        trail.queue[c] = order[c]
        trail.queued[order[c]] = True


@compiled
def descend_without_undo(
    space: Space, groups: Groups, trail: Trail, turns: int
) -> bool:
    """Let so many records take their turn for good; return whether none is left."""
    trail.counts[UNDOES] = 0
    return descend(space, groups, trail, turns)


@compiled
def perturb_each(
    space: Space,
    groups: Groups,
    trail: Trail,
    records: Labels,
    temperature: Floats,
    collected: Collected | None,
) -> float:
    """Return by how much SSE changed: near each record a perturbation and a descent.

    What loses more by x is kept with probability exp(-x / temperature[i]).
    """
    changed, turns = 0.0, len(trail.moved) * len(trail.queue)  # as many as it takes
    trail.counts[UNDOES] = 1
    for c in range(len(records)):
        forget(trail)
        i = records[c]
        done = perturb(space, groups, trail, i)
        if done:
            for t in range(trail.counts[TOUCHED]):
                put(groups, trail, trail.touched[t])
            descend(space, groups, trail, turns)
            empty(trail)
            more = gained(groups, trail)
            done = more <= 0.0 or more < -temperature[c] * np.log(
                1.0 - share(trail.random_state)
            )
        if done:
            changed += more
            _use_again(groups, trail)
            collect(groups, trail, collected)
        else:
            undo(space, groups, trail)
    return changed


@compiled
def loosen(space: Space, groups: Groups, trail: Trail, turns: int) -> None:
    """Dissolve groups here and there, one a turn where that is allowed."""
    for _ in range(turns):
        forget(trail)
        i = below(trail.random_state, len(groups.label))
        if dissolve(space, groups, trail, groups.label[i]):
            _use_again(groups, trail)
        else:
            undo(space, groups, trail)


@inner
def _use_again(groups: Groups, trail: Trail) -> None:
    """Note which groups on the trail are empty now, and which no more."""
    if trail.counts[SPARE] and groups.size[trail.spare[trail.counts[SPARE] - 1]]:
        trail.counts[SPARE] -= 1
    for c in range(trail.counts[TOUCHED]):
        g = trail.touched[c]
        if groups.size[g] == 0:
            trail.spare[trail.counts[SPARE]] = g
            trail.counts[SPARE] += 1


@compiled
def spacing(space: Space, least: Floats, out: Floats) -> None:
    """Put half the mean squared distance of each record's nearest into `out` (n,).

    There are as many of them as `least`, which is changed.
    """
    for i in range(len(out)):
        least[:] = np.inf
        for j in space.near[i]:
            total = 0.0
            for t in range(space.Z.shape[1]):
                total += (space.Z[i, t] - space.Z[j, t]) ** 2
            _insert(least, total)
        total = 0.0
        for x in least:
            total += x
        out[i] = 0.5 * (total / len(least))


@inner
def _insert(least: Floats, x: float) -> None:
    """Put x among the least so far, which ascend."""
    at = len(least)
    while at > 0 and least[at - 1] > x:
        if at < len(least):
            least[at] = least[at - 1]
        at -= 1
    if at < len(least):
        least[at] = x
