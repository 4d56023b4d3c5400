"""Which published values are originals, up to rounding."""

import numpy as np
import numpy.typing as npt

from aggopt.arrays import Floats
from aggopt.scale import Scale

GRID = 1e-5  # of a standard deviation: published values are rounded no coarser


def steps(X: Floats) -> Floats:
    """Return how far rounding may move a value of each column of X (n, d), at most."""
    return GRID * Scale.of(X).spread


def near(X: Floats, Y: Floats) -> npt.NDArray[np.bool_]:
    """Return whether Y is X, both (n, d), up to rounding."""
    return np.asarray(np.abs(Y - X) <= steps(X))
