"""CSV files: read as text, whole or block by block, and written as a job specifies."""

import csv
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from aggopt.core.column_names import check_header
from aggopt.core.memory import require_memory
from aggopt.core.plural import plural
from aggopt.core.regular_files import require_no_partition
from aggopt.data.formats.csv_check import UTF_8, WIDEST, CsvShape, check_csv
from aggopt.data.formats.parquet import IN_BLOCKS
from aggopt.data.formats.registry import Format, RecordBlocks, WriteOptions
from aggopt.data.parsing.columns import is_text
from aggopt.data.parsing.infer_text_type import spell_numbers
from aggopt.data.parsing.parse_text import count_missing_words
from aggopt.encoding.clock import count_nanoseconds
from aggopt.encoding.iso_text import format_iso_duration
from aggopt.errors import TableError
from aggopt.job import Input

HELD = 3  # times its size: what reading a file takes; short of it, Arrow aborts
BLOCK = 2**21  # bytes of a block, of which the reader below has up to 32 ahead
_FORMULA = r"(?s)^[ \r\n]*[=+\-@\t]."  # as a spreadsheet begins one


def read_text_table(path: Path, csv_format: Input) -> pa.Table:
    """Return the table in a file, each entry as the text that it is.

    Raises
    ------
    TableError
        As `shape_of`; or a lenient reader counts other records.
    MemoryLimitError
        It needs more memory than is left.
    """
    # one block: entries may be as long as they like
    wider = 1 if csv_format.encoding == UTF_8 else WIDEST
    size = wider * path.stat().st_size + 1
    require_memory(HELD * size, f"The table in {path.name}", IN_BLOCKS)
    shape = read_csv_shape(path, csv_format)
    require_no_partition(path, shape.names)
    if not shape.records:  # the reader below needs a line end behind the header
        return pa.table({name: pa.array([], pa.string()) for name in shape.names})
    options = _make_options(shape, csv_format, min(size, 2**31 - 1))
    table = pyarrow.csv.read_csv(path, **options)
    _require_counted(path, shape, table.num_rows)
    return table


def read_csv_shape(path: Path, csv_format: Input) -> CsvShape:
    """Return names and number of records of a valid file.

    Raises
    ------
    TableError
        As `aggopt.data.formats.csv_check.check_csv`; or names are duplicate or empty.
    """
    shape = check_csv(path, csv_format)
    check_header(shape.names, path.name)
    return shape


def read_text_blocks(
    path: Path, shape: CsvShape, csv_format: Input
) -> Iterator[pa.Table]:
    """Yield the same table as `whole`, in blocks of consecutive records.

    Raises
    ------
    TableError
        A record is longer than a block; or as `whole`.  No message quotes the file.
    """
    if not shape.records:
        return
    records = 0
    try:
        with pyarrow.csv.open_csv(
            path, **_make_options(shape, csv_format, BLOCK)
        ) as blocks:
            for batch in filter(len, blocks):
                records += len(batch)
                yield pa.Table.from_batches([batch])
    except (pa.ArrowInvalid, OSError):
        raise TableError(
            f"{path.name} cannot be read in blocks of {BLOCK >> 20} MiB: one of its "
            "records is longer, or it has changed meanwhile.",
            fix="shorten that record; or mask the file as one table in memory.",
        ) from None
    _require_counted(path, shape, records)


def _make_options(shape: CsvShape, csv_format: Input, size: int) -> dict[str, Any]:
    return {
        "read_options": pyarrow.csv.ReadOptions(
            use_threads=False, block_size=size, encoding=csv_format.encoding
        ),
        "parse_options": pyarrow.csv.ParseOptions(
            delimiter=csv_format.separator,
            newlines_in_values=True,
            ignore_empty_lines=len(shape.names) > 1,
        ),
        "convert_options": pyarrow.csv.ConvertOptions(
            column_types=dict.fromkeys(shape.names, pa.string()),
            strings_can_be_null=False,
        ),
    }


def _require_counted(path: Path, shape: CsvShape, records: int) -> None:
    if records != shape.records:
        raise TableError(
            f"{path.name} can be read in two ways, as {shape.records} or as "
            f"{records} records.",
            fix="write it again with quotes around entries that hold separators, "
            "quotes or line breaks.",
        )


def write_csv(
    to: Path, table: pa.Table, csv_format: Input, *, masked: Iterable[str] = ()
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
    table = _format_decimals(
        _shorten_floats(_format_durations(table, masked), masked), csv_format.decimal
    )
    _require_letters(table, csv_format.encoding)
    text = [c for c in table.columns if is_text(c.type)]
    # a bare carriage return needs quotes, which the minimal rule does not give it
    bare = any(pc.any(pc.match_substring(column, "\r")).as_py() for column in text)
    table.to_pandas(types_mapper=pd.ArrowDtype).to_csv(
        to,
        index=False,
        sep=csv_format.separator,
        decimal=csv_format.decimal,
        encoding=csv_format.encoding,
        quoting=csv.QUOTE_NONNUMERIC if bare else csv.QUOTE_MINIMAL,
    )


def describe_formulas(table: pa.Table, csv_format: Input) -> Iterator[str]:
    """Yield a note on each column whose name or entries a spreadsheet may run.

    Numbers with a sign are not formulas, nor is a single sign.
    """
    for name, column in zip(table.column_names, table.columns, strict=True):
        name_count = _count_formulas(pa.chunked_array([[name]]), csv_format) > 0
        count = _count_formulas(column, csv_format)
        parts = ["its name"] if name_count else []
        parts += [plural(count, "entry", "entries")] if count else []
        if parts:
            yield (
                f"{name!r}: {' and '.join(parts)} may be run as a formula by a "
                "spreadsheet that opens the CSV file."
            )


def _count_formulas(column: pa.ChunkedArray, csv_format: Input) -> int:
    """Return the number of text entries that begin like formulas."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if not is_text(column.type):
        return 0
    begins = column.filter(pc.match_substring_regex(column, _FORMULA))
    numbers = pc.sum(spell_numbers(begins, csv_format)).as_py() or 0
    return len(begins) - int(numbers)


def _require_there(table: pa.Table, names: Iterable[str]) -> None:
    """Refuse names that would be read back as missing: empty text, NA, ..."""
    lost = {name: count_missing_words(table[name]) for name in names}
    counts = [f"{name!r}: {count}" for name, count in lost.items() if count]
    if counts:
        raise TableError(
            "Columns have entries that are text, and missing when they are read from a "
            f"CSV file ({'; '.join(counts)}).",
            fix="write a .parquet file; or, before masking, give what is empty, or "
            "spelled NA or null, another name, or make it missing.",
        )


def _require_letters(table: pa.Table, encoding: str) -> None:
    """Refuse names and entries with letters that an encoding has not."""
    if encoding == UTF_8:
        return
    counts = []
    for name, column in zip(table.column_names, table.columns, strict=True):
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        entries = column.to_pylist() if is_text(column.type) else []
        count = sum(not _has_letters(text, encoding) for text in (name, *entries))
        counts += [f"{name!r}: {count}"] if count else []
    if counts:
        raise TableError(
            f"Columns have names or entries with letters that {encoding} has not "
            f"({'; '.join(counts)}).",
            fix='write encoding = "utf-8" under [output], or leave it out.',
        )


def _has_letters(text: str | None, encoding: str) -> bool:
    try:
        (text or "").encode(encoding)
    except UnicodeEncodeError:
        return False
    return True


def _format_durations(table: pa.Table, names: Iterable[str]) -> pa.Table:
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


def _shorten_floats(table: pa.Table, names: Iterable[str]) -> pa.Table:
    """Give the numbers of 32 bits the digits that they have: 0.1, not 0.100000001."""
    for name in names:
        column = table[name]
        if column.type == pa.float32():
            spelled = column.cast(pa.string()).cast(pa.float64())
            table = table.set_column(table.column_names.index(name), name, spelled)
    return table


def _format_decimals(table: pa.Table, decimal: str) -> pa.Table:
    """Give decimal numbers the decimal point that pandas gives to floats only."""
    if decimal == ".":
        return table
    for j, column in enumerate(table.columns):
        if pa.types.is_decimal(column.type):
            spelled = pc.replace_substring(column.cast(pa.string()), ".", decimal)
            table = table.set_column(j, table.column_names[j], spelled)
    return table


def _open_blocks(path: Path, csv_format: Input) -> RecordBlocks:
    shape = read_csv_shape(path, csv_format)
    require_no_partition(path, shape.names)
    return RecordBlocks(shape.records, read_text_blocks(path, shape, csv_format))


def _write_table(to: Path, table: pa.Table, options: WriteOptions) -> None:
    write_csv(to, table, options.csv_format, masked=options.masked)


CSV = Format(
    name=".csv",
    when="any program; UTF-8, or by `encoding` cp1252 or Latin-1",
    rank=1,
    read=lambda path, how, keep: read_text_table(path, how),
    write=_write_table,
    has_text_entries=True,
    is_exact=True,
    open_blocks=_open_blocks,
    notes=describe_formulas,
)
