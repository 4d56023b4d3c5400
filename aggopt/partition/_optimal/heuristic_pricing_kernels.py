"""Compiled heuristic pricing: groups changed by near records while that pays.

Importing this imports numba: do so late.
"""

import numpy as np

from aggopt.core.compiled import compiled, inlined, inner
from aggopt.core.kernels import copy_into
from aggopt.core.types import I32, I64, Bool
from aggopt.core.validation import Floats, Labels
from aggopt.partition._optimal.pricing_state import Distances

LEAST = 1e-9  # that a change must gain
STAY, JOIN, SWAP, LEAVE = range(4)


@compiled
def improve_groups(
    distances: Distances,
    near: Labels,
    u: Floats,
    k: int,
    members: I32,
    sizes: Labels,
    ended: I32,
    reduced: Floats,
) -> None:
    """Find the local optimum of each group (q, 2k - 1), and its reduced cost (q,).

    A record joins, leaves, or replaces another, whichever gains most, until no change
    gains. Candidates are near (n, c) to a member.
    """
    inside = np.zeros(len(u), np.bool_)
    group = np.empty(2 * k - 1, np.int64)
    to = np.empty(2 * k - 1)
    ended[:] = -1
    for q in range(len(members)):
        size = sizes[q]
        copy_into(group[:size], members[q, :size])
        for y in range(size):
            inside[group[y]] = True
        size = _improve_group(distances, near, u, k, group, size, inside, to)
        reduced[q] = _sum_pairs(distances.pair, group, size) / _sum_weights(
            distances.weight, group, size
        )
        for y in range(size):
            inside[group[y]] = False
            ended[q, y] = group[y]
            reduced[q] -= u[group[y]]


@inner
def _improve_group(
    distances: Distances,
    near: Labels,
    u: Floats,
    k: int,
    group: I64,
    size: int,
    inside: Bool,
    to: Floats,
) -> int:
    """Change a group while that lowers its reduced cost; return its size."""
    weight = distances.weight
    pair = distances.pair
    within = _sum_pairs(pair, group, size)
    while True:
        for y in range(size):
            to[y] = _sum_distances(pair, group[y], group, size)
        best = -LEAST
        kind = STAY
        out = 0
        come = 0
        group_weight = _sum_weights(weight, group, size)
        now = within / group_weight
        if size > k:
            for y in range(size):
                rest_weight = group_weight - weight[group[y]]
                change = (within - to[y]) / rest_weight - now + u[group[y]]
                if change < best:
                    best = change
                    kind = LEAVE
                    out = y
        for y in range(size):
            for j in near[group[y]]:
                if inside[j]:
                    continue
                far = _sum_distances(pair, j, group, size)
                change = (within + far) / (group_weight + weight[j]) - now - u[j]
                if size < 2 * k - 1 and change < best:
                    best = change
                    kind = JOIN
                    come = j
                for z in range(size):
                    i = group[z]
                    swapped = within - to[z] + far - pair[i, j]
                    other = group_weight - weight[i] + weight[j]
                    change = swapped / other - now + u[i] - u[j]
                    if change < best:
                        best = change
                        kind = SWAP
                        out = z
                        come = j
        if kind == STAY:
            return size
        size = _apply_change(group, size, inside, kind, out, come)
        within = _sum_pairs(pair, group, size)


@inlined
def _apply_change(
    group: I64, size: int, inside: Bool, kind: int, out: int, come: int
) -> int:
    """Make a change of kind JOIN, LEAVE or both; return the new size of the group."""
    if kind != JOIN:
        inside[group[out]] = False
        size -= 1
        group[out] = group[size]
    if kind != LEAVE:
        inside[come] = True
        group[size] = come
        size += 1
    return size


@inlined
def _sum_distances(pair: Floats, j: int, group: I64, size: int) -> float:
    """Return the sum of squared distances from a record to a group."""
    total = 0.0
    for y in range(size):
        total += pair[j, group[y]]
    return total


@inlined
def _sum_weights(weight: Floats, group: I64, size: int) -> float:
    """Return the weight of a group."""
    total = 0.0
    for y in range(size):
        total += weight[group[y]]
    return total


@inlined
def _sum_pairs(pair: Floats, group: I64, size: int) -> float:
    """Return the sum of squared distances among the members of a group."""
    total = 0.0
    for y in range(size):
        for z in range(y):
            total += pair[group[y], group[z]]
    return total
