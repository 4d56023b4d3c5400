"""Compiled halving along axes, near records, and sums of distances. Imports numba."""

import numpy as np

from aggopt.core.compiled import compiled, inlined, inner
from aggopt.core.kernels import FIRST, SECOND, STEP, draw_share
from aggopt.core.types import F32, U64, Bool, Floats, Labels

SAMPLE = 1024  # records that determine an axis, at most


@compiled
def arrange_rows(rows: Floats, ids: Labels, leaf: int, turns: int, seed: int) -> None:
    """Halve rows (m, d) in place until parts have `leaf` rows; reorder ids (m,) too."""
    parts = [(0, len(ids))]
    while parts:
        start, stop = parts.pop()
        if stop - start > leaf:
            middle = start + (stop - start) // 2
            halve_rows(rows[start:stop], ids[start:stop], turns, seed)
            parts.append((start, middle))
            parts.append((middle, stop))


@compiled
def halve_rows(rows: Floats, ids: Labels, turns: int, seed: int) -> None:
    """Move the lower half of rows (m, d) along an axis to the front, ids (m,) too.

    The axis is random, with a preference for directions of large spread, and turned
    `turns` times towards the principal axis. Among records with equal coordinates on
    it, the first ones move down first, so that copies are halved, too.
    """
    axis = _choose_axis(rows, turns, _seed_random_state(seed, ids[0], len(ids)))
    along = np.empty(len(rows))
    for i in range(len(rows)):
        along[i] = _compute_product(rows[i], axis)
    _exchange_halves(rows, ids, _find_lower(along))


@inner
def _find_lower(along: Floats) -> Bool:
    """Return which records are in the lower half along an axis: len // 2 of them."""
    half = len(along) // 2
    middle = np.partition(along, half)[half]
    ties = half - np.sum(along < middle)
    lower: Bool = along < middle
    for i in range(len(along)):
        if ties > 0 and along[i] == middle:
            lower[i] = True
            ties -= 1
    return lower


@inner
def _exchange_halves(rows: Floats, ids: Labels, lower: Bool) -> None:
    """Exchange rows until those marked `lower` are first."""
    half = len(ids) // 2
    high = half
    for i in range(half):
        if not lower[i]:
            while not lower[high]:
                high += 1
            ids[i], ids[high] = ids[high], ids[i]
            for t in range(rows.shape[1]):
                rows[i, t], rows[high, t] = rows[high, t], rows[i, t]
            high += 1


@inner
def _choose_axis(rows: Floats, turns: int, random_state: U64) -> Floats:
    """Return a random axis, turned by power iterations to the principal axis."""
    stride = (len(rows) + SAMPLE - 1) // SAMPLE
    sample = rows[::stride].copy()
    for t in range(sample.shape[1]):
        sample[:, t] -= sample[:, t].mean()
    weights = np.empty(len(sample))
    for i in range(len(weights)):
        weights[i] = 2.0 * draw_share(random_state) - 1.0
    axis = _sum_rows(sample, weights)
    for _ in range(turns):
        for i in range(len(weights)):
            weights[i] = _compute_product(sample[i], axis)
        axis = _sum_rows(sample, weights)
    return axis


@inner
def _sum_rows(sample: Floats, weights: Floats) -> Floats:
    """Return the weighted sum of the rows, scaled to a largest entry of 1."""
    total = np.zeros(sample.shape[1])
    for i in range(len(weights)):
        for t in range(len(total)):
            total[t] += weights[i] * sample[i, t]
    largest = np.abs(total).max()
    if largest > 0:
        total /= largest
    return total


@inlined
def _compute_product(a: Floats, b: Floats) -> float:
    """Return the inner product of two vectors."""
    total = 0.0
    for t in range(len(b)):
        total += a[t] * b[t]
    return total


@inlined
def _seed_random_state(seed: int, first: int, count: int) -> U64:
    """Return a random state from the seed and a part's first record and size."""
    random_state = np.empty(1, np.uint64)
    random_state[0] = np.uint64(seed) * FIRST + np.uint64(first) * SECOND
    random_state[0] += np.uint64(count) * STEP
    return random_state


SURE = 200.0  # times the rounding: a distance in single precision is right to 1 %
LAST = 2.0**-23  # rounding of 1 in single precision
COPIES = 2  # records at one distance in a list: they are probably equal


@compiled
def insert_nearest_of_part(rows: Floats, ids: Labels, near: Labels, apart: F32) -> None:
    """Insert the rows (m, d) of one part into each other's lists of nearest records.

    near (n, c) are the nearest records so far, nearest first, and apart (n, c) their
    squared distances; the rows of the records `ids` (m,) are updated.
    """
    columns = _centre_rows(rows)
    gaps = np.empty(len(ids), np.float32)
    unsure = _limit_precision(columns)
    for i in range(len(ids)):
        _measure_distances(columns, i, gaps)
        _merge_nearest(gaps, unsure, rows, i, ids, near[ids[i]], apart[ids[i]])


@inner
def _centre_rows(rows: Floats) -> F32:
    """Return the rows less their first one, transposed to (d, m)."""
    columns = np.empty((rows.shape[1], rows.shape[0]), np.float32)
    for i in range(len(rows)):
        for t in range(rows.shape[1]):
            columns[t, i] = rows[i, t] - rows[0, t]
    return columns


@inner
def _limit_precision(columns: F32) -> np.float32:
    """Return the squared distance below which single precision is too inexact.

    This happens if a part contains records far apart, such as codes among values.
    """
    farthest = 0.0
    for column in columns:
        farthest = max(farthest, np.abs(column).max())
    return np.float32(len(columns) * (SURE * LAST * farthest) ** 2)


@inner
def _measure_exactly(rows: Floats, i: int, j: int) -> np.float32:
    """Return the squared distance of rows i and j, summed in double precision."""
    total = 0.0
    for t in range(rows.shape[1]):
        gap = rows[i, t] - rows[j, t]
        total += gap * gap
    return np.float32(total)


@inner
def _measure_distances(columns: F32, i: int, gaps: F32) -> None:
    """Set gaps (m,) to the squared distances from record i, inf to itself."""
    gaps[:] = 0.0
    for t in range(len(columns)):
        row = columns[t]
        x = columns[t, i]
        for j in range(len(gaps)):
            gap = row[j] - x
            gaps[j] += gap * gap
    gaps[i] = np.inf


@inner
def _merge_nearest(
    gaps: F32,
    unsure: np.float32,
    rows: Floats,
    i: int,
    ids: Labels,
    near: Labels,
    apart: F32,
) -> None:
    """Insert nearer records into record i's list of the nearest, each once.

    Lists full of copies of one record would give a search no other candidates.
    """
    last = len(near) - 1
    for j in range(len(gaps)):
        if gaps[j] < unsure:
            gaps[j] = _measure_exactly(rows, i, j)
        if gaps[j] < apart[last] and not _is_listed(near, ids[j]):
            at = last
            while at > 0 and apart[at - 1] > gaps[j]:
                at -= 1
            if at >= COPIES and apart[at - COPIES] == gaps[j]:
                continue
            for z in range(last, at, -1):
                near[z] = near[z - 1]
                apart[z] = apart[z - 1]
            near[at] = ids[j]
            apart[at] = gaps[j]


@inner
def _is_listed(near: Labels, record: int) -> bool:
    """Whether a record is in a list of near records."""
    for other in near:  # noqa: SIM110  (kernels know no any())
        if other == record:
            return True
    return False
