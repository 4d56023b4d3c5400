"""Compiled changes of the prices of records, box by box.  Imports numba."""

import numpy as np

from aggopt.algorithms.boxes.state import PriceState
from aggopt.core.compiled import compiled, inner
from aggopt.core.types import F64, I32, I64

TURNS = 50  # attempts to lower the prices of one box
NONE, PRESENT = -1, -2  # no member of a kind; a kind that the group has


@compiled
def lower_prices(
    order: I64, starts: I64, members: I32, losses: F64, state: PriceState
) -> None:
    """Lower the prices of records in each box until no group there exceeds its loss.

    The boxes come in this order.  Prices fall by the projection that weighs each
    combination by its count.
    """
    for b in order:
        inside = members[starts[b] : starts[b + 1]]
        for _ in range(TURNS):
            total, entries = sum_largest(inside, losses[b], state)
            if total > 0.0:
                _lower_chosen(total, entries, state)
            _forget_chosen(entries, state)
            if total <= 0.0:
                break


@inner
def _lower_chosen(total: float, entries: int, state: PriceState) -> None:
    """Lower the prices of the records that `sum_largest` chose, by their excess."""
    length = 0.0
    for t in range(entries):
        i = state.chosen[t]
        length += state.copies[i] * state.copies[i] / state.counts[i]
    for t in range(entries):
        i = state.chosen[t]
        state.prices[i] -= total / length * state.copies[i] / state.counts[i]


@inner
def _forget_chosen(entries: int, state: PriceState) -> None:
    """Set the copies of chosen combinations to 0, as `sum_largest` expects them."""
    for t in range(entries):
        state.copies[state.chosen[t]] = 0


@inner
def sum_largest(inside: I32, loss: float, state: PriceState) -> tuple[float, int]:
    """Return the largest sum of prices less losses that a group in a box can have.

    Copies are counted.  Also returns how many combinations are chosen, whose copies the
    caller sets to 0.  -inf if no group is possible: fewer than k records, or fewer than
    l kinds, are inside.
    """
    if state.l > 1:
        return _sum_diverse(inside, loss, state)
    return _add_largest(inside, loss, state, 0, state.k)


@inner
def _sum_diverse(inside: I32, loss: float, state: PriceState) -> tuple[float, int]:
    """Return `sum_largest` if a group needs l kinds.

    All positive ones are chosen; the best of each of the best other kinds, up to l; and
    the largest of the rest, up to k records.
    """
    for i in inside:
        state.best[state.kinds[i]] = NONE
    entries = kinds = mass = 0
    total = 0.0
    for i in inside:
        s = state.kinds[i]
        value = state.prices[i] - state.weights[i] * loss
        if value > 0.0:
            kinds += state.best[s] != PRESENT
            state.best[s] = PRESENT
            state.chosen[entries] = i
            state.copies[i] = state.counts[i]
            entries += 1
            mass += state.counts[i]
            total += state.counts[i] * value
        elif state.best[s] == NONE or (
            state.best[s] >= 0 and value > _measure_excess(state, state.best[s], loss)
        ):
            state.best[s] = i
    for _ in range(kinds, state.l):
        best = NONE
        highest = -np.inf
        for i in inside:
            if state.best[state.kinds[i]] == i:
                value = _measure_excess(state, i, loss)
                if value > highest:
                    highest = value
                    best = i
        if best == NONE:
            return -np.inf, entries
        state.best[state.kinds[best]] = PRESENT
        state.chosen[entries] = best
        state.copies[best] = 1
        entries += 1
        mass += 1
        total += highest
    if mass >= state.k:
        return total, entries
    more, entries = _add_largest(inside, loss, state, entries, state.k - mass)
    return total + more, entries


@inner
def _measure_excess(state: PriceState, i: int, loss: float) -> float:
    """Return the price of a record less its weighted loss."""
    return float(state.prices[i] - state.weights[i] * loss)


@inner
def _add_largest(
    inside: I32, loss: float, state: PriceState, chosen: int, needed: int
) -> tuple[float, int]:
    """Choose the records of the highest prices less losses; return the sum of these.

    `chosen` combinations are chosen before; also returns how many are, then.
    """
    entries = 0
    mass = 0
    for i in inside:
        value = _measure_excess(state, i, loss)
        if mass >= needed and value <= state.excess[entries - 1]:
            continue
        left = state.counts[i] - state.copies[i]
        if left == 0:
            continue
        at = entries
        if entries == needed:  # the least one leaves
            at -= 1
            last = state.largest[at]
            mass -= state.counts[last] - state.copies[last]
        else:
            entries += 1
        while at > 0 and state.excess[at - 1] < value:
            state.excess[at] = state.excess[at - 1]
            state.largest[at] = state.largest[at - 1]
            at -= 1
        state.excess[at] = value
        state.largest[at] = i
        mass += left
        while True:
            last = state.largest[entries - 1]
            copies_of_last = state.counts[last] - state.copies[last]
            if mass - copies_of_last < needed:
                break
            mass -= copies_of_last
            entries -= 1
    if mass < needed:
        return -np.inf, chosen
    total = 0.0
    for t in range(entries):
        i = state.largest[t]
        taken = min(needed, state.counts[i] - state.copies[i])
        needed -= taken
        total += taken * state.excess[t]
        if state.copies[i] == 0:
            state.chosen[chosen] = i
            chosen += 1
        state.copies[i] += taken
    return total, chosen


@compiled
def measure_slack(
    starts: I64, members: I32, losses: F64, state: PriceState, slack: F64
) -> None:
    """Write by how much the largest prices of each box could rise together, (b,)."""
    for b in range(len(losses)):
        inside = members[starts[b] : starts[b + 1]]
        total, entries = sum_largest(inside, losses[b], state)
        slack[b] = -total
        _forget_chosen(entries, state)


@compiled
def find_cheapest(starts: I64, members: I32, losses: F64, cheapest: F64) -> None:
    """Write the least loss of the boxes that contain each combination, (c,).

    Entries that are lower already stay.
    """
    for b in range(len(losses)):
        for i in members[starts[b] : starts[b + 1]]:
            cheapest[i] = min(cheapest[i], losses[b])
