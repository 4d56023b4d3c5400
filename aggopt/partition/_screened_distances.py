"""Filter in single precision that avoids most distances in double precision."""

from typing import NamedTuple

import numpy as np

from aggopt.core.types import F32, Floats

BLOCK = 64  # points that share a bound: most blocks contain no candidate
PART = 16  # of a block, tested at once
ROWS = 4  # attributes that are summed at once


class Screen(NamedTuple):
    """Points within [-1, 1], and their approximate distances from one point.

    The errors of its squared distances are bounded: a search restricted to points that
    `kernels.compute_lower_limit` and `compute_upper_limit` allow finds exactly the
    points of a full search, tie for tie.

    Attributes
    ----------
    coordinates : (rows, width)
        Attribute by attribute, filled up with 0; inf for missing points.
    point : (d,)
        Point from which distances are measured, in units of 1 / `factor`.
    factor : (1,)
        As above.
    near : (width,)
        Squared distance of each point, in units of 1; inf for missing points.
    low, high : (width / BLOCK,)
        Least of a block, and an upper bound of its finite distances.
    """

    coordinates: F32
    point: Floats
    factor: Floats
    near: F32
    low: F32
    high: F32

    def __repr__(self) -> str:
        """Return the number of points, without values."""
        return f"Screen({self.coordinates.shape[1]} points)"


def create_screen(d: int, n: int) -> Screen:
    """Return an empty distance filter for n points of d attributes."""
    rows = -(-d // ROWS) * ROWS
    blocks = -(-n // BLOCK)
    coordinates = np.zeros((rows, blocks * BLOCK), np.float32)
    coordinates[0] = np.inf
    return Screen(
        coordinates,
        point=np.zeros(d),
        factor=np.ones(1),
        near=np.full(blocks * BLOCK, np.inf, np.float32),
        low=np.full(blocks, np.inf, np.float32),
        high=np.zeros(blocks, np.float32),
    )
