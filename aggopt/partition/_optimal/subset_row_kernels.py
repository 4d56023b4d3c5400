"""Compiled separation of subset-row cuts.  Importing this imports numba: do so late.

Columns (q, w) are groups of a fractional choice, their records numbered 0..r-1, then
-1; `share` (q,) is the chosen share of each.
"""

import numpy as np

from aggopt.core.array_kernels import copy_into, put_in_order
from aggopt.core.compiled import compiled, inner
from aggopt.core.types import I32, I64
from aggopt.core.validation import Floats

BROKEN = 1e-4  # least violation of a cut


@compiled
def together(columns: I32, share: Floats, pairs: Floats) -> None:
    """Write the joint share of two records into pairs (r, r)."""
    pairs[:] = 0.0
    for q in range(len(columns)):
        for a in columns[q]:
            for b in columns[q]:
                if a >= 0 and b >= 0 and a != b:
                    pairs[a, b] += share[q]


@compiled
def triples(
    columns: I32,
    share: Floats,
    pairs: Floats,
    first: I64,
    holding: I64,
    found: I32,
    broken: Floats,
) -> int:
    """Find violated cuts of three records, with their violation; return their number.

    They are written into found (room, 3) and broken (room,) while room is left. Columns
    with record i are holding[first[i] : first[i + 1]].
    """
    count, r = 0, len(pairs)
    for a in range(r):
        beside = np.flatnonzero(pairs[a, a + 1 :] > 0) + a + 1
        for y in range(len(beside)):
            b = beside[y]
            for c in beside[y + 1 :]:
                total = pairs[a, b] + pairs[a, c] + pairs[b, c]
                if pairs[b, c] <= 0 or total <= 1 + BROKEN:
                    continue
                three = np.array([a, b, c], np.int32)
                held = _halves(columns, share, three, first, holding)
                if held > 1 + BROKEN:
                    if count < len(found):
                        copy_into(found[count], three)
                        broken[count] = held - 1
                    count += 1
    return count


@compiled
def quintuples(
    columns: I32,
    share: Floats,
    pairs: Floats,
    first: I64,
    holding: I64,
    found: I32,
    broken: Floats,
) -> int:
    """Find violated cuts of five records likewise, grown from three by one each."""
    count = 0
    held = np.zeros(len(columns), np.int64)
    gain = np.zeros(len(pairs))
    for a in range(len(pairs)):
        beside = np.flatnonzero(pairs[a] > 0)
        for b in beside:
            for c in beside:
                if a < b and b < c:
                    five = np.array([a, b, c, -1, -1], np.int32)
                    most = _grow(columns, share, first, holding, five, held, gain)
                    if most > 2 + BROKEN:
                        if count < len(found):
                            put_in_order(five)
                            copy_into(found[count], five)
                            broken[count] = most - 2
                        count += 1
    return count


@inner
def _grow(
    columns: I32,
    share: Floats,
    first: I64,
    holding: I64,
    five: I32,
    held: I64,
    gain: Floats,
) -> float:
    """Fill in the last two of five records; return the left side of the cut."""
    for i in five[:3]:
        for q in holding[first[i] : first[i + 1]]:
            held[q] += 1
    size = 3
    while size < 5:
        best = _best_next(columns, share, first, holding, five[:size], held, gain)
        if best < 0:
            break
        five[size] = best
        for q in holding[first[best] : first[best + 1]]:
            held[q] += 1
        size += 1
    total = 0.0
    for i in five[:size]:
        for q in holding[first[i] : first[i + 1]]:
            total += held[q] // 2 * share[q]
            held[q] = 0
    return total if size == 5 else 0.0


@inner
def _best_next(
    columns: I32,
    share: Floats,
    first: I64,
    holding: I64,
    chosen: I32,
    held: I64,
    gain: Floats,
) -> int:
    """Return the record with the largest joint share; as a fifth, by halves."""
    best, most, last = -1, 0.0, len(chosen) == 4
    for i in chosen:
        for q in holding[first[i] : first[i + 1]]:
            # a column occurs once for each chosen record in it
            more = share[q] if not last else share[q] * (held[q] % 2) / held[q]
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
                if gain[j] > most or (gain[j] == most and j < best):
                    best, most = j, gain[j]
    for i in chosen:
        for q in holding[first[i] : first[i + 1]]:
            for j in columns[q]:
                if j >= 0:
                    gain[j] = 0.0
    return best


@inner
def _halves(
    columns: I32, share: Floats, chosen: I32, first: I64, holding: I64
) -> float:
    """Return the left side of the cut of the chosen records."""
    total = 0.0
    for y in range(len(chosen)):
        i = chosen[y]
        for q in holding[first[i] : first[i + 1]]:
            held, before = 0, False
            for j in columns[q]:
                for z in range(len(chosen)):
                    if j == chosen[z]:
                        held += 1
                        before |= z < y
            if not before:
                total += held // 2 * share[q]
    return total
