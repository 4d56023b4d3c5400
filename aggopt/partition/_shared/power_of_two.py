"""Values scaled into [-1, 1] by a power of two, exactly."""

import numpy as np

from aggopt.core.validation import Floats


def within_one(records: Floats) -> tuple[Floats, int]:
    """Return records / 2^exponent, in [-1, 1], and the exponent.

    Then squares neither overflow nor vanish.
    """
    exponent = exponent_of(records)
    return np.ldexp(records, -exponent), exponent


def without_constants(records: Floats) -> Floats:
    """Return records with 0 for attributes of one value, which no distance sees.

    Large ones would leave nothing of the others within [-1, 1].
    """
    return np.where((records == records[0]).all(axis=0), 0.0, records)


def exponent_of(records: Floats) -> int:
    """Return the least exponent with |records| <= 2^exponent."""
    return int(np.frexp(np.abs(records).max())[1])


def squared_back(squares: float, exponent: int) -> float:
    """Return a sum of squares of such records in the units that they had."""
    with np.errstate(over="ignore", under="ignore"):
        return float(np.ldexp(squares, 2 * exponent))
