"""State of the optimal split of a path: losses and back pointers."""

from typing import NamedTuple

from aggopt.core.types import I64
from aggopt.core.validation import Floats


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
