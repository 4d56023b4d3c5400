"""Compiled loops over a filter (`Screen`).  Importing this imports numba: do so late.

A coordinate within [-1, 1] loses 2^-25 at most, so that a distance loses sqrt(rows)
2^-24, and rounding adds to it (rows + 4) 2^-24 times itself; twice that is allowed.
"""

import numpy as np

from aggopt.core.compiled import inlined, inner
from aggopt.core.kernels import copy_into
from aggopt.core.types import F32, Floats
from aggopt.partition._screened_distances import BLOCK, PART, ROWS, Screen

TILE = 8 * BLOCK  # distances that stay in the nearest cache while they are summed
LOSS = 2.0**-23
LARGEST = np.float32(np.finfo(np.float32).max)  # finite distance
INFINITE = np.int32(0x7F800000)  # the bits of inf; those of numbers >= 0 ascend


@inner
def fill_screen(screen: Screen, records: Floats, count: int) -> None:
    """Put the first `count` columns of records (d, n) into the distance filter."""
    coordinates = screen.coordinates
    for t in range(len(records)):
        copy_into(coordinates[t, :count], records[t, :count])
    width = -(-count // BLOCK) * BLOCK
    coordinates[0, count:width] = np.inf


@inner
def measure_screen(screen: Screen, count: int) -> None:
    """Compute approximate distances of the first `count` points, and blocks' bounds."""
    coordinates = screen.coordinates
    point = np.zeros(len(screen.coordinates), np.float32)
    for t in range(len(screen.point)):
        point[t] = screen.point[t] / screen.factor[0]
    width = -(-count // BLOCK) * BLOCK
    for start in range(0, width, TILE):
        stop = min(start + TILE, width)
        near = screen.near[start:stop]
        near[:] = np.float32(0.0)
        for t in range(0, len(coordinates), ROWS):
            a = coordinates[t, start:stop]
            b = coordinates[t + 1, start:stop]
            c = coordinates[t + 2, start:stop]
            d = coordinates[t + 3, start:stop]
            p = point[t]
            q = point[t + 1]
            r = point[t + 2]
            s = point[t + 3]
            for j in range(len(near)):
                e = a[j] - p
                f = b[j] - q
                g = c[j] - r
                h = d[j] - s
                near[j] += (e * e + f * f) + (g * g + h * h)
    _bound_blocks(screen, width // BLOCK)


@inner
def _bound_blocks(screen: Screen, blocks: int) -> None:
    """Set the lowest and the largest approximate distance of each block of points."""
    bits = screen.near.view(np.int32)
    low = screen.low.view(np.int32)
    high = screen.high.view(np.int32)
    for b in range(blocks):
        some = bits[b * BLOCK : (b + 1) * BLOCK]
        lowest = INFINITE
        highest = np.int32(0)
        for j in range(BLOCK):
            v = some[j]
            lowest = min(lowest, v)
            highest = max(highest, v if v < INFINITE else np.int32(0))
        low[b] = lowest
        high[b] = highest


@inlined
def find_next(
    screen: Screen, at: int, end: int, low: np.float32, high: np.float32
) -> int:
    """Return the first column of at..end-1 with a distance in low..high, or `end`."""
    near = screen.near
    result = end
    while at < result:
        block = at // BLOCK
        start = at // PART * PART
        if screen.low[block] > high or screen.high[block] < low:
            at = (block + 1) * BLOCK
        else:
            if _has_candidate(near, start, low, high):
                stop = min(start + PART, end)
                while at < stop and not low <= near[at] <= high:
                    at += 1
                result = at if at < stop else end
            at = start + PART
    return result


@inlined
def _has_candidate(near: F32, start: int, low: np.float32, high: np.float32) -> bool:
    """Whether any of a few approximate distances from `start` on is within bounds."""
    some = near[start : start + PART]
    hits = 0
    for j in range(PART):
        hits += (some[j] >= low) & (some[j] <= high)
    return hits > 0


@inlined
def measure_exactly(screen: Screen, records: Floats, column: int) -> float:
    """Return the squared distance of a record, times factor^2, in double precision."""
    total = 0.0
    factor = screen.factor[0]
    for t in range(len(records)):
        gap = factor * records[t, column] - screen.point[t]
        total += gap * gap
    return total


@inlined
def compute_upper_limit(screen: Screen, distance: float) -> np.float32:
    """Return the largest approximate distance that a point within `distance` has."""
    rows = len(screen.coordinates)
    root = np.sqrt(distance) / screen.factor[0]
    root = root * (1.0 + (rows + 8) * LOSS) + np.sqrt(rows) * LOSS
    return np.float32(root * root)


@inlined
def compute_lower_limit(screen: Screen, distance: float) -> np.float32:
    """Return the least approximate distance that a point beyond `distance` has."""
    rows = len(screen.coordinates)
    root = np.sqrt(distance) / screen.factor[0]
    root = max(root * (1.0 - (rows + 8) * LOSS) - np.sqrt(rows) * LOSS, 0.0)
    return np.float32(root * root)
