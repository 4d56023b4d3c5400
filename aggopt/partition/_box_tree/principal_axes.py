"""Records seen along the directions in which they differ most.

A few such directions, and how long the rest of a record is, bound its distances nearly
as well as all attributes do.
"""

from typing import NamedTuple

import numpy as np

from aggopt.core.types import F32
from aggopt.core.validation import Floats

ROWS = 12  # summed side by side, so that their number is fixed
SAMPLE = 4000  # records that the directions are made from, about


class Axes(NamedTuple):
    """A view of records.

    Attributes
    ----------
    origin : (d,)
        A point amid the records: a few far ones do not draw it away.
    directions : (ROWS, d)
        Orthogonal directions of length 1, at most ROWS - 1.  What follows are zeros,
        the last of which stands for the rest.
    """

    origin: Floats
    directions: Floats

    def __repr__(self) -> str:
        """Return how many attributes there are, without values."""
        return f"Axes({len(self.origin)} attributes)"


def of(records: Floats) -> Axes:
    """Return the axes that suit records in columns, (d, m)."""
    some = records[:, :: -(-records.shape[1] // SAMPLE)]
    origin = np.median(some, axis=1)
    gaps = some - origin[:, None]
    length = np.sqrt((gaps**2).sum(axis=0))
    gaps /= np.where(length > 0, length, 1)  # each counts the same, however far
    _, vectors = np.linalg.eigh(gaps @ gaps.T)  # the largest share comes last
    directions = np.zeros((ROWS, len(some)))
    directions[: min(ROWS - 1, len(some))] = vectors.T[::-1][: ROWS - 1]
    return Axes(origin, directions)


def projections(axes: Axes, records: Floats) -> F32:
    """Return the projections of records in columns (d, m): (ROWS, m)."""
    gaps = records - axes.origin[:, None]
    found = axes.directions @ gaps
    rest = (gaps**2).sum(axis=0) - (found**2).sum(axis=0)
    found[-1] = np.sqrt(np.maximum(rest, 0.0))
    return found.astype(np.float32)
