"""When two results or two jobs are the same."""

from collections.abc import Hashable, Mapping
from typing import Any


def hashable(value: Any) -> Hashable:
    """Return what can be hashed, and is equal for equal values.

    Maps and lists become sets of pairs and tuples.

    Examples
    --------
    >>> hashable({"a": [1], "b": 2}) == hashable({"b": 2, "a": (1,)})
    True
    """
    if isinstance(value, Mapping):
        return frozenset((name, hashable(inner)) for name, inner in value.items())
    if isinstance(value, list | tuple):
        return tuple(map(hashable, value))
    kept: Hashable = value
    return kept
