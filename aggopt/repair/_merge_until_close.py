"""Groups made large enough and t-close by merging: algorithm 1."""

import numpy as np

from aggopt.core.record_weights import group_sums
from aggopt.core.validation import Labels
from aggopt.partition.constraints.t_closeness import CloseToTable
from aggopt.partition.merge.merge import merge_with_nearest
from aggopt.privacy.distance import threshold
from aggopt.repair._problem import Problem


def make_close(problem: Problem, labels: Labels) -> Labels:
    """Return unions of the groups of labels (n,), each of k records and t-close.

    Groups of less than k records are merged with the nearest first, beginning with the
    smallest; then the worst with the nearest, as `merge_until_close` does.
    """
    promise = CloseToTable.to((problem.ordered,), threshold(problem.t))
    return merge_with_nearest(problem.Z, _merge_small(problem, labels), promise)


def _merge_small(problem: Problem, labels: Labels) -> Labels:
    """Return labels (n,) after merging groups of fewer than k with their nearest."""
    sizes = np.bincount(labels)
    totals = group_sums(problem.Z, labels)
    name = np.arange(len(sizes))
    left = len(sizes)
    while left > 1 and sizes.min() < problem.k:
        means = totals / sizes[:, None]
        g = int(np.argmin(sizes))
        apart = ((means - means[g]) ** 2).sum(axis=1)
        apart[g] = np.inf
        near = int(np.argmin(apart))
        name[name == g] = near
        totals[near] += totals[g]
        sizes[near] += sizes[g]
        totals[g], sizes[g] = np.inf, len(labels) + 1  # neither smallest nor near
        left -= 1
    return np.unique(name[labels], return_inverse=True)[1].astype(np.intp)
