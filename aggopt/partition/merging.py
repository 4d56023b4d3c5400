"""Merge groups with their nearest until t-closeness holds."""

from typing import TYPE_CHECKING

import numpy as np

from aggopt.core.deadline import Progress
from aggopt.core.types import Floats, Labels
from aggopt.partition import _screened_distances as screens
from aggopt.partition._screened_distances import BLOCK
from aggopt.partition._unassigned_state import CHUNK
from aggopt.partition.constraints import CloseToTable
from aggopt.partition.shared.scaling import scale_to_unit

if TYPE_CHECKING:
    from aggopt.partition.merging_kernels import Bins, Merging


def merge_with_nearest(
    records: Floats,
    labels: Labels,
    promise: CloseToTable,
    progress: Progress | None = None,
) -> Labels:
    """Return t-close labels (n,), by merging groups with their nearest ones.

    While a group exceeds t, the one with the largest EMD is merged with the group whose
    centroid is nearest.  Among equals, the group with the lowest number is chosen; the
    two keep the lower of their numbers; in the end all groups are renumbered without
    gaps.
    """
    if promise.is_satisfied(labels):
        return labels
    from aggopt.partition import merging_kernels as kernels

    merging = _create_state(records, labels, promise)
    kernels.start_merging(merging)
    m = len(merging.sizes)
    d = records.shape[1]
    while kernels.merge_groups(
        merging, max(1, CHUNK // (4 * int(merging.alive[0]) * d))
    ):
        if progress:
            progress(1.0 - int(merging.alive[0]) / m)
    return _collect_labels(merging)


def _create_state(records: Floats, labels: Labels, promise: CloseToTable) -> "Merging":
    """Return the kernels' state for merging the groups of labels (n,)."""
    from aggopt.partition import merging_kernels as kernels

    sizes = np.bincount(labels).astype(np.int64)
    order = np.argsort(labels, kind="stable").astype(np.int64)
    ends = np.cumsum(sizes)
    after = np.empty(len(labels), np.int64)
    after[order] = np.append(order[1:], -1)
    m = len(sizes)
    rows = scale_to_unit(records)[0].T
    return kernels.Merging(
        _stack_bins(promise),
        number=np.arange(m),
        sizes=sizes,
        totals=np.array([np.bincount(labels, row) for row in rows]),
        screen=screens.create_screen(len(rows), m),
        emd=np.empty(m),
        exact=np.zeros(m, np.bool_),
        excess=np.empty(m),
        peak=np.empty(-(-m // BLOCK)),
        head=order[ends - sizes],
        tail=order[ends - 1],
        after=after,
        alive=np.array([m]),
    )


def _stack_bins(promise: CloseToTable) -> "Bins":
    """Return the histograms of all confidential attributes, as rows of equal width."""
    from aggopt.partition import merging_kernels as kernels

    attributes = promise.attributes
    sums = np.zeros((len(attributes), max(a.m for a in attributes) + 1), np.int64)
    for row, attribute in zip(sums, attributes, strict=True):
        row[: attribute.m + 1] = attribute.sums
    return kernels.Bins(
        np.stack([a.place for a in attributes]),
        np.array([a.m for a in attributes]),
        sums,
        np.stack([a.first for a in attributes]),
        promise.limits,
    )


def _collect_labels(merging: "Merging") -> Labels:
    """Return labels (n,) of the merged groups, numbered in their original order."""
    from aggopt.partition import merging_kernels as kernels

    slot = np.empty_like(merging.after)
    kernels.find_slots(merging, slot)
    return np.unique(merging.number[slot], return_inverse=True)[1].astype(np.intp)
