"""Sampling weights: how many of the population each record stands for."""

import numpy as np
import numpy.typing as npt

from aggopt.core.validation import Floats, vector
from aggopt.errors import TableError


def sampling_weights(weights: npt.ArrayLike | None, n: int) -> Floats:
    """Return the weights of n records (n,), each 1 where none are given.

    Raises
    ------
    TableError
        There are not n numbers, or some are missing, infinite, negative or zero.
    """
    if weights is None:
        return np.ones(n)
    found = vector(weights, name="the array of weights")
    if len(found) != n:
        raise TableError(
            f"There are {len(found)} weights, but {n} records.",
            fix="pass one weight per record.",
        )
    wrong = int((found <= 0).sum())
    if wrong:
        raise TableError(
            f"{wrong} of {n} weights are zero or negative.",
            fix="give every record a weight above 0, or remove those records.",
        )
    return found
