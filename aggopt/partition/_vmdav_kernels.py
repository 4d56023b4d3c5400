"""Compiled loops of V-MDAV and of diverse V-MDAV. Importing this imports numba."""

import numpy as np

from aggopt.core.compiled import compiled, inner
from aggopt.core.types import I64, Floats
from aggopt.partition._unassigned_kernels import (
    add_to_sums,
    find_farthest,
    is_nearer,
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
    """Make groups of k to 2k - 1 for `turns` turns, while k records are unassigned.

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
    """Return the column of the record that the next group starts from; -1 if none."""
    if not len(outermost):
        measure_from_centroid(pool)
        return find_farthest(pool)
    for i in outermost:
        if pool.labels[i] < 0:
            return find_column(pool, i)
    return -1


@inner
def find_column(pool: Pool, record: int) -> int:
    """Return the column that holds a record."""
    column = 0
    while pool.ids[column] != record:
        column += 1
    return column


@inner
def _grow_group(pool: Pool, near: Floats, k: int, gamma2: float) -> None:
    """Extend the last group by records nearer to it than to others, up to 2k - 1."""
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
    """Update near[j], distances to the nearest member, for a new member's column."""
    measure_columns(pool, 1.0, pool.records[:, column].copy())
    for j in range(pool.counts[UNASSIGNED]):
        near[j] = min(near[j], pool.distances[j])


@inner
def find_nearest_column(near: Floats, ids: I64) -> int:
    """Return the column of the least distance `near`; of equals, the first in X."""
    best = 0
    for j in range(1, len(near)):
        if near[j] <= near[best] and (near[j] < near[best] or ids[j] < ids[best]):
            best = j
    return best


@inner
def measure_gap(pool: Pool, column: int) -> float:
    """Return the least distance of a record to other unassigned ones; inf if none."""
    measure_columns(pool, 1.0, pool.records[:, column].copy())
    pool.distances[column] = np.inf
    return float(pool.distances[: pool.counts[UNASSIGNED]].min())


@inner
def join_group(pool: Pool, near: Floats, column: int, group: int) -> None:
    """Assign the record in a column to a group."""
    pool.labels[pool.ids[column]] = group
    add_to_sums(pool, column, -1)
    pool.counts[UNASSIGNED] -= 1
    swap(pool, column, pool.counts[UNASSIGNED])
    near[column] = near[pool.counts[UNASSIGNED]]


TIE = 1e-12  # entropies nearer than this are equal: far above rounding


@inner
def compute_diversity(counts: I64, entropy: bool) -> float:
    """Return the diversity of level counts: number of levels present, or entropy."""
    size = counts.sum()
    total = 0.0
    present = 0
    for c in counts:
        if c > 0:
            present += 1
            total += c * np.log(c)
    if not entropy or size == 0:
        return float(present)
    return float(np.log(size) - total / size)


@inner
def _compute_joint_diversity(counts: I64, level: int, entropy: bool) -> float:
    """Return the diversity of level counts with one more record of `level`."""
    counts[level] += 1
    value = compute_diversity(counts, entropy)
    counts[level] -= 1
    return value


@compiled
def take_diverse_groups(
    pool: Pool,
    levels: I64,
    outermost: I64,
    wanted: tuple[int, int, float, bool],
    growth: tuple[float, int],
    turns: int,
) -> bool:
    """Make l-diverse groups for `turns` turns; return whether more may be possible.

    `wanted` is k, l, the required diversity, and whether it is an entropy; `growth` is
    gamma squared, and the number of nearest records that may join.
    """
    near = np.empty(len(pool.ids))
    left = np.zeros(levels.max() + 1, np.int64)
    for j in range(pool.counts[UNASSIGNED]):
        left[levels[pool.ids[j]]] += 1
    for _ in range(turns):
        k, l, enough, entropy = wanted  # noqa: E741
        if pool.counts[UNASSIGNED] < k or (left > 0).sum() < l:
            return False
        if compute_diversity(left, entropy) < enough - TIE:
            return False
        group_counts = np.zeros(len(left), np.int64)
        if not _take_core(pool, levels, group_counts, outermost, near, wanted):
            return False
        _grow_diverse_group(pool, levels, group_counts, near, wanted, growth)
        left -= group_counts
        pool.counts[GROUPS] += 1
    return True


@inner
def _take_core(
    pool: Pool,
    levels: I64,
    group_counts: I64,
    outermost: I64,
    near: Floats,
    wanted: tuple[int, int, float, bool],
) -> bool:
    """Make an l-diverse group of k or more near records; return whether one exists."""
    k, _, enough, entropy = wanted
    seed = outermost[0]
    for i in outermost:
        if pool.labels[i] < 0:
            seed = i
            break
    m = pool.counts[UNASSIGNED]
    chosen = [seed]
    group_counts[levels[seed]] += 1
    column = find_column(pool, seed)
    measure_columns(pool, 1.0, pool.records[:, column].copy())
    pool.distances[column] = np.inf
    while len(chosen) < k or compute_diversity(group_counts, entropy) < enough - TIE:
        best = -1
        now = compute_diversity(group_counts, entropy)
        for j in range(m):
            if pool.distances[j] == np.inf or not (
                best < 0 or is_nearer(pool, j, best)
            ):
                continue
            then = _compute_joint_diversity(group_counts, levels[pool.ids[j]], entropy)
            if then > now + TIE if now < enough - TIE else then >= enough - TIE:
                best = j
        if best < 0:
            return False
        chosen.append(pool.ids[best])
        group_counts[levels[pool.ids[best]]] += 1
        pool.distances[best] = np.inf
    near[:m] = np.inf
    for i in chosen:
        join_group(pool, near, find_column(pool, i), pool.counts[GROUPS])
    for column in range(pool.counts[UNASSIGNED], pool.counts[UNASSIGNED] + len(chosen)):
        update_nearness(pool, near, column)
    return True


@inner
def _grow_diverse_group(
    pool: Pool,
    levels: I64,
    group_counts: I64,
    near: Floats,
    wanted: tuple[int, int, float, bool],
    growth: tuple[float, int],
) -> None:
    """Extend a group by near records that preserve diversity, up to 2k - 1."""
    size = group_counts.sum()
    entropy = wanted[3]
    while size < 2 * wanted[0] - 1 and pool.counts[UNASSIGNED] > 1:
        j = _find_next_member(pool, levels, group_counts, near, entropy, growth)
        if j < 0:
            return
        group_counts[levels[pool.ids[j]]] += 1
        join_group(pool, near, j, pool.counts[GROUPS])
        update_nearness(pool, near, pool.counts[UNASSIGNED])
        size += 1


@inner
def _find_next_member(
    pool: Pool,
    levels: I64,
    group_counts: I64,
    near: Floats,
    entropy: bool,
    growth: tuple[float, int],
) -> int:
    """Return the column of the nearest record that may join a group, or -1."""
    gamma2, few = growth
    now = compute_diversity(group_counts, entropy)
    distances = near[: pool.counts[UNASSIGNED]].copy()
    for _ in range(min(few, len(distances))):
        j = find_nearest_column(distances, pool.ids)
        distances[j] = np.inf
        if (
            _compute_joint_diversity(group_counts, levels[pool.ids[j]], entropy)
            < now - TIE
        ):
            continue
        if near[j] < gamma2 * measure_gap(pool, j):
            return j
    return -1
