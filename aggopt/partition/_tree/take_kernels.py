"""Groups of k are taken from a tree, in compiled loops.  This imports numba."""

import numpy as np

from aggopt.arrays import Floats
from aggopt.compiled import compiled
from aggopt.partition._kernels import add_entry, total
from aggopt.partition._pool import Pool
from aggopt.partition._tree.plant_kernels import recentre, redraw
from aggopt.partition._tree.search_kernels import Room, farthest, nearest
from aggopt.partition._tree.tree import LEAF, Tree


@compiled
def take(
    pool: Pool, tree: Tree, room: Room, k: int, paired: bool, enough: int, most: int
) -> tuple[int, int]:
    """Take groups of k while `enough` records have none, until `most` entries are read.

    Return how many entries have been read, and how many a plain scan would have read.
    """
    scanned, room.read[0] = 0, 0
    while pool.counts[0] >= enough and room.read[0] < most:
        scanned += (3 if paired else 2) * pool.counts[0] * len(tree.centre)
        r = _outermost(pool, tree, room)
        s = record(tree, farthest(tree, 1.0, r, room)) if paired else r
        _take_nearest(pool, tree, r, room)
        if paired:
            _take_nearest(pool, tree, s, room)
    return room.read[0], scanned


@compiled
def _outermost(pool: Pool, tree: Tree, room: Room) -> Floats:
    """Return the record farthest from the centroid.

    As the centroid goes away from the centre, more has to be read.  Once that adds up
    to all entries, the tree is recentred, which reads them once.
    """
    m, before = pool.counts[0], room.read[0]
    r = record(tree, farthest(tree, float(m), total(pool), room))
    room.read[1] += room.read[0] - before
    if room.read[1] > m * len(r):
        recentre(tree, total(pool) / m)
        room.read[0] += m * len(r)
        room.read[1] = 0
    return r


@compiled
def record(tree: Tree, place: int) -> Floats:
    """Return the record at a place, (d,)."""
    return tree.records[place // LEAF, :, place % LEAF].copy()


@compiled
def _take_nearest(pool: Pool, tree: Tree, point: Floats, room: Room) -> None:
    """Make a group of the nearest records."""
    nearest(tree, point, room)
    places = np.sort(room.place)[::-1]  # what moves down never has a group itself
    for place in places:
        _remove(pool, tree, place)
    pool.counts[0] -= len(places)
    pool.counts[1] += 1
    for i, place in enumerate(places):
        if i == 0 or place // LEAF != places[i - 1] // LEAF:
            redraw(tree, place // LEAF)


@compiled
def _remove(pool: Pool, tree: Tree, place: int) -> None:
    """Put a record into the group being made, and the last of its leaf in its place."""
    leaf, j = place // LEAF, place % LEAF
    last = tree.waiting[leaf] - 1
    pool.labels[tree.who[leaf, j]] = pool.counts[1]
    for t in range(len(tree.centre)):
        add_entry(pool, t, tree.records[leaf, t, j], -1)
        tree.records[leaf, t, j] = tree.records[leaf, t, last]
    tree.who[leaf, j], tree.out[leaf, j] = tree.who[leaf, last], tree.out[leaf, last]
    tree.waiting[leaf] = last
