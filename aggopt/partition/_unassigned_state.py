"""State of a pool: the records without a group."""

from typing import NamedTuple

from aggopt.core.types import I64, Floats

CHUNK = 30_000_000  # entries read between two checks for Ctrl-C: some 0.05 seconds


UNASSIGNED, GROUPS = range(2)  # positions in `Pool.counts`


class Pool(NamedTuple):
    """Records in columns: first those without a group, then those with one.

    Attributes
    ----------
    records : (d, n)
        Attribute by attribute, so that a scan reads memory in order; within
        [-1, 1], so that no distance overflows.
    ids : (n,)
        Record of each column.
    sums : (2, d)
        Sum of the records without a group, in whole numbers of 1 / unit and, for the
        remainders, of 1 / unit^2.  Subtracting a record is exact: sums do not drift,
        and do not depend on the order of the records.
    unit
        The largest power of two with which no sum can overflow.
    distances : (n,)
        Workspace.
    labels : (n,)
        Group of each record, -1 while it has none.
    counts : (2,)
        [UNASSIGNED] records without a group, and [GROUPS] groups.
    """

    records: Floats
    ids: I64
    sums: I64
    unit: float
    distances: Floats
    labels: I64
    counts: I64

    def __repr__(self) -> str:
        """Return the number of records left, without values."""
        return f"Pool({self.remaining} of {len(self.ids)} records without a group)"

    @property
    def remaining(self) -> int:
        """Number of unassigned records."""
        return int(self.counts[UNASSIGNED])

    @property
    def done(self) -> float:
        """Share of the work done, if each turn reads all unassigned records."""
        return 1.0 - (self.remaining / len(self.ids)) ** 2
