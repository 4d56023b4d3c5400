"""Compiled search for the records that lose least as a pair.  Importing needs numba."""

import numpy as np

from aggopt.algorithms.boxes.loss_kernels import measure_loss
from aggopt.algorithms.boxes.state import LossTables
from aggopt.core.compiled import unrefcounted, unrefcounted_inner
from aggopt.core.types import F64, I32, I64


@unrefcounted
def find_near_all(
    losses: LossTables,
    positions: I64,
    sequence: I64,
    start: int,
    stop: int,
    near: I32,
    distances: F64,
) -> None:
    """Complete the nearest others of combinations start..stop-1: compared with all.

    Near ones in `near` let most comparisons end after a few attributes.
    """
    for i in range(start, stop):
        for j in range(len(positions)):
            if i != j:
                _insert(losses, positions, sequence, i, j, near[i], distances[i])


@unrefcounted
def find_near_in_order(
    losses: LossTables,
    positions: I64,
    sequence: I64,
    order: I64,
    window: int,
    near: I32,
    distances: F64,
) -> None:
    """Add others of each combination that are up to `window` places away in an order.

    A combination that is among the near ones already is not added again.
    """
    n = len(order)
    for at in range(n):
        i = order[at]
        for other in range(max(0, at - window), min(n, at + window + 1)):
            j = order[other]
            if i != j:
                _insert(losses, positions, sequence, i, j, near[i], distances[i])


@unrefcounted
def add_pair_losses(losses: LossTables, positions: I64, pairs: I64, sums: F64) -> None:
    """Add the losses of pairs (p, 2) of combinations, by attribute, to `sums` (d,)."""
    for t in range(len(pairs)):
        for a in range(positions.shape[1]):
            p = positions[pairs[t, 0], a]
            q = positions[pairs[t, 1], a]
            sums[a] += measure_loss(losses, a, min(p, q), max(p, q))


@unrefcounted_inner
def _contains(near: I32, j: int) -> bool:
    """Whether j is among the near ones."""
    for q in near:  # noqa: SIM110  # `any` is not compiled
        if q == j:
            return True
    return False


@unrefcounted_inner
def _insert(
    losses: LossTables,
    positions: I64,
    sequence: I64,
    i: int,
    j: int,
    near: I32,
    distances: F64,
) -> None:
    """Insert j among the near ones of i, unless it is there or all of them are as near.

    Attributes are added in this sequence, until the sum is too large.
    """
    last = len(near) - 1
    total = 0.0
    for a in sequence:
        p = positions[i, a]
        q = positions[j, a]
        if p != q:
            total += measure_loss(losses, a, min(p, q), max(p, q))
            if total >= distances[last]:
                return
    if not total < np.inf or _contains(near, j):
        return
    at = last
    while at > 0 and distances[at - 1] > total:
        distances[at] = distances[at - 1]
        near[at] = near[at - 1]
        at -= 1
    distances[at] = total
    near[at] = j
