"""Compiled choice of the records that may belong to a medoid's groups.

A record is dropped if the bounds (a) and (b) of `exact_pricing_kernels` exclude it from
all wanted groups.  Importing this imports numba: do so late.
"""

import numpy as np

from aggopt.core.compiled import inner
from aggopt.core.types import I64, Bool
from aggopt.core.validation import Floats
from aggopt.partition._optimal.distance_kernels import (
    FAR,
    accumulate_sums,
    insert_sorted,
    sum_heaviest,
    sum_lowest,
)
from aggopt.partition._optimal.pricing_state import Distances

LOCAL = 1500  # candidates up to which the nearest are searched among candidates only
ROUNDS = 6  # of dropping candidates before the search


@inner
def find_candidates_of_medoid(
    distances: Distances, k: int, u: Floats, m: int, limit: float
) -> tuple[I64, Floats]:
    """Return records that may be in a wanted group of medoid m, and their near sums."""
    n = len(distances.weight)
    width = 2 * k - 1
    lowest = np.empty(width + 1)
    sums = np.empty(width + 1)
    lowest[:] = FAR
    for j in range(n):
        if j != m:
            insert_sorted(lowest, width - 1, 0.5 * distances.pull[m, j] - u[j])
    accumulate_sums(sums, lowest, width - 1)
    others = FAR  # the least sum that the others of a group add
    for r in range(k - 1, width):
        others = min(others, sums[r - 1])
    candidates = np.empty(n, np.int64)
    count = 0
    for j in range(n):
        if j != m and 0.5 * distances.pull[m, j] - u[j] + others - u[m] <= limit:
            candidates[count] = j
            count += 1
    candidates = candidates[:count]
    near_sums = distances.near[candidates]
    for _ in range(ROUNDS):
        before = len(candidates)
        if before < k - 1:
            break
        if before <= LOCAL:
            _sum_near(distances.pair, candidates, width, near_sums)
        keep = _check_bounds(distances, near_sums, k, u, m, limit, candidates)
        candidates = candidates[keep]
        near_sums = near_sums[keep]
        if len(candidates) == before and before <= LOCAL:
            break
    return candidates, near_sums


@inner
def _sum_near(pair: Floats, candidates: I64, width: int, near_sums: Floats) -> None:
    """Set the sums of least distances among the remaining candidates."""
    lowest = np.empty(width + 1)
    for y in range(len(candidates)):
        lowest[:] = FAR
        row = pair[candidates[y]]
        for w in range(len(candidates)):
            if w != y:
                insert_sorted(lowest, width - 1, row[candidates[w]])
        accumulate_sums(near_sums[y], lowest, width - 1)


@inner
def _check_bounds(
    distances: Distances,
    near_sums: Floats,
    k: int,
    u: Floats,
    m: int,
    limit: float,
    candidates: I64,
) -> Bool:
    """Return which candidates satisfy the bounds (a) and (b)."""
    count = len(candidates)
    keep = np.zeros(count, np.bool_)
    a = np.empty(count)
    b = np.empty(count)
    least_a = np.empty(2 * k)
    least_b = np.empty(2 * k)
    heavy = np.empty(2 * k)
    sum_heaviest(distances.weight[candidates], heavy)
    for s in range(k, 2 * k):
        r = s - 1
        if r > count:
            break
        least_a[:], least_b[:] = FAR, FAR
        total_weight = distances.weight[m] + heavy[r]
        for y in range(count):
            j = candidates[y]
            a[y] = 0.5 * distances.pull[m, j] - u[j]
            b[y] = (
                distances.pair[m, j] + 0.5 * near_sums[y, r - 1]
            ) / total_weight - u[j]
            insert_sorted(least_a, r, a[y])
            insert_sorted(least_b, r, b[y])
        full_a, less_a = sum_lowest(least_a, r, -u[m])
        full_b, less_b = sum_lowest(least_b, r, -u[m])
        if full_a > limit or full_b > limit:
            continue
        for y in range(count):
            if a[y] + less_a <= limit and b[y] + less_b <= limit:
                keep[y] = True
    return keep
