"""Bounds that both searches of a tree share. Importing this imports numba.

Distances equal those of the plain scan bit for bit, and ties are broken as there. So
the same record wins, provided that no bound excludes a record wrongly. Bounds are in
single precision: `lost` allows for its errors.
"""

import numpy as np

from aggopt.core.compiled import inlined
from aggopt.core.validation import Floats
from aggopt.partition._box_tree.tree import LEAF, ROWS, Tree

TINY = 1e-37  # single precision does not distinguish smaller numbers


@inlined
def bound_rounding(tree: Tree) -> float:
    """Return the share of a bound that single precision may lose, rounded up.

    A sum over rows loses ROWS + 3 parts in 2^24 of the sum of its absolute terms, which
    for a box is at most sqrt(ROWS) (2 |x|^2 + |q|^2) for the outermost x. The remainder
    row is a difference of squares, and loses some sqrt(ROWS + d) parts in 2^26.
    """
    return float((ROWS + 8) * np.sqrt(ROWS + len(tree.axes.origin)) / 2**22)


@inlined
def project_vector(tree: Tree, gap: Floats, projections: Floats) -> float:
    """Set `found` to the projections of a vector; return its squared length."""
    directions = tree.axes.directions
    square = 0.0
    for x in gap:
        square += x * x
    rest = square
    for i in range(len(directions) - 1):
        y = 0.0
        for t in range(len(gap)):
            y += directions[i, t] * gap[t]
        projections[i] = y
        rest -= y * y
    projections[-1] = np.sqrt(max(rest, 0.0))
    return square


@inlined
def measure_exactly(tree: Tree, place: int, factor: float, point: Floats) -> float:
    """Return sum_t (factor x[t] - point[t])^2, bit for bit as in the plain scan."""
    leaf = place // LEAF
    j = place % LEAF
    total = 0.0
    for t in range(len(point)):
        gap = factor * tree.records[leaf, t, j] - point[t]
        total += gap * gap
    return total
