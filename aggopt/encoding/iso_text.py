"""Dates, times of day and durations spelled as ISO 8601 does, in text."""

import re
from collections import Counter
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

import narwhals.stable.v2 as nw
import pandas as pd
import pyarrow as pa

from aggopt.core.plural import plural
from aggopt.encoding.clock import SECOND
from aggopt.encoding.date_format import DateFormat, make_column_like
from aggopt.errors import JobError, TableError

_DAY = r"\d{4}-\d\d-\d\d"
_TIME = r"\d\d:\d\d(:\d\d(\.\d{1,6})?)?"
_ZONE = r"(Z|[+-]\d\d(:?\d\d)?)"
_LENGTH = re.compile(
    r"(?P<sign>-?)P(?=[\dT])((?P<days>\d{1,9})D)?(T(?=\d)((?P<hours>\d{1,9})H)?"
    r"((?P<minutes>\d{1,9})M)?((?P<seconds>\d{1,9}(\.\d{1,6})?)S)?)?"
)


def _parse_duration(text: str) -> timedelta:
    """Return the duration that an ISO 8601 text spells."""
    parts = _LENGTH.fullmatch(text).groupdict()  # type: ignore[union-attr]
    sign = parts.pop("sign")
    duration = timedelta(**{unit: float(part or 0) for unit, part in parts.items()})
    return -duration if sign else duration


def _parse_instant(text: str) -> datetime:
    """Return the date or instant that an ISO 8601 text spells."""
    return datetime.fromisoformat(text).astimezone(UTC)


Spelling = tuple[re.Pattern[str], Callable[[str], Any], pa.DataType]
_SPELLINGS: dict[str, Spelling] = {
    "dates": (re.compile(_DAY), date.fromisoformat, pa.date32()),
    "dates with a time": (
        re.compile(f"{_DAY}[T ]{_TIME}"),
        datetime.fromisoformat,
        pa.timestamp("us"),
    ),
    "dates with a time and a zone": (
        re.compile(f"{_DAY}[T ]{_TIME}{_ZONE}"),
        _parse_instant,
        pa.timestamp("us", "UTC"),
    ),
    "times of day": (re.compile(_TIME), time.fromisoformat, pa.time64("us")),
    "durations": (_LENGTH, _parse_duration, pa.duration("us")),
}


def parse_text_dates(
    series: nw.Series[Any], format: str | None = None
) -> nw.Series[Any]:
    """Return text as the dates, times of day or durations that it spells.

    They are 2020-12-31; 2020-12-31 23:59 or 2020-12-31T23:59:59.5, with a zone (Z or
    +01:00) in UTC; 23:59; or P1DT12H.  Blanks around them are ignored.  A column
    that is not text is returned unchanged; missing entries stay missing.  With a
    `format`, for example "%d.%m.%Y", text is read in this format.

    Raises
    ------
    TableError
        Not all entries have one of these forms, one for all.  The message contains
        counts, never entries.
    """
    if series.dtype != nw.String:
        return series
    if format is not None:
        return DateFormat(format).dated(series)
    codes, distinct = pd.factorize(
        pd.Series(series.to_list(), dtype=object).str.strip()
    )
    if not len(distinct):
        return series
    read = [_parse_text(text) for text in distinct]
    kinds = Counter(read[code][0] for code in codes if code >= 0)
    kind = max(_SPELLINGS, key=lambda name: kinds[name])
    wrong = kinds.total() - kinds[kind]
    if wrong:
        raise TableError(
            f"{wrong} of {plural(kinds.total(), 'value')} "
            f"{'does' if wrong == 1 else 'do'} not spell "
            f"{kind if kinds[kind] else 'dates'} as ISO 8601 does.",
            fix="spell all alike, as 2020-12-31, 2020-12-31 23:59:59, 23:59 or P1DT12H "
            "(an instant with Z or +01:00 behind it); or write format, as "
            '"%d.%m.%Y" for 31.12.2020; or leave kind out.',
        )
    values = pa.array([moment for _, moment in read], _SPELLINGS[kind][2])
    taken = values.take(pa.array(codes, mask=codes < 0))
    return make_column_like(series, taken)


def is_date_text(entries: pa.Array) -> bool:
    """Whether all that is not missing among entries of text spells dates or times."""
    present = entries.drop_null()
    if not len(present) or not _parse_text(present[0].as_py().strip())[0]:
        return False
    try:
        parse_text_dates(nw.from_native(pa.chunked_array([present]), series_only=True))
    except TableError:
        return False
    return True


def require_dates(noun: str, kind: str | None) -> None:
    """Refuse values that are to be dates by their kind and are none by their type."""
    if kind == "date" and noun != "date":
        raise JobError(
            f'kind = "date", but the values are {noun}s.',
            fix="make them dates or times, or text such as 2020-12-31; or leave kind "
            "out.",
        )


def format_iso_duration(nanoseconds: int) -> str:
    """Return a duration as ISO 8601 spells it, in days and less.

    >>> format_iso_duration(-90_000_500_000_000)
    '-P1DT1H0M0.5S'
    """
    sign = "-" if nanoseconds < 0 else ""
    left = abs(nanoseconds)
    seconds, part = divmod(left, SECOND)
    minutes, second = divmod(seconds, 60)
    hours, minute = divmod(minutes, 60)
    days, hour = divmod(hours, 24)
    shown = f"{second}.{part:09d}".rstrip("0") if part else str(second)
    return f"{sign}P{days}DT{hour}H{minute}M{shown}S"


def _parse_text(text: str) -> tuple[str, Any]:
    """Return the form of a text and its value; the form "" if it has no known form."""
    for kind, (pattern, parse, _) in _SPELLINGS.items():
        if pattern.fullmatch(text):
            try:
                return kind, parse(text)
            except (ValueError, OverflowError):  # the 30th of February
                return "", None
    return "", None
