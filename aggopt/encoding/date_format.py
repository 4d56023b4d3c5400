"""Dates in a user's format, for example 22.09.1930, for reading and writing."""

import re
from dataclasses import dataclass
from datetime import date, datetime
from functools import cached_property
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import pyarrow as pa

from aggopt.core.plural import plural
from aggopt.errors import JobError, TableError

_PARTS = {  # of a date, by the names of strptime: how each is read, and written
    "%Y": (r"(?P<year>\d{4})", "{:%Y}"),
    "%m": (r"(?P<month>\d{1,2})", "{:%m}"),
    "%d": (r"(?P<day>\d{1,2})", "{:%d}"),
    "%H": (r"(?P<hour>\d{1,2})", "{:%H}"),
    "%M": (r"(?P<minute>\d{2})", "{:%M}"),
    "%S": (r"(?P<second>\d{2})", "{:%S}"),
}
_DAY = ("%Y", "%m", "%d")
_CLOCK = ("%H", "%M", "%S")
_SPLIT = re.compile("(%.)", re.DOTALL)


@dataclass(frozen=True)
class DateFormat:
    """A format of dates: "%d.%m.%Y" for 22.09.1930, with the codes of strptime.

    Examples
    --------
    >>> DateFormat("%d.%m.%Y").read("22.09.1930")
    datetime.datetime(1930, 9, 22, 0, 0)
    >>> DateFormat("%d.%m.%Y").write(date(1930, 9, 2))
    '02.09.1930'
    """

    text: str

    def __post_init__(self) -> None:
        pieces = [piece for piece in _SPLIT.split(self.text) if piece[:1] == "%"]
        unknown = sorted({piece for piece in pieces if piece not in _PARTS})
        clock = [part for part in _CLOCK if part in pieces]
        is_complete = sorted(pieces) == sorted((*_DAY, *clock))
        if unknown or not is_complete or clock != list(_CLOCK[: len(clock)]):
            raise JobError(
                f'format = "{self.text}" is no spelling of a whole date.',
                fix='write %d, %m and %Y once each, as "%d.%m.%Y"; of a time of day '
                "behind it %H, %H:%M or %H:%M:%S. Years need four digits: two do not "
                "tell 1930 from 2030.",
            )

    @property
    def type(self) -> pa.DataType:
        """Type of its dates: days, or instants."""
        return pa.timestamp("us") if "%H" in self.text else pa.date32()

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        """Regular expression that matches a text in this format."""
        pieces = _SPLIT.split(self.text)
        read = (_PARTS[p][0] if p in _PARTS else re.escape(p) for p in pieces)
        return re.compile("".join(read))

    def read(self, text: str) -> datetime | None:
        """Return the date that a text spells; None if it spells none."""
        parts = self._pattern.fullmatch(text)
        if parts is None or not text.isascii():
            return None
        try:
            return datetime(**{k: int(v) for k, v in parts.groupdict().items()})  # type: ignore[arg-type]
        except ValueError:  # the 30th of February
            return None

    def write(self, moment: date) -> str:
        """Return a date as a text; the year has four digits before the year 1000."""
        pieces = _SPLIT.split(self.text)
        year = f"{moment.year:04d}"
        return "".join(
            year if p == "%Y" else _PARTS[p][1].format(moment) if p in _PARTS else p
            for p in pieces
        )

    def spells(self, entries: pa.Array) -> bool:
        """Return whether it spells all entries of text (n,) that are not missing."""
        return all(
            self.read(text.strip()) is not None
            for text in entries.to_pylist()
            if text is not None
        )

    def dated(self, series: nw.Series[Any]) -> nw.Series[Any]:
        """Return a column of text as the dates that it spells; other columns as given.

        Raises
        ------
        TableError
            Some entries do not fit: how many, and the record of the first.
        """
        if series.dtype != nw.String:
            return series
        codes, distinct = pd.factorize(
            pd.Series(series.to_list(), dtype=object).str.strip()
        )
        read = [self.read(text) for text in distinct]
        wrong = np.array([moment is None for moment in read] + [False])[codes]
        if wrong.any():
            count = int(wrong.sum())
            raise TableError(
                f"{count} of {plural(int((codes >= 0).sum()), 'value')} "
                f"{'does' if count == 1 else 'do'} not fit format = "
                f'"{self.text}"; the first is in record {int(wrong.argmax()) + 1}.',
                fix="correct these entries, make them missing, or change format under "
                "[attributes.NAME].",
            )
        dates = pa.array(read, pa.timestamp("us")).cast(self.type)
        return make_column_like(series, dates.take(pa.array(codes, mask=codes < 0)))


def format_column(series: nw.Series[Any], format: str | None) -> nw.Series[Any]:
    """Return a column of dates as text in a format; unchanged without one."""
    if format is None:
        return series
    date_format = DateFormat(format)
    dates = series.to_list()
    texts = [None if pd.isna(day) else date_format.write(day) for day in dates]
    if series.implementation.is_pandas():
        fresh = pd.Series(texts, series.to_native().index)
        return nw.from_native(fresh, series_only=True).alias(series.name)
    return nw.new_series(series.name, texts, nw.String, backend=series.implementation)


def make_column_like(series: nw.Series[Any], values: pa.Array) -> nw.Series[Any]:
    """Return values in the library of a column, with its name and index."""
    if series.implementation.is_pandas():
        index = series.to_native().index
        fresh = pd.Series(
            pd.arrays.ArrowExtensionArray(pa.chunked_array([values])), index
        )
        return nw.from_native(fresh, series_only=True).alias(series.name)
    table = nw.from_arrow(pa.table({"x": values}), backend=series.implementation)
    return table["x"].alias(series.name)


def find_formats(entries: pa.Array) -> tuple[str, ...]:
    """Return the formats that read all entries of text (n,) as dates; () if none.

    Several fit if day and month could be swapped.
    """
    present = entries.drop_null()
    if not len(present):
        return ()
    first = present[0].as_py().strip()
    fitting = (f for f in _FORMATS if f.read(first) is not None)
    return tuple(f.text for f in fitting if f.spells(present))


_ORDERS = ("%d{0}%m{0}%Y", "%m{0}%d{0}%Y", "%Y{0}%m{0}%d")
_FORMATS = tuple(
    DateFormat(order.format(by) + time)
    for by in (".", "/", "-")
    for order in _ORDERS
    for time in ("", " %H:%M", " %H:%M:%S", "T%H:%M", "T%H:%M:%S")
)
