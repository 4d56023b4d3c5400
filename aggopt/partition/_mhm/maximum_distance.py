"""MD, maximum distance: groups around the two records that are farthest apart."""

import numpy as np

from aggopt.core.progress import Progress
from aggopt.core.types import I64
from aggopt.core.validation import Floats, Labels
from aggopt.partition._mhm.boxes import Leaves, build_boxes
from aggopt.partition._mhm.maximum_distance_state import Reach
from aggopt.partition._mhm.starts import measure_from_centroid
from aggopt.partition._unassigned import pool as unassigned

ROUNDING = 1e-9  # relative: above the rounding errors of the bound
LOOKS = 1000  # records examined between two checks for Ctrl-C


def partition_by_md(records: Floats, k: int, progress: Progress) -> Labels:
    """Return labels (n,): groups of k to 2k - 1, by MD.

    A step forms two groups from at least 2k unassigned records: the k nearest
    to r, then the k nearest to s among the rest, where r and s are the two farthest
    apart, r the one farther from the centroid of all.  Then k or more are a group;
    fewer are assigned one by one to the nearest centroid.
    """
    from aggopt.partition._mhm import maximum_distance_kernels as kernels

    n = len(records)
    leaves, labels = build_boxes(records), np.full(n, -1)
    reach = _bound_reach(records, leaves)
    while (left := int(leaves.waiting.sum())) >= 2 * k:
        progress(1.0 - left / n)
        kernels.take_pairs(leaves, reach, labels, k, LOOKS)
    return _assign_rest(records, labels, k)


def _bound_reach(records: Floats, leaves: Leaves) -> Reach:
    n, out = len(records), measure_from_centroid(records)
    bounds = (np.sqrt(out) + np.sqrt(out.max())) / n  # by way of the centroid
    squared_bounds = bounds**2 * (1 + ROUNDING)
    peaks = np.maximum.reduceat(squared_bounds[leaves.who], leaves.first)
    return Reach(squared_bounds, np.full(n, -1), out, peaks)


def _assign_rest(records: Floats, labels: I64, k: int) -> Labels:
    rest = labels < 0
    if rest.sum() >= k:
        return np.where(rest, labels.max() + 1, labels)
    order = np.argsort(~rest, kind="stable")
    pool = unassigned.create_pool(records[order])
    pool.labels[:] = labels[order]
    pool.counts[:] = rest.sum(), labels.max() + 1
    unassigned.assign_to_nearest_groups(pool)
    labels[order] = pool.labels
    return labels
