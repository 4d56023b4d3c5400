"""Columns of numbers and dates: as floats, and their requirements."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from aggopt.core.validation import Floats, is_merging_values
from aggopt.data.parsing.columns import to_floats
from aggopt.data.parsing.parse_text import CHECK, NOT_AS_THEY_ARE, UNDONE
from aggopt.encoding.clock import Clock, Moments
from aggopt.encoding.iso_text import parse_text_dates
from aggopt.errors import TableError, naming

LARGEST = 1e150  # a float can hold the sum of squares of 1e8 such numbers


def read_numbers(
    frame: nw.DataFrame[Any], name: str, clocks: Mapping[str, Clock]
) -> Floats:
    """Return a column as floats (n,); dates as their clock counts, from the first."""
    if name not in clocks:
        return to_floats(frame[name])
    with naming(f"Column {name!r}", name):
        return clocks[name].numbers(read_moments(frame, name, clocks))


def read_moments(
    frame: nw.DataFrame[Any], name: str, clocks: Mapping[str, Clock]
) -> Moments:
    """Return a column of dates as its clock counts them, in whatever spelling."""
    clock = clocks[name]
    return Moments.of(parse_text_dates(frame[name], clock.format), clock.type)


def check_numbers(
    frame: nw.DataFrame[Any],
    names: Sequence[str],
    clocks: Mapping[str, Clock],
    keep_missing: Collection[str],
    *,
    part: bool = False,
) -> None:
    """Refuse columns that are not numbers, have holes, or exceed what floats hold.

    Columns with `clocks` may only have holes here: counting them refuses the rest.
    Columns of `keep_missing` may have holes if they have one value at least, which a
    `part` of a table may lack.

    Raises
    ------
    TableError
        Some columns are refused; the message has the first of these reasons.
    """
    plain = [name for name in names if name not in clocks]
    _check_types(frame, plain)
    _check_complete(frame, names, clocks, keep_missing, 0 if part else 1)
    _check_digits(frame, plain)
    if not part:
        check_magnitudes(frame, plain)


def check_magnitudes(frame: nw.DataFrame[Any], names: Iterable[str]) -> None:
    """Refuse numbers whose squares, summed, would not fit a float.

    Raises
    ------
    TableError
        The message has the columns, and the number of wrong numbers in each.
    """
    sizes = {name: np.abs(to_floats(frame[name].drop_nulls())) for name in names}
    counts = {name: int((size > LARGEST).sum()) for name, size in sizes.items()}
    large = "; ".join(f"{name!r}: {count}" for name, count in counts.items() if count)
    if large:
        raise TableError(
            f"Columns have numbers beyond {LARGEST:g} ({large}).",
            fix="correct these entries, or divide the column.",
        )


def _check_types(frame: nw.DataFrame[Any], names: Iterable[str]) -> None:
    schema = frame.schema
    other = {
        name: str(schema[name])
        for name in names
        if not (schema[name].is_numeric() or schema[name] == nw.Boolean)
    }
    if other:
        columns = ", ".join(f"{name!r} ({kind})" for name, kind in other.items())
        raise TableError(
            f"Columns that must be numeric and are not: {columns}.",
            fix=f"{NOT_AS_THEY_ARE} Convert their type if they are numbers.",
        )


def _check_complete(
    frame: nw.DataFrame[Any],
    names: Iterable[str],
    clocks: Mapping[str, Clock],
    keep_missing: Collection[str],
    fewest: int,
) -> None:
    """Refuse holes, except in columns of `keep_missing` with the `fewest` values."""
    holes = []
    for name in names:
        if name in clocks:
            numbers = read_numbers(frame, name, clocks)
            missing = 0
        else:
            column = frame[name]
            numbers = to_floats(column.drop_nulls())
            missing = column.null_count()
        missing += int(np.isnan(numbers).sum())
        if name in keep_missing and len(frame) - missing >= fewest:
            missing = 0
        infinite = int(np.isinf(numbers).sum())
        counts = {"missing": missing, "infinite": infinite}
        holes += [f"{name!r}: {c} {what}" for what, c in counts.items() if c]
    if holes:
        raise TableError(
            f"Columns that must be complete have holes ({'; '.join(holes)}).",
            fix="fill them, or remove those records, before masking; or say what is to "
            f'happen: policy = "patterns" or "fill" under [missing]. {CHECK}',
        )


def _check_digits(frame: nw.DataFrame[Any], names: Iterable[str]) -> None:
    """Refuse numbers that floats would not distinguish: they would all look alike."""
    rounded = []
    for name in names:
        entries = np.asarray(frame[name].drop_nulls().to_numpy())
        if is_merging_values(entries, entries.astype(np.float64)):
            rounded.append(name)
    if rounded:
        raise TableError(
            "Columns with more digits than a float can tell apart: "
            f"{', '.join(map(repr, rounded))}.",
            fix="subtract a base from them, or divide them (nanoseconds to seconds); "
            f"or drop them, as identifier. {UNDONE}",
        )
