"""Compiled sums of the least distances.  Importing this imports numba: do so late."""

import numpy as np

from aggopt.core.compiled import compiled, inlined, inner
from aggopt.core.validation import Floats

FAR = 1e150  # more than any sum of terms


@compiled
def distances(Z: Floats, D: Floats) -> None:
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
def near_sums(D: Floats, sums: Floats) -> None:
    """Write the sum of the q least distances from each record into sums[:, q]."""
    n, most = len(D), sums.shape[1] - 1
    least = np.empty(most + 1)
    for i in range(n):
        least[:] = FAR
        for j in range(n):
            if j != i:
                insert(least, most, D[i, j])
        add_up(sums[i], least, most)


@inner
def heaviest(weight: Floats, heavy: Floats) -> None:
    """Set heavy[r] to the sum of the r largest of weights (c,), r up to c."""
    most = min(len(weight), len(heavy) - 1)
    least = np.zeros(most + 1)
    for w in weight:
        insert(least, most, -w)
    heavy[0] = 0.0
    for r in range(most):
        heavy[r + 1] = heavy[r] - least[r]


@inlined
def insert(least: Floats, size: int, x: float) -> None:
    """Insert x among the `size` least so far, in ascending order."""
    if x < least[size - 1]:
        at = size - 1
        while at > 0 and least[at - 1] > x:
            least[at] = least[at - 1]
            at -= 1
        least[at] = x


@inlined
def add_up(sums: Floats, least: Floats, most: int) -> None:
    """Set sums[q] to the sum of the q least."""
    sums[0] = 0.0
    for q in range(most):
        sums[q + 1] = sums[q] + least[q]


@inlined
def sums_of(least: Floats, r: int, base: float) -> tuple[float, float]:
    """Return base plus the r least, and plus the r - 1 least."""
    less = base
    for q in range(r - 1):
        less += least[q]
    return less + least[r - 1], less
