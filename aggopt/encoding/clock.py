"""Dates, times of day and durations as whole numbers of their unit, and back."""

from dataclasses import dataclass, field, replace
from datetime import date
from functools import cache
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import pyarrow as pa

from aggopt.core.types import F64, I64, Bool
from aggopt.core.validation import is_merging_values
from aggopt.errors import TableError

SECOND = 10**9  # in nanoseconds, as all that follows
DAY = 86_400 * SECOND
PARTS = {"s": SECOND, "ms": 10**6, "us": 10**3, "ns": 1}
UNITS = {"days": DAY, "hours": 3600 * SECOND, "minutes": 60 * SECOND} | dict(
    zip(
        ("seconds", "milliseconds", "microseconds", "nanoseconds"),
        PARTS.values(),
        strict=True,
    )
)
YEARS = date.min, date.max  # what ISO 8601 spells in four digits, and Python knows
EPOCH = date(1970, 1, 1)
ONE_TYPE = "make them of one type."


@dataclass(frozen=True, eq=False)
class Moments:
    """Counts of a column of dates, times of day or durations.

    Attributes
    ----------
    counts : (n,)
        Counts in the unit of the type; 0 for missing entries.
    absent : (n,)
        Whether each entry is missing.
    type
        Type in Arrow.
    """

    counts: I64 = field(repr=False)
    absent: Bool = field(repr=False)
    type: pa.DataType

    @classmethod
    def of(cls, series: nw.Series[Any], wanted: pa.DataType | None = None) -> "Moments":
        """Return the moments of a column, in the type `wanted` if given.

        Raises
        ------
        TableError
            The entries are of several types, or cannot be counted in `wanted`.
        """
        try:
            column = series.to_arrow()
            if not pa.types.is_temporal(column.type):
                column = pa.chunked_array([pa.array(series.to_list())])
            counts = np.asarray(column.cast(_find_storage(column.type)).fill_null(0))
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            counts = None  # the original message quotes entries
        if counts is None:
            raise TableError(
                "Dates or times are of several types, or beyond what can be counted.",
                fix="make them of one type first, or numbers such as days since a day.",
            )
        _require_temporal(column.type)
        absent = np.asarray(column.is_null())
        moments = cls(counts.astype(np.int64), absent, column.type)
        return moments if wanted is None else moments.cast(wanted)

    def cast(self, wanted: pa.DataType) -> "Moments":
        """Return the moments counted in the unit of another type, whole numbers only.

        Raises
        ------
        TableError
            The kinds differ: dates and durations, wall times and instants, or hours and
            days; or a count is not whole, or too large, in the new unit.
        """
        unit = count_nanoseconds(self.type)
        other = count_nanoseconds(wanted)
        fits = _find_family(self.type) == _find_family(wanted)
        if fits and unit == other:
            return replace(self, type=wanted)
        times = max(unit // other, 1)
        parts = max(other // unit, 1)
        largest = np.iinfo(np.int64).max // times
        if (
            not fits
            or (self.counts % parts).any()
            or (abs(self.counts) > largest).any()
        ):
            raise TableError(
                f"The values are {self.type}, and in the original {wanted}.",
                fix=ONE_TYPE,
            )
        return replace(self, counts=self.counts * times // parts, type=wanted)

    @property
    def present(self) -> I64:
        """The integer counts of the moments that are not missing."""
        return self.counts[~self.absent]

    @property
    def beyond(self) -> int:
        """Number of dates outside the years 1 to 9999."""
        low, high = get_limits(self.type)
        return int(((self.present < low) | (self.present > high)).sum())


@dataclass(frozen=True)
class Clock:
    """Unit and origin of numbers that represent dates, times of day or durations.

    Attributes
    ----------
    type
        Type in Arrow.
    start
        Count of units that is number 0: the first date; 0 for times of day and
        durations.
    whole
        Units per number 1: the coarsest of day, hour, minute, second and its parts that
        makes all originals whole.
    format
        Format of these dates in text, as "%d.%m.%Y"; None for ISO 8601.
    """

    type: pa.DataType
    start: int = field(repr=False)
    whole: int
    format: str | None = None

    @classmethod
    def of(cls, moments: Moments, format: str | None = None) -> "Clock":
        """Return the clock that starts at the first of these dates, or at 0."""
        unit = count_nanoseconds(moments.type)
        counts = moments.present
        dated = pa.types.is_date(moments.type) or pa.types.is_timestamp(moments.type)
        start = int(counts.min()) if dated else 0
        sizes = [size // unit for size in UNITS.values() if size > unit]
        multiple = next((size for size in sizes if not (counts % size).any()), 1)
        return cls(moments.type, start, multiple, format)

    @property
    def seconds(self) -> float:
        """Seconds per number 1."""
        return self.whole * count_nanoseconds(self.type) / SECOND

    def numbers(self, moments: Moments) -> F64:
        """Return moments of this type as numbers (n,); NaN for missing ones.

        Raises
        ------
        TableError
            Two different moments become one float.
        """
        start = np.int64(self.start)
        later = moments.counts >= self.start
        past = moments.counts.view(np.uint64)
        first = start.view(np.uint64)
        apart = np.where(later, past - first, first - past)  # fits without a sign
        times, rest = np.divmod(apart, np.uint64(self.whole))
        floats = times.astype(np.float64)
        if is_merging_values(times, floats):
            raise TableError(
                "Dates or times have more digits than a float can tell apart.",
                fix="round them to microseconds, or to seconds.",
            )
        floats += rest.astype(np.float64) / self.whole
        signed = np.where(later, floats, -floats)
        return np.where(moments.absent, np.nan, signed)

    def step(self, decimals: int | None) -> int:
        """Return the whole number whose multiples are the published values.

        It is 1, and more only if values would have parts of a second finer than
        `decimals` decimals.

        >>> Clock(pa.timestamp("us"), 0, 1).step(2)
        1000
        """
        if decimals is None:
            return 1
        fine = min(max(-(-decimals // 3), 0), 3)
        unit = [*PARTS.values()][fine] // count_nanoseconds(self.type)
        return max(unit // self.whole, 1)

    def describe_step(self, step: int) -> str:
        """Return a step in words.

        >>> Clock(pa.date32(), 0, 1).describe_step(1)
        'days'
        """
        size = step * self.whole * count_nanoseconds(self.type)
        return next(unit for unit, length in UNITS.items() if size % length == 0)

    def on_grid(self, numbers: F64, step: int) -> F64:
        """Return numbers (n,) as the nearest that are whole, by the calendar's steps.

        >>> Clock(pa.date32(), 18000, 1).on_grid(np.array([0.25, 3.5, np.nan]), 7)
        array([-3.,  4., nan])
        """
        within = self.start // self.whole % step
        return np.asarray(np.rint((numbers + within) / step) * step - within)

    def filled(
        self, column: nw.Series[Any], numbers: F64, step: int = 1
    ) -> nw.Series[Any]:
        """Return a column of this type with other values (n,) in place of its own.

        They are the nearest multiples of a step that the type can have, exactly: floats
        count nanoseconds of more than some months by twos, and by more.
        """
        different, where = np.unique(numbers, return_inverse=True)
        size = step * self.whole
        counts = [self._count(value, size) for value in different.tolist()]
        array = (
            pa.array(counts, pa.int64()).cast(_find_storage(self.type)).cast(self.type)
        )
        return convert_like(column, array.take(pa.array(where)))

    def _count(self, number: float, size: int) -> int | None:
        """Return the multiple of `size` units that is nearest to a number."""
        if np.isnan(number):
            return None
        smallest, largest = get_limits(self.type)
        count = self.start + round(number) * self.whole
        times = (2 * count + size) // (2 * size)
        return min(max(times, -(-smallest // size)), largest // size) * size


def count_nanoseconds(kind: pa.DataType) -> int:
    """Return the nanoseconds per unit of a type; 64-bit dates count milliseconds."""
    if pa.types.is_date32(kind):
        return DAY
    return PARTS["ms" if pa.types.is_date64(kind) else kind.unit]


@cache
def get_limits(kind: pa.DataType) -> tuple[int, int]:
    """Return the least and the largest count of a type that a release may have."""
    unit = count_nanoseconds(kind)
    largest = 2**63 - 1
    if pa.types.is_time(kind):
        return 0, DAY // unit - 1
    if pa.types.is_duration(kind):
        return -largest, largest
    first, last = ((day - EPOCH).days * DAY for day in YEARS)
    return max(first // unit, -largest), min((last + DAY) // unit - 1, largest)


def convert_like(column: nw.Series[Any], values: pa.Array) -> nw.Series[Any]:
    """Return an Arrow array as a column with the library and the type of another."""
    native = column.to_native()
    if column.implementation.is_pandas():
        fresh: Any = _convert_to_pandas(native, values)
    elif column.implementation.is_pyarrow():
        fresh = pa.chunked_array([values])
    else:
        table = nw.from_arrow(pa.table({"x": values}), backend=column.implementation)
        fresh = table["x"].cast(column.dtype).to_native()
    converted: nw.Series[Any] = nw.from_native(fresh, series_only=True)
    return converted.alias(column.name)


def _convert_to_pandas(native: Any, values: pa.Array) -> Any:
    if native.dtype == object:
        return pd.Series(values.to_pylist(), dtype=object, index=native.index)
    of_arrow = pd.arrays.ArrowExtensionArray(pa.chunked_array([values]))
    return pd.Series(of_arrow, index=native.index).astype(native.dtype)


def _find_storage(kind: pa.DataType) -> pa.DataType:
    """Return the integer type in which Arrow stores a temporal type."""
    narrow = pa.types.is_date32(kind) or pa.types.is_time32(kind)
    return pa.int32() if narrow else pa.int64()


def _require_temporal(kind: pa.DataType) -> None:
    """Refuse a type that is not of dates, times or durations."""
    if not pa.types.is_temporal(kind):
        raise TableError(f"The values are {kind}, and no dates or times.", fix=ONE_TYPE)


def _find_family(kind: pa.DataType) -> str:
    """Return the family of a temporal type: dates, instants, or the name of another."""
    if pa.types.is_timestamp(kind):
        return "instants" if kind.tz else "dates"
    return "dates" if pa.types.is_date(kind) else str(kind.id)
