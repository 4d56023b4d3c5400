"""State of the optimal split of a path: costs and back pointers."""

from typing import NamedTuple

from aggopt.core.types import I64
from aggopt.core.validation import Floats


class SplitState(NamedTuple):
    """Ways to split a path: one for each place at which a ring may be cut open.

    Attributes
    ----------
    path : (n,)
        The records in their order.
    losses : (cuts, 2k)
        Least loss of path[cut:j], in column j % 2k, for the 2k latest j.
    totals : (cuts,)
        Least loss of the whole ring, cut open there.
    sizes : (n + 1,)
        How many records the last group of path[:j] has, in the split with least loss.
    """

    path: I64
    losses: Floats
    totals: Floats
    sizes: I64

    def __repr__(self) -> str:
        """Tell how many records there are, and show none."""
        return f"SplitState(path of {len(self.path)}, {len(self.totals)} cuts)"
