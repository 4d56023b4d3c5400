"""State of merging: groups, their histograms, and the order of merges."""

from typing import NamedTuple

from aggopt.core.types import I64, Bool
from aggopt.core.validation import Floats
from aggopt.partition._screened_distances.screen import Screen


class Bins(NamedTuple):
    """Histograms for the EMD of a group of records, by attribute.

    Attributes
    ----------
    place : (c, n)
        Bin of each record.
    bins : (c,)
        Number of bins.
    sums : (c, widest + 1)
        `Ordered.sums` in the first bins + 1 columns.
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
    """Groups during merging, in slots; the first `alive[0]` slots are in use.

    Attributes
    ----------
    table
        Histograms for the EMD.
    number, sizes : (m,)
        The group's number, and its number of records.
    totals : (d, m)
        Sum of its records, in units in which no entry exceeds 1.
    screen
        Its centroid.
    emd : (m,)
        Its largest EMD over the attributes, or an upper bound while not `exact`.
    exact : (m,)
        Whether `emd` is exact.
    excess, peak : (m,), (m / BLOCK,)
        `emd` if the group may exceed t, else -1; and the largest of a block.
    head, tail, after : (m,), (m,), (n,)
        Its first record, its last, and the successor of each record.
    alive : (1,)
        Number of groups.
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
        """Return the number of groups left, without values."""
        return f"Merging({int(self.alive[0])} of {len(self.sizes)} groups)"
