"""Compiled loops of diverse V-MDAV over a pool. Importing this imports numba."""

import numpy as np

from aggopt.core.compiled import compiled, inner
from aggopt.core.types import I64
from aggopt.core.validation import Floats
from aggopt.partition._unassigned.kernels import measure, nearer
from aggopt.partition._unassigned.pool import GROUPS, UNASSIGNED, Pool
from aggopt.partition._vmdav.kernels import (
    column_of,
    come_near,
    gap_to_others,
    join,
    nearest_of,
)

TIE = 1e-12  # entropies nearer than this are equal: far above rounding


@inner
def diversity(counts: I64, entropy: bool) -> float:
    """Return the number of levels present, or the entropy of their shares."""
    size, total, present = counts.sum(), 0.0, 0
    for c in counts:
        if c > 0:
            present += 1
            total += c * np.log(c)
    if not entropy or size == 0:
        return float(present)
    return float(np.log(size) - total / size)


@inner
def _with(counts: I64, level: int, entropy: bool) -> float:
    """Return the diversity of a group with one more value."""
    counts[level] += 1
    found = diversity(counts, entropy)
    counts[level] -= 1
    return found


@compiled
def take_diverse(
    pool: Pool,
    levels: I64,
    outermost: I64,
    wanted: tuple[int, int, float, bool],
    how: tuple[float, int],
    turns: int,
) -> bool:
    """Take groups for `turns` turns; return whether another one can be tried.

    `wanted` is k, l, the required diversity, and whether it is an entropy; `how` is
    gamma squared, and the number of nearest records that may join.
    """
    near, left = np.empty(len(pool.who)), np.zeros(levels.max() + 1, np.int64)
    for j in range(pool.counts[UNASSIGNED]):
        left[levels[pool.who[j]]] += 1
    for _ in range(turns):
        k, l, enough, entropy = wanted  # noqa: E741
        if pool.counts[UNASSIGNED] < k or (left > 0).sum() < l:
            return False
        if diversity(left, entropy) < enough - TIE:
            return False
        own = np.zeros(len(left), np.int64)
        if not _take_core(pool, levels, own, outermost, near, wanted):
            return False
        _grow(pool, levels, own, near, wanted, how)
        left -= own
        pool.counts[GROUPS] += 1
    return True


@inner
def _take_core(
    pool: Pool,
    levels: I64,
    own: I64,
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
    m, chosen = pool.counts[UNASSIGNED], [seed]
    own[levels[seed]] += 1
    column = column_of(pool, seed)
    measure(pool, 1.0, pool.records[:, column].copy())
    pool.distances[column] = np.inf
    while len(chosen) < k or diversity(own, entropy) < enough - TIE:
        best, now = -1, diversity(own, entropy)
        for j in range(m):
            if pool.distances[j] == np.inf or not (best < 0 or nearer(pool, j, best)):
                continue
            then = _with(own, levels[pool.who[j]], entropy)
            if then > now + TIE if now < enough - TIE else then >= enough - TIE:
                best = j
        if best < 0:
            return False
        chosen.append(pool.who[best])
        own[levels[pool.who[best]]] += 1
        pool.distances[best] = np.inf
    near[:m] = np.inf
    for i in chosen:
        join(pool, near, column_of(pool, i), pool.counts[GROUPS])
    for column in range(pool.counts[UNASSIGNED], pool.counts[UNASSIGNED] + len(chosen)):
        come_near(pool, near, column)
    return True


@inner
def _grow(
    pool: Pool,
    levels: I64,
    own: I64,
    near: Floats,
    wanted: tuple[int, int, float, bool],
    how: tuple[float, int],
) -> None:
    """Add near records, up to one less than twice the smallest size."""
    size, entropy = own.sum(), wanted[3]
    while size < 2 * wanted[0] - 1 and pool.counts[UNASSIGNED] > 1:
        j = _next_member(pool, levels, own, near, entropy, how)
        if j < 0:
            return
        own[levels[pool.who[j]]] += 1
        join(pool, near, j, pool.counts[GROUPS])
        come_near(pool, near, pool.counts[UNASSIGNED])
        size += 1


@inner
def _next_member(
    pool: Pool,
    levels: I64,
    own: I64,
    near: Floats,
    entropy: bool,
    how: tuple[float, int],
) -> int:
    """Return the nearest eligible column among the few nearest, or -1."""
    gamma2, few = how
    now, looked_at = diversity(own, entropy), near[: pool.counts[UNASSIGNED]].copy()
    for _ in range(min(few, len(looked_at))):
        j = nearest_of(looked_at, pool.who)
        looked_at[j] = np.inf
        if _with(own, levels[pool.who[j]], entropy) < now - TIE:
            continue
        if near[j] < gamma2 * gap_to_others(pool, j):
            return j
    return -1
