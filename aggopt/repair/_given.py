"""Input of a repair in addition to the groups."""

from collections.abc import Sequence
from typing import NamedTuple

from aggopt.core.progress import Progress
from aggopt.core.types import F64
from aggopt.encoding._encoded import Encoded
from aggopt.privacy._requirement import Requirement


class RepairInput(NamedTuple):
    """Input of a repair in addition to the groups.

    Attributes
    ----------
    X : (n, d)
        Quasi-identifiers in their own units, or encoded.
    k, requirements
        Smallest size of groups, and their requirements.
    bound
        Lower bound of the partition on the loss of any groups of k, or None.
    progress
        Progress callback: called with the completed share.
    weights : (n,)
        Sampling weights, above 0, for the squares; None without weights.
    """

    X: F64 | Encoded
    k: int
    requirements: Sequence[Requirement]
    bound: float | None
    progress: Progress | None
    weights: F64 | None = None
