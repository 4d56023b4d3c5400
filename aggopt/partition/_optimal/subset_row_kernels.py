"""Compiled separation of subset-row cuts.  Importing this imports numba: do so late.

Columns (q, w) are groups of a fractional choice, their records numbered 0..r-1, then
-1; `share` (q,) is the chosen share of each.
"""

import numpy as np

from aggopt.core.compiled import compiled, inner
from aggopt.core.kernels import copy_into, sort_in_place
from aggopt.core.types import I32, I64, Floats

BROKEN = 1e-4  # least violation of a cut


@compiled
def fill_pair_shares(columns: I32, share: Floats, pairs: Floats) -> None:
    """Write the total share of groups with both records to pairs (r, r)."""
    pairs[:] = 0.0
    for q in range(len(columns)):
        for a in columns[q]:
            for b in columns[q]:
                if a >= 0 and b >= 0 and a != b:
                    pairs[a, b] += share[q]


@compiled
def find_triples(
    columns: I32,
    share: Floats,
    pairs: Floats,
    first: I64,
    holding: I64,
    cuts: I32,
    broken: Floats,
) -> int:
    """Find violated cuts of three records, and violations; return their number.

    They are written into cuts (room, 3) and broken (room,) while room is left. Columns
    with record i are holding[first[i] : first[i + 1]].
    """
    count = 0
    r = len(pairs)
    for a in range(r):
        partners = np.flatnonzero(pairs[a, a + 1 :] > 0) + a + 1
        for y in range(len(partners)):
            b = partners[y]
            for c in partners[y + 1 :]:
                total = pairs[a, b] + pairs[a, c] + pairs[b, c]
                if pairs[b, c] <= 0 or total <= 1 + BROKEN:
                    continue
                three = np.array([a, b, c], np.int32)
                left_side = _sum_halves(columns, share, three, first, holding)
                if left_side > 1 + BROKEN:
                    if count < len(cuts):
                        copy_into(cuts[count], three)
                        broken[count] = left_side - 1
                    count += 1
    return count


@compiled
def find_quintuples(
    columns: I32,
    share: Floats,
    pairs: Floats,
    first: I64,
    holding: I64,
    cuts: I32,
    broken: Floats,
) -> int:
    """Find violated cuts of five records, grown from triples; return their number."""
    count = 0
    counts = np.zeros(len(columns), np.int64)
    gain = np.zeros(len(pairs))
    for a in range(len(pairs)):
        partners = np.flatnonzero(pairs[a] > 0)
        for b in partners:
            for c in partners:
                if a < b and b < c:
                    five = np.array([a, b, c, -1, -1], np.int32)
                    left_side = _grow_cut(
                        columns, share, first, holding, five, counts, gain
                    )
                    if left_side > 2 + BROKEN:
                        if count < len(cuts):
                            sort_in_place(five)
                            copy_into(cuts[count], five)
                            broken[count] = left_side - 2
                        count += 1
    return count


@inner
def _grow_cut(
    columns: I32,
    share: Floats,
    first: I64,
    holding: I64,
    five: I32,
    counts: I64,
    gain: Floats,
) -> float:
    """Choose the last two of five records; return the left side of their cut."""
    for i in five[:3]:
        for q in holding[first[i] : first[i + 1]]:
            counts[q] += 1
    size = 3
    while size < 5:
        best = _find_next_record(
            columns, share, first, holding, five[:size], counts, gain
        )
        if best < 0:
            break
        five[size] = best
        for q in holding[first[best] : first[best + 1]]:
            counts[q] += 1
        size += 1
    total = 0.0
    for i in five[:size]:
        for q in holding[first[i] : first[i + 1]]:
            total += counts[q] // 2 * share[q]
            counts[q] = 0
    return total if size == 5 else 0.0


@inner
def _find_next_record(
    columns: I32,
    share: Floats,
    first: I64,
    holding: I64,
    chosen: I32,
    counts: I64,
    gain: Floats,
) -> int:
    """Return the record whose groups share most with those of the chosen ones."""
    best = -1
    highest = 0.0
    last = len(chosen) == 4
    for i in chosen:
        for q in holding[first[i] : first[i + 1]]:
            # a column occurs once for each chosen record in it
            more = share[q] if not last else share[q] * (counts[q] % 2) / counts[q]
            for j in columns[q]:
                if j >= 0:
                    gain[j] += more
    for i in chosen:
        gain[i] = -1.0
    for i in chosen:
        for q in holding[first[i] : first[i + 1]]:
            for j in columns[q]:
                if j < 0:
                    continue
                if gain[j] > highest or (gain[j] == highest and j < best):
                    best = j
                    highest = gain[j]
    for i in chosen:
        for q in holding[first[i] : first[i + 1]]:
            for j in columns[q]:
                if j >= 0:
                    gain[j] = 0.0
    return best


@inner
def _sum_halves(
    columns: I32, share: Floats, chosen: I32, first: I64, holding: I64
) -> float:
    """Return the left side of a cut: shares times half the chosen records in groups."""
    total = 0.0
    for y in range(len(chosen)):
        i = chosen[y]
        for q in holding[first[i] : first[i + 1]]:
            count = 0
            before = False
            for j in columns[q]:
                for z in range(len(chosen)):
                    if j == chosen[z]:
                        count += 1
                        before |= z < y
            if not before:
                total += count // 2 * share[q]
    return total
