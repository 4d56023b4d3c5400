"""State of 2-opt: places of records and the tour through them."""

from typing import NamedTuple

from aggopt.core.types import I64, Bool
from aggopt.core.validation import Floats


class Places(NamedTuple):
    """Distinct records, numbered in the ordering by nearest point next.

    Attributes
    ----------
    records : (m, d)
        Coordinates of the places.
    near : (m, NEAR)
        The nearest other places of each, nearest first.
    of : (n,)
        Place of each record.
    """

    records: Floats
    near: I64
    of: I64

    def __repr__(self) -> str:
        """Return the number of places, without values."""
        return f"Places({len(self.records)} of {len(self.of)} records)"


TAKEN, QUEUED, MOVES = range(3)  # positions in `Tour.counts`


class Tour(NamedTuple):
    """Closed tour through places, and the places at which it may be shortened.

    Attributes
    ----------
    records, near
        Those of the places.
    order, rank : (m,)
        The places in the order of visits, and the rank of each in `order`.
    queue, queued : (m,)
        Ring buffer of places to examine, and whether each place is in it.
    counts : (3,)
        Numbers of places taken from the queue, of queued places, and of moves: [TAKEN],
        [QUEUED] and [MOVES].
    """

    records: Floats
    near: I64
    order: I64
    rank: I64
    queue: I64
    queued: Bool
    counts: I64

    def __repr__(self) -> str:
        """Return the number of places, without values."""
        return f"Tour({len(self.order)} places)"
