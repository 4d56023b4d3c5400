"""State of algorithm 2: the table of EMDs and the group under construction."""

from typing import NamedTuple

from aggopt.core.types import I64


class EmdTable(NamedTuple):
    """Tables for the EMD of a group of s records.

    Attributes
    ----------
    n, s, limit
        Numbers of all records and of those in a group, and the largest numerator that t
        allows.
    sums, first
        As in `aggopt.privacy.ordered_attribute.Ordered`.
    begins : (s + 1,)
        First bin that belongs to the slot or to a later one.
    totals, best, least : (s + 1,), the last without a meaning
        Cost of each slot with its value beyond the last bin, less n times the number of
        bins; the bin with the least cost; and that cost.
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
    """A group of k records under construction.

    Attributes
    ----------
    columns : (k,)
        Its members in the sorted pool; the positions are kept when members are swapped.
    bins, ranked : (k,)
        Their bins in ascending order, and the position of each member.
    stays, down, up : (k + 1,)
        Cost of the first g members, each in its slot, one slot down, one up.
    """

    columns: I64
    bins: I64
    ranked: I64
    stays: I64
    down: I64
    up: I64
