"""State of merging: groups, their histograms, and which are still to be merged."""

from typing import NamedTuple

from aggopt.core.types import I64, Bool
from aggopt.core.validation import Floats
from aggopt.partition._screened_distances.screen import Screen


class Bins(NamedTuple):
    """What the EMD of a group of records is reckoned from, by attribute.

    Attributes
    ----------
    place : (c, n)
        Bin of each record.
    bins : (c,)
        How many bins there are.
    sums : (c, widest + 1)
        `Ordered.sums`, of which the first bins + 1 count.
    first : (c, n + 1)
        `Ordered.first`.
    limits : (c, n + 1)
        The largest numerator that t allows, by size.
    """

    place: I64
    bins: I64
    sums: I64
    first: I64
    limits: I64


class Merging(NamedTuple):
    """Groups that are being merged, in slots; the first `alive[0]` slots hold them.

    Attributes
    ----------
    table
        What an EMD is reckoned from.
    number, sizes : (m,)
        The group's number, and how many records it has.
    totals : (d, m)
        Sum of its records, in units in which none exceeds 1.
    screen
        Its centroid.
    emd : (m,)
        Its largest EMD over the attributes, or more than that while not `exact`.
    exact : (m,)
        Whether `emd` is exact.
    excess, peak : (m,), (m / BLOCK,)
        `emd` where the group may exceed t, else -1; and the largest of a block.
    head, tail, after : (m,), (m,), (n,)
        Its first record, its last, and which record follows which.
    alive : (1,)
        How many groups there are.
    """

    table: Bins
    number: I64
    sizes: I64
    totals: Floats
    screen: Screen
    emd: Floats
    exact: Bool
    excess: Floats
    peak: Floats
    head: I64
    tail: I64
    after: I64
    alive: I64

    def __repr__(self) -> str:
        """Return how many groups are left, without values."""
        return f"Merging({int(self.alive[0])} of {len(self.sizes)} groups)"
