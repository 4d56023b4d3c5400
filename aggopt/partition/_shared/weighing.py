"""Sampling weights as methods take them: of mean 1, or none where all are equal."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from aggopt.core.validation import Floats
from aggopt.core.weights import each_weight
from aggopt.errors import TableError
from aggopt.partition._shared.power_of_two import exponent_of

WIDEST = 1e6  # times the smallest weight: a search must see what the lightest changes


class Weighing(NamedTuple):
    """Weights of records (n,) of mean 1, None where all are equal, and their unit.

    What is lost by weights as they were given is `unit` times what is lost by these.
    """

    of: Floats | None
    unit: float

    @classmethod
    def read(cls, weights: npt.ArrayLike | None, n: int) -> "Weighing":
        """Return the weights of n records.

        Raises
        ------
        TableError
            There is not one number above 0 for each record, one is missing or infinite,
            or one is more than a million times another.

        Examples
        --------
        >>> Weighing.read([1.0, 3.0], 2)
        Weighing(of=array([0.5, 1.5]), unit=2.0)
        >>> Weighing.read([3.0, 3.0], 2)
        Weighing(of=None, unit=3.0)
        """
        if weights is None:
            return NONE
        given = each_weight(weights, n)
        if not given.max() / WIDEST <= given.min():
            raise TableError(
                f"The largest of {n} weights is more than {WIDEST:g} times the "
                "smallest.",
                fix="cap the largest weights: beside them, others count for nothing.",
            )
        if np.ptp(given) == 0:
            return cls(None, float(given[0]))
        power = exponent_of(given)
        small = np.ldexp(given, -power)  # a sum of them does not overflow
        mean = float(small.mean())
        with np.errstate(over="ignore"):
            return cls(small / mean, float(np.ldexp(mean, power)))


NONE = Weighing(None, 1.0)
