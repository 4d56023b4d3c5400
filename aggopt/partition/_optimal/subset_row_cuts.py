"""Subset-row cuts that a fractional choice of groups violates."""

from typing import Any

import numpy as np

from aggopt.core.types import Bool
from aggopt.core.validation import Floats
from aggopt.partition._optimal.columns import GroupColumns
from aggopt.partition._optimal.pricing import Cut, _index_by_record

ROOM = 10_000  # for violated cuts, at first
FEW = 20  # cuts of three from which on cuts of five are not separated


def find_violated_cuts(
    groups: GroupColumns, share: Floats, few: Bool, have: set[Cut], max_cuts: int
) -> list[Cut]:
    """Return up to `most` cuts of 3 and 5 records that this choice violates most.

    `share` (q,) is the chosen share of each group; cuts contain records of `few` (n,).
    """
    from aggopt.partition._optimal import subset_row_kernels as kernels

    fractional = (share > 1e-6) & (share < 1 - 1e-6)
    columns = groups.members[fractional]
    share = share[fractional]
    records = np.unique(columns[columns >= 0])
    records = records[few[records]]
    if not len(records):
        return []
    place = np.full(len(few) + 1, -1, np.int32)  # the last is for -1
    place[records] = np.arange(len(records))
    columns = place[columns]
    pairs = np.empty((len(records), len(records)))
    kernels.fill_pair_shares(columns, share, pairs)
    arguments = columns, share, pairs, *_index_columns(columns, len(records))
    separated = [_separate_cuts(kernels.find_triples, arguments, 3)]
    if len(separated[0][1]) < FEW:
        separated.append(_separate_cuts(kernels.find_quintuples, arguments, 5))
    violations = {}
    for rows, excess in separated:
        for row, violation in zip(records[rows].tolist(), excess.tolist(), strict=True):
            violations[tuple(row)] = violation
    order = sorted(
        (cut for cut in violations if cut not in have),
        key=lambda c: (-violations[c], c),
    )
    return order[:max_cuts]


def _separate_cuts(
    kernel: Any, arguments: tuple[Any, ...], width: int
) -> tuple[Any, Any]:
    """Return all cuts that a kernel finds, and their violations."""
    room = ROOM
    while True:
        rows = np.empty((room, width), np.int32)
        excess = np.empty(room)
        count = kernel(*arguments, rows, excess)
        if count <= room:
            return rows[:count], excess[:count]
        room = count


def count_halves(groups: GroupColumns, cuts: list[Cut], n: int) -> Any:
    """Return half the records of each cut in each group, rounded down (l, q).

    A sparse matrix by columns.
    """
    from scipy.sparse import csc_array

    inside = groups.members >= 0
    record = groups.members[inside]
    column = np.repeat(np.arange(len(groups.sizes)), groups.sizes)
    incidence = csc_array(
        (np.ones(len(record)), (record, column)), (n, len(groups.sizes))
    )
    cut = np.repeat(np.arange(len(cuts)), [len(c) for c in cuts])
    records = np.array([i for c in cuts for i in c], np.intp)
    counts = csc_array((np.ones(len(cut)), (cut, records)), (len(cuts), n)) @ incidence
    counts.data //= 2
    counts.eliminate_zeros()
    return counts


def _index_columns(columns: Any, r: int) -> tuple[Any, Any]:
    q, at = np.nonzero(columns >= 0)
    return _index_by_record(columns[q, at].astype(np.int64), q.astype(np.int64), r)
