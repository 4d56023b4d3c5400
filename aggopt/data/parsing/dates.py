"""Quasi-identifiers that are dates, times of day or durations, and how they count."""

from collections.abc import Container, Iterable, Mapping
from types import MappingProxyType
from typing import Any

import narwhals.stable.v2 as nw

from aggopt.core.plural import plural
from aggopt.data.parsing.categories import Types
from aggopt.encoding.attribute_type import AttributeType
from aggopt.encoding.clock import Clock, Moments
from aggopt.encoding.iso_text import parse_text_dates
from aggopt.encoding.typed_column import MOMENT, TypedColumn
from aggopt.errors import TableError, naming


def parse_date_columns(
    frame: nw.DataFrame[Any],
    types: Types,
    clocks: Mapping[str, Clock] = MappingProxyType({}),
) -> nw.DataFrame[Any]:
    """Return a table with dates for text that is declared, or `clocks`, as dates.

    Raises
    ------
    TableError
        Some of it spells none: the message has the column and how many.
    """
    spellings = {name: clock.format for name, clock in clocks.items()}
    spellings |= {
        n: attribute_type.format
        for n, attribute_type in types.items()
        if attribute_type.kind == "date"
    }
    columns = []
    for name, spelling in spellings.items():
        with naming(f"Column {name!r}", name):
            columns.append(parse_text_dates(frame[name], spelling))
    return frame.with_columns(*columns) if columns else frame


def find_clocks(
    frame: nw.DataFrame[Any], names: Iterable[str], types: Types, but: Container[str]
) -> dict[str, Clock]:
    """Return the clocks of the columns that are dates, by name; `but` some.

    Raises
    ------
    TableError, JobError
        They are of several types or of years that ISO 8601 has no four digits for;
        columns declared as dates are not dates.
    """
    clocks = {}
    for name in names:
        attribute_type = types.get(name, AttributeType())
        kind = attribute_type.kind
        column = frame[name]
        number = column.dtype.is_numeric() or column.dtype == nw.Boolean
        if name in but or (number and kind != "date"):
            continue
        with naming(f"Column {name!r}", name):
            typed = TypedColumn.of(column, kind, attribute_type.format)
            if typed.what == MOMENT:
                moments = Moments.of(typed.series)
                _require_years(moments)
                clocks[name] = Clock.of(moments, attribute_type.format)
    return clocks


def _require_years(moments: Moments) -> None:
    if moments.beyond:
        raise TableError(
            f"{plural(moments.beyond, 'date')} "
            f"{'is' if moments.beyond == 1 else 'are'} of no year from 1 to 9999.",
            fix="correct them, or remove those records: no file spells such a date.",
        )
