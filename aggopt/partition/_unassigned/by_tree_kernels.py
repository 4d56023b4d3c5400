"""Compiled loops that take groups of k from a tree. Importing this imports numba."""

from aggopt.core.compiled import compiled, inner
from aggopt.core.kernels import sort_in_place
from aggopt.core.validation import Floats
from aggopt.partition._box_tree.build_kernels import shrink_boxes, shrink_firsts
from aggopt.partition._box_tree.farthest_kernels import (
    create_pivot,
    find_farthest,
    find_pivot,
)
from aggopt.partition._box_tree.nearest_kernels import find_nearest_from
from aggopt.partition._box_tree.tree import CENTRE, LEAF, ROWS, Pivots, Tree, Workspace
from aggopt.partition._unassigned.kernels import add_entry, sum_unassigned
from aggopt.partition._unassigned.state import GROUPS, UNASSIGNED, Pool


@compiled
def take_groups(
    pool: Pool,
    tree: Tree,
    pivots: Pivots,
    workspace: Workspace,
    k: int,
    paired: bool,
    enough: int,
    max_entries: int,
) -> int:
    """Take groups of k while `enough` records have none, until `most` entries are read.

    Return the number of entries that a plain scan would have read; `workspace.read`
    counts the entries read.
    """
    scanned, workspace.read[0] = 0, 0
    if pivots.known[0] == 0:
        create_pivot(
            tree, pivots, CENTRE, sum_unassigned(pool) / pool.counts[UNASSIGNED]
        )
        pivots.known[0] = 1
    while pool.counts[UNASSIGNED] >= enough and workspace.read[0] < max_entries:
        scanned += (3 if paired else 2) * pool.counts[UNASSIGNED] * len(pool.records)
        r = _find_outermost(pool, tree, pivots, workspace)
        s = _find_opposite(tree, pivots, r, workspace) if paired else r
        a = record(tree, r)
        b = record(tree, s)
        _take_nearest(pool, tree, r // LEAF, a, workspace)
        if paired:
            _take_nearest(pool, tree, s // LEAF, b, workspace)
    return scanned


@inner
def _find_opposite(tree: Tree, pivots: Pivots, r: int, workspace: Workspace) -> int:
    """Return the place of the record farthest from the record at place r."""
    point = record(tree, r)
    return int(
        find_farthest(
            tree, pivots, find_pivot(tree, pivots, point), 1.0, point, workspace
        )
    )


@inner
def _find_outermost(
    pool: Pool, tree: Tree, pivots: Pivots, workspace: Workspace
) -> int:
    """Return the place of the record farthest from the centroid.

    As the centroid moves away from its pivot, more entries have to be read. Once these
    add up to all entries, the pivot is computed again, which reads them once.
    """
    entries = pool.counts[UNASSIGNED] * len(pool.records)
    before = workspace.read[0]
    place = find_farthest(
        tree,
        pivots,
        CENTRE,
        float(pool.counts[UNASSIGNED]),
        sum_unassigned(pool),
        workspace,
    )
    workspace.read[1] += workspace.read[0] - before
    if workspace.read[1] > entries:
        create_pivot(
            tree, pivots, CENTRE, sum_unassigned(pool) / pool.counts[UNASSIGNED]
        )
        workspace.read[0], workspace.read[1] = workspace.read[0] + entries, 0
    return int(place)


@inner
def record(tree: Tree, place: int) -> Floats:
    """Return the record at a place, (d,)."""
    return tree.records[place // LEAF, :, place % LEAF].copy()


@inner
def _take_nearest(
    pool: Pool, tree: Tree, leaf: int, point: Floats, workspace: Workspace
) -> None:
    """Make a group of the records nearest to a point in or removed from `leaf`."""
    find_nearest_from(tree, leaf, point, workspace)
    sort_in_place(workspace.place)
    for place in workspace.place[::-1]:  # what moves is not of the group
        _remove(pool, tree, place)
    pool.counts[UNASSIGNED] -= len(workspace.place)
    pool.counts[GROUPS] += 1


@inner
def _remove(pool: Pool, tree: Tree, place: int) -> None:
    """Assign a record to the current group; the last of its leaf takes its place."""
    leaf = place // LEAF
    j = place % LEAF
    last = tree.waiting[leaf] - 1
    pool.labels[tree.ids[leaf, j]] = pool.counts[GROUPS]
    for t in range(len(pool.records)):
        add_entry(pool, t, tree.records[leaf, t, j], -1)
        tree.records[leaf, t, j] = tree.records[leaf, t, last]
    tree.waiting[leaf] = last
    for t in range(ROWS):
        x = tree.projections[leaf, t, j]
        tree.projections[leaf, t, j] = tree.projections[leaf, t, last]
        shrink_boxes(tree, leaf, t, x)
    record_id = tree.ids[leaf, j]
    tree.out[leaf, j], tree.ids[leaf, j] = tree.out[leaf, last], tree.ids[leaf, last]
    shrink_firsts(tree, leaf, record_id)
