"""Compiled tree of boxes: nearest records, and pairs within a range.  Imports numba.

A leaf has LEAF records, which are compared with another leaf's attribute by attribute.
Distances are sums of squared differences in the order of the attributes, here as
elsewhere in this room, and equal bit for bit.
"""

from typing import NamedTuple

import numpy as np

from aggopt.core.compiled import unrefcounted, unrefcounted_inlined
from aggopt.core.types import I32, I64
from aggopt.core.validation import Floats, Labels

LEAF = 16
DEEP = 256  # nodes that wait in a search
OUTSIDE = 1e200  # entry of a place without a record: no distance reaches it
WIDER = 2.0**-40  # share of a range that rounding may take off, and more


class Boxes(NamedTuple):
    """Records, sorted into leaves, and the boxes around nodes of leaves.

    Attributes
    ----------
    records : (n, d)
        In the order of the leaves: leaf b has the records from LEAF b on.
    blocks : (leaves, d, LEAF)
        The same by attribute.
    begin, end, child : (nodes,)
        Leaves of each node, and the first of its two children; -1 if it is a leaf.
    low, high : (nodes, d)
        Sides of the boxes.
    node : (leaves,)
        Node of each leaf.
    """

    records: Floats
    blocks: Floats
    begin: Labels
    end: Labels
    child: Labels
    low: Floats
    high: Floats
    node: Labels


def build_box_tree(records: Floats) -> tuple[Labels, Boxes]:
    """Return the order of the leaves (n,), and the tree of records (n, d)."""
    n, d = records.shape
    leaves = -(-n // LEAF)
    order, begin, end, child = _split_records(records)
    ordered = np.ascontiguousarray(records[order])
    padded = np.full((leaves * LEAF, d), OUTSIDE)
    padded[:n] = ordered
    blocks = padded.reshape(leaves, LEAF, d).transpose(0, 2, 1)
    node = np.empty(leaves, np.intp)
    is_leaf = child < 0
    node[begin[is_leaf]] = np.flatnonzero(is_leaf)
    low = _reduce_nodes(np.minimum, ordered, begin, end)
    high = _reduce_nodes(np.maximum, ordered, begin, end)
    boxes = Boxes(
        ordered, np.ascontiguousarray(blocks), begin, end, child, low, high, node
    )
    return order, boxes


def _split_records(records: Floats) -> tuple[Labels, Labels, Labels, Labels]:
    """Return records sorted into leaves, and the beginning, end and child of nodes.

    Each node is halved across its widest attribute; children follow their parents.
    """
    n = len(records)
    leaves = -(-n // LEAF)
    order = np.arange(n)
    begin, end = [0], [leaves]
    child = np.full(2 * leaves - 1, -1)
    for node in range(2 * leaves - 1):
        a, b = begin[node], end[node]
        if b - a == 1:
            continue
        part = order[a * LEAF : b * LEAF]
        rows = records[part]
        widest = int(np.ptp(rows, axis=0).argmax())
        part[:] = part[rows[:, widest].argsort(kind="stable")]
        middle = (a + b) // 2
        child[node] = len(begin)
        begin += [a, middle]
        end += [middle, b]
    return order, np.array(begin), np.array(end), child


def _reduce_nodes(
    reduce: np.ufunc, values: Floats, begin: Labels, end: Labels
) -> Floats:
    """Return the least or greatest values (n, ...) of each node's records."""
    of_leaf = reduce.reduceat(values, np.arange(0, len(values), LEAF), axis=0)
    room = np.concatenate([of_leaf, of_leaf[-1:]])  # as the last node ends there
    parts = reduce.reduceat(room, np.stack([begin, end], axis=1).ravel(), axis=0)
    return np.ascontiguousarray(parts[::2])


def find_tops(boxes: Boxes, values: Floats) -> Floats:
    """Return the greatest of the records' values (n,) in each node."""
    return _reduce_nodes(np.maximum, values, boxes.begin, boxes.end)


@unrefcounted_inlined
def measure(records: Floats, i: int, j: int) -> float:
    """Return the squared distance of two records."""
    total = 0.0
    for t in range(records.shape[1]):
        gap = records[i, t] - records[j, t]
        total += gap * gap
    return total


@unrefcounted_inlined
def _measure_block(boxes: Boxes, i: int, leaf: int, gaps: Floats) -> None:
    """Set gaps (LEAF,) to the squared distances of record i from those of a leaf."""
    for j in range(LEAF):
        gaps[j] = 0.0
    for t in range(boxes.records.shape[1]):
        value = boxes.records[i, t]
        for j in range(LEAF):
            gap = value - boxes.blocks[leaf, t, j]
            gaps[j] += gap * gap


@unrefcounted_inlined
def _measure_gap(boxes: Boxes, a: int, b: int) -> float:
    """Return the squared distance of two boxes."""
    total = 0.0
    for t in range(boxes.low.shape[1]):
        above = boxes.low[a, t] - boxes.high[b, t]
        below = boxes.low[b, t] - boxes.high[a, t]
        gap = above if above > below else below
        if gap > 0.0:
            total += gap * gap
    return total


@unrefcounted_inlined
def _measure_distance(boxes: Boxes, i: int, node: int) -> float:
    """Return the squared distance of a record from a box."""
    total = 0.0
    for t in range(boxes.low.shape[1]):
        value = boxes.records[i, t]
        above = value - boxes.high[node, t]
        below = boxes.low[node, t] - value
        gap = above if above > below else below
        if gap > 0.0:
            total += gap * gap
    return total


class Waiting(NamedTuple):
    """Room for a search: nodes that wait (DEEP,), their gaps, distances (LEAF,)."""

    nodes: I64
    gaps: Floats
    block: Floats


def make_waiting() -> Waiting:
    """Return empty arrays for the waiting nodes of a search in one thread."""
    return Waiting(np.empty(DEEP, np.int64), np.empty(DEEP), np.empty(LEAF))


@unrefcounted
def find_nearest(
    boxes: Boxes, start: int, stop: int, near: I32, distances: Floats, room: Waiting
) -> int:
    """Fill in the nearest others (q, c) of the records of some leaves, nearest first.

    `distances` are infinite before.
    Return how many leaves were compared.  Of others at one distance, those in leaves
    that are compared first are listed.
    """
    n = len(boxes.records)
    count = near.shape[1]
    origin = start * LEAF
    waiting, gaps, block = room.nodes, room.gaps, room.block
    compared = 0
    for leaf in range(start, stop):
        first = leaf * LEAF
        last = first + LEAF if first + LEAF < n else n
        own_node = boxes.node[leaf]
        reach = np.inf
        waiting[0] = 0
        gaps[0] = 0.0
        size = 1
        while size > 0:
            size -= 1
            node = waiting[size]
            if gaps[size] * (1.0 - WIDER) >= reach:
                continue
            child = boxes.child[node]
            if child < 0:
                compared += 1
                reach = 0.0
                for i in range(first, last):
                    worst = distances[i - origin, count - 1]
                    if _measure_distance(boxes, i, node) * (1.0 - WIDER) < worst:
                        _measure_block(boxes, i, boxes.begin[node], block)
                        leaf_first = boxes.begin[node] * LEAF
                        _insert(leaf_first, i, block, i - origin, near, distances)
                    worst = distances[i - origin, count - 1]
                    reach = worst if worst > reach else reach
                continue
            left = _measure_gap(boxes, own_node, child)
            right = _measure_gap(boxes, own_node, child + 1)
            is_left = boxes.begin[child] <= leaf < boxes.end[child]
            is_right = boxes.begin[child + 1] <= leaf < boxes.end[child + 1]
            if is_left or (left <= right and not is_right):  # the nearer one on top
                waiting[size] = child + 1
                gaps[size] = right
                waiting[size + 1] = child
                gaps[size + 1] = left
            else:
                waiting[size] = child
                gaps[size] = left
                waiting[size + 1] = child + 1
                gaps[size + 1] = right
            size += 2
    return compared


@unrefcounted_inlined
def _insert(
    first: int, i: int, block: Floats, row: int, near: I32, distances: Floats
) -> None:
    """Insert the records of a leaf into the list of record i, a row of (q, c)."""
    last = near.shape[1] - 1
    for j in range(LEAF):
        gap = block[j]
        if gap < distances[row, last] and first + j != i:
            at = last
            while at > 0 and distances[row, at - 1] > gap:
                distances[row, at] = distances[row, at - 1]
                near[row, at] = near[row, at - 1]
                at -= 1
            distances[row, at] = gap
            near[row, at] = first + j


class Reaches(NamedTuple):
    """How near a pair must be: |x_i - x_j|^2 < y_i + y_j + p_i q_j + p_j q_i.

    Attributes
    ----------
    y, p, q
        Numbers of the records (n,), or the greatest of each node (nodes,).
    """

    y: Floats
    p: Floats
    q: Floats


@unrefcounted_inlined
def _reach(one: Reaches, i: int, other: Reaches, j: int) -> float:
    """Return how near a pair must be, of records or nodes, and what rounding takes."""
    reach = one.y[i] + other.y[j] + one.p[i] * other.q[j] + other.p[j] * one.q[i]
    return float(reach * (1.0 + WIDER))


@unrefcounted
def find_pairs_in_range(
    boxes: Boxes,
    reaches: Reaches,
    tops: Reaches,
    start: int,
    stop: int,
    first: I32,
    second: I32,
    counts: Labels,
    room: Waiting,
) -> None:
    """List the pairs within their reach, i < j, i in some leaves.

    counts (2,) receives the number of pairs, of which `first` and `second` hold those
    for which there is room, and the number of leaves that were compared.
    """
    n = len(reaches.y)
    waiting, block = room.nodes, room.block
    total = 0
    compared = 0
    for leaf in range(start, stop):
        a = leaf * LEAF
        b = a + LEAF if a + LEAF < n else n
        own_node = boxes.node[leaf]
        waiting[0] = 0
        size = 1
        while size > 0:
            size -= 1
            node = waiting[size]
            reach = _reach(tops, own_node, tops, node)
            if boxes.end[node] <= leaf or _measure_gap(boxes, own_node, node) >= reach:
                continue
            child = boxes.child[node]
            if child >= 0:
                waiting[size] = child
                waiting[size + 1] = child + 1
                size += 2
                continue
            compared += 1
            c = boxes.begin[node] * LEAF
            last = c + LEAF if c + LEAF < n else n
            for i in range(a, b):
                reach = _reach(reaches, i, tops, node)
                if _measure_distance(boxes, i, node) >= reach:
                    continue
                _measure_block(boxes, i, boxes.begin[node], block)
                for j in range(c, last):
                    if j > i and block[j - c] < _reach(reaches, i, reaches, j):
                        if total < len(first):
                            first[total] = i
                            second[total] = j
                        total += 1
    counts[0] = total
    counts[1] = compared
