"""Near neighbours of each record, found by a few trees of random splits."""

from functools import partial

import numpy as np

from aggopt.core.progress import Progress
from aggopt.core.threads import ThreadPool, ignored
from aggopt.core.validation import Floats, Labels
from aggopt.partition._neighbours.spatial_order import in_space, parts

TREES = 6
PART = 512  # records that are compared with each other


def near_ones(
    rows: Floats,
    count: int,
    threads: ThreadPool,
    *,
    seed: int = 0,
    trees: int = TREES,
    part: int = PART,
    progress: Progress = ignored,
) -> Labels:
    """Return near (n, count): the neighbours of rows (n, d), the nearest first.

    The rows are in spatial order, so that the first tree is theirs; `trees` - 1 more
    have random axes.  Records of one part of a tree are compared with each other.
    Of 100 000 records in 10 dimensions, 94 in 100 of the nearest 12 are found.  A
    record that has fewer neighbours stands in its own list, as do those that no time
    was left for.
    """
    from aggopt.partition._neighbours import (
        rp_forest_kernels as kernels,  # imports numba
    )

    n = len(rows)
    near = np.repeat(np.arange(n, dtype=np.intp)[:, None], count, axis=1)
    apart = np.full((n, count), np.inf, dtype=np.float32)
    seen, who = rows, np.arange(n, dtype=np.intp)

    def compare(those: slice) -> None:
        if not threads.clock.over:
            kernels.compare(seen[those], who[those], near, apart)

    for tree in range(trees if n > part else 1):
        if tree:
            seen, who = in_space(rows, part, threads, turns=0, seed=seed + tree)
        threads.each(
            compare, parts(n, part), partial(_within_tree, progress, tree, trees)
        )
    return near


def _within_tree(progress: Progress, done: int, of: int, share: float) -> None:
    progress((done + share) / of)
