"""Groups merged with their nearest until a promise of t-closeness holds."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from aggopt.arrays import Floats, Labels
from aggopt.partition._close import screen as screens
from aggopt.partition._close.closeness import Closeness
from aggopt.partition._close.screen import BLOCK, Screen
from aggopt.partition._pool import CHUNK, Integers, Progress

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


def merged(
    records: Floats,
    labels: Labels,
    promise: Closeness,
    progress: Progress | None = None,
) -> Labels:
    """Return labels (n,) that keep the promise: groups merged with their nearest.

    While a group exceeds t, the one with the largest EMD is merged with the group
    whose centroid is nearest.  Of equals, the group with the lowest number; the two
    keep the lower of their numbers, until all are numbered anew without a gap.
    """
    if promise.holds(labels):
        return labels
    from aggopt.partition._close import merge_kernels as kernels

    merging = _start(records, labels, promise)
    kernels.start(merging)
    m, d = len(merging.sizes), records.shape[1]
    while kernels.merge(merging, max(1, CHUNK // (4 * int(merging.alive[0]) * d))):
        if progress:
            progress(1.0 - int(merging.alive[0]) / m)
    return _labels(merging)


def _start(records: Floats, labels: Labels, promise: Closeness) -> Merging:
    sizes = np.bincount(labels).astype(np.int64)
    order = np.argsort(labels, kind="stable").astype(np.int64)
    ends = np.cumsum(sizes)
    after = np.empty(len(labels), np.int64)
    after[order] = np.append(order[1:], -1)
    m, (_, exponent) = len(sizes), np.frexp(np.abs(records).max())
    rows = np.ldexp(records.T, -exponent)
    return Merging(
        _table(promise),
        number=np.arange(m),
        sizes=sizes,
        totals=np.array([np.bincount(labels, row) for row in rows]),
        screen=screens.start(len(rows), m),
        emd=np.empty(m),
        exact=np.zeros(m, np.bool_),
        excess=np.empty(m),
        peak=np.empty(-(-m // BLOCK)),
        head=order[ends - sizes],
        tail=order[ends - 1],
        after=after,
        alive=np.array([m]),
    )


def _table(promise: Closeness) -> Bins:
    of = promise.attributes
    sums = np.zeros((len(of), max(a.m for a in of) + 1), np.int64)
    for row, attribute in zip(sums, of, strict=True):
        row[: attribute.m + 1] = attribute.sums
    return Bins(
        np.stack([a.place for a in of]),
        np.array([a.m for a in of]),
        sums,
        np.stack([a.first for a in of]),
        promise.limits,
    )


def _labels(merging: Merging) -> Labels:
    from aggopt.partition._close import merge_kernels as kernels

    slot = np.empty_like(merging.after)
    kernels.find_slots(merging, slot)
    return np.unique(merging.number[slot], return_inverse=True)[1].astype(np.intp)
