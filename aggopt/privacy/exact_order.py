"""Confidential numbers in their exact order, and requirements on near ones."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from aggopt.core.columns import REFUSE, Entries, list_plain_entries, map_attributes
from aggopt.core.plural import agree, plural
from aggopt.core.section import Finite
from aggopt.core.types import I64
from aggopt.core.validation import is_number
from aggopt.errors import JobError, TableError
from aggopt.privacy.distance import read_exact_number
from aggopt.privacy.requirement import Requirement

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
                f"{unfit} of {plural(len(distinct), 'distinct confidential value')} "
                f"{agree(unfit, 'is no finite number', 'are no finite numbers')}: only "
                "between these are distances known.",
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
    """Return a value as an exact fraction; None if it is missing."""
    number = value.item() if isinstance(value, np.generic) else value
    if isinstance(number, bool) or not isinstance(number, int | float | Decimal):
        return None
    try:
        return Fraction(repr(number) if isinstance(number, float) else number)
    except (OverflowError, ValueError):  # infinite
        return None


Epsilon = Annotated[
    Annotated[Finite, Field(ge=0)] | dict[str, Annotated[Finite, Field(ge=0)]],
    Field(
        description="write a number of 0 or more, or one for each attribute: epsilon "
        "= { NAME = 5 }."
    ),
]


@dataclass(frozen=True, eq=False)
class NearNumbers(Requirement):
    """Few numbers of a group are near each other.

    A union of groups that satisfy it need not satisfy it.

    Attributes
    ----------
    numbers
        The confidential numbers of the records.
    epsilon
        Largest difference of near numbers.
    """

    additive = False

    attribute: str
    numbers: Numbers = field(repr=False)
    epsilon: Fraction

    @property
    def n(self) -> int:
        """Number of records."""
        return len(self.numbers.place)

    @cached_property
    def near(self) -> Near:
        """Of each distinct number, the first and the last one near it."""
        return self.numbers.near(self.epsilon, relative=False)

    def most_near(self, records: I64, starts: I64) -> I64:
        """Return the most records of each group that are near one of its values."""
        counts = count_near(self.numbers, self.near, records, starts)
        return np.maximum.reduceat(counts, starts[:-1])


def count_near(numbers: Numbers, near: Near, records: I64, starts: I64) -> I64:
    """Return the number of records of its group near each record, itself included."""
    m = len(numbers.values)
    sizes = np.diff(starts)
    group = np.repeat(np.arange(len(sizes)), sizes)
    place = numbers.place[records]
    keys = np.sort(group * m + place)
    before = np.searchsorted(keys, group * m + near[0][place])
    until = np.searchsorted(keys, group * m + near[1][place], side="right")
    return np.asarray(until - before, np.int64)


def count_crowded(numbers: Numbers, near: Near) -> int:
    """Return the largest number of records whose values are all near each other.

    The range extends from a value, away from 0, up to its last near value.  For any
    group, all its records in the range are near the record there that is nearest to 0.
    """
    below = np.concatenate(([0], np.cumsum(np.bincount(numbers.place))))
    positions = np.arange(len(numbers.values))
    away = np.array([value >= 0 for value in numbers.values])
    up = below[near[1] + 1] - below[positions]
    down = below[positions + 1] - below[near[0]]
    return int(np.where(away, up, down).max())


def read_epsilon(epsilon: object) -> Fraction:
    """Return an epsilon exactly; a float counts as the decimal that it is written as.

    Raises
    ------
    JobError
        Epsilon is not a number of 0 or more.
    """
    exact = read_exact_number(epsilon) if is_number(epsilon) else Fraction(-1)
    if exact < 0:
        shown = epsilon if is_number(epsilon) else type(epsilon).__name__
        raise JobError(
            f"epsilon is {shown}.",
            fix="pass how far apart values still count as near, a number of 0 or more.",
        )
    return exact


def select_epsilon(epsilon: float | dict[str, float], name: str, key: str) -> Fraction:
    """Return the epsilon of one attribute.

    Raises
    ------
    JobError
        Epsilons are named by attribute, and this one has none.
    """
    if not isinstance(epsilon, dict):
        return read_epsilon(epsilon)
    if name not in epsilon:
        raise JobError(
            f"[privacy] {key} names no epsilon for this attribute.",
            fix=f"add it: epsilon = {{ {name} = 5 }}, in its own units.",
        )
    return read_epsilon(epsilon[name])


def list_epsilon_attributes(epsilon: float | dict[str, float]) -> tuple[str, ...]:
    """Return the attributes that an epsilon names."""
    return tuple(epsilon) if isinstance(epsilon, dict) else ()
