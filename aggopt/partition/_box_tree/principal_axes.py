"""Principal axes: the directions in which records differ most.

A few directions, and the length of each record's remainder, bound its distances nearly
as well as all attributes do.

A few such directions, and how long the rest of a record is, bound its distances nearly
as well as all attributes do.
"""

from typing import NamedTuple

import numpy as np

from aggopt.core.types import F32
from aggopt.core.validation import Floats

ROWS = 12  # summed in parallel, so that their number is fixed
SAMPLE = 4000  # records that determine the directions, roughly


class Axes(NamedTuple):
    """Axes on which records are projected.

    Attributes
    ----------
    origin : (d,)
        Central point of the records, robust to a few far ones.
    directions : (ROWS, d)
        Orthogonal directions of length 1, at most ROWS - 1, then zeros; the last row
        represents the remainder.
    """

    origin: Floats
    directions: Floats

    def __repr__(self) -> str:
        """Return the number of attributes, without values."""
        return f"Axes({len(self.origin)} attributes)"


def fit_axes(records: Floats) -> Axes:
    """Return the principal axes of records in columns, (d, m)."""
    some = records[:, :: -(-records.shape[1] // SAMPLE)]
    origin = np.median(some, axis=1)
    gaps = some - origin[:, None]
    length = np.sqrt((gaps**2).sum(axis=0))
    gaps /= np.where(length > 0, length, 1)  # each has equal weight, however far
    _, vectors = np.linalg.eigh(gaps @ gaps.T)  # in ascending order of their share
    directions = np.zeros((ROWS, len(some)))
    directions[: min(ROWS - 1, len(some))] = vectors.T[::-1][: ROWS - 1]
    return Axes(origin, directions)


def project_records(axes: Axes, records: Floats) -> F32:
    """Return the projections of records in columns (d, m): (ROWS, m)."""
    gaps = records - axes.origin[:, None]
    projected = axes.directions @ gaps
    rest = (gaps**2).sum(axis=0) - (projected**2).sum(axis=0)
    projected[-1] = np.sqrt(np.maximum(rest, 0.0))
    return projected.astype(np.float32)
