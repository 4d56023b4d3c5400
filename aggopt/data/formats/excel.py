"""Workbooks of Excel: one sheet, a row of names, columns of one type each."""

import re
import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing
from datetime import date, time, timedelta
from math import inf
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import pyarrow as pa
import pyarrow.compute as pc

from aggopt.core.column_names import check_header
from aggopt.core.memory import find_available_memory, format_size
from aggopt.core.plural import plural
from aggopt.core.stale_files import make_scratch_folder
from aggopt.data.formats.registry import PLAIN_TYPES, Format, NameRule, WriteOptions
from aggopt.data.parsing.columns import is_text
from aggopt.data.parsing.parse_text import MISSING
from aggopt.data.readers.codebook import to_integers_if_whole
from aggopt.errors import AggoptError, TableError

SPARSE = 10**7  # cells: up to this many, any share of them may be empty
SPARSEST = 20  # cells for each that has an entry
_PROTECTED = bytes.fromhex("d0cf11e0a1b11ae1")  # how older and encrypted files begin
_NOTHING = ("#N/A", "#NULL!")  # errors that say that there is no value
_KINDS: dict[str, Callable[[Any], bool]] = {
    "truth values": lambda v: isinstance(v, bool),
    "numbers": lambda v: isinstance(v, int | float) and not isinstance(v, bool),
    "text": lambda v: isinstance(v, str),
    "dates": lambda v: isinstance(v, date),
    "times of day": lambda v: isinstance(v, time),
    "durations": lambda v: isinstance(v, timedelta),
}
MOST_RECORDS = 2**20 - 1  # of a sheet, without its names
MOST_COLUMNS = 2**14
_CONTROL = r"[\x00-\x08\x0b\x0c\x0e-\x1f]"
_TIME = rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"
_FIXED = b"1980-01-01T00:00:00Z"  # the time that files within the file have, too


def read_excel(path: Path) -> pa.Table:
    """Return the table in a .xlsx file: its one sheet with anything in it.

    The first row has the names.  Rows without an entry are not records, empty cells and
    #N/A are missing, and dates without a time of day are dates.  Text that represents
    missing values in a CSV file does so here among numbers, not among text.

    Raises
    ------
    TableError
        Several sheets, merged cells, formulas or other errors; a column of several
        types, or without a name; or the file is encrypted, cannot be read, or is far
        larger than its stated size.  No message has an entry, and formulas are not
        worked out.
    """
    sheet = _load_sheet(path)
    merged = len(sheet.merged_cells.ranges)
    if merged:
        raise TableError(
            f"{path.name} has {plural(merged, 'range')} of merged cells.",
            fix="unmerge them, so that each record has its own entries.",
        )
    header, rows = _read_rows(path, sheet)
    width = max((max(row) for row in [header, *rows] if row), default=0)
    names = [str(header.get(j, "")) for j in range(1, width + 1)]
    if not names:
        raise TableError(f"{path.name} is empty.", fix="bring a sheet with names.")
    check_header(names, path.name)
    _require_dense(path, sum(map(len, rows)), len(rows) * width)
    entries = {n: [row.get(j) for row in rows] for j, n in enumerate(names, 1)}
    kinds = _find_kinds(path, entries)
    return pa.table({name: _make_column(v, kinds[name]) for name, v in entries.items()})


def _load_sheet(path: Path) -> Any:
    """Return the one worksheet that has entries."""
    import openpyxl

    with path.open("rb") as stream:
        protected = stream.read(len(_PROTECTED)) == _PROTECTED
    if protected:
        raise TableError(
            f"{path.name} is encrypted, or of a version of Excel before 2007.",
            fix="save it without a password as .xlsx, or as CSV UTF-8.",
        )
    try:
        require_harmless(path)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what does not travel; one quotes
            sheets = openpyxl.load_workbook(path).worksheets
    except (AggoptError, MemoryError):
        raise
    except Exception:  # of several libraries; a message may quote the file
        raise TableError(
            f"{path.name} is not a readable xlsx file.",
            fix="check that it is what its ending says, and not damaged.",
        ) from None
    used = [s for s in sheets if s.max_row > 1 or s.max_column > 1 or s["A1"].value]
    if len(used) > 1:
        raise TableError(
            f"{path.name} has {len(used)} sheets with entries, hidden ones included.",
            fix="leave one of them, or write each to a file of its own.",
        )
    return (used or sheets)[0]


def _read_rows(path: Path, sheet: Any) -> tuple[dict[int, Any], list[dict[int, Any]]]:
    """Return the entries of the first row, and of all others that have some, by column.

    Only the cells of the file are read: the grid of all cells up to one at XFD1048576
    would take all memory.
    """
    cells = sheet._cells
    _require_values(path, cells.values())
    rows: dict[int, dict[int, Any]] = {}
    for (row, column), cell in cells.items():
        entry = _read_entry(cell)
        if entry is not None:
            rows.setdefault(row, {})[column] = entry
    header = rows.pop(1, {})
    return header, [rows[number] for number in sorted(rows)]


def _require_dense(path: Path, entries: int, cells: int) -> None:
    """Refuse a few entries in a table that would take all memory."""
    if cells > max(SPARSE, SPARSEST * entries):
        raise TableError(
            f"{path.name} has entries in {entries} of {cells} cells, of its records "
            "and columns.",
            fix="remove columns and rows that are not of the table.",
        )


def _require_values(path: Path, cells: Collection[Any]) -> None:
    """Refuse formulas, and cells that hold an error."""
    formulas = sum(cell.data_type == "f" for cell in cells)
    errors = sum(cell.data_type == "e" and cell.value not in _NOTHING for cell in cells)
    if formulas:
        raise TableError(
            f"{path.name} has {plural(formulas, 'formula')}, and what they give may be "
            "out of date.",
            fix="copy the sheet and paste it as values.",
        )
    if errors:
        raise TableError(
            f"{path.name} has {plural(errors, 'cell')} with an error, such as #DIV/0!.",
            fix="correct them, or leave them empty, as what is missing is.",
        )


def _read_entry(cell: Any) -> Any:
    """Return the value of a cell; None if it is missing."""
    missing = cell.value == "" or cell.data_type == "e"
    return None if missing else cell.value


def _find_kinds(path: Path, columns: dict[str, list[Any]]) -> dict[str, str]:
    """Return the type of the entries of each column; refuse mixed types."""
    kinds = {}
    mixed = []
    for name, values in columns.items():
        counts = {kind: sum(map(test, values)) for kind, test in _KINDS.items()}
        spelled = sum(isinstance(v, str) and v.strip() in MISSING for v in values)
        if any(counts[kind] for kind in counts if kind != "text"):
            counts["text"] -= spelled
        present = [kind for kind, count in counts.items() if count]
        kinds[name] = present[0] if present else ""
        if len(present) > 1:
            counts_text = ", ".join(f"{counts[kind]} {kind}" for kind in present)
            mixed.append(f"{name!r} ({counts_text})")
    if mixed:
        raise TableError(
            f"Columns of {path.name} have entries of several types: "
            f"{'; '.join(mixed)}.",
            fix="make each of them one type throughout; or save the sheet as CSV "
            "UTF-8, where all of them are text.",
        )
    return kinds


def _make_column(values: Sequence[Any], kind: str) -> pa.Array:
    """Return entries of one kind (n,) as a column."""
    if kind != "text":
        values = [None if isinstance(value, str) else value for value in values]
    if kind == "numbers":
        return to_integers_if_whole(pa.array(map(_to_float, values), pa.float64()))
    if kind == "dates":
        moments = [value for value in values if value is not None]
        timed = any(getattr(moment, "time", time)() != time() for moment in moments)
        if not timed:
            days = [None if v is None else date(v.year, v.month, v.day) for v in values]
            return pa.array(days, pa.date32())
        return pa.array(values, pa.timestamp("us"))
    return pa.array(values, pa.float64() if not kind else None)


def _to_float(value: Any) -> float | None:
    try:
        return None if value is None else float(value)
    except OverflowError:  # a whole number of 309 digits and more
        return inf if value > 0 else -inf


def write_excel(to: Path, table: pa.Table) -> None:
    """Write a table as a .xlsx file.

    Text stays text, whatever it begins with, and numbers have all their digits.

    Raises
    ------
    TableError
        There are more records or columns than a sheet has, or text with control
        characters.
    """
    if len(table) > MOST_RECORDS or table.num_columns > MOST_COLUMNS:
        raise TableError(
            f"{len(table)} records of {table.num_columns} columns are more than a "
            f"sheet has: {MOST_RECORDS} of {MOST_COLUMNS}.",
            fix="write a .parquet or a .csv file.",
        )
    _require_printable(table)
    import openpyxl

    book = openpyxl.Workbook(write_only=True)
    with make_scratch_folder(to.parent) as scratch:
        sheet = _open_sheet(book, scratch / "sheet.xml")
        with closing(sheet):  # even if the disk is full: an open sheet complains later
            for row in _iter_rows(table):
                sheet.append([_make_cell(sheet, value) for value in row])
        book.save(to)
    _reset_time(to)


def _open_sheet(book: Any, path: Path) -> Any:
    """Return the new sheet of a book, which has its rows in this file until then.

    The library would write them to the system's temporary folder, and a process that
    is killed would leave them there.
    """
    from openpyxl.worksheet import _writer

    sheet = book.create_sheet("release")
    _writer.ALL_TEMP_FILES.append(str(path))  # from which the library removes it
    sheet._writer = _writer.WorksheetWriter(sheet, str(path))
    sheet._writer.write_top()
    return sheet


def _require_printable(table: pa.Table) -> None:
    """Refuse text that no part of a workbook can hold: the library would quote it."""
    columns = zip(table.column_names, table.columns, strict=True)
    text = ((name, c) for name, c in columns if is_text(c.type))
    affected = [
        f"{name!r}: {count}"
        for name, column in text
        if (count := pc.sum(pc.match_substring_regex(column, _CONTROL)).as_py())
    ]
    if affected:
        raise TableError(
            "Columns have text with control characters, which a .xlsx file does not "
            f"hold ({'; '.join(affected)}).",
            fix="remove them before masking; or write a .parquet or a .csv file.",
        )


def _iter_rows(table: pa.Table) -> Iterator[tuple[Any, ...]]:
    yield tuple(table.column_names)
    yield from zip(*(column.to_pylist() for column in table.columns), strict=True)


def _make_cell(sheet: Any, value: Any) -> Any:
    """Return a cell with an entry: text as text, a float with all its digits."""
    from openpyxl.cell import WriteOnlyCell

    if isinstance(value, float):
        if value != value:  # nan is missing
            return None
        value = repr(value)
        kind = "n"
    elif isinstance(value, str):
        kind = "s"
    else:
        return value
    cell = WriteOnlyCell(sheet, value)
    cell.data_type = kind
    return cell


def _reset_time(path: Path) -> None:
    """Rewrite the parts of a workbook with a fixed time in place of now."""
    with ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    core = "docProps/core.xml"
    parts[core] = re.sub(_TIME, _FIXED, parts[core])
    with ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(ZipInfo(name), content, ZIP_DEFLATED)


def _write_table(to: Path, table: pa.Table, options: WriteOptions) -> None:
    write_excel(to, table)


EXCEL = Format(
    name=".xlsx",
    when="Excel since 2007",
    rank=3,
    read=lambda path, csv_format, keep: read_excel(path),
    write=_write_table,
    package="openpyxl",
    extra="excel",
    types=(*PLAIN_TYPES, pa.types.is_duration),
    longest_text=(32767, "characters"),  # in a cell
    names=NameRule(
        255,
        r"[^\x00-\x1f]+",
        "no line ends and no control characters, 255 bytes at most",
        caseless=False,
    ),
)


DENSEST = 100  # times that sheets become smaller in an archive, at most
SMALL = 2**24  # bytes: up to this many, any share of the archive is fine
TAKES = 15  # bytes of memory for each byte of XML of short numbers
MOST_CELLS = 10**6  # of ranges that are unfolded: each of their cells gets an object
_CSV = "save the sheet as CSV UTF-8, which takes less memory."
_RANGES = re.compile(
    rb"<!DOCTYPE|<[^\s<>]*?(?P<what>mergeCell|hyperlink)\s(?P<says>[^<>]*)"
)
_REF = re.compile(rb"ref=[\"']([A-Z]{1,3})(\d{1,7})(?::([A-Z]{1,3})(\d{1,7}))?[\"']")
_WIDE = (b"\xff\xfe", b"\xfe\xff", b"<\0", b"\0<")  # how UTF-16 begins


def require_harmless(path: Path) -> None:
    """Refuse a workbook that holds far more than its file size suggests.

    Raises
    ------
    TableError
        Its parts are too large once they are unpacked, or ranges of merged cells or
        links have too many cells.
    BadZipFile, ValueError
        It is not a workbook.
    """
    with ZipFile(path) as archive:
        _require_room(path, sum(part.file_size for part in archive.infolist()))
        cells = sum(_count_cells(archive, name) for name in archive.namelist())
    if cells > MOST_CELLS:
        raise TableError(
            f"{path.name} has ranges of merged cells or links with {cells} cells, and "
            f"at most {MOST_CELLS} are read.",
            fix="unmerge the cells and remove the links; or save the sheet as CSV "
            "UTF-8.",
        )


def _require_room(path: Path, unpacked: int) -> None:
    """Refuse a workbook that would take more memory than there is."""
    packed = path.stat().st_size
    sizes = f"{path.name} has {format_size(packed)} and unpacks to"
    if unpacked > max(SMALL, DENSEST * packed):
        raise TableError(
            f"{sizes} {format_size(unpacked)}, {unpacked // max(packed, 1)} times as "
            f"much: no table unpacks to more than {DENSEST} times its "
            "size.",
            fix="use the file only if you trust it: then save the sheet as CSV UTF-8.",
        )
    if TAKES * unpacked > find_available_memory():
        raise TableError(
            f"{sizes} {format_size(unpacked)}, which takes about "
            f"{format_size(TAKES * unpacked)} of memory; "
            f"{format_size(find_available_memory())} are left.",
            fix=_CSV,
        )


def _count_cells(archive: ZipFile, name: str) -> int:
    """Return the number of cells that the library unfolds from the ranges of a part."""
    content = archive.read(name)
    if content.startswith(_WIDE):
        raise ValueError("Workbooks are UTF-8.")
    return sum(_iter_areas(content))


def _iter_areas(content: bytes) -> Iterator[int]:
    for area in _RANGES.finditer(content):
        if area["what"] is None:
            raise ValueError("Workbooks have no DOCTYPE.")
        ref = _REF.search(area["says"])
        if ref is None:
            raise ValueError("A range is none.")
        left, top, right, bottom = ref.groups()
        across = (
            abs(_parse_column_number(right or left) - _parse_column_number(left)) + 1
        )
        yield across * (abs(int(bottom or top) - int(top)) + 1)


def _parse_column_number(letters: bytes) -> int:
    """Return the number of a column, from 1.

    >>> _parse_column_number(b"XFD")
    16384
    """
    number = 0
    for letter in letters:
        number = 26 * number + letter - ord("A") + 1
    return number
