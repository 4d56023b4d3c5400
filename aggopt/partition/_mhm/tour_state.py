"""State of 2-opt: places of records and the tour through them."""

from typing import NamedTuple

from aggopt.core.types import I64, Bool
from aggopt.core.validation import Floats


class Places(NamedTuple):
    """Distinct records, numbered as they come on a path from near to near.

    Attributes
    ----------
    records : (m, d)
        Where the places are.
    near : (m, NEAR)
        The nearest other places of each, nearest first.
    of : (n,)
        Place of each record.
    """

    records: Floats
    near: I64
    of: I64

    def __repr__(self) -> str:
        """Tell how many places there are, and show none."""
        return f"Places({len(self.records)} of {len(self.of)} records)"


class Tour(NamedTuple):
    """A closed tour through places, and the places at which it may be shortened.

    Attributes
    ----------
    records, near
        Those of the places.
    order, rank : (m,)
        The places as they are visited, and where in `order` each is.
    queue, queued : (m,)
        Places to look at, in a ring; and whether a place is one of them.
    counts : (3,)
        How many were taken from the queue, how many put there, and how many moves
        have shortened the tour.
    """

    records: Floats
    near: I64
    order: I64
    rank: I64
    queue: I64
    queued: Bool
    counts: I64

    def __repr__(self) -> str:
        """Tell how many places there are, and show none."""
        return f"Tour({len(self.order)} places)"
