"""Construction of the box tree of a table."""

import numpy as np

from aggopt.partition._box_tree.tree import (
    BRANCHING,
    LEAF,
    NOBODY,
    ROWS,
    Axes,
    Tree,
    fit_axes,
    project_records,
)
from aggopt.partition._unassigned.state import Pool


def build_tree(pool: Pool) -> Tree:
    """Return a tree of the records of a pool that have no group."""
    from aggopt.partition._box_tree import build_kernels as kernels

    records = pool.records[:, : pool.remaining]
    axes = fit_axes(records)
    projections = project_records(axes, records)
    order = np.argsort(pool.ids[: pool.remaining])
    kernels.arrange_columns(projections, order)
    tree = _create_tree(axes, *records.shape)
    kernels.fill_tree(tree, pool, projections, order)
    return tree


def _create_tree(view: Axes, d: int, m: int) -> Tree:
    """Return a tree for m records of d attributes, without records."""
    leaves = -(-m // LEAF)
    above = 1
    while (above - 1) // BRANCHING + -(-leaves // BRANCHING) > above:
        above = BRANCHING * above + 1
    branches = (above - 1) // BRANCHING + -(-leaves // BRANCHING)
    waiting = np.full(leaves, LEAF)
    waiting[-1] = m - LEAF * (leaves - 1)
    sides = np.full((branches, 2, ROWS, BRANCHING), np.inf, np.float32)
    sides[:, 1] = -np.inf
    return Tree(
        records=np.zeros((leaves, LEAF, d)).transpose(0, 2, 1),
        projections=np.zeros((leaves, ROWS, LEAF), np.float32),
        ids=np.zeros((leaves, LEAF), np.int64),
        out=np.zeros((leaves, LEAF), np.float32),
        waiting=waiting,
        sides=sides,
        first=np.full((branches, BRANCHING), NOBODY),
        axes=view,
        above=above,
    )
