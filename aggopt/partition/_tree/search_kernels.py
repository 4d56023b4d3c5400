"""The farthest and the nearest records of a tree.  Importing this imports numba.

Distances are computed as the plain scan does, to the same bits, and equals are told
apart as there.  So the same record wins, if bounds on boxes hold for what is computed:
- the least distance in a box is bounded by the operations, in the order, of the
  distances themselves; rounding never swaps two numbers, so none is below its bound;
- the most is bounded by way of a centre, which is tighter than by the corners of the
  box, but by other operations: the bound is raised by more than they can lose.
"""

from typing import NamedTuple

import numpy as np

from aggopt.arrays import Floats
from aggopt.compiled import compiled, inlined
from aggopt.partition._pool import Integers
from aggopt.partition._tree.tree import FAN, LEAF, NOBODY, Tree

DEEP = 256  # boxes that can wait to be searched: FAN for each of 32 levels
ROUNDING = 1e-15  # more than an operation loses, records being within [-1, 1]
SLACK = 1e-6  # relative, of a bound by way of the centre: more than rounding needs


class Room(NamedTuple):
    """Room to work in.

    Attributes
    ----------
    boxes, bounds : (DEEP,)
        Boxes yet to be searched, and what bounds the distances in them.
    sides : (FAN,)
        Bounds on the boxes of a branch.
    distances : (LEAF,)
        Distances of the records of a leaf.
    best, who, place : (k,)
        A heap of the nearest records so far, the least near of them on top: their
        distances, which records they are, and where the tree holds them.
    read : (2,)
        How many entries have been read, and how many of them for the centroid since
        the tree was recentred.
    """

    boxes: Integers
    bounds: Floats
    sides: Floats
    distances: Floats
    best: Floats
    who: Integers
    place: Integers
    read: Integers


@compiled
def room(k: int) -> Room:
    """Return room to search for k records."""
    return Room(
        np.empty(DEEP, np.int64),
        np.empty(DEEP),
        np.empty(FAN),
        np.empty(LEAF),
        np.empty(k),
        np.empty(k, np.int64),
        np.empty(k, np.int64),
        np.zeros(2, np.int64),
    )


@inlined
def measure(tree: Tree, leaf: int, factor: float, point: Floats, room: Room) -> None:
    """Set distances[j] as the plain scan does, to the same bits."""
    d, distances = len(point), room.distances
    for j in range(LEAF):
        gap = factor * tree.records[leaf, 0, j] - point[0]
        distances[j] = gap * gap
    for t in range(1, d - 1, 2):  # two at a time: half as much goes through memory
        for j in range(LEAF):
            gap = factor * tree.records[leaf, t, j] - point[t]
            next = factor * tree.records[leaf, t + 1, j] - point[t + 1]
            distances[j] = (distances[j] + gap * gap) + next * next
    if d % 2 == 0:
        for j in range(LEAF):
            gap = factor * tree.records[leaf, d - 1, j] - point[d - 1]
            distances[j] += gap * gap
    room.read[0] += LEAF * d


@inlined
def bound_near(tree: Tree, branch: int, point: Floats, room: Room) -> None:
    """Set sides[b] to the least that a distance in box b can be."""
    near = room.sides
    near[:] = 0.0
    for t in range(len(point)):
        p = point[t]
        for b in range(FAN):
            gap = max(tree.low[branch, t, b] - p, p - tree.high[branch, t, b])
            gap = max(gap, 0.0)
            near[b] += gap * gap
    room.read[0] += 2 * FAN * len(point)


@inlined
def bound_far(tree: Tree, branch: int, way: Floats, away: float, room: Room) -> None:
    """Set sides[b] to the most that |x - q|^2 - away can be in box b.

    With c the centre, w = q - c the `way` and w (q + c) what is `away`,
    |x - q|^2 = |x - c|^2 + w (q + c) - 2 w x, whose parts are bounded one by one.
    """
    d, far = len(way), room.sides
    for b in range(FAN):
        far[b] = min(way[0] * tree.low[branch, 0, b], way[0] * tree.high[branch, 0, b])
    for t in range(1, d - 1, 2):
        v, w = way[t], way[t + 1]
        for b in range(FAN):
            least = min(v * tree.low[branch, t, b], v * tree.high[branch, t, b])
            other = min(w * tree.low[branch, t + 1, b], w * tree.high[branch, t + 1, b])
            far[b] += least + other
    if d % 2 == 0:
        t, w = d - 1, way[d - 1]
        for b in range(FAN):
            far[b] += min(w * tree.low[branch, t, b], w * tree.high[branch, t, b])
    for b in range(FAN):
        far[b] = tree.reach[branch, b] - 2 * far[b]
    room.read[0] += 2 * FAN * d


@compiled
def farthest(tree: Tree, factor: float, point: Floats, room: Room) -> int:
    """Return the place of the record with most sum_t (factor x[t] - point[t])^2."""
    boxes, bounds, size = room.boxes, room.bounds, 1
    boxes[0], bounds[0] = 0, np.inf
    place, best, who = -1, -1.0, NOBODY
    q = point / factor
    way = q - tree.centre
    lost = ROUNDING * (len(way) + 4)
    away = (way * (q + tree.centre)).sum() + lost * 8 * np.abs(way).sum()
    away += lost**2 / SLACK  # q itself is rounded: 2 ab <= a^2 SLACK + b^2 / SLACK
    square = factor * factor * (1 + 4 * SLACK)
    while size > 0:
        size -= 1
        node, bound = boxes[size], bounds[size]
        if bound < best:
            continue
        leaf = node - tree.above
        if leaf >= 0:
            measure(tree, leaf, factor, point, room)
            if not _any_above(room, best):
                continue
            for j in range(tree.waiting[leaf]):
                v, i = room.distances[j], tree.who[leaf, j]
                if v >= best and (v > best or i < who):
                    place, best, who = LEAF * leaf + j, v, i
            continue
        bound_far(tree, node, way, away, room)
        top = size
        for b in range(FAN):
            bound = (room.sides[b] + away) * square
            if bound >= best and tree.first[node, b] < NOBODY:
                boxes[size], bounds[size] = FAN * node + 1 + b, bound
                if bound > bounds[top]:
                    top = size
                size += 1
        if size > top:
            last = size - 1
            boxes[top], boxes[last] = boxes[last], boxes[top]
            bounds[top], bounds[last] = bounds[last], bounds[top]
    return place


@compiled
def nearest(tree: Tree, point: Floats, room: Room) -> None:
    """Fill the heap with the records nearest to a point."""
    boxes, bounds, size = room.boxes, room.bounds, 1
    boxes[0], bounds[0] = 0, 0.0
    room.best[:], room.who[:] = np.inf, NOBODY
    while size > 0:
        size -= 1
        node, bound, worst = boxes[size], bounds[size], room.best[0]
        if bound > worst or (bound == worst and _first(tree, node) > room.who[0]):
            continue
        leaf = node - tree.above
        if leaf >= 0:
            measure(tree, leaf, 1.0, point, room)
            if not _any_below(room, worst):
                continue
            for j in range(tree.waiting[leaf]):
                if room.distances[j] <= room.best[0]:
                    _offer(room, room.distances[j], tree.who[leaf, j], LEAF * leaf + j)
            continue
        begin = size
        bound_near(tree, node, point, room)
        for b in range(FAN):
            bound = room.sides[b]
            if bound <= worst and tree.first[node, b] < NOBODY:
                at = size
                while at > begin and bounds[at - 1] < bound:
                    boxes[at], bounds[at] = boxes[at - 1], bounds[at - 1]
                    at -= 1
                boxes[at], bounds[at] = FAN * node + 1 + b, bound
                size += 1


@inlined
def _any_above(room: Room, best: float) -> bool:
    hits = 0  # counted to the end: that is done side by side
    for j in range(LEAF):
        hits += room.distances[j] >= best
    return hits > 0


@inlined
def _any_below(room: Room, worst: float) -> bool:
    hits = 0
    for j in range(LEAF):
        hits += room.distances[j] <= worst
    return hits > 0


@inlined
def _first(tree: Tree, node: int) -> int:
    return int(tree.first[(node - 1) // FAN, (node - 1) % FAN])


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


@compiled
def _before(room: Room, a: int, b: int) -> bool:
    if room.best[a] == room.best[b]:
        return bool(room.who[a] < room.who[b])
    return bool(room.best[a] < room.best[b])
