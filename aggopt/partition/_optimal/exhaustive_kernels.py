"""Compiled choice of groups among all sets of a few records.  Imports numba."""

from aggopt.core.compiled import compiled
from aggopt.core.types import I64
from aggopt.core.validation import Floats


@compiled
def choose(costs: Floats, k: int, least: Floats, first: I64) -> None:
    """Set the least loss of each set (2^n,), and the group in it of its first record.

    The least losses are inf initially; sets without a partition keep that.
    """
    least[0] = 0.0
    for whole in range(1, len(costs)):
        lowest = whole & -whole
        rest = whole ^ lowest
        others = rest  # of the group, without the first record
        while True:
            loss = costs[others | lowest] + least[rest ^ others]
            if loss < least[whole]:
                least[whole], first[whole] = loss, others | lowest
            if others == 0:
                break
            others = (others - 1) & rest
