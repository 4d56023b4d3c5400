"""A workbook of Excel with one sheet, the release, and nothing else in it."""

import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import pyarrow as pa
import pyarrow.compute as pc

from aggopt.errors import TableError
from aggopt.release.files.type_support import EXCEL_TYPES, is_text, require_held

MOST_RECORDS, MOST_COLUMNS = 2**20 - 1, 2**14  # of a sheet, its names left out
_CONTROL = r"[\x00-\x08\x0b\x0c\x0e-\x1f]"
_TIME = rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"
_FIXED = b"1980-01-01T00:00:00Z"  # the time that files within the file have, too


def write_excel(to: Path, table: pa.Table) -> None:
    """Write a table as a .xlsx file.

    Text stays text, whatever it begins with, and numbers have all their digits.

    Raises
    ------
    TableError
        There are more records or columns than a sheet has, columns of types that it
        does not hold, infinite numbers, or text with control characters.
    """
    require_held(table, ".xlsx", EXCEL_TYPES)
    if len(table) > MOST_RECORDS or table.num_columns > MOST_COLUMNS:
        raise TableError(
            f"{len(table)} records of {table.num_columns} columns are more than a "
            f"sheet has: {MOST_RECORDS} of {MOST_COLUMNS}.",
            fix="write a .parquet or a .csv file.",
        )
    _require_printable(table)
    import openpyxl

    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet("release")
    with closing(sheet):  # even if the disk is full: an open sheet complains later
        for row in _rows(table):
            sheet.append([_cell(sheet, value) for value in row])
    book.save(to)
    _forget_time(to)


def _require_printable(table: pa.Table) -> None:
    """Refuse text that no part of a workbook can hold: the library would quote it."""
    columns = zip(table.column_names, table.columns, strict=True)
    text = ((name, c) for name, c in columns if is_text(c.type))
    seen = [
        f"{name!r}: {count}"
        for name, column in text
        if (count := pc.sum(pc.match_substring_regex(column, _CONTROL)).as_py())
    ]
    if seen:
        raise TableError(
            "Columns have text with control characters, which a .xlsx file does not "
            f"hold ({'; '.join(seen)}).",
            fix="remove them before masking; or write a .parquet or a .csv file.",
        )


def _rows(table: pa.Table) -> Iterator[tuple[Any, ...]]:
    yield tuple(table.column_names)
    yield from zip(*(column.to_pylist() for column in table.columns), strict=True)


def _cell(sheet: Any, value: Any) -> Any:
    """Return a cell with an entry: text as text, a float with all its digits."""
    from openpyxl.cell import WriteOnlyCell

    if isinstance(value, float):
        if value != value:  # nan is missing
            return None
        value, kind = repr(value), "n"
    elif isinstance(value, str):
        kind = "s"
    else:
        return value
    cell = WriteOnlyCell(sheet, value)
    cell.data_type = kind
    return cell


def _forget_time(path: Path) -> None:
    """Rewrite the parts of a workbook with a fixed time in place of now."""
    with ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    core = "docProps/core.xml"
    parts[core] = re.sub(_TIME, _FIXED, parts[core])
    with ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(ZipInfo(name), content, ZIP_DEFLATED)
