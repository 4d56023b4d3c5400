"""Swaps and moves of records between t-close groups that stay so.

Compiled; importing this imports numba: do so late.
"""

import numpy as np

from aggopt.arrays import Floats, Labels
from aggopt.compiled import compiled
from aggopt.repair._group_kernels import (
    Groups,
    Ints,
    Table,
    if_swapped,
    if_with,
    if_without,
    move_gain,
    put_in,
    swap_gain,
    take_out,
)

LEAST = 1e-9  # gains below are taken for rounding


@compiled
def swap(table: Table, groups: Groups, a: int, b: int) -> bool:
    """Swap records a and b if both groups stay t-close; return whether it was done."""
    g, h = groups.label[a], groups.label[b]
    out, into = table.place[a], table.place[b]
    one = if_swapped(table, groups, g, out, into)
    if one > table.limits[groups.size[g]]:
        return False
    other = if_swapped(table, groups, h, into, out)
    if other > table.limits[groups.size[h]]:
        return False
    take_out(table, groups, a)
    take_out(table, groups, b)
    put_in(table, groups, a, h)
    put_in(table, groups, b, g)
    groups.num[g], groups.num[h] = one, other
    return True


@compiled
def move(table: Table, groups: Groups, a: int, h: int, room: Ints) -> bool:
    """Move record a to group h if both stay t-close and large enough; likewise."""
    g = groups.label[a]
    s, r = groups.size[g], groups.size[h]
    if s <= table.k or groups.start[h] + r == groups.start[h + 1]:
        return False
    one = if_without(table, groups, g, table.place[a], room)
    if one > table.limits[s - 1]:
        return False
    other = if_with(table, groups, h, table.place[a], room)
    if other > table.limits[r + 1]:
        return False
    take_out(table, groups, a)
    put_in(table, groups, a, h)
    groups.num[g], groups.num[h] = one, other
    return True


@compiled
def improve(table: Table, groups: Groups, records: Labels, near: Labels) -> int:
    """Return how many swaps and moves of these records improved SSE; they are done.

    near (n, c) are the groups that a record may change with; all for c = 0.
    """
    done, room = 0, np.empty(len(table.place) + 1, np.int64)
    everywhere = near.shape[1] == 0
    count = len(groups.size) if everywhere else near.shape[1]
    for a in records:
        for c in range(count):
            h = c if everywhere else near[a, c]
            if h != groups.label[a]:
                done += _swap_with_group(table, groups, a, h)
        for c in range(count):
            h = c if everywhere else near[a, c]
            if h == groups.label[a] or groups.size[groups.label[a]] <= table.k:
                continue
            if move_gain(table, groups, a, h) < -LEAST:
                done += move(table, groups, a, h, room)
    return done


@compiled
def _swap_with_group(table: Table, groups: Groups, a: int, h: int) -> int:
    base = groups.start[h]
    for i in range(base, base + groups.size[h]):
        b = groups.who[i]
        if swap_gain(table, groups, a, b) < -LEAST and swap(table, groups, a, b):
            return 1
    return 0


@compiled
def anneal(
    table: Table,
    groups: Groups,
    proposals: tuple[Labels, Labels, Floats, Floats],
    heat: Floats,
) -> float:
    """Return by how much SSE changed by these proposals, taken at random.

    A proposal (a, b, kind, luck), each (p,): swap a with b, or for kind of .8 and more
    move a to the group of b.  One that makes SSE worse by x is taken when luck is
    below exp(-x / heat).
    """
    changed, room = 0.0, np.empty(len(table.place) + 1, np.int64)
    one, other, kind, luck = proposals
    for i in range(len(one)):
        a, b = one[i], other[i]
        h = groups.label[b]
        if groups.label[a] == h:
            continue
        if kind[i] < 0.8:
            gain = swap_gain(table, groups, a, b)
            if luck[i] < np.exp(-gain / heat[i]) and swap(table, groups, a, b):
                changed += gain
        elif groups.size[groups.label[a]] > table.k:
            gain = move_gain(table, groups, a, h)
            if luck[i] < np.exp(-gain / heat[i]) and move(table, groups, a, h, room):
                changed += gain
    return changed
