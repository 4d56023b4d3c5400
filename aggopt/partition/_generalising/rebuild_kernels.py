"""Compiled trials: a few near groups are dissolved, and new ones are made.

Importing this imports numba.
"""

import numpy as np

from aggopt.algorithms.boxes.loss_kernels import measure_hull
from aggopt.core.compiled import (
    unrefcounted,
    unrefcounted_inlined,
    unrefcounted_inner,
)
from aggopt.core.kernels import draw_below, draw_share
from aggopt.core.types import I64
from aggopt.partition._generalising.group_kernels import (
    find_best_group,
    link,
    measure_widened,
    satisfies,
    start_hull,
    unlink,
    widen,
)
from aggopt.partition._generalising.state import (
    CHANGES,
    DISSOLVED,
    FREE,
    JOINS,
    LARGE,
    LEFT,
    MOST,
    NEW,
    RECORDS,
    SPARE,
    STAMP,
    STAYS,
    FurtherRequirements,
    HullGroups,
    RebuildTrial,
    RecordSpace,
)

EQUAL = 1e-12  # losses that differ by less are equal
HOPELESS = 40.0  # temperatures above the old loss: accepted once in 10^17 trials
LOSSY = 6  # records drawn until one is in a group that loses something
NEAREST = 0.5  # share of the draws that prefer near combinations
AROUND = 0.6  # share of the draws around the first record, not around the last one
FEWER = 0.3  # share of the trials that make one group less than possible
DEAR, FAR = 0.4, 0.7  # shares of the seeds: up to DEAR the dearest, up to FAR far ones
GUIDE = 1.2  # largest factor of prices, in half of the trials
NOWHERE = -1  # no group
GROWTH = 3  # times k: largest group that is grown for its requirements


@unrefcounted
def rebuild_each(
    space: RecordSpace,
    groups: HullGroups,
    trial: RebuildTrial,
    temperature: float,
    turns: int,
) -> float:
    """Make this many trials; return by how much the loss has fallen."""
    gain = 0.0
    for _ in range(turns):
        i = draw_below(trial.random_state, len(space.positions))
        for _ in range(LOSSY):
            if groups.loss[groups.label[i]] > 0.0:
                break
            i = draw_below(trial.random_state, len(space.positions))
        gain += _rebuild_near(space, groups, trial, temperature, i)
    return gain


@unrefcounted_inner
def _rebuild_near(
    space: RecordSpace,
    groups: HullGroups,
    trial: RebuildTrial,
    temperature: float,
    i: int,
) -> float:
    """Rebuild groups near record i if that is accepted; return the gain."""
    before = _take_records(space, groups, trial, i)
    gain = 0.0
    if before >= 0.0:
        max_loss = before + HOPELESS * temperature + EQUAL
        after = _grow_groups(space, groups, trial, max_loss)
        if after < max_loss:
            after = _place_rest(space, groups, trial, after, max_loss)
        accepted = after < max_loss and _accepts(trial, before - after, temperature)
        if accepted and _are_satisfied(space.requirements, groups, trial):
            gain = before - after
            _commit(space, groups, trial)
        else:
            _restore(groups, trial)
    for t in range(trial.counts[DISSOLVED]):
        groups.open[trial.dissolved[t]] = True
    return gain


@unrefcounted_inlined
def _accepts(trial: RebuildTrial, gain: float, temperature: float) -> bool:
    """Whether a change of the loss is accepted at this temperature."""
    if gain >= -EQUAL:
        return True
    return temperature > 0.0 and draw_share(trial.random_state) < np.exp(
        gain / temperature
    )


@unrefcounted_inner
def _take_records(
    space: RecordSpace, groups: HullGroups, trial: RebuildTrial, i: int
) -> float:
    """Take the records of 2 to MOST groups near record i; return their loss.

    A large group lends k records at most, near ones first.  Returns -1 if nothing is
    lost, or too few records are taken.
    """
    wanted = 2 + draw_below(trial.random_state, MOST - 1)
    trial.counts[RECORDS] = trial.counts[DISSOLVED] = 0
    trial.counts[NEW] = trial.counts[CHANGES] = 0
    loss = 0.0
    r = i
    for _ in range(4 * wanted):
        if trial.counts[DISSOLVED] == wanted:
            break
        g = groups.label[r]
        if groups.open[g]:
            size = groups.size[g]
            if size <= LARGE * space.k:
                loss += _take_from(space, groups, trial, groups.head[g], size)
            else:
                number = min(space.k, size - space.k)
                loss += _take_from(space, groups, trial, r, number)
        r = _draw_near(space, trial, i, r)
    trial.counts[LEFT] = trial.counts[RECORDS]
    return loss if loss > 0.0 and trial.counts[RECORDS] >= space.k else -1.0


@unrefcounted_inlined
def _take_from(
    space: RecordSpace, groups: HullGroups, trial: RebuildTrial, first: int, number: int
) -> float:
    """Take records from `first` on; return their loss.

    Their group is not open until the trial ends.
    """
    g = groups.label[first]
    groups.open[g] = False
    trial.dissolved[trial.counts[DISSOLVED]] = g
    trial.counts[DISSOLVED] += 1
    mass = 0.0
    r = first
    for _ in range(number):
        if r < 0:
            break
        at = trial.counts[RECORDS]
        trial.records[at] = r
        trial.source[at] = g
        trial.target[at] = FREE
        trial.counts[RECORDS] = at + 1
        mass += space.weights[r]
        r = groups.following[r]
    return float(mass * groups.loss[g])


@unrefcounted_inlined
def _draw_near(space: RecordSpace, trial: RebuildTrial, i: int, r: int) -> int:
    """Return a record near record i, or near record r."""
    width = space.near.shape[1]
    t = draw_below(trial.random_state, width)
    if draw_share(trial.random_state) < NEAREST:
        t = min(t, draw_below(trial.random_state, width))
    centre = i if draw_share(trial.random_state) < AROUND else r
    q = space.near[space.combination[centre], t]
    if q < 0:
        return int(centre)
    start = space.first[q]
    copies = space.first[q + 1] - start
    return int(space.records[start + draw_below(trial.random_state, copies)])


@unrefcounted_inner
def _grow_groups(
    space: RecordSpace, groups: HullGroups, trial: RebuildTrial, max_loss: float
) -> float:
    """Grow as many groups as the free records allow; return their loss.

    inf if they lose more than `max_loss`, or if there is no group.
    """
    limit = trial.counts[LEFT] // space.k
    if limit > 1 and draw_share(trial.random_state) < FEWER:
        limit -= 1
    guide = 0.0
    if draw_below(trial.random_state, 2) == 1:
        guide = GUIDE * draw_share(trial.random_state)
    loss = 0.0
    while trial.counts[LEFT] >= space.k and trial.counts[NEW] < limit:
        if not _grow_group(space, trial, guide):
            break
        t = trial.counts[NEW] - 1
        loss += trial.mass[t] * trial.loss[t]
        if loss > max_loss:
            return np.inf
    return loss if trial.counts[NEW] > 0 else np.inf


@unrefcounted_inner
def _grow_group(space: RecordSpace, trial: RebuildTrial, guide: float) -> bool:
    """Grow one group of k free records, or more for its requirements.

    If it cannot satisfy them, its records are free again; returns whether it can.
    """
    t = trial.counts[NEW]
    begin = trial.counts[LEFT]
    trial.counts[STAMP] += 1
    trial.size[t] = 0
    trial.mass[t] = 0.0
    seed = _choose_seed(space, trial)
    start_hull(space, trial.lowest[t], trial.highest[t], trial.records[seed])
    lacking_levels, lacking_units = _count_required(space.requirements)
    at = seed
    while True:
        i = trial.records[at]
        widen(space, trial.lowest[t], trial.highest[t], i)
        trial.size[t] += 1
        trial.mass[t] += space.weights[i]
        _take_free(trial, at, t)
        new_level, new_unit = _count_new(space.requirements, trial, i)
        lacking_levels -= new_level
        lacking_units -= new_unit
        if trial.size[t] >= space.k and lacking_levels <= 0 and lacking_units <= 0:
            members = trial.records[trial.counts[LEFT] : begin]
            if _is_satisfied_by(space.requirements, members):
                break
            if trial.size[t] >= GROWTH * space.k:
                at = -1
        if at >= 0:
            places = space.k - trial.size[t]
            at = _choose_next(
                space,
                trial,
                t,
                guide,
                0 < lacking_levels >= places,
                0 < lacking_units >= places,
            )
        if at < 0:  # nothing left that helps
            for y in range(trial.counts[LEFT], begin):
                trial.target[y] = FREE
            trial.counts[LEFT] = begin
            return False
    trial.loss[t] = measure_hull(space.losses, trial.lowest[t], trial.highest[t])
    trial.counts[NEW] = t + 1
    return True


@unrefcounted_inlined
def _take_free(trial: RebuildTrial, at: int, t: int) -> None:
    """Move the free record at a place behind the free ones, into new group t."""
    last = trial.counts[LEFT] - 1
    i = trial.records[at]
    g = trial.source[at]
    trial.records[at] = trial.records[last]
    trial.source[at] = trial.source[last]
    trial.records[last] = i
    trial.source[last] = g
    trial.target[last] = t
    trial.counts[LEFT] = last


@unrefcounted_inner
def _choose_seed(space: RecordSpace, trial: RebuildTrial) -> int:
    """Return the place of the first record of a group: a dear, far or random one."""
    left = trial.counts[LEFT]
    at = draw_below(trial.random_state, left)
    way = draw_share(trial.random_state)
    if way >= FAR:
        return at
    best = at
    highest = -np.inf
    i = trial.records[at]
    for y in range(left):
        r = trial.records[y]
        if way < DEAR:
            price = space.prices[space.combination[r]]
            value = price * (1.0 + 0.3 * draw_share(trial.random_state))
        else:
            row = space.positions[i]
            value = measure_widened(space, row, row, r, np.inf)
        if value > highest:
            highest = value
            best = y
    return best


@unrefcounted_inner
def _choose_next(
    space: RecordSpace,
    trial: RebuildTrial,
    t: int,
    guide: float,
    new_level: bool,
    new_unit: bool,
) -> int:
    """Return the place of the free record that widens new group t least; -1 if none.

    Prices reward records that are dear elsewhere; ties are broken at random.
    """
    best = -1
    lowest = np.inf
    ties = 0
    for y in range(trial.counts[LEFT]):
        i = trial.records[y]
        if not _helps(space.requirements, trial, i, new_level, new_unit):
            continue
        reward = guide * space.prices[space.combination[i]]
        max_widened = (lowest + EQUAL + reward) / space.k
        loss = measure_widened(space, trial.lowest[t], trial.highest[t], i, max_widened)
        cost = space.k * loss - reward
        if cost < lowest - EQUAL:
            lowest = cost
            best = y
            ties = 1
        elif cost < lowest + EQUAL:
            ties += 1
            if draw_below(trial.random_state, ties) == 0:
                best = y
    return best


# Branches on `kept is None` are left out by the compiler if it is an argument.


@unrefcounted_inlined
def _count_required(requirements: FurtherRequirements | None) -> tuple[int, int]:
    """Return the numbers of levels and of units that a group needs."""
    if requirements is None:
        return 0, 0
    return requirements.promise.diverse.required, requirements.units.required


@unrefcounted_inlined
def _has_seen(level: I64, stamps: I64, i: int, stamp: int) -> bool:
    """Whether the group in turn has the level of record i, if there are levels."""
    return len(level) == 0 or stamps[level[i]] == stamp


@unrefcounted_inlined
def _helps(
    requirements: FurtherRequirements | None,
    trial: RebuildTrial,
    i: int,
    new_level: bool,
    new_unit: bool,
) -> bool:
    """Whether record i has a level and a unit that are new, where these are needed."""
    if requirements is None:
        return True
    stamp = trial.counts[STAMP]
    if new_level and _has_seen(
        requirements.promise.diverse.level, trial.seen_levels, i, stamp
    ):
        return False
    return not (
        new_unit and _has_seen(requirements.units.level, trial.seen_units, i, stamp)
    )


@unrefcounted_inlined
def _count_new(
    requirements: FurtherRequirements | None, trial: RebuildTrial, i: int
) -> tuple[int, int]:
    """Return whether value and unit of record i are new to the group, and note them."""
    if requirements is None:
        return 0, 0
    return (
        _note(
            requirements.promise.diverse.level,
            trial.seen_levels,
            i,
            trial.counts[STAMP],
        ),
        _note(requirements.units.level, trial.seen_units, i, trial.counts[STAMP]),
    )


@unrefcounted_inlined
def _note(level: I64, stamps: I64, i: int, stamp: int) -> int:
    """Return 1 if the level of record i is new to the group in turn, and note it."""
    if _has_seen(level, stamps, i, stamp):
        return 0
    stamps[level[i]] = stamp
    return 1


@unrefcounted_inlined
def _is_satisfied_by(requirements: FurtherRequirements | None, members: I64) -> bool:
    """Whether records together satisfy the requirements, if there are any."""
    if requirements is None:
        return True
    return satisfies(requirements, members)


@unrefcounted_inner
def _place_rest(
    space: RecordSpace,
    groups: HullGroups,
    trial: RebuildTrial,
    loss: float,
    max_loss: float,
) -> float:
    """Send each free record where it costs least: a new group, or one that stays.

    Returns the loss of the trial; inf if it exceeds `max_loss`.
    """
    for p in range(trial.counts[LEFT]):
        i = trial.records[p]
        if groups.size[trial.source[p]] > LARGE * space.k:
            trial.target[p] = STAYS  # lent: it returns
            loss += space.weights[i] * groups.loss[trial.source[p]]
            if loss > max_loss:
                return np.inf
            continue
        best, cost = _find_new_group(space, trial, i)
        g, cost_outside = find_best_group(space, groups, i, trial.random_state, cost)
        if g >= 0:
            _join_outside(space, groups, trial, p, g)
            loss += cost_outside
        else:
            trial.target[p] = best
            widen(space, trial.lowest[best], trial.highest[best], i)
            trial.size[best] += 1
            trial.mass[best] += space.weights[i]
            trial.loss[best] = measure_hull(
                space.losses, trial.lowest[best], trial.highest[best]
            )
            loss += cost
        if loss > max_loss:
            return np.inf
    return loss


@unrefcounted_inner
def _find_new_group(
    space: RecordSpace, trial: RebuildTrial, i: int
) -> tuple[int, float]:
    """Return the new group that record i joins at least loss, and that loss."""
    best = 0
    lowest = np.inf
    v = space.weights[i]
    for t in range(trial.counts[NEW]):
        before = trial.mass[t] * trial.loss[t]
        loss = measure_widened(
            space,
            trial.lowest[t],
            trial.highest[t],
            i,
            (lowest + before) / (trial.mass[t] + v),
        )
        cost = (trial.mass[t] + v) * loss - before
        if cost < lowest:
            lowest = cost
            best = t
    return best, lowest


@unrefcounted_inlined
def _join_outside(
    space: RecordSpace, groups: HullGroups, trial: RebuildTrial, p: int, g: int
) -> None:
    """Let the record at place p join group g, whose state before is kept."""
    c = trial.counts[CHANGES]
    trial.changed[c] = g
    trial.old_size[c] = groups.size[g]
    trial.old_mass[c] = groups.mass[g]
    trial.old_loss[c] = groups.loss[g]
    for a in range(groups.lowest.shape[1]):
        trial.old_lowest[c, a] = groups.lowest[g, a]
        trial.old_highest[c, a] = groups.highest[g, a]
    trial.counts[CHANGES] = c + 1
    trial.target[p] = JOINS
    trial.joined[p] = g
    i = trial.records[p]
    widen(space, groups.lowest[g], groups.highest[g], i)
    groups.size[g] += 1
    groups.mass[g] += space.weights[i]
    groups.loss[g] = measure_hull(space.losses, groups.lowest[g], groups.highest[g])


@unrefcounted_inner
def _restore(groups: HullGroups, trial: RebuildTrial) -> None:
    """Restore the groups that records of a refused trial have joined."""
    for c in range(trial.counts[CHANGES] - 1, -1, -1):
        g = trial.changed[c]
        groups.size[g] = trial.old_size[c]
        groups.mass[g] = trial.old_mass[c]
        groups.loss[g] = trial.old_loss[c]
        for a in range(groups.lowest.shape[1]):
            groups.lowest[g, a] = trial.old_lowest[c, a]
            groups.highest[g, a] = trial.old_highest[c, a]


@unrefcounted_inlined
def _are_satisfied(
    requirements: FurtherRequirements | None, groups: HullGroups, trial: RebuildTrial
) -> bool:
    """Whether all groups that the trial makes or widens satisfy the requirements."""
    if requirements is None:
        return True
    for t in range(trial.counts[NEW]):
        number = _gather_members(groups, trial, NOWHERE, t)
        if not satisfies(requirements, trial.members[:number]):
            return False
    for c in range(trial.counts[CHANGES]):
        number = _gather_members(groups, trial, trial.changed[c], NOWHERE)
        if not satisfies(requirements, trial.members[:number]):
            return False
    for t in range(trial.counts[DISSOLVED]):
        g = trial.dissolved[t]
        number = _gather_members(groups, trial, g, NOWHERE)
        is_changed = 0 < number < groups.size[g]
        if is_changed and not satisfies(requirements, trial.members[:number]):
            return False
    return True


@unrefcounted_inner
def _gather_members(groups: HullGroups, trial: RebuildTrial, g: int, t: int) -> int:
    """Return how many records group g, or new group t, has after a trial; collect them.

    A group that is open has no record that leaves it.
    """
    number = 0
    if g >= 0:
        r = groups.head[g]
        while r >= 0:
            if groups.open[g] or not _leaves(trial, r):
                trial.members[number] = r
                number += 1
            r = groups.following[r]
    for p in range(trial.counts[RECORDS]):
        to = trial.target[p]
        if (t >= 0 and to == t) or (to == JOINS and trial.joined[p] == g):
            trial.members[number] = trial.records[p]
            number += 1
    return number


@unrefcounted_inner
def _leaves(trial: RebuildTrial, r: int) -> bool:
    """Whether record r is in the trial and does not stay in its group."""
    for p in range(trial.counts[RECORDS]):
        if trial.records[p] == r:
            return bool(trial.target[p] != STAYS)
    return False


@unrefcounted_inner
def _shrink_hull(space: RecordSpace, groups: HullGroups, g: int) -> None:
    """Fit the hull of a group to the records that it still has."""
    r = groups.head[g]
    start_hull(space, groups.lowest[g], groups.highest[g], r)
    while r >= 0:
        widen(space, groups.lowest[g], groups.highest[g], r)
        r = groups.following[r]
    groups.loss[g] = measure_hull(space.losses, groups.lowest[g], groups.highest[g])


@unrefcounted_inner
def _commit(space: RecordSpace, groups: HullGroups, trial: RebuildTrial) -> None:
    """Move the records of an accepted trial into their new groups."""
    for p in range(trial.counts[RECORDS]):
        if trial.target[p] == STAYS:
            continue
        i = trial.records[p]
        g = groups.label[i]
        unlink(groups, i)
        groups.size[g] -= 1
        groups.mass[g] -= space.weights[i]
    for t in range(trial.counts[DISSOLVED]):
        g = trial.dissolved[t]
        if groups.size[g] == 0:
            groups.spare[groups.counts[SPARE]] = g
            groups.counts[SPARE] += 1
        elif groups.loss[g] > 0.0:
            _shrink_hull(space, groups, g)
    for t in range(trial.counts[NEW]):
        groups.counts[SPARE] -= 1
        g = groups.spare[groups.counts[SPARE]]
        trial.changed[t] = g  # free again: an accepted trial restores nothing
        groups.head[g] = -1
        groups.size[g] = trial.size[t]
        groups.mass[g] = trial.mass[t]
        groups.loss[g] = trial.loss[t]
        for a in range(groups.lowest.shape[1]):
            groups.lowest[g, a] = trial.lowest[t, a]
            groups.highest[g, a] = trial.highest[t, a]
    for p in range(trial.counts[RECORDS]):
        to = trial.target[p]
        if to == JOINS:
            link(groups, trial.records[p], trial.joined[p])
        elif to >= 0:
            link(groups, trial.records[p], trial.changed[to])
