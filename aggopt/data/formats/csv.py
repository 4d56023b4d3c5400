"""CSV files: checked, read whole or block by block, and written as a job specifies.

A quote that is never closed swallows the records after it, which would then be
published inside one entry.  So every record must have as many entries as the header,
and every quote its end.  An encoding is refused if the bytes show another one.
"""

import csv
import sys
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE, getincrementaldecoder
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from aggopt.core.column_names import check_header
from aggopt.core.memory import require_memory
from aggopt.core.plural import plural
from aggopt.core.regular_files import require_no_partition
from aggopt.data.formats.parquet import IN_BLOCKS
from aggopt.data.formats.registry import Format, RecordBlocks, WriteOptions
from aggopt.data.parsing.columns import is_text
from aggopt.data.parsing.parse_text import count_missing_words, spell_numbers
from aggopt.encoding.clock import count_nanoseconds
from aggopt.encoding.iso_text import format_iso_duration
from aggopt.errors import TableError
from aggopt.job import SEPARATORS, Input


@dataclass(frozen=True)
class CsvShape:
    """Names of the columns, number of records, entries that span several lines."""

    names: tuple[str, ...]
    records: int
    spanning: int


def check_csv(path: Path, csv_format: Input) -> CsvShape:
    """Return the shape of a CSV file that keeps the rules.

    Raises
    ------
    TableError
        Not in its encoding, no header, an open quote, or lines of unequal length.
    """
    require_encoding(path, csv_format.encoding)
    encoding = "utf-8-sig" if csv_format.encoding == UTF_8 else csv_format.encoding
    with path.open(encoding=encoding, newline="") as stream, _allow_long_entries():
        lines = _read_lines(stream, csv_format)
        try:
            names = next(lines, None)
            if not names:
                raise TableError(
                    f"{path.name} is empty.", fix="bring a file with a header line."
                )
            _check_separator(path, names, csv_format)
            widths = Counter(map(len, lines))
            if lines.line_num == 1 + widths.total() and _are_alike(widths, len(names)):
                return CsvShape(tuple(names), _count_records(widths, len(names)), 0)
            stream.seek(0)  # again, to find the error and its line
            lines = _read_lines(stream, csv_format)
            next(lines)
            return _check_lines(path, lines, tuple(names), csv_format)
        except UnicodeError:  # a message of its own would quote the file
            problem, fix = describe_encoding_error(csv_format.encoding)
        except csv.Error:
            line = _find_open_quote(stream, csv_format)
            problem = f"breaks the rules of quotes on line {line}"
            fix = "close the quote that opens there, and double those inside an entry"
    raise TableError(f"{path.name} {problem}.", fix=f"{fix}.")


def _read_lines(stream: TextIO, csv_format: Input) -> Any:
    """Return a strict reader of the lines of a CSV stream, with its separator."""
    return csv.reader(stream, delimiter=csv_format.separator, strict=True)


def _find_open_quote(stream: TextIO, csv_format: Input) -> int:
    """Return the line of the opening quote that breaks the rules.

    The reader names the line that it cannot read: the last one of the file, if a quote
    is never closed.
    """
    stream.seek(0)
    lines = _read_lines(stream, csv_format)
    begins = 0
    with suppress(csv.Error):
        for _ in lines:
            begins = lines.line_num
    stream.seek(0)
    opened = begins + 1
    quoted = False
    for number, line in enumerate(stream, 1):
        if number > lines.line_num:
            break
        if number <= begins:
            continue
        place = 0
        while place < len(line):
            if quoted:
                place, quoted = _find_end_of_quoted(line, place)
            elif line[place] == '"':
                opened = number
                quoted = True
                place += 1
            else:
                end = line.find(csv_format.separator, place)
                place = len(line) if end < 0 else end + 1
    return opened


def _find_end_of_quoted(line: str, place: int) -> tuple[int, bool]:
    """Return the end of a quoted entry, and whether it continues in the next line."""
    while (end := line.find('"', place)) >= 0:
        if line[end + 1 : end + 2] != '"':
            return end + 1, False
        place = end + 2
    return len(line), True


def _are_alike(widths: Counter[int], columns: int) -> bool:
    """Whether all lines have as many entries as the header, or are empty."""
    return widths.keys() <= {0, columns}


def _count_records(widths: Counter[int], columns: int) -> int:
    """Return the number of records; an empty line is one if the file has one column."""
    return widths[columns] + (widths[0] if columns == 1 else 0)


def _check_lines(
    path: Path, lines: Iterator[list[str]], names: tuple[str, ...], csv_format: Input
) -> CsvShape:
    records = 0
    spanning = 0
    ragged = 0
    first = 0
    for entries in lines:
        if not entries and len(names) > 1:
            continue  # an empty line
        records += 1
        if len(entries or [""]) != len(names):
            ragged += 1
            first = first or records
        spanning += sum("\n" in entry or "\r" in entry for entry in entries)
    if ragged:
        do = "does" if ragged == 1 else "do"
        wanted = plural(len(names), "entry", "entries")
        raise TableError(
            f"{plural(ragged, 'record')} of {path.name} {do} not have {wanted}; the "
            f"first is record {first}.",
            fix="repair them, or set separator under [input] in the job, or "
            "--separator of `aggopt init` and `aggopt convert`.",
        )
    if spanning and not csv_format.multiline:
        span = "spans" if spanning == 1 else "span"
        raise TableError(
            f"{plural(spanning, 'entry', 'entries')} of {path.name} {span} several "
            "lines: where a quote is missing, or one too many, it holds whole records.",
            fix="look for stray quotes; if the entries are right, set multiline = true "
            "under [input] in the job, or --multiline of `aggopt convert`.",
        )
    return CsvShape(names, records, spanning)


def _check_separator(path: Path, names: list[str], csv_format: Input) -> None:
    others = [s for s in SEPARATORS if s != csv_format.separator and s in names[0]]
    if len(names) == 1 and others:
        raise TableError(
            f"{path.name} has one column by the separator "
            f"{csv_format.separator!r}, and its "
            f"header holds {others[0]!r}.",
            fix=f"set separator = {others[0]!r} under [input] in the job, or "
            f"--separator {others[0]!r} of `aggopt init` and `aggopt convert`.",
        )


@contextmanager
def _allow_long_entries() -> Iterator[None]:
    """Lift the limit on the length of an entry, for the while."""
    before = csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
    try:
        yield
    finally:
        csv.field_size_limit(before)


UTF_8 = "utf-8"
CP1252 = "cp1252"
LATIN_1 = "latin-1"
_CALLED = {UTF_8: "UTF-8", CP1252: "cp1252", LATIN_1: "Latin-1"}
_BLOCK = 2**20  # bytes
_CONTROLS = bytes(range(0x80, 0xA0))  # of Latin-1; in cp1252 these are letters
WIDEST = 3  # bytes that a letter of one byte has in UTF-8: the euro sign of cp1252


def require_encoding(path: Path, encoding: str) -> None:
    """Refuse a file whose bytes show that it is in another encoding.

    Each byte is a letter in Latin-1, and nearly each in cp1252: a wrong encoding would
    publish wrong letters without an error.

    Raises
    ------
    TableError
        The file begins with the mark of UTF-16; or it is UTF-8 with letters beyond
        ASCII, and the encoding is another one; or Latin-1 with letters of cp1252.
    """
    with path.open("rb") as stream:
        first = stream.read(3)
    if first[:2] in (BOM_UTF16_LE, BOM_UTF16_BE):
        raise TableError(
            f"{path.name} is not UTF-8 text: it begins as UTF-16 does.",
            fix="save it again as CSV UTF-8.",
        )
    if encoding == UTF_8:
        return
    if first == BOM_UTF8 or _is_utf_8(path):
        raise TableError(
            f'{path.name} is UTF-8 text, and encoding = "{encoding}".',
            fix=f'write encoding = "{UTF_8}" under [input], or leave it out.',
        )
    blocks = _read_blocks(path) if encoding == LATIN_1 else ()
    if any(block.translate(None, _CONTROLS) != block for block in blocks):
        raise TableError(
            f"{path.name} has bytes that Latin-1 has no letters for, and cp1252 has.",
            fix=f'write encoding = "{CP1252}" under [input] of the job, or --encoding '
            f"{CP1252}.",
        )


def describe_encoding_error(encoding: str) -> tuple[str, str]:
    """Return the error text for a file in another encoding, and the remedy."""
    if encoding == UTF_8:
        return "is not UTF-8 text", (
            f'if Windows in Western Europe wrote it, write encoding = "{CP1252}" '
            f"under [input] of the job, or --encoding {CP1252} of `aggopt init` and "
            "`aggopt convert`, and look whether its letters are right; else save it "
            "again as CSV UTF-8"
        )
    return f"is not {_CALLED[encoding]} text", "save it again as CSV UTF-8"


def _is_utf_8(path: Path) -> bool:
    """Return whether a file is UTF-8 and has letters beyond ASCII."""
    decoder = getincrementaldecoder(UTF_8)()
    beyond = False
    try:
        for block in _read_blocks(path):
            decoder.decode(block)
            beyond |= not block.isascii()
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return beyond


def _read_blocks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as stream:
        while block := stream.read(_BLOCK):
            yield block


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
        As `aggopt.data.formats.csv.check_csv`; or names are duplicate or empty.
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
    """Return the options of Arrow's reader for a CSV file of this shape."""
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
    """Refuse a file in which two readings find different numbers of records."""
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
    read=lambda path, csv_format, keep: read_text_table(path, csv_format),
    write=_write_table,
    has_text_entries=True,
    is_exact=True,
    open_blocks=_open_blocks,
    notes=describe_formulas,
)
