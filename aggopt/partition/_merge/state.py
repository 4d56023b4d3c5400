"""State of merging: groups, their histograms, and which are still to be merged."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from aggopt.core.validation import Floats
from aggopt.partition._screened_distances.screen import Screen
from aggopt.partition._unassigned.state import Integers

Flags = npt.NDArray[np.bool_]


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

    place: Integers
    bins: Integers
    sums: Integers
    first: Integers
    limits: Integers


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
    number: Integers
    sizes: Integers
    totals: Floats
    screen: Screen
    emd: Floats
    exact: Flags
    excess: Floats
    peak: Floats
    head: Integers
    tail: Integers
    after: Integers
    alive: Integers

    def __repr__(self) -> str:
        """Tell how many groups are left, and show none."""
        return f"Merging({int(self.alive[0])} of {len(self.sizes)} groups)"
