"""Subset-row cuts that a fractional choice of groups violates."""

from typing import Any

import numpy as np

from aggopt.core.types import Bool
from aggopt.core.validation import Floats
from aggopt.partition._optimal.columns import GroupColumns
from aggopt.partition._optimal.pricing import Cut, _by_record

ROOM = 10_000  # for violated cuts, at first
FEW = 20  # cuts of three from which on cuts of five are not separated


def violated(
    groups: GroupColumns, share: Floats, few: Bool, have: set[Cut], most: int
) -> list[Cut]:
    """Return up to `most` cuts of 3 and 5 records that this choice violates most.

    `share` (q,) is the chosen share of each group; cuts contain records of `few` (n,).
    """
    from aggopt.partition._optimal import subset_row_kernels as kernels

    fractional = (share > 1e-6) & (share < 1 - 1e-6)
    columns, share = groups.members[fractional], share[fractional]
    records = np.unique(columns[columns >= 0])
    records = records[few[records]]
    if not len(records):
        return []
    place = np.full(len(few) + 1, -1, np.int32)  # the last is for -1
    place[records] = np.arange(len(records))
    columns = place[columns]
    pairs = np.empty((len(records), len(records)))
    kernels.together(columns, share, pairs)
    what = columns, share, pairs, *_holding(columns, len(records))
    found = [_all(kernels.triples, what, 3)]
    if len(found[0][1]) < FEW:
        found.append(_all(kernels.quintuples, what, 5))
    by = {}
    for rows, excess in found:
        for row, much in zip(records[rows].tolist(), excess.tolist(), strict=True):
            by[tuple(row)] = much
    order = sorted((cut for cut in by if cut not in have), key=lambda c: (-by[c], c))
    return order[:most]


def _all(kernel: Any, what: tuple[Any, ...], width: int) -> tuple[Any, Any]:
    """Return all cuts that a kernel finds, and their violations."""
    room = ROOM
    while True:
        rows, excess = np.empty((room, width), np.int32), np.empty(room)
        count = kernel(*what, rows, excess)
        if count <= room:
            return rows[:count], excess[:count]
        room = count


def halves(groups: GroupColumns, cuts: list[Cut], n: int) -> Any:
    """Return half the records of each cut in each group, rounded down (l, q).

    A sparse matrix by columns.
    """
    from scipy.sparse import csc_array

    inside = groups.members >= 0
    record = groups.members[inside]
    column = np.repeat(np.arange(len(groups.sizes)), groups.sizes)
    holds = csc_array((np.ones(len(record)), (record, column)), (n, len(groups.sizes)))
    cut = np.repeat(np.arange(len(cuts)), [len(c) for c in cuts])
    counted = np.array([i for c in cuts for i in c], np.intp)
    counts = csc_array((np.ones(len(cut)), (cut, counted)), (len(cuts), n)) @ holds
    counts.data //= 2
    counts.eliminate_zeros()
    return counts


def _holding(columns: Any, r: int) -> tuple[Any, Any]:
    q, at = np.nonzero(columns >= 0)
    return _by_record(columns[q, at].astype(np.int64), q.astype(np.int64), r)
