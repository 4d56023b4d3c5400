"""Compiled steps that all moves share: spans of groups, their records, requirements.

Importing this imports numba.
"""

import numpy as np

from aggopt.algorithms.boxes.loss_kernels import measure_hull, measure_loss
from aggopt.core.compiled import (
    compiled,
    inner,
    unrefcounted,
    unrefcounted_inlined,
    unrefcounted_inner,
)
from aggopt.core.kernels import draw_below
from aggopt.core.types import I64, U64
from aggopt.partition._generalising.state import (
    FurtherRequirements,
    HullGroups,
    RecordSpace,
)
from aggopt.partition._local_search.constraint_kernels import (
    NOBODY,
    compute_numerator,
    is_diverse_after_change,
)
from aggopt.partition.constraints import Close

TRIES = 3  # records of a combination whose groups are looked at


@unrefcounted_inlined
def measure_widened(
    space: RecordSpace, lowest: I64, highest: I64, i: int, limit: float
) -> float:
    """Return the loss of a group with record i, or any loss above `limit` if it is."""
    total = 0.0
    for a in range(len(lowest)):
        v = space.positions[i, a]
        total += measure_loss(space.losses, a, min(lowest[a], v), max(highest[a], v))
        if total > limit:
            break
    return total


@unrefcounted_inlined
def widen(space: RecordSpace, lowest: I64, highest: I64, i: int) -> None:
    """Widen the span of a group in each attribute to include record i."""
    for a in range(len(lowest)):
        v = space.positions[i, a]
        lowest[a] = min(lowest[a], v)
        highest[a] = max(highest[a], v)


@unrefcounted_inlined
def start_hull(space: RecordSpace, lowest: I64, highest: I64, i: int) -> None:
    """Set the span of a group in each attribute to record i alone."""
    for a in range(len(lowest)):
        lowest[a] = highest[a] = space.positions[i, a]


@unrefcounted_inlined
def unlink(groups: HullGroups, i: int) -> None:
    """Take record i off the list of its group."""
    before = groups.preceding[i]
    after = groups.following[i]
    if before >= 0:
        groups.following[before] = after
    else:
        groups.head[groups.label[i]] = after
    if after >= 0:
        groups.preceding[after] = before


@unrefcounted_inlined
def link(groups: HullGroups, i: int, g: int) -> None:
    """Put record i first on the list of group g."""
    groups.label[i] = g
    groups.preceding[i] = -1
    groups.following[i] = groups.head[g]
    if groups.head[g] >= 0:
        groups.preceding[groups.head[g]] = i
    groups.head[g] = i


@unrefcounted
def fill_groups(space: RecordSpace, groups: HullGroups, labels: I64) -> None:
    """Fill in groups of labels (n,); all groups are empty before."""
    for i in range(len(labels)):
        g = labels[i]
        if groups.size[g] == 0:
            start_hull(space, groups.lowest[g], groups.highest[g], i)
        widen(space, groups.lowest[g], groups.highest[g], i)
        link(groups, i, g)
        groups.size[g] += 1
        groups.mass[g] += space.weights[i]
    for g in range(len(groups.size)):
        if groups.size[g] > 0:
            groups.loss[g] = measure_hull(
                space.losses, groups.lowest[g], groups.highest[g]
            )


@unrefcounted
def sum_losses(groups: HullGroups) -> float:
    """Return the loss of all records."""
    total = 0.0
    for g in range(len(groups.size)):
        if groups.size[g] > 0:
            total += groups.mass[g] * groups.loss[g]
    return total


@unrefcounted_inner
def find_best_group(
    space: RecordSpace, groups: HullGroups, i: int, random_state: U64, limit: float
) -> tuple[int, float]:
    """Return the near open group that record i joins at least loss, and that loss.

    Groups of records near i are looked at; -1 if none costs less than `limit`.
    """
    best = -1
    least_cost = limit
    v = space.weights[i]
    combination = space.combination[i]
    for t in range(-1, space.near.shape[1]):
        q = combination if t < 0 else space.near[combination, t]
        if q < 0:
            break
        start = space.first[q]
        copies = space.first[q + 1] - start
        turn = draw_below(random_state, copies)
        for z in range(min(TRIES, copies)):
            g = groups.label[space.records[start + (turn + z) % copies]]
            if g < 0 or not groups.open[g] or g == best:
                continue
            mass = groups.mass[g]
            before = mass * groups.loss[g]
            loss = measure_widened(
                space,
                groups.lowest[g],
                groups.highest[g],
                i,
                (least_cost + before) / (mass + v),
            )
            cost = (mass + v) * loss - before
            if cost < least_cost:
                least_cost = cost
                best = g
    return best, least_cost


@inner
def satisfies(requirements: FurtherRequirements, members: I64) -> bool:
    """Whether a group of records satisfies l, t and units; k is checked elsewhere."""
    if len(requirements.units.level) > 0 and not is_diverse_after_change(
        requirements.units, members, NOBODY, NOBODY
    ):
        return False
    diverse = requirements.promise.diverse
    if len(diverse.level) > 0 and not is_diverse_after_change(
        diverse, members, NOBODY, NOBODY
    ):
        return False
    close = requirements.promise.close
    return len(close.place) == 0 or _is_close(close, members)


@inner
def _is_close(close: Close, members: I64) -> bool:
    """Whether records together are t-close to the table."""
    places = np.empty(len(members), np.int64)
    for t in range(len(members)):
        places[t] = close.place[members[t]]
    order = np.argsort(places, kind="mergesort")
    ordered = np.empty(len(members), np.int64)
    for t in range(len(members)):
        ordered[t] = members[order[t]]
    return bool(compute_numerator(close, ordered) <= close.limits[len(members)])


@compiled
def are_allowed(requirements: FurtherRequirements, members: I64) -> bool:
    """Whether records together satisfy the requirements, for Python."""
    return satisfies(requirements, members)
