"""Compiled loss of a group, from the positions of its records.  Imports numba."""

from aggopt.algorithms.boxes.state import NAMES, TREE, LossTables
from aggopt.core.compiled import unrefcounted_inlined
from aggopt.core.types import I64


@unrefcounted_inlined
def measure_loss(losses: LossTables, a: int, p: int, q: int) -> float:
    """Return the loss of a group that reaches from position p to q in attribute a."""
    first = losses.first[a]
    if losses.kind[a] == TREE:
        return float(losses.entries[first + p * losses.m[a] + q])
    between = abs(losses.entries[first + p] - losses.entries[first + q])
    return float(losses.weight[a] * min(between, 1.0))


@unrefcounted_inlined
def find_least(losses: LossTables, a: int, p: int, q: int) -> int:
    """Return the least position of the statement about positions p to q, p <= q."""
    if losses.kind[a] == TREE:
        return int(losses.low[losses.first[a] + p * losses.m[a] + q])
    return 0 if losses.kind[a] == NAMES and p < q else p


@unrefcounted_inlined
def find_greatest(losses: LossTables, a: int, p: int, q: int) -> int:
    """Return the greatest position of the statement about positions p to q, p <= q."""
    if losses.kind[a] == TREE:
        return int(losses.high[losses.first[a] + p * losses.m[a] + q])
    return losses.m[a] - 1 if losses.kind[a] == NAMES and p < q else q


@unrefcounted_inlined
def measure_hull(losses: LossTables, lowest: I64, highest: I64) -> float:
    """Return the loss of each record of a group between these positions."""
    total = 0.0
    for a in range(len(lowest)):
        total += measure_loss(losses, a, lowest[a], highest[a])
    return total
