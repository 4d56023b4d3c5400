"""Numbers of any type in their order, exactly."""

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from math import inf
from numbers import Real
from typing import Any

import numpy as np

from aggopt.core.types import I64
from aggopt.errors import TableError


def rank_numbers(distinct: Sequence[Any]) -> I64:
    """Return the rank of each of some different numbers (m,), 0..m-1.

    Raises
    ------
    TableError
        The values are not numbers, or not finite.

    Examples
    --------
    >>> rank_numbers([10**30, Decimal("0.1"), 10**30 - 1])
    array([2, 0, 1])
    """
    words = sum(not isinstance(value, Real | Decimal) for value in distinct)
    if words:
        raise make_unordered_error(
            f"{words} of {len(distinct)} distinct values are no numbers"
        )
    exact = [_read_comparable(value) for value in distinct]
    endless = exact.count(None)
    if endless:
        raise TableError(
            f"{endless} of {len(distinct)} distinct confidential values are infinite.",
            fix="remove those records, or set the values to a finite number.",
        )
    rank = np.empty(len(exact), np.int64)
    rank[sorted(range(len(exact)), key=exact.__getitem__)] = np.arange(len(exact))
    return rank


def make_unordered_error(shown: str) -> TableError:
    """Return the refusal of values that have no order of their own."""
    return TableError(
        f"{shown}, which have no order that could be relied on.",
        fix='say the order, order=["low", "high"], or choose distance="equal" or '
        '"hierarchical"; or recode it as numbers in the order that is meant '
        "(a date as days since a day).",
    )


def _read_comparable(value: Any) -> Any:
    """Return a number that is compared with the others exactly; None if infinite."""
    number = value.item() if isinstance(value, np.generic) else value
    if isinstance(number, int | float):  # which Python compares so, and fast
        return number if abs(number) < inf else None
    try:
        return Fraction(number)
    except (OverflowError, ValueError):  # infinite
        return None
