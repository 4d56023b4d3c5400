"""Equality of two results or of two jobs.

A dataclass that holds arrays cannot leave this to Python, which takes the truth value
of a comparison of arrays.  That truth value does not exist.
"""

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np


class EqualByField:
    """Equal if of one class and equal field by field: for results that hold arrays.

    Missing numbers (nan) at equal positions are equal.  Times are fields too: a result
    equals its copy, but equals the result of another run only if that took as long.
    """

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return are_equal(vars(self), vars(other))

    def __hash__(self) -> int:
        """Return a number from the class and the shapes: few are ever in one set."""
        parts = vars(self).values()
        shapes = [part.shape for part in parts if isinstance(part, np.ndarray)]
        return hash((type(self), *shapes))


def are_equal(one: Any, other: Any) -> bool:
    """Return whether two values are equal, arrays and nan among them.

    Examples
    --------
    >>> are_equal({"a": np.array([1.0, np.nan])}, {"a": np.array([1.0, np.nan])})
    True
    """
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return one.shape == other.shape and _have_equal_entries(one, other)
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(
            are_equal(one[n], other[n]) for n in one
        )
    if isinstance(one, list | tuple) and type(one) is type(other):
        return len(one) == len(other) and all(map(are_equal, one, other))
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return False
    if isinstance(one, float) and isinstance(other, float) and one != one:
        return other != other
    return bool(one == other)


def _have_equal_entries(one: Any, other: Any) -> bool:
    floats = one.dtype.kind in "fc" and other.dtype.kind in "fc"
    return bool(np.array_equal(one, other, equal_nan=floats))


def to_hashable(value: Any) -> Hashable:
    """Return nested maps, lists and tuples as frozensets and tuples, to be compared.

    Maps and lists become sets of pairs and tuples.

    Examples
    --------
    >>> to_hashable({"a": [1], "b": 2}) == to_hashable({"b": 2, "a": (1,)})
    True
    """
    if isinstance(value, Mapping):
        return frozenset((name, to_hashable(inner)) for name, inner in value.items())
    if isinstance(value, list | tuple):
        return tuple(map(to_hashable, value))
    hashable: Hashable = value
    return hashable
