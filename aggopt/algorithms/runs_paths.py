"""Best partitions, read from the begins of groups.  Importing this imports numba.

`before[j]` is the begin of the last group of the best partition of the first j values.
"""

from aggopt.core.compiled import compiled, inner
from aggopt.core.types import AnyInt


@inner
def meet(before: AnyInt, a: int, b: int, horizon: int) -> int:
    """Return the last node that the paths to a and b share; 0 if before `horizon`."""
    while a != b:
        if a > b:
            a = before[a]
        else:
            b = before[b]
        if min(a, b) < horizon:
            return 0
    return a


@compiled
def read(before: AnyInt, labels: AnyInt) -> None:
    """Write the group of each value (n,), 0 first, read back from the last."""
    j, number = len(labels), 0
    while j > 0:
        j, number = before[j], number + 1
    j = len(labels)
    while j > 0:
        number -= 1
        begin = before[j]
        for i in range(begin, j):
            labels[i] = number
        j = begin
