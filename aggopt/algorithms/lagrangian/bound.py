"""A lower bound that is rigorous in floating point.  Compiled; import late."""

from aggopt.algorithms.lagrangian.local_minima import lowest, workspace
from aggopt.algorithms.lagrangian.program import Box, Separable
from aggopt.core.compiled import compiled
from aggopt.core.validation import Floats

ROUNDINGS = 32.0  # units in the last place: more than the additions of any term
EPS = 2.220446049250313e-16  # one unit in the last place of 1


@compiled
def bound(program: Separable, box: Box, y: Floats) -> float:
    """Return g(y) less an allowance for rounding.

    The allowance is `ROUNDINGS` units in the last place of every term that was added
    up, on the way to the coefficients (`program.terms`) or here.
    """
    minima = workspace(program)
    total = lost = size = 0.0
    for j in range(len(program.sizes)):
        t, h = lowest(program, j, box.low[j], box.high[j], y, minima)
        c, n = abs(program.centres[j]) + abs(t), program.sizes[j]
        size += program.terms[j] * 2.0 + abs(h)
        size += n * c * (abs(y[0]) + abs(y[1]) * c)
        for p in range(program.first[j], program.first[j + 1]):
            if program.low[p] <= t <= program.high[p]:
                size += abs(program.quartic[p, 4]) * t**4 * 8.0
        bigger = total + h
        lost += (total - bigger) + h if abs(total) >= abs(h) else (h - bigger) + total
        total = bigger
    rest = (y[0] * program.total, y[1] * program.squares, y[2] * program.cardinality)
    size += abs(rest[0]) + abs(rest[1]) + abs(rest[2])
    return float(total + lost + rest[0] + rest[1] + rest[2] - ROUNDINGS * EPS * size)
