"""Records in boxes: the nearest is found without looking into most of them."""

from typing import NamedTuple

import numpy as np

from aggopt.core.types import I64
from aggopt.core.validation import Floats, Labels

LEAF = 128  # records per box, at most


class Leaves(NamedTuple):
    """Records in columns, box after box, with the waiting ones of a box first.

    Attributes
    ----------
    records : (d, n)
        Attribute by attribute.
    who, column : (n,)
        Which record each column holds, and where each record is.
    box : (n,)
        Box of each column.
    first, waiting : (m,)
        First column of each box, and how many of its records wait to be visited.
    low, high : (d, m)
        Corners of each box; low is infinite once none of its records waits.
    bounds : (m,), distances : (LEAF,)
        Room to work in.
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
        """Tell how many records wait, and show none."""
        return f"Leaves({self.waiting.sum()} of {len(self.who)} records wait)"


class GroupMembers(NamedTuple):
    """Records by group: those of group g are members[first[g] : first[g + 1]]."""

    of: I64
    members: I64
    first: I64

    @classmethod
    def by(cls, labels: Labels) -> "GroupMembers":
        """Return the groups that labels (n,) make."""
        first = np.cumsum(np.bincount(labels))
        members = np.argsort(labels, kind="stable")
        return cls(labels.astype(np.int64), members, np.append(0, first))


def plant(records: Floats) -> Leaves:
    """Return records (n, d), all waiting, in boxes that are small where many are."""
    boxes = _halved(records, np.arange(len(records)))
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


def replant(leaves: Leaves) -> Leaves:
    """Return the same leaves with all records waiting once more."""
    return leaves._replace(
        waiting=np.bincount(leaves.box),
        low=np.minimum.reduceat(leaves.records, leaves.first, axis=1),
    )


def _halved(records: Floats, who: I64) -> list[I64]:
    if len(who) <= LEAF:
        return [who]
    inside = records[who]
    widest = np.ptp(inside, axis=0).argmax()
    middle = len(who) // 2
    order = np.argpartition(inside[:, widest], middle)
    return [
        box
        for half in (order[:middle], order[middle:])
        for box in _halved(records, who[half])
    ]
