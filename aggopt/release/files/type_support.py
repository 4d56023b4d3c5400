"""Types, long text and digits that files of other programs do not support."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import narwhals.stable.v2 as nw
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

from aggopt.data.readers.formats import EXCEL, STATISTICAL, file_ending
from aggopt.data.readers.read import read_as_text
from aggopt.data.restore_types import to_arrow_table
from aggopt.errors import TableError
from aggopt.job import Input

MOST_WHOLE = 2**53  # beyond it not every whole number is a float
LONGEST = 32767  # bytes of a text in SPSS and SAS; characters in a cell of Excel
_COUNTED = {**dict.fromkeys((".sav", ".zsav", ".xpt"), "bytes"), EXCEL: "characters"}
Test = Callable[[pa.DataType], bool]
TYPES: tuple[Test, ...] = (
    *(pa.types.is_boolean, pa.types.is_integer, pa.types.is_floating),
    *(pa.types.is_string, pa.types.is_large_string, pa.types.is_null),
    *(pa.types.is_date, pa.types.is_time, pa.types.is_timestamp),
)

EXCEL_TYPES: tuple[Test, ...] = (*TYPES, pa.types.is_duration)
_TYPES = {**dict.fromkeys(STATISTICAL, TYPES), EXCEL: EXCEL_TYPES}


def require_held(table: pa.Table, ending: str, types: Sequence[Test] = TYPES) -> None:
    """Refuse columns of other types, and entries that these files do not hold.

    The entries are numbers with too many digits, and text that is too long.

    Raises
    ------
    TableError
        The message has the names of the columns, and their types.
    """
    columns = dict(zip(table.column_names, table.columns, strict=True))
    wrong = [
        f"{name!r} ({column.type})"
        for name, column in columns.items()
        if not any(test(column.type) for test in types) or _is_zoned(column.type)
    ]
    if wrong:
        raise TableError(
            f"Columns of types that a {ending} file does not have: {', '.join(wrong)}.",
            fix="make them numbers, text, or dates without a time zone, before "
            "masking; or write a .parquet file.",
        )
    large = [repr(name) for name, column in columns.items() if _too_large(column)]
    if large:
        raise TableError(
            f"Columns of numbers with more digits than a {ending} file has, or "
            f"infinite: {', '.join(large)}.",
            fix="make them text before masking; or write a .parquet or a .csv file.",
        )
    _require_short(columns, ending)


def _require_short(columns: Mapping[str, pa.ChunkedArray], ending: str) -> None:
    """Refuse text that is longer than a kind of file has room for."""
    unit = _COUNTED.get(ending)
    if unit is None:
        return
    length = pc.utf8_length if unit == "characters" else pc.binary_length
    text = {name: c for name, c in columns.items() if is_text(c.type)}
    long = {n: pc.sum(pc.greater(length(c), LONGEST)).as_py() for n, c in text.items()}
    seen = [f"{name!r}: {count}" for name, count in long.items() if count]
    if seen:
        raise TableError(
            f"Columns have text of more than {LONGEST} {unit}, which a {ending} file "
            f"does not hold ({'; '.join(seen)}).",
            fix="shorten it before masking; or write a .parquet or a .csv file.",
        )


def require_types(to: Path, table: Path, names: Sequence[str], how: Input) -> None:
    """Refuse columns of a file that a release `to` cannot hold unchanged.

    Only columns of these `names` are checked.  A CSV file is read `how` the job
    specifies, if the release is of another kind.  Other problems of the file are found
    when it is read.

    Raises
    ------
    TableError
        As `require_held`; or no file can hold a column.
    """
    ending = file_ending(to)
    plain = _as_they_are(table, names, how, whole=ending in _TYPES)
    if plain is not None and ending in _TYPES:
        require_held(plain, ending, _TYPES[ending])


def _as_they_are(
    table: Path, names: Sequence[str], how: Input, *, whole: bool
) -> pa.Table | None:
    """Return the columns of these names, of a file whose `whole` columns are needed.

    Of a Parquet file else their types; None of others, and of what cannot be read.
    """
    parquet = file_ending(table) == ".parquet"
    if not table.is_file() or not (parquet or whole):
        return None
    try:
        found = (
            _of_parquet(table, names, whole) if parquet else read_as_text(table, how)
        )
    except MemoryError:
        raise
    except (OSError, pa.ArrowException, TableError):
        return None
    there = [name for name in names if found.schema.get_field_index(name) >= 0]  # once
    return to_arrow_table(nw.from_native(found.select(there)))


def _of_parquet(table: Path, names: Sequence[str], whole: bool) -> pa.Table:
    schema = pyarrow.parquet.read_schema(table)
    if not whole:
        return schema.empty_table()
    there = [name for name in names if schema.get_field_index(name) >= 0]
    return pyarrow.parquet.read_table(table, columns=there)


def is_text(kind: pa.DataType) -> bool:
    """Whether entries of a type are text."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _is_zoned(kind: pa.DataType) -> bool:
    return pa.types.is_timestamp(kind) and kind.tz is not None


def _too_large(column: pa.ChunkedArray) -> bool:
    """Whether a whole number does not fit a float, or a float is infinite."""
    if pa.types.is_floating(column.type):
        return bool(pc.any(pc.is_inf(column)).as_py())
    if not pa.types.is_integer(column.type):
        return False
    ends = pc.min_max(column).as_py().values()
    return any(end is not None and abs(end) > MOST_WHOLE for end in ends)
