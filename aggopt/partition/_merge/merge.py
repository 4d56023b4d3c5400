"""Groups merged with their nearest until a promise of t-closeness holds."""

import numpy as np

from aggopt.core.progress import Progress
from aggopt.core.validation import Floats, Labels
from aggopt.partition._constraints.t_closeness import CloseToTable
from aggopt.partition._merge.state import Bins, Merging
from aggopt.partition._screened_distances import screen as screens
from aggopt.partition._screened_distances.screen import BLOCK
from aggopt.partition._shared.power_of_two import within_one
from aggopt.partition._unassigned.state import CHUNK


def merged(
    records: Floats,
    labels: Labels,
    promise: CloseToTable,
    progress: Progress | None = None,
) -> Labels:
    """Return labels (n,) that keep the promise: groups merged with their nearest.

    While a group exceeds t, the one with the largest EMD is merged with the group
    whose centroid is nearest.  Of equals, the group with the lowest number; the two
    keep the lower of their numbers, until all are numbered anew without a gap.
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
