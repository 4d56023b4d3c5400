"""The nearest records of a tree.  Importing this imports numba."""

import numpy as np

from aggopt.core.array_kernels import copy_into
from aggopt.core.compiled import inlined, inner
from aggopt.core.validation import Floats
from aggopt.partition._box_tree.bound_kernels import TINY, exact, lost, turn
from aggopt.partition._box_tree.principal_axes import ROWS
from aggopt.partition._box_tree.tree import FAN, LEAF, NOBODY, Tree
from aggopt.partition._box_tree.workspace import Room


@inner
def nearest(tree: Tree, point: Floats, room: Room) -> None:
    """Fill the heap with the records nearest to a point."""
    seen = np.empty(ROWS)
    turn(tree, point - tree.axes.origin, seen)
    copy_into(room.seen, seen)
    nearest_from(tree, _likely(tree, room), point, room)


@inner
def nearest_from(tree: Tree, start: int, point: Floats, room: Room) -> None:
    """Do the same, and begin with a leaf that holds near ones."""
    seen = np.empty(ROWS)
    length = np.sqrt(turn(tree, point - tree.axes.origin, seen))
    copy_into(room.seen, seen)
    nodes, size = room.nodes, 1
    nodes[0] = 0
    room.best[:], room.who[:] = np.inf, NOBODY
    share = lost(tree)
    for j in range(tree.waiting[start]):
        v = exact(tree, LEAF * start + j, 1.0, point)
        if v <= room.best[0]:
            _offer(room, v, tree.who[start, j], LEAF * start + j)
    most = _most(room.best[0], length, share)
    while size > 0:
        size -= 1
        node = nodes[size]
        leaf = node - tree.above
        if leaf < 0:
            hits = _boxes(tree, node, most, room)
            none = NOBODY if room.best[0] > 0 else room.who[0]
            for b in range(FAN):
                nodes[size] = FAN * node + 1 + b
                size += (hits >> b) & (tree.first[node, b] < none)
            continue
        if leaf == start:
            continue
        hits = _records(tree, leaf, most, room)
        for j in range(LEAF if hits else 0):
            if (hits >> j) & 1:
                v = exact(tree, LEAF * leaf + j, 1.0, point)
                room.read[0] += len(point)
                if v <= room.best[0]:
                    _offer(room, v, tree.who[leaf, j], LEAF * leaf + j)
                    most = _most(room.best[0], length, share)


@inlined
def _likely(tree: Tree, room: Room) -> int:
    """Return a leaf that may well hold the nearest record."""
    node = 0
    while node < tree.above:
        least, top = np.float32(np.inf), 0
        for b in range(FAN):
            bound = np.float32(0.0)
            for t in range(ROWS):
                p = room.seen[t]
                gap = max(tree.sides[node, 0, t, b] - p, p - tree.sides[node, 1, t, b])
                gap = max(gap, np.float32(0.0))
                bound += gap * gap
            if bound < least:
                least, top = bound, b
        node = FAN * node + 1 + top
    return int(node - tree.above)


@inlined
def _most(worst: float, length: float, share: float) -> np.float32:
    """Return what the bound is at most where the distance is `worst` at most.

    A record so near is no farther from the origin than sqrt(worst) + length.
    """
    root = np.sqrt(worst) * (1 + share) + length * share
    return np.float32(root * root * (1 + share) + TINY)


@inlined
def _gap(low: np.float32, x: np.float32, high: np.float32) -> np.float32:
    """Return the squared distance of x from an interval."""
    below, above = low - x, x - high
    gap = below if below > above else above
    return gap * gap if gap > 0 else np.float32(0.0)


@inlined
def _boxes(tree: Tree, branch: int, most: np.float32, room: Room) -> int:
    """Return in which boxes of a branch the bound may be `most` or less, as bits."""
    sides, seen = tree.sides, room.seen
    hits = np.int32(0)
    for b in range(FAN):
        bound = np.float32(0.0)
        for t in range(ROWS):
            low, high = sides[branch, 0, t, b], sides[branch, 1, t, b]
            bound += _gap(low, seen[t], high)
        hits |= np.int32(bound <= most) << np.int32(b)
    room.read[0] += 2 * FAN * ROWS
    return int(hits)


@inlined
def _records(tree: Tree, leaf: int, most: np.float32, room: Room) -> int:
    """Return for which places of a leaf the bound is `most` or less, as bits."""
    images, seen = tree.images, room.seen
    hits = np.int32(0)
    for j in range(LEAF):
        bound = np.float32(0.0)
        for t in range(ROWS):
            gap = images[leaf, t, j] - seen[t]
            bound += gap * gap
        hits |= np.int32(bound <= most) << np.int32(j)
    room.read[0] += LEAF * ROWS
    held: int = (1 << tree.waiting[leaf]) - 1
    return int(hits) & held


@inlined
def _offer(room: Room, distance: float, who: int, place: int) -> None:
    """Put a record into the heap if it is nearer than the one on top."""
    best, names, k = room.best, room.who, len(room.best)
    if distance == best[0] and who > names[0]:
        return
    top = 0
    while 2 * top + 1 < k:
        child = 2 * top + 1
        if child + 1 < k and _before(room, child, child + 1):
            child += 1
        if best[child] < distance or (best[child] == distance and names[child] < who):
            break
        best[top], names[top] = best[child], names[child]
        room.place[top] = room.place[child]
        top = child
    best[top], names[top], room.place[top] = distance, who, place


@inner
def _before(room: Room, a: int, b: int) -> bool:
    """Whether candidate a comes before b: nearer, or as near and earlier in X."""
    if room.best[a] == room.best[b]:
        return bool(room.who[a] < room.who[b])
    return bool(room.best[a] < room.best[b])
