"""Types of columns that files of other programs do not have."""

from collections.abc import Callable, Sequence
from pathlib import Path

import narwhals.stable.v2 as nw
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

from aggopt.errors import TableError
from aggopt.input.formats import EXCEL, STATISTICAL, ending_of
from aggopt.input.released import as_arrow

MOST_WHOLE = 2**53  # beyond it not every whole number is a float
Test = Callable[[pa.DataType], bool]
TYPES: tuple[Test, ...] = (
    *(pa.types.is_boolean, pa.types.is_integer, pa.types.is_floating),
    *(pa.types.is_string, pa.types.is_large_string, pa.types.is_null),
    *(pa.types.is_date, pa.types.is_time, pa.types.is_timestamp),
)

EXCEL_TYPES: tuple[Test, ...] = (*TYPES, pa.types.is_duration)
_TYPES = {**dict.fromkeys(STATISTICAL, TYPES), EXCEL: EXCEL_TYPES}


def require_held(table: pa.Table, ending: str, types: Sequence[Test] = TYPES) -> None:
    """Refuse columns of other types, and numbers that such files do not tell apart.

    Raises
    ------
    TableError
        With the names of the columns, and their types.
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


def require_types(to: Path, table: Path, names: Sequence[str]) -> None:
    """Refuse columns of a Parquet file that a release `to` cannot hold as they are.

    They are those of these `names`.  What else may be wrong with the file is found when
    it is read.

    Raises
    ------
    TableError
        As `require_held`; or no file can hold a column.
    """
    ending = ending_of(to)
    if ending_of(table) != ".parquet" or not table.is_file():
        return
    try:
        schema = pyarrow.parquet.read_schema(table)
    except (OSError, pa.ArrowException):
        return
    there = [name for name in names if schema.get_field_index(name) >= 0]  # once
    plain = as_arrow(nw.from_native(schema.empty_table().select(there)))
    if ending in _TYPES:
        require_held(plain, ending, _TYPES[ending])


def is_text(kind: pa.DataType) -> bool:
    """Whether entries of a type are text."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _is_zoned(kind: pa.DataType) -> bool:
    return pa.types.is_timestamp(kind) and kind.tz is not None


def _too_large(column: pa.ChunkedArray) -> bool:
    """Whether a whole number is no float, or a float is infinite."""
    if pa.types.is_floating(column.type):
        return bool(pc.any(pc.is_inf(column)).as_py())
    if not pa.types.is_integer(column.type):
        return False
    ends = pc.min_max(column).as_py().values()
    return any(end is not None and abs(end) > MOST_WHOLE for end in ends)
