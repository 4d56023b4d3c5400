"""Types, long text and digits that files of other programs do not support."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import narwhals.stable.v2 as nw
import pyarrow as pa
import pyarrow.compute as pc

from aggopt.data.formats.registry import FORMATS, Format, get_suffix
from aggopt.data.parsing.columns import is_text
from aggopt.data.readers.read import read_as_text
from aggopt.data.restore_types import to_arrow_table
from aggopt.errors import TableError
from aggopt.job import Input

MOST_WHOLE = 2**53  # beyond it not every whole number is a float


def require_supported_table(table: pa.Table, format: Format) -> None:
    """Refuse columns of types, and entries, that a format does not support.

    The entries are numbers with too many digits, and text that is too long.

    Raises
    ------
    TableError
        The message has the names of the columns, and their types.
    """
    if format.types is None:
        return
    ending = format.name
    columns = dict(zip(table.column_names, table.columns, strict=True))
    wrong = [
        f"{name!r} ({column.type})"
        for name, column in columns.items()
        if not any(test(column.type) for test in format.types) or _is_zoned(column.type)
    ]
    if wrong:
        raise TableError(
            f"Columns of types that a {ending} file does not have: {', '.join(wrong)}.",
            fix="make them numbers, text, or dates without a time zone, before "
            "masking; or write a .parquet file.",
        )
    large = [repr(name) for name, column in columns.items() if _has_too_large(column)]
    if large:
        raise TableError(
            f"Columns of numbers with more digits than a {ending} file has, or "
            f"infinite: {', '.join(large)}.",
            fix="make them text before masking; or write a .parquet or a .csv file.",
        )
    if format.longest_text is not None:
        _require_short(columns, ending, *format.longest_text)


def _require_short(
    columns: Mapping[str, pa.ChunkedArray], suffix: str, longest: int, unit: str
) -> None:
    """Refuse text that is longer than a format supports."""
    length = pc.utf8_length if unit == "characters" else pc.binary_length
    text = {name: c for name, c in columns.items() if is_text(c.type)}
    long = {n: pc.sum(pc.greater(length(c), longest)).as_py() for n, c in text.items()}
    counts = [f"{name!r}: {count}" for name, count in long.items() if count]
    if counts:
        raise TableError(
            f"Columns have text of more than {longest} {unit}, which a {suffix} file "
            f"does not hold ({'; '.join(counts)}).",
            fix="shorten it before masking; or write a .parquet or a .csv file.",
        )


def require_unchanged_types(
    to: Path, table: Path, names: Sequence[str], csv_format: Input
) -> None:
    """Refuse columns of a file that a release `to` cannot hold unchanged.

    Only columns of these `names` are checked.  A CSV file is read `csv_format` the job
    specifies, if the release is of another kind.  Other problems of the file are found
    when it is read.

    Raises
    ------
    TableError
        As `require_supported`; or no file can hold a column.
    """
    format = FORMATS.get(get_suffix(to))
    if format is None:
        return
    columns = _read_columns(
        table, names, csv_format, with_rows=format.types is not None
    )
    if columns is not None:
        require_supported_table(columns, format)


def _read_columns(
    table: Path, names: Sequence[str], csv_format: Input, *, with_rows: bool
) -> pa.Table | None:
    """Return these columns of a file, with their entries if `with_rows`.

    Otherwise return their types, if the format stores them; None of others, and of what
    cannot be read.
    """
    format = FORMATS.get(get_suffix(table))
    if format is None or not table.is_file() or not (with_rows or format.read_schema):
        return None
    try:
        columns = _read_back(table, format, names, csv_format, with_rows=with_rows)
    except MemoryError:
        raise
    except (OSError, pa.ArrowException, TableError):
        return None
    existing = [name for name in names if columns.schema.get_field_index(name) >= 0]
    return to_arrow_table(nw.from_native(columns.select(existing)))


def _read_back(
    table: Path,
    format: Format,
    names: Sequence[str],
    csv_format: Input,
    *,
    with_rows: bool,
) -> pa.Table:
    if format.read_schema is None:
        return read_as_text(table, csv_format)
    schema = format.read_schema(table)
    if not with_rows:
        return schema.empty_table()
    existing = [name for name in names if schema.get_field_index(name) >= 0]
    if format.read_columns is None:
        return read_as_text(table, csv_format).select(existing)
    return format.read_columns(table, existing)


def _is_zoned(kind: pa.DataType) -> bool:
    return pa.types.is_timestamp(kind) and kind.tz is not None


def _has_too_large(column: pa.ChunkedArray) -> bool:
    """Whether a whole number does not fit a float, or a float is infinite."""
    if pa.types.is_floating(column.type):
        return bool(pc.any(pc.is_inf(column)).as_py())
    if not pa.types.is_integer(column.type):
        return False
    ends = pc.min_max(column).as_py().values()
    return any(end is not None and abs(end) > MOST_WHOLE for end in ends)
