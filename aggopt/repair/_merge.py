"""Groups made large enough and t-close by merging: algorithm 1."""

import numpy as np

from aggopt.arrays import Labels
from aggopt.partition._closeness import Closeness
from aggopt.partition._merging import merged
from aggopt.privacy._distance import threshold
from aggopt.repair._task import Task, group_sums


def made_close(task: Task, labels: Labels) -> Labels:
    """Return unions of the groups of labels (n,), each of k records and t-close.

    Groups of less than k records are united with the nearest first, the smallest
    before others; then the worst with the nearest, as `merge_until_close` does.
    """
    promise = Closeness((task.ordered,), threshold(task.t))
    return merged(task.Z, _large_enough(task, labels), promise)


def _large_enough(task: Task, labels: Labels) -> Labels:
    sizes = np.bincount(labels)
    while sizes.min() < task.k and len(sizes) > 1:
        means = group_sums(task.Z, labels) / sizes[:, None]
        g = int(np.argmin(sizes))
        apart = ((means - means[g]) ** 2).sum(axis=1)
        apart[g] = np.inf
        united = np.where(labels == g, int(np.argmin(apart)), labels)
        labels = np.unique(united, return_inverse=True)[1].astype(np.intp)
        sizes = np.bincount(labels)
    return labels
