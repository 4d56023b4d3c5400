"""Merge groups with their nearest until t-closeness holds."""

from typing import NamedTuple

import numpy as np

from aggopt.core.progress import Progress
from aggopt.core.types import I64, Bool
from aggopt.core.validation import Floats, Labels
from aggopt.partition._constraints.t_closeness import CloseToTable
from aggopt.partition._screened_distances import screen as screens
from aggopt.partition._screened_distances.screen import BLOCK, Screen
from aggopt.partition._shared.scaling import within_one
from aggopt.partition._unassigned.pool import CHUNK


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


def merged(
    records: Floats,
    labels: Labels,
    promise: CloseToTable,
    progress: Progress | None = None,
) -> Labels:
    """Return t-close labels (n,), after merging groups with their nearest.

    While a group exceeds t, the one with the largest EMD is merged with the group whose
    centroid is nearest.  Among equals, the group with the lowest number is chosen; the
    two keep the lower of their numbers; in the end all groups are renumbered without
    gaps.
    """
    if promise.satisfied(labels):
        return labels
    from aggopt.partition._merge import kernels

    merging = _start(records, labels, promise)
    kernels.start(merging)
    m, d = len(merging.sizes), records.shape[1]
    while kernels.merge(merging, max(1, CHUNK // (4 * int(merging.alive[0]) * d))):
        if progress:
            progress(1.0 - int(merging.alive[0]) / m)
    return _labels(merging)


def _start(records: Floats, labels: Labels, promise: CloseToTable) -> Merging:
    sizes = np.bincount(labels).astype(np.int64)
    order = np.argsort(labels, kind="stable").astype(np.int64)
    ends = np.cumsum(sizes)
    after = np.empty(len(labels), np.int64)
    after[order] = np.append(order[1:], -1)
    m, rows = len(sizes), within_one(records)[0].T
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


def _table(promise: CloseToTable) -> Bins:
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
    from aggopt.partition._merge import kernels

    slot = np.empty_like(merging.after)
    kernels.find_slots(merging, slot)
    return np.unique(merging.number[slot], return_inverse=True)[1].astype(np.intp)
