"""Groups of an earlier release, preserved if k of their records remain."""

from typing import Any

import numpy as np
import numpy.typing as npt

from aggopt.core.deadline import Deadline
from aggopt.core.types import Labels
from aggopt.core.validation import Floats
from aggopt.encoding import Encoded
from aggopt.partition._mdav import mdav
from aggopt.partition._shared.evidence import squares
from aggopt.partition._shared.result import Partition
from aggopt.partition._shared.scaling import scaled

NAME = "keep_groups"


def kept_groups(
    X: npt.ArrayLike | Encoded, k: int, *, labels: Labels, progress: Any = None
) -> Partition:
    """Return earlier groups of records X (n, d), merged until each has k.

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
    clock, Z = Deadline(None), scaled(X)
    found = labels.copy()
    old = labels >= 0
    if not old.any():
        return mdav(X, k, progress=progress)
    found[old] = np.unique(labels[old], return_inverse=True)[1]
    if not old.all():
        centroids = _centroids(Z[old], found[old])
        found[~old] = [int(_distances(centroids, z).argmin()) for z in Z[~old]]
    sizes = np.bincount(found)
    while sizes.min() < k and len(sizes) > 1:
        small = int(sizes.argmin())
        centroids = _centroids(Z, found)
        away = _distances(centroids, centroids[small])
        away[small] = np.inf
        found[found == small] = int(away.argmin())
        found = np.unique(found, return_inverse=True)[1].astype(np.intp)
        sizes = np.bincount(found)
    if progress is not None:
        progress(1.0)
    return Partition(found, squares(Z, found, k, by=NAME, seconds=clock.spent))


def _centroids(Z: Floats, labels: Labels) -> Floats:
    sums = [np.bincount(labels, column) for column in Z.T]
    return np.column_stack(sums) / np.bincount(labels)[:, None]


def _distances(centroids: Floats, z: Floats) -> Floats:
    return np.asarray(((centroids - z) ** 2).sum(axis=1))
