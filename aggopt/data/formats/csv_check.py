"""Read a CSV file once by the strict rules, which lenient readers do not apply.

A quote that is never closed swallows the records behind it, which would then be
published inside one entry.  So every record must have as many entries as the header,
and every quote its end.  An encoding is refused if the bytes show another one.
"""

import csv
import sys
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE, getincrementaldecoder
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from aggopt.core.plural import plural
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
