"""Records seen along the directions in which they differ most.

A few such directions, and how long the rest of a record is, bound its distances nearly
as well as all attributes do.
"""

from typing import NamedTuple

import numpy as np

from aggopt.core.types import F32
from aggopt.core.validation import Floats

ROWS = 12  # summed side by side, so that their number is fixed
SAMPLE = 4000  # records that tell the directions, about


class Axes(NamedTuple):
    """A view of records.

    Attributes
    ----------
    origin : (d,)
        A point amid the records: a few far ones do not draw it away.
    turned : (ROWS, d)
        Orthogonal directions of length 1, at most ROWS - 1.  What follows are zeros,
        the last of which stands for the rest.
    """

    origin: Floats
    turned: Floats

    def __repr__(self) -> str:
        """Tell of how many attributes, and nothing of the records."""
        return f"Axes({len(self.origin)} attributes)"


def of(records: Floats) -> Axes:
    """Return the axes that suit records in columns, (d, m)."""
    some = records[:, :: -(-records.shape[1] // SAMPLE)]
    origin = np.median(some, axis=1)
    gaps = some - origin[:, None]
    length = np.sqrt((gaps**2).sum(axis=0))
    gaps /= np.where(length > 0, length, 1)  # each counts the same, however far
    _, vectors = np.linalg.eigh(gaps @ gaps.T)  # the largest share comes last
    turned = np.zeros((ROWS, len(some)))
    turned[: min(ROWS - 1, len(some))] = vectors.T[::-1][: ROWS - 1]
    return Axes(origin, turned)


def images(axes: Axes, records: Floats) -> F32:
    """Return what axes show of records in columns (d, m): (ROWS, m)."""
    gaps = records - axes.origin[:, None]
    found = axes.turned @ gaps
    rest = (gaps**2).sum(axis=0) - (found**2).sum(axis=0)
    found[-1] = np.sqrt(np.maximum(rest, 0.0))
    return found.astype(np.float32)
