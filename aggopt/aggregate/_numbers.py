"""The records that an aggregation of numbers takes."""

import numpy.typing as npt

from aggopt.core.validation import Floats, check_matrix
from aggopt.encoding import Encoded
from aggopt.errors import JobError


def numbers(X: npt.ArrayLike) -> Floats:
    """Return records as a float matrix (n, d); raises as `matrix`.

    Raises
    ------
    JobError
        They are encoded: means of coordinates are not values of attributes.
    """
    if isinstance(X, Encoded):
        raise JobError(
            "X is encoded, and its coordinates are no values that can be published.",
            fix='pass the numbers as they are, people[["age", "income"]]; of a '
            'category aggopt.aggregate.plurality takes X.attribute("sex").',
        )
    return check_matrix(X)
