"""Records in boxes, for nearest neighbours with removal."""

from typing import NamedTuple

import numpy as np

from aggopt.core.types import I64, Bool, Floats, Labels

LEAF = 128  # records per box, at most


class Leaves(NamedTuple):
    """Records in columns by box, those not yet visited first.

    Attributes
    ----------
    records : (d, n)
        Attribute by attribute.
    ids, column : (n,)
        Record of each column, and column of each record.
    box : (n,)
        Box of each column.
    first, waiting : (m,)
        First column of each box, and its number of records not yet visited.
    low, high : (d, m)
        Corners of each box; low is infinite once all its records are visited.
    bounds : (m,), distances : (LEAF,)
        Workspace.
    """

    records: Floats
    ids: I64
    column: I64
    box: I64
    first: I64
    waiting: I64
    low: Floats
    high: Floats
    bounds: Floats
    distances: Floats

    def __repr__(self) -> str:
        """Return the number of records not yet visited, without values."""
        return f"Leaves({self.waiting.sum()} of {len(self.ids)} records not visited)"


class GroupMembers(NamedTuple):
    """Records by group: those of group g are members[first[g] : first[g + 1]]."""

    group_of: I64
    members: I64
    first: I64

    @classmethod
    def by(cls, labels: Labels) -> "GroupMembers":
        """Return the members of each group, by labels (n,)."""
        first = np.cumsum(np.bincount(labels))
        members = np.argsort(labels, kind="stable")
        return cls(labels.astype(np.int64), members, np.append(0, first))


def build_boxes(records: Floats) -> Leaves:
    """Return records (n, d) in boxes of near ones, all of them unvisited."""
    boxes = _split_in_boxes(records, np.arange(len(records)))
    sizes = np.array([len(box) for box in boxes])
    first = np.cumsum(sizes) - sizes
    ids = np.concatenate(boxes)
    rows = np.ascontiguousarray(records[ids].T)
    return Leaves(
        records=rows,
        ids=ids,
        column=np.argsort(ids),
        box=np.repeat(np.arange(len(boxes)), sizes),
        first=first,
        waiting=sizes,
        low=np.minimum.reduceat(rows, first, axis=1),
        high=np.maximum.reduceat(rows, first, axis=1),
        bounds=np.empty(len(boxes)),
        distances=np.empty(LEAF),
    )


def reset_boxes(leaves: Leaves) -> Leaves:
    """Return the boxes with all records marked as unvisited."""
    return leaves._replace(
        waiting=np.bincount(leaves.box),
        low=np.minimum.reduceat(leaves.records, leaves.first, axis=1),
    )


def _split_in_boxes(records: Floats, ids: I64) -> list[I64]:
    """Return the record numbers of each box, by median splits of widest attributes."""
    if len(ids) <= LEAF:
        return [ids]
    inside = records[ids]
    widest = np.ptp(inside, axis=0).argmax()
    middle = len(ids) // 2
    order = np.argpartition(inside[:, widest], middle)
    return [
        box
        for half in (order[:middle], order[middle:])
        for box in _split_in_boxes(records, ids[half])
    ]


class Reach(NamedTuple):
    """Bounds on the distance from each record to the farthest one.

    Attributes
    ----------
    far : (n,)
        Square of that distance, or more.
    whom : (n,)
        The farthest record when last computed, -1 while unknown.
    out : (n,)
        Square of the distance from the centroid of all, in some unit.
    peaks : (boxes,)
        Maximum of `far` in each box, -1 without unassigned records.
    """

    far: Floats
    whom: I64
    out: Floats
    peaks: Floats


class Places(NamedTuple):
    """Distinct records, numbered in the ordering by nearest point next.

    Attributes
    ----------
    records : (m, d)
        Coordinates of the places.
    near : (m, NEAR)
        The nearest other places of each, nearest first.
    place_of : (n,)
        Place of each record.
    """

    records: Floats
    near: I64
    place_of: I64

    def __repr__(self) -> str:
        """Return the number of places, without values."""
        return f"Places({len(self.records)} of {len(self.place_of)} records)"


TAKEN, QUEUED, MOVES = range(3)  # positions in `Tour.counts`


class Tour(NamedTuple):
    """Closed tour through places, and the places at which it may be shortened.

    Attributes
    ----------
    records, near
        Those of the places.
    order, rank : (m,)
        The places in the order of visits, and the rank of each in `order`.
    queue, queued : (m,)
        Ring buffer of places to examine, and whether each place is in it.
    counts : (3,)
        Numbers of places taken from the queue, of queued places, and of moves: [TAKEN],
        [QUEUED] and [MOVES].
    """

    records: Floats
    near: I64
    order: I64
    rank: I64
    queue: I64
    queued: Bool
    counts: I64

    def __repr__(self) -> str:
        """Return the number of places, without values."""
        return f"Tour({len(self.order)} places)"
