"""Sums of distances to nearest records. Importing this imports numba: do so late."""

import numpy as np

from aggopt.core.compiled import compiled
from aggopt.core.kernels import copy_into
from aggopt.partition._box_tree.nearest_kernels import find_nearest
from aggopt.partition._box_tree.tree import Tree, create_workspace

make_workspace = compiled(create_workspace)


@compiled
def sum_nearest_distances(tree: Tree, k: int, start: int, stop: int) -> float:
    """Return the sum of squared distances to the k nearest of each record.

    The records are those of leaves start to stop; each is its own nearest.
    """
    total = 0.0
    nearest_others = make_workspace(k)
    point = np.empty(tree.records.shape[1])
    for leaf in range(start, stop):
        for j in range(tree.waiting[leaf]):
            copy_into(point, tree.records[leaf, :, j])
            find_nearest(tree, point, nearest_others)
            total += nearest_others.best.sum()
    return total
