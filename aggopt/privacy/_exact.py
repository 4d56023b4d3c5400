"""Confidential numbers in their exact order, and which lie near which."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from aggopt.core.section import Finite
from aggopt.core.types import I64
from aggopt.core.validation import is_number
from aggopt.errors import JobError, TableError
from aggopt.privacy._columns import Entries, plain
from aggopt.privacy._distance import written
from aggopt.privacy._values import REFUSE, each

Epsilon = Annotated[Finite, Field(ge=0)] | dict[str, Annotated[Finite, Field(ge=0)]]
Near = tuple[I64, I64]  # of each value, the first and the last one near it


@dataclass(frozen=True, eq=False)
class Numbers:
    """The distinct numbers of one attribute of n records, in their order.

    Attributes
    ----------
    values
        The distinct values (m,), ascending, as the numbers that they are written as.
    place : (n,)
        Which of them each record has.
    """

    values: tuple[Fraction, ...] = field(repr=False)
    place: I64 = field(repr=False)

    @classmethod
    def of(cls, distinct: Sequence[Any], which: I64) -> "Numbers":
        """Return numbers (m,), of which the records have those that `which` (n,) says.

        A float counts as the decimal that it is written as.

        Raises
        ------
        TableError
            They are no numbers, or not finite.

        Examples
        --------
        >>> Numbers.of([0.3, 1, 0.1], np.array([0, 2, 1])).place
        array([1, 0, 2])
        """
        exact = [number for number in map(_exact, distinct) if number is not None]
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

        Of v: those y with |y - v| <= epsilon, or with |y - v| <= epsilon |v| if that
        is relative; decided exactly.
        """
        m = len(self.values)
        first, last = np.empty(m, np.int64), np.empty(m, np.int64)
        for j, value in enumerate(self.values):
            reach = epsilon * abs(value) if relative else epsilon
            first[j] = bisect_left(self.values, value - reach)
            last[j] = bisect_right(self.values, value + reach) - 1
        return first, last


def near_counts(numbers: Numbers, near: Near, records: I64, starts: I64) -> I64:
    """Return for each of the records how many of its group lie near it, itself too."""
    m, sizes = len(numbers.values), np.diff(starts)
    group = np.repeat(np.arange(len(sizes)), sizes)
    place = numbers.place[records]
    keys = np.sort(group * m + place)
    before = np.searchsorted(keys, group * m + near[0][place])
    until = np.searchsorted(keys, group * m + near[1][place], side="right")
    return np.asarray(until - before, np.int64)


def crowd(numbers: Numbers, near: Near) -> int:
    """Return how many records lie in one range of which all lie near each other.

    The range begins at a value and ends where what is near it does, farther from 0.
    Of whichever of its records are in a group, all are near the one nearest to 0.
    """
    below = np.concatenate(([0], np.cumsum(np.bincount(numbers.place))))
    own = np.arange(len(numbers.values))
    away = np.array([value >= 0 for value in numbers.values])
    up, down = below[near[1] + 1] - below[own], below[own + 1] - below[near[0]]
    return int(np.where(away, up, down).max())


def epsilon_of(epsilon: object) -> Fraction:
    """Return an epsilon exactly; a float counts as the decimal that it is written as.

    Raises
    ------
    JobError
        It is no number of 0 or more.
    """
    exact = written(epsilon) if is_number(epsilon) else Fraction(-1)
    if exact < 0:
        seen = epsilon if is_number(epsilon) else type(epsilon).__name__
        raise JobError(
            f"epsilon is {seen}.",
            fix="pass how far apart values still count as near, a number of 0 or more.",
        )
    return exact


def _exact(value: Any) -> Fraction | None:
    number = value.item() if isinstance(value, np.generic) else value
    if isinstance(number, bool) or not isinstance(number, int | float | Decimal):
        return None
    try:
        return Fraction(repr(number) if isinstance(number, float) else number)
    except (OverflowError, ValueError):  # infinite
        return None


def of_attribute(epsilon: float | dict[str, float], name: str, key: str) -> Fraction:
    """Return the epsilon of one attribute.

    Raises
    ------
    JobError
        Epsilons are named by attribute, and this one has none.
    """
    if not isinstance(epsilon, dict):
        return epsilon_of(epsilon)
    if name not in epsilon:
        raise JobError(
            f"[privacy] {key} names no epsilon for this attribute.",
            fix=f"add it: epsilon = {{ {name} = 5 }}, in its own units.",
        )
    return epsilon_of(epsilon[name])


def numbers_of(confidential: Any, n: int) -> list[tuple[str, Numbers]]:
    """Return the numbers of each confidential attribute, by name.

    Raises
    ------
    TableError
        Not one finite number per record.
    """

    def made(values: Entries, codes: I64) -> Numbers:
        distinct = plain(values[np.unique(codes, return_index=True)[1]])
        return Numbers.of(distinct, codes)

    return each(confidential, n, REFUSE, made)
