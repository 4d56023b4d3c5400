"""State of the maximum-distance ordering."""

from typing import NamedTuple

from aggopt.core.types import I64
from aggopt.core.validation import Floats


class Reach(NamedTuple):
    """Bounds on the distance from each record to the farthest one.

    Attributes
    ----------
    far : (n,)
        Square of that distance, or more.
    whom : (n,)
        The farthest record when last computed, -1 while unknown.
    out : (n,)
        Square of the distance from the centroid of all, in some unit.
    peaks : (boxes,)
        Maximum of `far` in each box, -1 without unassigned records.
    """

    far: Floats
    whom: I64
    out: Floats
    peaks: Floats
