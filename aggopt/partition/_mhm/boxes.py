"""Records in boxes, for nearest neighbours with removal."""

from typing import NamedTuple

import numpy as np

from aggopt.core.types import I64
from aggopt.core.validation import Floats, Labels

LEAF = 128  # records per box, at most


class Leaves(NamedTuple):
    """Records in columns by box, those not yet visited first.

    Attributes
    ----------
    records : (d, n)
        Attribute by attribute.
    who, column : (n,)
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
    who: I64
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
        return f"Leaves({self.waiting.sum()} of {len(self.who)} records not visited)"


class GroupMembers(NamedTuple):
    """Records by group: those of group g are members[first[g] : first[g + 1]]."""

    of: I64
    members: I64
    first: I64

    @classmethod
    def by(cls, labels: Labels) -> "GroupMembers":
        """Return the groups of labels (n,)."""
        first = np.cumsum(np.bincount(labels))
        members = np.argsort(labels, kind="stable")
        return cls(labels.astype(np.int64), members, np.append(0, first))


def build_boxes(records: Floats) -> Leaves:
    """Return records (n, d), none visited, in boxes of a median split."""
    boxes = _split_in_boxes(records, np.arange(len(records)))
    sizes = np.array([len(box) for box in boxes])
    first = np.cumsum(sizes) - sizes
    who = np.concatenate(boxes)
    rows = np.ascontiguousarray(records[who].T)
    return Leaves(
        records=rows,
        who=who,
        column=np.argsort(who),
        box=np.repeat(np.arange(len(boxes)), sizes),
        first=first,
        waiting=sizes,
        low=np.minimum.reduceat(rows, first, axis=1),
        high=np.maximum.reduceat(rows, first, axis=1),
        bounds=np.empty(len(boxes)),
        distances=np.empty(LEAF),
    )


def reset_boxes(leaves: Leaves) -> Leaves:
    """Return boxes with all records unvisited again."""
    return leaves._replace(
        waiting=np.bincount(leaves.box),
        low=np.minimum.reduceat(leaves.records, leaves.first, axis=1),
    )


def _split_in_boxes(records: Floats, who: I64) -> list[I64]:
    if len(who) <= LEAF:
        return [who]
    inside = records[who]
    widest = np.ptp(inside, axis=0).argmax()
    middle = len(who) // 2
    order = np.argpartition(inside[:, widest], middle)
    return [
        box
        for half in (order[:middle], order[middle:])
        for box in _split_in_boxes(records, who[half])
    ]
