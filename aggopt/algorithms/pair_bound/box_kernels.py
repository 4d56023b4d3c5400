"""Compiled tree of boxes: nearest records, and pairs within a range.  Imports numba.

A leaf has LEAF records, which are compared with another leaf's attribute by attribute.
Distances are sums of squared differences in the order of the attributes, here as
elsewhere in this room, and equal bit for bit.
"""

from typing import NamedTuple

import numpy as np

from aggopt.core.compiled import compiled, inlined, inner
from aggopt.core.kernels import copy_into
from aggopt.core.types import I32
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


def build_boxes(records: Floats) -> tuple[Labels, Boxes]:
    """Return the order of the leaves (n,), and the tree of records (n, d)."""
    n, d = records.shape
    leaves = -(-n // LEAF)
    nodes = 2 * leaves - 1
    order = np.arange(n)
    begin, end, child = (np.zeros(nodes, np.intp) for _ in range(3))
    split_records(np.ascontiguousarray(records), order, begin, end, child)
    boxes = Boxes(
        np.ascontiguousarray(records[order]),
        np.full((leaves, d, LEAF), OUTSIDE),
        begin,
        end,
        child,
        np.empty((nodes, d)),
        np.empty((nodes, d)),
        np.empty(leaves, np.intp),
    )
    fill_boxes(boxes)
    return order, boxes


@compiled
def split_records(
    records: Floats, order: Labels, begin: Labels, end: Labels, child: Labels
) -> None:
    """Sort `order` into leaves: each node is halved across its widest attribute."""
    n = len(order)
    begin[0] = 0
    end[0] = (n + LEAF - 1) // LEAF
    size = 1
    node = 0
    while node < size:  # children follow their parents
        a = begin[node]
        b = end[node]
        child[node] = -1
        if b - a > 1:
            middle = (a + b) // 2
            _halve(records, order[a * LEAF : min(b * LEAF, n)], (middle - a) * LEAF)
            child[node] = size
            begin[size] = a
            end[size] = middle
            begin[size + 1] = middle
            end[size + 1] = b
            size += 2
        node += 1


@inner
def _halve(records: Floats, part: Labels, middle: int) -> None:
    """Move the `middle` records that are lowest in the widest attribute forward."""
    widest = 0
    width = -1.0
    for t in range(records.shape[1]):
        low = high = records[part[0], t]
        for i in part:
            low = min(low, records[i, t])
            high = max(high, records[i, t])
        if high - low > width:
            width = high - low
            widest = t
    if width > 0.0:
        values = np.empty(len(part))
        for e in range(len(part)):
            values[e] = records[part[e], widest]
        copy_into(part, part[np.argpartition(values, middle)])


@compiled
def fill_boxes(boxes: Boxes) -> None:
    """Compute the blocks of the leaves and the sides of all boxes."""
    n, d = boxes.records.shape
    for node in range(len(boxes.begin) - 1, -1, -1):
        child = boxes.child[node]
        if child < 0:
            leaf = boxes.begin[node]
            boxes.node[leaf] = node
            boxes.low[node] = np.inf
            boxes.high[node] = -np.inf
            for i in range(leaf * LEAF, min((leaf + 1) * LEAF, n)):
                for t in range(d):
                    value = boxes.records[i, t]
                    boxes.blocks[leaf, t, i - leaf * LEAF] = value
                    boxes.low[node, t] = min(boxes.low[node, t], value)
                    boxes.high[node, t] = max(boxes.high[node, t], value)
        else:
            for t in range(d):
                boxes.low[node, t] = min(boxes.low[child, t], boxes.low[child + 1, t])
                boxes.high[node, t] = max(
                    boxes.high[child, t], boxes.high[child + 1, t]
                )


@inlined
def measure(records: Floats, i: int, j: int) -> float:
    """Return the squared distance of two records."""
    total = 0.0
    for t in range(records.shape[1]):
        gap = records[i, t] - records[j, t]
        total += gap * gap
    return total


@inlined
def _measure_block(boxes: Boxes, i: int, leaf: int, gaps: Floats) -> None:
    """Set gaps (LEAF,) to the squared distances of record i from those of a leaf."""
    for j in range(LEAF):
        gaps[j] = 0.0
    for t in range(boxes.records.shape[1]):
        value = boxes.records[i, t]
        for j in range(LEAF):
            gap = value - boxes.blocks[leaf, t, j]
            gaps[j] += gap * gap


@inlined
def _measure_gap(boxes: Boxes, a: int, b: int) -> float:
    """Return the squared distance of two boxes."""
    total = 0.0
    for t in range(boxes.low.shape[1]):
        gap = max(
            boxes.low[a, t] - boxes.high[b, t], boxes.low[b, t] - boxes.high[a, t]
        )
        gap = max(gap, 0.0)
        total += gap * gap
    return total


@inlined
def _measure_distance(boxes: Boxes, i: int, node: int) -> float:
    """Return the squared distance of a record from a box."""
    total = 0.0
    for t in range(boxes.low.shape[1]):
        value = boxes.records[i, t]
        gap = max(value - boxes.high[node, t], boxes.low[node, t] - value)
        gap = max(gap, 0.0)
        total += gap * gap
    return total


@compiled
def find_nearest(
    boxes: Boxes, start: int, stop: int, near: I32, distances: Floats
) -> int:
    """Fill in the nearest others (n, c) of the records of some leaves, nearest first.

    Return how many leaves were compared.  Of others at one distance, those in leaves
    that are compared first are listed.
    """
    n, count = near.shape
    waiting = np.empty(DEEP, np.int64)
    gaps = np.empty(DEEP)
    block = np.empty(LEAF)
    compared = 0
    for leaf in range(start, stop):
        first = leaf * LEAF
        last = min(first + LEAF, n)
        distances[first:last] = np.inf
        near[first:last] = -1
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
                    worst = distances[i, count - 1]
                    if _measure_distance(boxes, i, node) * (1.0 - WIDER) < worst:
                        _measure_block(boxes, i, boxes.begin[node], block)
                        _insert(boxes.begin[node] * LEAF, i, block, near, distances)
                    reach = max(reach, distances[i, count - 1])
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


@inlined
def _insert(first: int, i: int, block: Floats, near: I32, distances: Floats) -> None:
    """Insert the records of a leaf into the list of record i."""
    last = near.shape[1] - 1
    for j in range(LEAF):
        gap = block[j]
        if gap < distances[i, last] and first + j != i:
            at = last
            while at > 0 and distances[i, at - 1] > gap:
                distances[i, at] = distances[i, at - 1]
                near[i, at] = near[i, at - 1]
                at -= 1
            distances[i, at] = gap
            near[i, at] = first + j


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


@inlined
def _reach(one: Reaches, i: int, other: Reaches, j: int) -> float:
    """Return how near a pair must be, of records or nodes, and what rounding takes."""
    reach = one.y[i] + other.y[j] + one.p[i] * other.q[j] + other.p[j] * one.q[i]
    return float(reach * (1.0 + WIDER))


@compiled
def raise_tops(boxes: Boxes, values: Floats, tops: Floats) -> None:
    """Set tops (nodes,) to the greatest value (n,) of a record in each node."""
    n = len(values)
    for node in range(len(tops) - 1, -1, -1):
        child = boxes.child[node]
        if child >= 0:
            tops[node] = max(tops[child], tops[child + 1])
        else:
            leaf = boxes.begin[node]
            tops[node] = values[leaf * LEAF : min((leaf + 1) * LEAF, n)].max()


@compiled
def find_pairs_in_range(
    boxes: Boxes,
    reaches: Reaches,
    tops: Reaches,
    start: int,
    stop: int,
    first: I32,
    second: I32,
    counts: Labels,
) -> None:
    """List the pairs within their reach, i < j, i in some leaves.

    counts (2,) receives the number of pairs, of which `first` and `second` hold those
    for which there is room, and the number of leaves that were compared.
    """
    n = len(reaches.y)
    waiting = np.empty(DEEP, np.int64)
    block = np.empty(LEAF)
    total = 0
    compared = 0
    for leaf in range(start, stop):
        a = leaf * LEAF
        b = min(a + LEAF, n)
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
            for i in range(a, b):
                reach = _reach(reaches, i, tops, node)
                if _measure_distance(boxes, i, node) >= reach:
                    continue
                _measure_block(boxes, i, boxes.begin[node], block)
                for j in range(max(c, i + 1), min(c + LEAF, n)):
                    if block[j - c] < _reach(reaches, i, reaches, j):
                        if total < len(first):
                            first[total] = i
                            second[total] = j
                        total += 1
    counts[0] = total
    counts[1] = compared
