"""Compiled loops of diverse V-MDAV over a pool. Importing this imports numba."""

import numpy as np

from aggopt.core.compiled import compiled, inner
from aggopt.core.types import I64
from aggopt.core.validation import Floats
from aggopt.partition._unassigned_kernels import is_nearer, measure_columns
from aggopt.partition._unassigned_state import GROUPS, UNASSIGNED, Pool
from aggopt.partition._vmdav_kernels import (
    find_column,
    find_nearest_column,
    join_group,
    measure_gap,
    update_nearness,
)

TIE = 1e-12  # entropies nearer than this are equal: far above rounding


@inner
def compute_diversity(counts: I64, entropy: bool) -> float:
    """Return the number of levels present, or the entropy of their shares."""
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
    """Return the diversity of a group with one more value."""
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
    """Take groups for `turns` turns; return whether another one can be tried.

    `wanted` is k, l, the required diversity, and whether it is an entropy; `how` is
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
        _grow_group(pool, levels, group_counts, near, wanted, growth)
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
    """Join the nearest records that add diversity, then up to k that preserve it."""
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
def _grow_group(
    pool: Pool,
    levels: I64,
    group_counts: I64,
    near: Floats,
    wanted: tuple[int, int, float, bool],
    growth: tuple[float, int],
) -> None:
    """Add near records, up to one less than twice the smallest size."""
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
    """Return the nearest eligible column among the few nearest, or -1."""
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
