"""Groups that change record by record, and what a change does to their EMD and SSE.

Compiled; importing this imports numba: do so late.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from aggopt.arrays import Floats, Labels
from aggopt.compiled import compiled, inlined
from aggopt.privacy._emd_kernels import between, numerator

Ints = npt.NDArray[np.int64]


class Table(NamedTuple):
    """What does not change: records, their bins, how large a numerator may be.

    Z (n, d); place (n,); sums (m + 1,) and first (n + 1,) as in `Ordered`; limits
    (n + 1,) by size; k.
    """

    Z: Floats
    place: Ints
    sums: Ints
    first: Ints
    limits: Ints
    k: int


class Groups(NamedTuple):
    """Groups 0..m-1: their members, in the order of their bins, and sums of those.

    Group g has the records who[start[g] : start[g] + size[g]], in bins `at`, and room
    up to start[g + 1]; `total` (m, d) is the sum of their z-scores, `num` (m,) the
    numerator of its EMD.
    """

    label: Labels
    size: Ints
    start: Ints
    who: Ints
    at: Ints
    total: Floats
    num: Ints


@compiled
def if_swapped(table: Table, groups: Groups, g: int, out: int, into: int) -> int:
    """Return the numerator of group g with a record of bin `out` changed for `into`.

    The count of members changes by one in the bins from one to the other only.
    """
    low, high = min(out, into), max(out, into)
    step = 1 if into < out else -1
    s, i = groups.size[g], groups.start[g]
    base, end, n = i, i + s, len(table.place)
    while i < end and groups.at[i] <= low:
        i += 1
    num, a = groups.num[g], low
    while a < high:
        b = high
        if i < end and groups.at[i] < high:
            b = groups.at[i]
        r = i - base
        if a < b:
            num += between(r + step, s, a, b, n, table.sums, table.first)
            num -= between(r, s, a, b, n, table.sums, table.first)
        a = b
        i += 1
    return int(num)


@compiled
def if_without(table: Table, groups: Groups, g: int, out: int, room: Ints) -> int:
    """Return the numerator of group g less a record of bin `out`."""
    s, base = groups.size[g], groups.start[g]
    gone = np.searchsorted(groups.at[base : base + s], out)
    for i in range(s - 1):
        room[i] = groups.at[base + i + (i >= gone)]
    return numerator(room[: s - 1], len(table.place), table.sums, table.first)


@compiled
def if_with(table: Table, groups: Groups, g: int, into: int, room: Ints) -> int:
    """Return the numerator of group g and a record of bin `into`."""
    s, base = groups.size[g], groups.start[g]
    new = np.searchsorted(groups.at[base : base + s], into)
    for i in range(s):
        room[i + (i >= new)] = groups.at[base + i]
    room[new] = into
    return numerator(room[: s + 1], len(table.place), table.sums, table.first)


@inlined
def swap_gain(table: Table, groups: Groups, a: int, b: int) -> float:
    """Return by how much SSE changes when records a and b change groups."""
    g, h = groups.label[a], groups.label[b]
    change = 0.0
    for q in range(table.Z.shape[1]):
        step = table.Z[b, q] - table.Z[a, q]
        change -= (2 * groups.total[g, q] * step + step * step) / groups.size[g]
        change += (2 * groups.total[h, q] * step - step * step) / groups.size[h]
    return change


@inlined
def move_gain(table: Table, groups: Groups, a: int, h: int) -> float:
    """Return by how much SSE changes when record a moves to group h."""
    g = groups.label[a]
    s, r = groups.size[g], groups.size[h]
    change = 0.0
    for q in range(table.Z.shape[1]):
        z, one, other = table.Z[a, q], groups.total[g, q], groups.total[h, q]
        change += one * one / s - (one - z) ** 2 / (s - 1)
        change += other * other / r - (other + z) ** 2 / (r + 1)
    return change


@compiled
def take_out(table: Table, groups: Groups, a: int) -> None:
    """Take record a out of its group, whose numerator is left as it was."""
    g = groups.label[a]
    base = groups.start[g]
    end = base + groups.size[g]
    i = base + np.searchsorted(groups.at[base:end], table.place[a])
    while groups.who[i] != a:
        i += 1
    for j in range(i, end - 1):
        groups.who[j], groups.at[j] = groups.who[j + 1], groups.at[j + 1]
    groups.size[g] -= 1
    for q in range(table.Z.shape[1]):
        groups.total[g, q] -= table.Z[a, q]


@compiled
def put_in(table: Table, groups: Groups, a: int, g: int) -> None:
    """Put record a, taken out before, into group g, which has room."""
    base = groups.start[g]
    end = base + groups.size[g]
    i = base + np.searchsorted(groups.at[base:end], table.place[a])
    for j in range(end, i, -1):
        groups.who[j], groups.at[j] = groups.who[j - 1], groups.at[j - 1]
    groups.who[i], groups.at[i] = a, table.place[a]
    groups.label[a] = g
    groups.size[g] += 1
    for q in range(table.Z.shape[1]):
        groups.total[g, q] += table.Z[a, q]
