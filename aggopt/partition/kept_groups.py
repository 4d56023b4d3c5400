"""Groups of an earlier release, preserved if k of their records remain."""

from typing import Any

import numpy as np
import numpy.typing as npt

from aggopt.core.deadline import Deadline
from aggopt.core.types import Floats, Labels
from aggopt.encoding import Encoded
from aggopt.partition._mdav import mdav
from aggopt.partition.shared.evidence import certify_squares
from aggopt.partition.shared.result import Partition
from aggopt.partition.shared.scaling import scale_records

NAME = "keep_groups"


def keep_groups(
    X: npt.ArrayLike | Encoded, k: int, *, labels: Labels, progress: Any = None
) -> Partition:
    """Return the groups of an earlier release, merged until each has k records.

    Parameters
    ----------
    labels : (n,)
        The earlier group of each record, or -1.  A record without one joins the group
        whose centroid is nearest, the first if several are equally near; if no record
        has one, MDAV makes the groups.  Then the smallest group of fewer than k records
        is repeatedly merged with the group of the nearest centroid, until all groups
        have k records or one group is left.
    progress
        Progress callback: called with the completed share.
    """
    clock = Deadline(None)
    Z = scale_records(X)
    new_labels = labels.copy()
    is_old = labels >= 0
    if not is_old.any():
        return mdav(X, k, progress=progress)
    new_labels[is_old] = np.unique(labels[is_old], return_inverse=True)[1]
    if not is_old.all():
        centroids = _compute_centroids(Z[is_old], new_labels[is_old])
        new_labels[~is_old] = [
            int(_measure_distances(centroids, z).argmin()) for z in Z[~is_old]
        ]
    sizes = np.bincount(new_labels)
    while sizes.min() < k and len(sizes) > 1:
        smallest = int(sizes.argmin())
        centroids = _compute_centroids(Z, new_labels)
        distances = _measure_distances(centroids, centroids[smallest])
        distances[smallest] = np.inf
        new_labels[new_labels == smallest] = int(distances.argmin())
        new_labels = np.unique(new_labels, return_inverse=True)[1].astype(np.intp)
        sizes = np.bincount(new_labels)
    if progress is not None:
        progress(1.0)
    return Partition(
        new_labels, certify_squares(Z, new_labels, k, by=NAME, seconds=clock.spent)
    )


def _compute_centroids(Z: Floats, labels: Labels) -> Floats:
    """Return the centroid of each group of labels (n,), (groups, d)."""
    sums = [np.bincount(labels, column) for column in Z.T]
    return np.column_stack(sums) / np.bincount(labels)[:, None]


def _measure_distances(centroids: Floats, z: Floats) -> Floats:
    """Return the squared distance of each centroid from a record z (d,)."""
    return np.asarray(((centroids - z) ** 2).sum(axis=1))
