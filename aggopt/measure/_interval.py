"""Which values lie within an interval about others, of these and by chance."""

from numbers import Real

import numpy as np

from aggopt.core.types import F64, Bool
from aggopt.errors import JobError
from aggopt.measure._pair import TOLERANCE


def checked_safety(safety: object) -> float:
    """Return half the width of an interval as a float, or refuse it."""
    if isinstance(safety, bool) or not isinstance(safety, Real):
        raise JobError(
            f"safety must be a number, not {type(safety).__name__}.",
            fix="pass a share of the standard deviation, such as safety=0.05.",
        )
    share = float(safety)
    if not 0 <= share < np.inf:
        raise JobError(
            f"safety = {share:g} is not a finite number of at least 0.",
            fix="pass a share of the standard deviation, such as safety=0.05.",
        )
    return share


def within(distances: F64, width: float) -> Bool:
    """Return which distances are at most the width, up to rounding.

    >>> within(np.array([0.5, 1.0, 1.5]), 1.0)
    array([ True,  True, False])
    """
    return np.asarray(distances <= width * (1 + TOLERANCE))


def pairs_within(x: F64, y: F64, width: float) -> int:
    """Return how many pairs of an x (n,) and a y (m,) are at most the width apart.

    >>> pairs_within(np.array([0.0, 2.0]), np.array([0.0, 1.0, 9.0]), 1.0)
    3
    """
    there, reach = np.sort(y), width * (1 + TOLERANCE)
    upto = np.searchsorted(there, x + reach, side="right")
    return int((upto - np.searchsorted(there, x - reach, side="left")).sum())
