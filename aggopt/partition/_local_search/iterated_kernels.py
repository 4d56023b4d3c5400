"""Iterated local search: perturb, descend, and keep results that are not worse.

Importing this imports numba: do so late.
"""

import numpy as np

from aggopt.core.borrowed import compiled, inner
from aggopt.core.random_kernels import below, share
from aggopt.core.validation import Floats, Labels
from aggopt.partition._local_search.column_pool_kernels import collect_groups
from aggopt.partition._local_search.column_pool_state import Collected
from aggopt.partition._local_search.descent_kernels import (
    descend,
    empty_queue,
    queue_group,
)
from aggopt.partition._local_search.move_kernels import (
    compute_increase,
    start_trail,
    undo_changes,
)
from aggopt.partition._local_search.perturbation_kernels import (
    dissolve_group,
    perturb_record,
)
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

NEAREST = 5  # nearest records that determine the local scale of distances


@compiled
def queue_all(trail: Trail, order: Labels) -> None:
    """Queue all records."""
    empty_queue(trail)
    trail.counts[HEAD], trail.counts[QUEUED] = 0, len(order)
    for c in range(len(order)):
        trail.queue[c] = order[c]
        trail.queued[order[c]] = True


@compiled
def descend_without_undo(
    space: Space, groups: Groups, trail: Trail, turns: int
) -> bool:
    """Give up to `turns` records a turn for good; return whether the queue is empty."""
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
    """Return the change of SSE: near each record a perturbation and a descent.

    A result that increases SSE by x is kept with probability exp(-x / temperature[i]).

    What loses more by x is kept with probability exp(-x / temperature[i]).
    """
    changed, turns = 0.0, len(trail.moved) * len(trail.queue)  # no limit
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
                1.0 - share(trail.random_state)
            )
        if done:
            changed += more
            _update_spare(groups, trail)
            collect_groups(groups, trail, collected)
        else:
            undo_changes(space, groups, trail)
    return changed


@compiled
def dissolve_random(space: Space, groups: Groups, trail: Trail, turns: int) -> None:
    """Dissolve random groups, one per turn if the constraints allow it."""
    for _ in range(turns):
        start_trail(trail)
        i = below(trail.random_state, len(groups.label))
        if dissolve_group(space, groups, trail, groups.label[i]):
            _update_spare(groups, trail)
        else:
            undo_changes(space, groups, trail)


@inner
def _update_spare(groups: Groups, trail: Trail) -> None:
    """Update the list of empty groups from the groups on the trail."""
    if trail.counts[SPARE] and groups.size[trail.spare[trail.counts[SPARE] - 1]]:
        trail.counts[SPARE] -= 1
    for c in range(trail.counts[TOUCHED]):
        g = trail.touched[c]
        if groups.size[g] == 0:
            trail.spare[trail.counts[SPARE]] = g
            trail.counts[SPARE] += 1


@compiled
def measure_spacing(space: Space, lowest: Floats, out: Floats) -> None:
    """Write half the mean squared distance to each record's nearest into `out` (n,).

    `least`, which is overwritten, determines their number.

    There are as many of them as `least`, which is changed.
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


@inner
def _insert_sorted(lowest: Floats, x: float) -> None:
    """Insert x among the least so far, in ascending order."""
    at = len(lowest)
    while at > 0 and lowest[at - 1] > x:
        if at < len(lowest):
            lowest[at] = lowest[at - 1]
        at -= 1
    if at < len(lowest):
        lowest[at] = x
