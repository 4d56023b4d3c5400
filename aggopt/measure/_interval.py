"""Values within an interval about others, for linked records and by chance."""

from numbers import Real

import numpy as np

from aggopt.core.types import F64, I64, Bool, Labels
from aggopt.errors import JobError
from aggopt.measure._pair import TOLERANCE


def check_safety(safety: object) -> float:
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


def is_within(distances: F64, width: float | F64) -> Bool:
    """Whether each distance is at most the width, up to rounding.

    >>> is_within(np.array([0.5, 1.0, 1.5]), 1.0)
    array([ True,  True, False])
    """
    return np.asarray(distances <= width * (1 + TOLERANCE))


def compute_chance_within(
    x: F64, y: F64, width: float, classes: Labels | None = None
) -> float:
    """Return the mean over x_i of the share of y_j, in its class, within `width`.

    The mean over all x and, for each, all y; with the classes (n,) of records, all y of
    its class.

    >>> x, y = np.array([0.0, 2.0]), np.array([0.0, 1.0])
    >>> classes = np.array([0, 1])
    >>> compute_chance_within(x, y, 1.0), compute_chance_within(x, y, 1.0, classes)
    (0.75, 1.0)
    """
    reach = width * (1 + TOLERANCE)
    if classes is None:
        in_order = np.sort(y)
        upto = np.searchsorted(in_order, x + reach, side="right")
        near = upto - np.searchsorted(in_order, x - reach, side="left")
        return float(near.sum() / len(x) ** 2)
    above = _count_before(y, x + reach, classes, after_equal=True)
    near = above - _count_before(y, x - reach, classes, after_equal=False)
    return float((near / np.bincount(classes)[classes]).mean())


def _count_before(y: F64, x: F64, classes: Labels, *, after_equal: bool) -> I64:
    """Return the number of y (n,) before each of x (n,), by class and then value."""
    is_x = np.repeat([False, True], len(y))
    tie = is_x if after_equal else ~is_x
    order = np.lexsort((tie, np.concatenate([y, x]), np.tile(classes, 2)))
    before = np.cumsum(~is_x[order])
    places = np.empty(2 * len(y), np.int64)
    places[order] = before
    return places[len(y) :]
