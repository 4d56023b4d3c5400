"""CSV files in the format of a job."""

import csv
from collections.abc import Iterable, Iterator
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from aggopt.core.plural import plural
from aggopt.data.parsing.infer_text_type import spell_numbers
from aggopt.data.parsing.parse_text import count_missing_words
from aggopt.data.readers.text_encoding import UTF_8
from aggopt.encoding.clock import count_nanoseconds
from aggopt.encoding.iso_text import format_iso_duration
from aggopt.errors import TableError
from aggopt.job import Input

_FORMULA = r"(?s)^[ \r\n]*[=+\-@\t]."  # as a spreadsheet begins one


def write_csv(
    to: Path, table: pa.Table, how: Input, *, masked: Iterable[str] = ()
) -> None:
    """Write a table with the separator and the decimal point of a job.

    The columns `masked` have only the digits that distinguish numbers of their own
    type, and durations as ISO 8601 spells them.

    Raises
    ------
    TableError
        Some of them have text that a CSV file uses for missing values; or columns have
        letters that the encoding lacks.
    """
    _require_there(table, masked)
    table = _pointed(_short(_lengths(table, masked), masked), how.decimal)
    _require_letters(table, how.encoding)
    text = [c for c in table.columns if _is_text(c.type)]
    # a bare carriage return needs quotes, which the minimal rule does not give it
    bare = any(pc.any(pc.match_substring(column, "\r")).as_py() for column in text)
    table.to_pandas(types_mapper=pd.ArrowDtype).to_csv(
        to,
        index=False,
        sep=how.separator,
        decimal=how.decimal,
        encoding=how.encoding,
        quoting=csv.QUOTE_NONNUMERIC if bare else csv.QUOTE_MINIMAL,
    )


def note_on_formulas(table: pa.Table, how: Input) -> Iterator[str]:
    """Yield a note on each column whose name or entries a spreadsheet may run.

    Numbers with a sign are not formulas, nor is a single sign.
    """
    for name, column in zip(table.column_names, table.columns, strict=True):
        named = _formulas(pa.chunked_array([[name]]), how) > 0
        count = _formulas(column, how)
        parts = ["its name"] if named else []
        parts += [plural(count, "entry", "entries")] if count else []
        if parts:
            yield (
                f"{name!r}: {' and '.join(parts)} may be run as a formula by a "
                "spreadsheet that opens the CSV file."
            )


def _formulas(column: pa.ChunkedArray, how: Input) -> int:
    """Return the number of text entries that begin like formulas."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if not _is_text(column.type):
        return 0
    begins = column.filter(pc.match_substring_regex(column, _FORMULA))
    numbers = pc.sum(spell_numbers(begins, how)).as_py() or 0
    return len(begins) - int(numbers)


def _require_there(table: pa.Table, names: Iterable[str]) -> None:
    """Refuse names that would be read back as missing: empty text, NA, ..."""
    lost = {name: count_missing_words(table[name]) for name in names}
    seen = [f"{name!r}: {count}" for name, count in lost.items() if count]
    if seen:
        raise TableError(
            "Columns have entries that are text, and missing when they are read from a "
            f"CSV file ({'; '.join(seen)}).",
            fix="write a .parquet file; or, before masking, give what is empty, or "
            "spelled NA or null, another name, or make it missing.",
        )


def _require_letters(table: pa.Table, encoding: str) -> None:
    """Refuse names and entries with letters that an encoding has not."""
    if encoding == UTF_8:
        return
    seen = []
    for name, column in zip(table.column_names, table.columns, strict=True):
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        entries = column.to_pylist() if _is_text(column.type) else []
        count = sum(not _has_letters(text, encoding) for text in (name, *entries))
        seen += [f"{name!r}: {count}"] if count else []
    if seen:
        raise TableError(
            f"Columns have names or entries with letters that {encoding} has not "
            f"({'; '.join(seen)}).",
            fix='write encoding = "utf-8" under [output], or leave it out.',
        )


def _has_letters(text: str | None, encoding: str) -> bool:
    try:
        (text or "").encode(encoding)
    except UnicodeEncodeError:
        return False
    return True


def _lengths(table: pa.Table, names: Iterable[str]) -> pa.Table:
    """Spell durations as `aggopt` reads them again: P1DT2H0M0S."""
    for name in names:
        column = table[name]
        if pa.types.is_duration(column.type):
            unit = count_nanoseconds(column.type)
            counts = column.cast(pa.int64()).to_pylist()
            spelled = [
                None if c is None else format_iso_duration(c * unit) for c in counts
            ]
            at = table.column_names.index(name)
            table = table.set_column(at, name, pa.array(spelled, pa.string()))
    return table


def _short(table: pa.Table, names: Iterable[str]) -> pa.Table:
    """Give the numbers of 32 bits the digits that they have: 0.1, not 0.100000001."""
    for name in names:
        column = table[name]
        if column.type == pa.float32():
            spelled = column.cast(pa.string()).cast(pa.float64())
            table = table.set_column(table.column_names.index(name), name, spelled)
    return table


def _pointed(table: pa.Table, decimal: str) -> pa.Table:
    """Give decimal numbers the decimal point that pandas gives to floats only."""
    if decimal == ".":
        return table
    for j, column in enumerate(table.columns):
        if pa.types.is_decimal(column.type):
            spelled = pc.replace_substring(column.cast(pa.string()), ".", decimal)
            table = table.set_column(j, table.column_names[j], spelled)
    return table


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))
