"""Compiled lists of pairs, and the rows of cuts in the listed pairs.  Imports numba.

A row of common neighbours or of a set has an entry in every pair that it names, and
there are far too many.  The program has entries in listed pairs only; the certificate
computes those of the other pairs from the same rules: `represents` and membership.
"""

from typing import NamedTuple

import numpy as np

from aggopt.core.compiled import unrefcounted, unrefcounted_inlined
from aggopt.core.types import I32, I64, Bool
from aggopt.core.validation import Floats

FIRST, SECOND, ITSELF, UNKNOWN = 0, 1, 2, 3  # the pair that represents a record


class PairLists(NamedTuple):
    """Listed pairs, sorted, and the pairs of each record.

    Attributes
    ----------
    first, second : (m,)
        Records of each pair, first < second.
    start : (n + 1,)
        Where each record's list begins.
    other, number : (2 m,)
        The other record, ascending, and the number of the pair.
    """

    first: I32
    second: I32
    start: I64
    other: I32
    number: I32


class Cuts(NamedTuple):
    """Inequalities beyond the degrees, `pairs @ w + own @ x >= side`, by family.

    Attributes
    ----------
    counted : (q,)
        Records whose others must be k - 1 or more: sum_j w_ij >= (k - 1) x_i.  All
        records if they have weights, none otherwise, as degrees count then.
    caps : (p, 2)
        x_i >= w_ij.
    triangles : (t, 3)
        x_i >= w_ij + w_il - w_jl.
    ends, itself : (c, 2), (c,)
        PairLists of the cuts of common neighbours, and |M|.
    end_start, end_record, end_side : (c + 1,), (e,), (e,)
        For each cut some records, ascending, and what represents each; another record
        is represented by the end that is farther from it.
    set_start, member : (u + 1,), (q,)
        The sets of sizes, their members ascending.
    classes : (c, n)
        Class of each record, for each promise: its confidential value, for example.
    apex, promise, own : (f,)
        Record and promise of each row of promises, and the entry of x.
    level_start, levels : (f + 1,), (e,)
        For each of these rows, the entry of a pair with a record of each class.
    """

    counted: I32
    caps: I32
    triangles: I32
    ends: I32
    itself: I32
    end_start: I64
    end_record: I32
    end_side: I32
    set_start: I64
    member: I32
    classes: I32
    apex: I32
    promise: I32
    own: Floats
    level_start: I64
    levels: Floats


def link_pairs(keys: I64, n: int) -> PairLists:
    """Return the pairs of sorted keys first * n + second."""
    from scipy.sparse import coo_array

    first = (keys // n).astype(np.int32)
    second = (keys % n).astype(np.int32)
    number = np.arange(len(keys), dtype=np.int32)
    # lower records come first, and in both parts by key: so lists ascend
    ends = np.concatenate([second, first]), np.concatenate([first, second])
    lists = coo_array((np.tile(number, 2), ends), shape=(n, n)).tocsr()
    return PairLists(
        first,
        second,
        lists.indptr.astype(np.int64),
        lists.indices.astype(np.int32, copy=False),
        lists.data,
    )


def find_listed(keys: I64, sought: I64) -> I32:
    """Return the numbers of some keys (q,) among sorted keys, -1 if not listed."""
    if not len(keys):
        return np.full(len(sought), -1, np.int32)
    at = np.minimum(np.searchsorted(keys, sought), len(keys) - 1)
    return np.where(keys[at] == sought, at, -1).astype(np.int32)


def measure_pairs(records: Floats, pairs: PairLists) -> Floats:
    """Return the squared distances (m,) of the pairs, as `measure` does."""
    total = np.zeros(len(pairs.first))
    for values in records.T:
        gaps = values[pairs.first] - values[pairs.second]
        total += gaps * gaps
    return total


@unrefcounted_inlined
def find_sorted(values: I32, low: int, high: int, value: int) -> int:
    """Return the place of a value in values[low:high], ascending, or -1."""
    end = high
    while low < high:
        middle = (low + high) // 2
        if values[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low if low < end and values[low] == value else -1


@unrefcounted_inlined
def find_pair(pairs: PairLists, i: int, j: int) -> int:
    """Return the number of the pair of two records; -1 if it is not listed."""
    at = find_sorted(pairs.other, pairs.start[i], pairs.start[i + 1], j)
    return pairs.number[at] if at >= 0 else -1


@unrefcounted_inlined
def is_farther(
    records: Floats, distance: float, other_end: int, record: int, which: int
) -> bool:
    """Whether a record's squared distance from an end is above that from the other end.

    If both are equal, the end counts that is `which` = FIRST.
    """
    total = 0.0
    for t in range(records.shape[1]):
        gap = records[other_end, t] - records[record, t]
        total += gap * gap
        if total > distance:
            return False
    return total < distance or which == FIRST


@unrefcounted_inlined
def represents(
    records: Floats, cuts: Cuts, c: int, which: int, record: int, distance: float
) -> bool:
    """Whether a record's pair with an end, FIRST or SECOND, represents it in a cut.

    `distance` is the square of its distance from that end.
    """
    at = find_sorted(cuts.end_record, cuts.end_start[c], cuts.end_start[c + 1], record)
    if at >= 0:
        return bool(cuts.end_side[at] == which)
    return is_farther(records, distance, cuts.ends[c, 1 - which], record, which)


@unrefcounted
def list_row_entries(
    records: Floats,
    masses: Floats,
    pairs: PairLists,
    distances: Floats,
    cuts: Cuts,
    k: int,
    row_start: I64,
    columns: I32,
    entries: Floats,
    side: I32,
    inside: Bool,
) -> int:
    """List the entries of the rows of all cuts; return their number.

    `distances` (m,) are those of the pairs, squared.  Columns are pairs, then records.
    Entries beyond the room are left out, and counted.  `side` (n,) is UNKNOWN, and
    `inside` (n,) False, before and after.
    """
    m = len(pairs.first)
    size = 0
    row = 0
    for i in cuts.counted:
        size = _add(columns, entries, size, m + i, 1.0 - k)
        for e in range(pairs.start[i], pairs.start[i + 1]):
            size = _add(columns, entries, size, pairs.number[e], 1.0)
        row += 1
        row_start[row] = size
    for e in range(len(cuts.caps)):
        i = cuts.caps[e, 0]
        size = _add(columns, entries, size, m + i, 1.0)
        size = _add(columns, entries, size, find_pair(pairs, i, cuts.caps[e, 1]), -1.0)
        row += 1
        row_start[row] = size
    for e in range(len(cuts.triangles)):
        i = cuts.triangles[e, 0]
        j = cuts.triangles[e, 1]
        l = cuts.triangles[e, 2]  # noqa: E741
        size = _add(columns, entries, size, m + i, 1.0)
        size = _add(columns, entries, size, find_pair(pairs, i, j), -1.0)
        size = _add(columns, entries, size, find_pair(pairs, i, l), -1.0)
        size = _add(columns, entries, size, find_pair(pairs, j, l), 1.0)
        row += 1
        row_start[row] = size
    for c in range(len(cuts.ends)):
        size = _list_common(
            records, pairs, distances, cuts, k, c, side, columns, entries, size
        )
        row += 1
        row_start[row] = size
    for u in range(len(cuts.set_start) - 1):
        size = _list_set(masses, pairs, cuts, u, inside, columns, entries, size)
        row += 1
        row_start[row] = size
    for f in range(len(cuts.apex)):
        i = cuts.apex[f]
        size = _add(columns, entries, size, m + i, cuts.own[f])
        for e in range(pairs.start[i], pairs.start[i + 1]):
            entry = find_level(cuts, f, pairs.other[e])
            size = _add(columns, entries, size, pairs.number[e], entry)
        row += 1
        row_start[row] = size
    return size


@unrefcounted_inlined
def find_level(cuts: Cuts, f: int, record: int) -> float:
    """Return the entry of a row of promises in a pair of its apex and a record."""
    return float(
        cuts.levels[cuts.level_start[f] + cuts.classes[cuts.promise[f], record]]
    )


@unrefcounted_inlined
def _add(columns: I32, entries: Floats, size: int, column: int, entry: float) -> int:
    """Add an entry if there is room; return the new number of entries."""
    if size < len(columns):
        columns[size] = column
        entries[size] = entry
    return size + 1


@unrefcounted_inlined
def _list_common(
    records: Floats,
    pairs: PairLists,
    distances: Floats,
    cuts: Cuts,
    k: int,
    c: int,
    side: I32,
    columns: I32,
    entries: Floats,
    size: int,
) -> int:
    """List the entries of one cut of common neighbours; `side` (n,) is UNKNOWN."""
    for e in range(cuts.end_start[c], cuts.end_start[c + 1]):
        side[cuts.end_record[e]] = cuts.end_side[e]
    for which in range(2):
        end = cuts.ends[c, which]
        other_end = cuts.ends[c, 1 - which]
        for e in range(pairs.start[end], pairs.start[end + 1]):
            l = pairs.other[e]  # noqa: E741
            if l == other_end:
                if which == FIRST:
                    entry = cuts.itself[c] - (k - 2.0)
                    size = _add(columns, entries, size, pairs.number[e], entry)
                continue
            is_own = side[l] == which
            if side[l] == UNKNOWN:
                distance = distances[pairs.number[e]]
                is_own = is_farther(records, distance, other_end, l, which)
            if is_own:
                size = _add(columns, entries, size, pairs.number[e], 1.0)
    for e in range(cuts.end_start[c], cuts.end_start[c + 1]):
        side[cuts.end_record[e]] = UNKNOWN
    return size


@unrefcounted_inlined
def _list_set(
    masses: Floats,
    pairs: PairLists,
    cuts: Cuts,
    u: int,
    inside: Bool,
    columns: I32,
    entries: Floats,
    size: int,
) -> int:
    """List the entries of the sizes of one set; `inside` (n,) is False."""
    m = len(pairs.first)
    for e in range(cuts.set_start[u], cuts.set_start[u + 1]):
        inside[cuts.member[e]] = True
    for e in range(cuts.set_start[u], cuts.set_start[u + 1]):
        i = cuts.member[e]
        size = _add(columns, entries, size, m + i, -masses[i])
        for f in range(pairs.start[i], pairs.start[i + 1]):
            if not inside[pairs.other[f]]:
                size = _add(columns, entries, size, pairs.number[f], masses[i])
    for e in range(cuts.set_start[u], cuts.set_start[u + 1]):
        inside[cuts.member[e]] = False
    return size
