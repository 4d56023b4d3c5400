"""State of the maximum-distance ordering."""

from typing import NamedTuple

from aggopt.core.types import I64
from aggopt.core.validation import Floats


class Reach(NamedTuple):
    """How far the farthest waiting record, and the centroid, is from each record.

    Attributes
    ----------
    far : (n,)
        Square of that distance, or more.
    whom : (n,)
        Which record that is or was, -1 while unknown.
    out : (n,)
        Square of the distance from the centroid of all, in some unit.
    peaks : (boxes,)
        The most that `far` is in each box, -1 where no record waits.
    """

    far: Floats
    whom: I64
    out: Floats
    peaks: Floats
