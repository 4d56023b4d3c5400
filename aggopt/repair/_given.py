"""What a repair is given beside the groups."""

from collections.abc import Sequence
from typing import NamedTuple

from aggopt.core.progress import Progress
from aggopt.core.types import F64
from aggopt.encoding._encoded import Encoded
from aggopt.privacy._requirement import Requirement


class Given(NamedTuple):
    """What a repair is given beside the groups.

    Attributes
    ----------
    X : (n, d)
        Quasi-identifiers in their own units, or encoded.
    k, requirements
        What groups are to satisfy.
    bound
        What the partition has proven of the loss of any groups of k, if anything.
    progress
        Progress callback: called with the share that is done.
    weights : (n,)
        Sampling weights, above 0, by which squares are counted; None without any.
    """

    X: F64 | Encoded
    k: int
    requirements: Sequence[Requirement]
    bound: float | None
    progress: Progress | None
    weights: F64 | None = None
