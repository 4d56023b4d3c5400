"""Levels of a confidential number: what l-diversity counts in place of values."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from aggopt.core.types import I64
from aggopt.errors import JobError


def assign_levels(
    numbers: npt.NDArray[np.generic],
    levels: int | Sequence[float],
    counts: I64 | None = None,
) -> I64:
    """Return the level of each number (n,), 0..m-1, none empty.

    `counts` (n,) is the number of records with each number; without it, 1 each.

    A whole number requests that many levels of equally many records each.  Equal
    numbers share a level, so that the result may have fewer levels.  Otherwise `levels`
    are the ascending values at which a level ends and the next begins.

    Raises
    ------
    JobError
        Fewer than two levels are requested, or the values do not ascend.

    Examples
    --------
    >>> assign_levels(np.array([1, 2, 2, 2, 9, 9]), 2)
    array([0, 0, 0, 0, 1, 1])
    >>> assign_levels(np.array([1, 2, 2, 2, 9, 9]), [2, 5])
    array([0, 1, 1, 1, 2, 2])
    """
    if isinstance(levels, int):
        if levels < 2:
            raise _make_levels_error(f"levels = {levels} leaves only one level.")
        filled = fill_equally(numbers, levels, counts)
    else:
        ends = np.asarray(levels, dtype=float)
        if not ends.size or not (np.isfinite(ends).all() and (np.diff(ends) > 0).all()):
            raise _make_levels_error("The values at which levels end do not ascend.")
        filled = np.searchsorted(ends, numbers.astype(float), side="right")
    return np.unique(filled, return_inverse=True)[1].astype(np.int64)


def fill_equally(
    numbers: npt.NDArray[np.generic], levels: int, counts: I64 | None = None
) -> I64:
    """Return the level (n,) of each number; equal ones share it, some may be empty."""
    place = np.unique(numbers, return_inverse=True)[1]
    count = np.bincount(place, counts).astype(np.int64)
    n = int(count.sum())
    levels = min(levels, n)  # of more, none but these could be filled
    level = (np.cumsum(count) - count) * levels // n
    return np.asarray(level[place])


def _make_levels_error(problem: str) -> JobError:
    """Return the error of invalid levels."""
    return JobError(
        problem,
        fix="ask for a number of levels, such as levels = 20, or name where they end, "
        "lowest first: levels = [1000, 5000].",
    )
