"""Compiled sums of the least distances.  Importing this imports numba: do so late."""

import numpy as np

from aggopt.core.compiled import compiled, inlined, inner
from aggopt.core.validation import Floats

FAR = 1e150  # more than any sum of terms


@compiled
def fill_distances(Z: Floats, D: Floats) -> None:
    """Write the squared distances among records Z (n, d) into D (n, n)."""
    n, d = Z.shape
    for i in range(n):
        D[i, i] = 0.0
        for j in range(i):
            total = 0.0
            for t in range(d):
                total += (Z[i, t] - Z[j, t]) ** 2
            D[i, j] = D[j, i] = total


@compiled
def fill_near_sums(D: Floats, sums: Floats) -> None:
    """Write the sum of the q least distances from each record into sums[:, q]."""
    n = len(D)
    max_count = sums.shape[1] - 1
    lowest = np.empty(max_count + 1)
    for i in range(n):
        lowest[:] = FAR
        for j in range(n):
            if j != i:
                insert_sorted(lowest, max_count, D[i, j])
        accumulate_sums(sums[i], lowest, max_count)


@inner
def sum_heaviest(weight: Floats, heavy: Floats) -> None:
    """Set heavy[r] to the sum of the r largest of weights (c,), r up to c."""
    max_count = min(len(weight), len(heavy) - 1)
    lowest = np.zeros(max_count + 1)
    for w in weight:
        insert_sorted(lowest, max_count, -w)
    heavy[0] = 0.0
    for r in range(max_count):
        heavy[r + 1] = heavy[r] - lowest[r]


@inlined
def insert_sorted(lowest: Floats, size: int, x: float) -> None:
    """Insert x among the `size` least so far, in ascending order."""
    if x < lowest[size - 1]:
        at = size - 1
        while at > 0 and lowest[at - 1] > x:
            lowest[at] = lowest[at - 1]
            at -= 1
        lowest[at] = x


@inlined
def accumulate_sums(sums: Floats, lowest: Floats, count: int) -> None:
    """Set sums[q] to the sum of the q least."""
    sums[0] = 0.0
    for q in range(count):
        sums[q + 1] = sums[q] + lowest[q]


@inlined
def sum_lowest(lowest: Floats, r: int, base: float) -> tuple[float, float]:
    """Return base plus the r least, and plus the r - 1 least."""
    less = base
    for q in range(r - 1):
        less += lowest[q]
    return less + lowest[r - 1], less
