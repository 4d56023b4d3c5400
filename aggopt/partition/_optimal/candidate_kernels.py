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
    add_up,
    heaviest,
    insert,
    sums_of,
)
from aggopt.partition._optimal.pricing_state import Distances

LOCAL = 1500  # candidates up to which the nearest are searched among candidates only
ROUNDS = 6  # of dropping candidates before the search


@inner
def candidates_of(
    of: Distances, k: int, u: Floats, m: int, most: float
) -> tuple[I64, Floats]:
    """Return records that may be in a wanted group of medoid m, and their near sums."""
    n, width = len(of.weight), 2 * k - 1
    least, sums = np.empty(width + 1), np.empty(width + 1)
    least[:] = FAR
    for j in range(n):
        if j != m:
            insert(least, width - 1, 0.5 * of.pull[m, j] - u[j])
    add_up(sums, least, width - 1)
    others = FAR  # the least sum that the others of a group add
    for r in range(k - 1, width):
        others = min(others, sums[r - 1])
    kept, count = np.empty(n, np.int64), 0
    for j in range(n):
        if j != m and 0.5 * of.pull[m, j] - u[j] + others - u[m] <= most:
            kept[count] = j
            count += 1
    kept = kept[:count]
    own = of.near[kept]
    for _ in range(ROUNDS):
        before = len(kept)
        if before < k - 1:
            break
        if before <= LOCAL:
            _near_among(of.pair, kept, width, own)
        keep = _may_belong(of, own, k, u, m, most, kept)
        kept, own = kept[keep], own[keep]
        if len(kept) == before and before <= LOCAL:
            break
    return kept, own


@inner
def _near_among(pair: Floats, kept: I64, width: int, own: Floats) -> None:
    """Set the sums of least distances among the remaining candidates."""
    least = np.empty(width + 1)
    for y in range(len(kept)):
        least[:] = FAR
        row = pair[kept[y]]
        for w in range(len(kept)):
            if w != y:
                insert(least, width - 1, row[kept[w]])
        add_up(own[y], least, width - 1)


@inner
def _may_belong(
    of: Distances, own: Floats, k: int, u: Floats, m: int, most: float, kept: I64
) -> Bool:
    """Return which candidates satisfy the bounds (a) and (b)."""
    count = len(kept)
    keep = np.zeros(count, np.bool_)
    a, b = np.empty(count), np.empty(count)
    least_a, least_b, heavy = np.empty(2 * k), np.empty(2 * k), np.empty(2 * k)
    heaviest(of.weight[kept], heavy)
    for s in range(k, 2 * k):
        r = s - 1
        if r > count:
            break
        least_a[:], least_b[:] = FAR, FAR
        whole = of.weight[m] + heavy[r]
        for y in range(count):
            j = kept[y]
            a[y] = 0.5 * of.pull[m, j] - u[j]
            b[y] = (of.pair[m, j] + 0.5 * own[y, r - 1]) / whole - u[j]
            insert(least_a, r, a[y])
            insert(least_b, r, b[y])
        full_a, less_a = sums_of(least_a, r, -u[m])
        full_b, less_b = sums_of(least_b, r, -u[m])
        if full_a > most or full_b > most:
            continue
        for y in range(count):
            if a[y] + less_a <= most and b[y] + less_b <= most:
                keep[y] = True
    return keep
