"""Confidential numbers in their exact order, and the neighbours of each."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from aggopt.core.columns import REFUSE, Entries, list_plain_entries, map_attributes
from aggopt.core.types import I64
from aggopt.errors import TableError

Near = tuple[I64, I64]  # of each value, the first and the last one near it


@dataclass(frozen=True, eq=False)
class Numbers:
    """The distinct numbers of one attribute of n records, in their order.

    Attributes
    ----------
    values
        The distinct values (m,), ascending, as the numbers that they are written as.
    place : (n,)
        Index of the number of each record.
    """

    values: tuple[Fraction, ...] = field(repr=False)
    place: I64 = field(repr=False)

    @classmethod
    def of(cls, distinct: Sequence[Any], which: I64) -> "Numbers":
        """Return numbers (m,); `which` (n,) contains the index of each record's number.

        A float counts as the decimal that it is written as.

        Raises
        ------
        TableError
            The values are not numbers, or not finite.

        Examples
        --------
        >>> Numbers.of([0.3, 1, 0.1], np.array([0, 2, 1])).place
        array([1, 0, 2])
        """
        exact = [
            number for number in map(_read_fraction, distinct) if number is not None
        ]
        unfit = len(distinct) - len(exact)
        if unfit:
            raise TableError(
                f"{unfit} of {len(distinct)} distinct confidential values are no "
                "finite numbers, of which alone it can be said how near they are.",
                fix="recode them as numbers (a date as days since a day), or remove "
                "those records.",
            )
        order = sorted(set(exact))
        rank = {value: j for j, value in enumerate(order)}
        places = np.array([rank[value] for value in exact], np.int64)
        return cls(tuple(order), places[which])

    def near(self, epsilon: Fraction, *, relative: bool) -> Near:
        """Return the first and the last value within epsilon of each, (m,) both.

        Near v are values y with |y - v| <= epsilon, or with |y - v| <= epsilon |v| if
        `relative`; decided exactly.
        """
        m = len(self.values)
        first = np.empty(m, np.int64)
        last = np.empty(m, np.int64)
        for j, value in enumerate(self.values):
            reach = epsilon * abs(value) if relative else epsilon
            first[j] = bisect_left(self.values, value - reach)
            last[j] = bisect_right(self.values, value + reach) - 1
        return first, last


def read_exact_numbers(confidential: Any, n: int) -> list[tuple[str, Numbers]]:
    """Return the numbers of each confidential attribute, by name.

    Raises
    ------
    TableError
        Not one finite number per record.
    """

    def make_numbers(values: Entries, codes: I64) -> Numbers:
        distinct = list_plain_entries(values[np.unique(codes, return_index=True)[1]])
        return Numbers.of(distinct, codes)

    return map_attributes(confidential, n, REFUSE, make_numbers)


def _read_fraction(value: Any) -> Fraction | None:
    number = value.item() if isinstance(value, np.generic) else value
    if isinstance(number, bool) or not isinstance(number, int | float | Decimal):
        return None
    try:
        return Fraction(repr(number) if isinstance(number, float) else number)
    except (OverflowError, ValueError):  # infinite
        return None
