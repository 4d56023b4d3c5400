"""Compiled splits of a path into runs.  Importing this imports numba.

The loss of a run, the sum of squares about its mean, grows record by record from its
end backwards by terms that are never negative; records are measured from the one at the
end, so that no precision is lost if all values are large.
"""

from typing import NamedTuple

import numpy as np

from aggopt.core.compiled import compiled, inner
from aggopt.core.types import I64, Floats


class SplitState(NamedTuple):
    """Dynamic programs of the split: one for each cut of the ring.

    Attributes
    ----------
    path : (n,)
        The records in their order.
    losses : (cuts, 2k)
        Least SSE of path[cut:j], in column j % 2k, for the 2k latest j.
    totals : (cuts,)
        Least SSE of the whole ring, cut there.
    sizes : (n + 1,)
        Size of the last group of path[:j] in its minimum-SSE split.
    """

    path: I64
    losses: Floats
    totals: Floats
    sizes: I64

    def __repr__(self) -> str:
        """Return the number of records, without values."""
        return f"SplitState(path of {len(self.path)}, {len(self.totals)} cuts)"


@compiled
def extend_program(records: Floats, ways: SplitState, begin: int, stop: int) -> None:
    """Set the least loss of path[cut:j] in groups, by cut, for j in begin..stop - 1."""
    cuts, width = ways.losses.shape
    n = len(ways.path)
    of_run = np.zeros(width)
    for j in range(begin, stop):
        _measure_runs(records, ways, j, of_run)
        for cut in range(min(cuts, j)):
            size, loss = _find_last_run(ways, cut, j, of_run)
            ways.losses[cut, j % width] = loss
            if cut == 0 and j <= n:
                ways.sizes[j] = size
            if j == cut + n:
                ways.totals[cut] = loss


@inner
def _find_last_run(
    ways: SplitState, cut: int, j: int, of_run: Floats
) -> tuple[int, float]:
    """Return the best size of the last group of path[cut:j], and the least loss."""
    # among equals, the shortest run
    width = len(of_run)
    best = 0
    lowest = np.inf
    for size in range(width // 2, min(width, j - cut + 1)):
        loss = ways.losses[cut, (j - size) % width] + of_run[size]
        if loss < lowest:
            best = size
            lowest = loss
    return best, lowest


@inner
def _measure_runs(records: Floats, ways: SplitState, j: int, of_run: Floats) -> None:
    """Set of_run[size] to the SSE of path[j - size : j] as one group."""
    path = ways.path
    d = records.shape[1]
    origin = records[path[(j - 1) % len(path)]]
    mean = np.zeros(d)
    loss = 0.0
    for size in range(1, min(len(of_run), j + 1)):
        record = records[path[(j - size) % len(path)]]
        square = 0.0
        for t in range(d):
            gap = (record[t] - origin[t]) - mean[t]
            square += gap * gap
            mean[t] += gap / size
        loss += square * ((size - 1) / size)
        of_run[size] = loss
