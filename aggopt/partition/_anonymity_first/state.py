"""State of algorithm 2: the table and the group that is being built."""

from typing import NamedTuple

from aggopt.core.types import I64


class EmdTable(NamedTuple):
    """What the EMD of a group of s records is reckoned from.

    Attributes
    ----------
    n, s, limit
        Records in all and in the group, and the largest numerator that t allows.
    sums, first
        As in `aggopt.privacy._ordered.Ordered`.
    begins : (s + 1,)
        First bin that belongs to the slot or to a later one.
    totals, best, least : (s + 1,), the last without a meaning
        Cost of each slot with its value beyond the last bin, but for n times the
        number of bins; the bin where it costs least; and what it costs there.
    """

    n: int
    s: int
    limit: int
    sums: I64
    first: I64
    begins: I64
    totals: I64
    best: I64
    least: I64


class Group(NamedTuple):
    """A group of k records that is being made.

    Attributes
    ----------
    columns : (k,)
        Its members in the sorted pool; the positions are kept when members are swapped.
    bins, ranked : (k,)
        Their bins in ascending order, and at which position each member is.
    stays, down, up : (k + 1,)
        Cost of the first g members, each in its slot, one slot down, one up.
    """

    columns: I64
    bins: I64
    ranked: I64
    stays: I64
    down: I64
    up: I64
