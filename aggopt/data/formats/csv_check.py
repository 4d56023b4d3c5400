"""Read a CSV file once by the strict rules, to find what a lenient reader hides.

A quote that is never closed swallows the records behind it, which would then be
published inside one entry.  So every record must have as many entries as the header,
and every quote its end.
"""

import csv
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from aggopt.core.plural import plural
from aggopt.data.formats.text_encoding import (
    UTF_8,
    describe_encoding_error,
    require_encoding,
)
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
                opened, quoted, place = number, True, place + 1
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
    records, spanning, ragged, first = 0, 0, 0, 0
    for entries in lines:
        if not entries and len(names) > 1:
            continue  # an empty line
        records += 1
        if len(entries or [""]) != len(names):
            ragged, first = ragged + 1, first or records
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
