"""Costs that act near an original only, as pieces: a sweep line over t.

Compiled; importing this imports numba: do so late.

Record i adds the quartic add_i to f_j where |t - d_i| < delta_i.  As t ascends, the
sum changes at the events d_i - delta_i and d_i + delta_i only.
"""

from typing import NamedTuple

import numpy as np

from aggopt.core.compiled import compiled, inner
from aggopt.core.kernels import copy_into
from aggopt.core.types import I64, Bool, Floats

NEAR = 1e-12  # standard deviations: events no farther apart are one


class NearRecords(NamedTuple):
    """Costs near records: group (n,), d, delta, add (n, 5), barred (n,).

    No piece is within delta of a barred record.
    """

    group: I64
    d: Floats
    delta: Floats
    add: Floats
    barred: Bool


class Pieces(NamedTuple):
    """Pieces by group, ascending: owner, low, high (p,) and quartic (p, 5)."""

    owner: I64
    low: Floats
    high: Floats
    quartic: Floats


def build_pieces(near: NearRecords, base: Floats) -> Pieces:
    """Return each group's cost as pieces: `base` (m, 5), plus terms near records.

    If one record's interval ends at the point at which another's begins, that point is
    a piece: neither record adds to its cost.  An interval whose ends are one event adds
    nothing.
    """
    low = near.d - near.delta
    high = near.d + near.delta
    some = np.flatnonzero(high - low > NEAR)
    group = np.concatenate([near.group[some]] * 2)
    t = np.concatenate([low[some], high[some]])
    order = np.lexsort((t, group))
    record = np.concatenate([some, some])
    enters = np.arange(len(t)) < len(some)
    first = np.searchsorted(group[order], np.arange(len(base) + 1))
    capacity = 2 * len(t) + len(base)
    pieces = Pieces(
        np.empty(capacity, np.int64),
        np.empty(capacity),
        np.empty(capacity),
        np.empty((capacity, 5)),
    )
    count = _write_pieces(
        first, t[order], record[order], enters[order], near, base, pieces
    )
    return Pieces(
        pieces.owner[:count],
        pieces.low[:count],
        pieces.high[:count],
        pieces.quartic[:count],
    )


@compiled
def _write_pieces(
    first: I64,
    t: Floats,
    record: I64,
    enters: Bool,
    near: NearRecords,
    base: Floats,
    out: Pieces,
) -> int:
    """Write the pieces of all groups to `out`; return their number."""
    count = 0
    for j in range(len(base)):
        now = base[j].copy()
        inside = 0
        bars = 0
        at = -np.inf
        e = first[j]
        while e < first[j + 1]:
            until = e
            while until < first[j + 1] and t[until] - t[e] <= NEAR:
                until += 1
            if bars == 0:
                count = _append_piece(j, at, t[e], now, out, count)
            at = t[e]
            left = 0
            for k in range(e, until):
                if not enters[k]:
                    left += 1
                    bars -= int(near.barred[record[k]])
                    now -= near.add[record[k]]
            inside -= left
            if inside == 0:
                copy_into(now, base[j])  # leaves no rounding behind
            if 0 < left < until - e and bars == 0:
                count = _append_piece(j, at, at, now, out, count)
            for k in range(e, until):
                if enters[k]:
                    inside += 1
                    bars += int(near.barred[record[k]])
                    now += near.add[record[k]]
            e = until
        count = _append_piece(j, at, np.inf, now, out, count)
    return count


@inner
def _append_piece(
    j: int, low: float, high: float, now: Floats, out: Pieces, count: int
) -> int:
    """Append a piece of group j to `out`; return the new count."""
    out.owner[count] = j
    out.low[count] = low
    out.high[count] = high
    out.quartic[count] = now
    return count + 1
