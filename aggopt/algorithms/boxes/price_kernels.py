"""Compiled prices of records against lists of boxes.  Importing this imports numba."""

import numpy as np

from aggopt.algorithms.boxes.state import PriceState
from aggopt.core.compiled import compiled, inner
from aggopt.core.types import F64, I32, I64

TURNS = 50  # attempts to lower the prices of one box


@compiled
def lower_prices(
    order: I64, starts: I64, members: I32, losses: F64, state: PriceState
) -> None:
    """Lower the k largest prices of each box until no k records exceed its loss.

    The boxes come in this order.  Prices fall by the projection that weighs each
    combination by its count.
    """
    for b in order:
        inside = members[starts[b] : starts[b + 1]]
        for _ in range(TURNS):
            total = sum_largest(inside, losses[b], state)
            if total <= 0.0:
                break
            _lower_largest(total, state)


@inner
def _lower_largest(total: float, state: PriceState) -> None:
    """Lower the k largest prices, which `sum_largest` found, by their sum."""
    missing = state.k
    length = 0.0
    entries = 0
    while missing > 0:
        i = state.largest[entries]
        taken = min(missing, state.counts[i])
        length += taken * taken / state.counts[i]
        missing -= taken
        entries += 1
    missing = state.k
    for t in range(entries):
        i = state.largest[t]
        taken = min(missing, state.counts[i])
        state.prices[i] -= total / length * taken / state.counts[i]
        missing -= taken


@inner
def sum_largest(inside: I32, loss: float, state: PriceState) -> float:
    """Return the sum of the k largest prices less weighted losses, copies counted.

    -inf if fewer than k records are inside.
    """
    entries = 0
    mass = 0
    for i in inside:
        value = state.prices[i] - state.weights[i] * loss
        if mass >= state.k and value <= state.excess[entries - 1]:
            continue
        at = entries
        if entries == state.k:  # the least one leaves
            at -= 1
            mass -= state.counts[state.largest[at]]
        else:
            entries += 1
        while at > 0 and state.excess[at - 1] < value:
            state.excess[at] = state.excess[at - 1]
            state.largest[at] = state.largest[at - 1]
            at -= 1
        state.excess[at] = value
        state.largest[at] = i
        mass += state.counts[i]
        while mass - state.counts[state.largest[entries - 1]] >= state.k:
            mass -= state.counts[state.largest[entries - 1]]
            entries -= 1
    if mass < state.k:
        return float(-np.inf)
    total = 0.0
    missing = state.k
    for t in range(entries):
        taken = min(missing, state.counts[state.largest[t]])
        total += taken * state.excess[t]
        missing -= taken
    return total


@compiled
def measure_slack(
    starts: I64, members: I32, losses: F64, state: PriceState, slack: F64
) -> None:
    """Write by how much the k largest prices of each box could rise together, (b,)."""
    for b in range(len(losses)):
        inside = members[starts[b] : starts[b + 1]]
        slack[b] = -sum_largest(inside, losses[b], state)


@compiled
def find_cheapest(starts: I64, members: I32, losses: F64, cheapest: F64) -> None:
    """Write the least loss of the boxes that contain each combination, (c,).

    Entries that are lower already stay.
    """
    for b in range(len(losses)):
        for i in members[starts[b] : starts[b + 1]]:
            cheapest[i] = min(cheapest[i], losses[b])
