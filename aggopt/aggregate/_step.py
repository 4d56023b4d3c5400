"""The step of an attribute: the distance between its possible values.

Ages are whole, and incomes are rounded to 500 or to a cent: no value is between two
multiples.  An original known to within less than a step is therefore known.
"""

import math
from collections.abc import Iterator

import numpy as np

from aggopt.core.validation import Floats, Labels

MOST = 0.9  # of the values: a few that were not rounded hide nothing of the others
NEAR = 0.05  # of a step: thirds written as .333, cents as 32-bit floats
FINEST = 1e12  # steps: beyond this number, floats cannot show whether it is whole


def step_of(x: Floats, least: float = 0.0) -> float:
    """Return the distance of possible values of an attribute x (n,), in its unit.

    The largest of 1, 2 and 5 times a power of ten whose multiples contain nine in ten
    values, without zeros.  Or, if larger, the smallest gap between two values, provided
    that nine in ten are a whole number of these gaps from the least: scores, sixths,
    pounds in kilograms.  0 if no step of at least `least` exists, and if all values are
    equal.  A step never exceeds the range.

    Examples
    --------
    >>> step_of(np.array([1500.0, 0.0, 2000.0, 4500.0, 1e6]))
    500.0
    >>> step_of(np.array([1e9 + 1, 1e9 + 4, 1e9 + 9]))
    1.0
    >>> step_of(np.array([0.1, 0.25, 0.37]))
    0.01
    >>> round(step_of(np.array([0.0, 1 / 3, 2 / 3, 1.0])), 3)
    0.333
    """
    values, counts = np.unique(x, return_counts=True)
    width = float(values[-1] - values[0])
    if width == 0:
        return 0.0
    gap = float(np.diff(values).min())
    even = gap if _whole((values - values[0]) / gap, counts) else 0.0
    finest = max(least, even, float(np.abs(values).max()) / FINEST)
    some = values != 0
    for step in _round_numbers(width, finest):
        if _whole(values[some] / step, counts[some]):
            return step
    return even if even >= least else 0.0


def _round_numbers(most: float, least: float) -> Iterator[float]:
    """Yield 5, 2 and 1 times each power of ten from `most` down to `least`."""
    for power in range(math.floor(math.log10(most)), -308, -1):
        for digit in (5, 2, 1):
            step = float(f"{digit}e{power}")
            if step < least:
                return
            if step <= most:
                yield step


def _whole(times: Floats, counts: Labels) -> bool:
    """Whether most of these multiples (u,) of a step are near whole numbers."""
    if np.abs(times).max() > 2 * FINEST:
        return False
    near = np.abs(times - np.rint(times)) <= NEAR * np.minimum(np.abs(times), 1)
    return bool(counts[near].sum() >= MOST * counts.sum())
