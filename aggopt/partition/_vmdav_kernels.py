"""Compiled loops of V-MDAV over a pool. Importing this imports numba: do so late."""

import numpy as np

from aggopt.core.compiled import compiled, inner
from aggopt.core.types import I64
from aggopt.core.validation import Floats
from aggopt.partition._unassigned_kernels import (
    add_to_sums,
    find_farthest,
    measure_columns,
    measure_from_centroid,
    swap,
    take_nearest,
)
from aggopt.partition._unassigned_state import GROUPS, UNASSIGNED, Pool


@compiled
def take_growing_groups(
    pool: Pool, k: int, gamma2: float, outermost: I64, turns: int
) -> None:
    """Take groups of k to 2k - 1 for `turns` turns, while k records have none.

    With `outermost` (n,) a group begins at the first of them that has no group; with an
    empty array, at the record farthest from the centroid of those without.
    """
    nearest = np.empty(k, np.int64)
    near = np.empty(len(pool.ids))
    for _ in range(turns):
        if pool.counts[UNASSIGNED] < k:
            return
        measure_columns(
            pool, 1.0, pool.records[:, _choose_seed(pool, outermost)].copy()
        )
        take_nearest(pool, nearest)
        _grow_group(pool, near, k, gamma2)


@inner
def _choose_seed(pool: Pool, outermost: I64) -> int:
    """Return the column around which the next group is built, -1 if none is left."""
    if not len(outermost):
        measure_from_centroid(pool)
        return find_farthest(pool)
    for i in outermost:
        if pool.labels[i] < 0:
            return find_column(pool, i)
    return -1


@inner
def find_column(pool: Pool, record: int) -> int:
    """Return the column of a record."""
    column = 0
    while pool.ids[column] != record:
        column += 1
    return column


@inner
def _grow_group(pool: Pool, near: Floats, k: int, gamma2: float) -> None:
    """Add records that are nearer to the group than to others, up to 2k - 1."""
    begin = pool.counts[UNASSIGNED]
    size = k
    near[:begin] = np.inf
    for column in range(begin, begin + k):
        update_nearness(pool, near, column)
    while size < 2 * k - 1 and pool.counts[UNASSIGNED] > 0:
        j = find_nearest_column(near[: pool.counts[UNASSIGNED]], pool.ids)
        gap = near[j]
        if not gap < gamma2 * measure_gap(pool, j):
            return
        join_group(pool, near, j, pool.counts[GROUPS] - 1)
        update_nearness(pool, near, pool.counts[UNASSIGNED])
        size += 1


@inner
def update_nearness(pool: Pool, near: Floats, column: int) -> None:
    """Update near[j], the distance to the nearest member, for a column that joined."""
    measure_columns(pool, 1.0, pool.records[:, column].copy())
    for j in range(pool.counts[UNASSIGNED]):
        near[j] = min(near[j], pool.distances[j])


@inner
def find_nearest_column(near: Floats, ids: I64) -> int:
    """Return the nearest of some columns; among equals, the one first in X."""
    best = 0
    for j in range(1, len(near)):
        if near[j] <= near[best] and (near[j] < near[best] or ids[j] < ids[best]):
            best = j
    return best


@inner
def measure_gap(pool: Pool, column: int) -> float:
    """Return the least distance from a column to the others; inf if none is left."""
    measure_columns(pool, 1.0, pool.records[:, column].copy())
    pool.distances[column] = np.inf
    return float(pool.distances[: pool.counts[UNASSIGNED]].min())


@inner
def join_group(pool: Pool, near: Floats, column: int, group: int) -> None:
    """Assign a column to a group; it becomes the first column with a group."""
    pool.labels[pool.ids[column]] = group
    add_to_sums(pool, column, -1)
    pool.counts[UNASSIGNED] -= 1
    swap(pool, column, pool.counts[UNASSIGNED])
    near[column] = near[pool.counts[UNASSIGNED]]
