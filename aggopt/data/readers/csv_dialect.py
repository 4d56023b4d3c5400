"""Detect the format of a CSV file: its separator and its decimal point.

A separator is one that cuts each line into as many entries as the header.  The
package's strict rules then apply to the whole file as usual.
"""

import csv
from io import StringIO
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from aggopt.core.regular_files import require_regular
from aggopt.data.formats.csv import UTF_8
from aggopt.data.formats.registry import has_text_entries, require_format
from aggopt.data.parsing.parse_text import parse_column, strip_blanks
from aggopt.data.readers.read import Sample, read_as_text
from aggopt.job import SEPARATORS, Input, make_input_section

SAMPLE = 2**20  # bytes that are looked at for the separator
LINES = 1000  # in which numbers are counted
_THOUSANDS = r"^[+-]?[1-9]\d{0,2}(,\d{3})+$"


def read_with_dialect(
    path: Path,
    separator: str | None = None,
    decimal: str | None = None,
    encoding: str = UTF_8,
) -> tuple[pa.Table, Input]:
    """Return the unconverted table in a file, and the file's format.

    Omitted settings are detected, except the encoding, which bytes do not show.
    Entries may span lines; masking refuses that unless the job allows it.

    Raises
    ------
    TableError, JobError
        As `read_as_text`; the separator or the decimal point is unknown.
    """
    csv_format = _make_input(path, separator, decimal, encoding)
    table = read_as_text(path, _allow_multiline(path, csv_format))
    return table, csv_format if decimal else _detect_decimal(path, table, csv_format)


def sample_with_dialect(
    path: Path,
    separator: str | None = None,
    decimal: str | None = None,
    encoding: str = UTF_8,
) -> tuple[Sample, Input]:
    """Return a sample of the table, and the file's format; see `read_with_dialect`."""
    csv_format = _make_input(path, separator, decimal, encoding)
    sample = Sample.of(path, _allow_multiline(path, csv_format))
    return sample, csv_format if decimal else _detect_decimal(
        path, sample.table, csv_format
    )


def _make_input(
    path: Path, separator: str | None, decimal: str | None, encoding: str
) -> Input:
    require_format(path)
    require_regular(path)
    if separator is None and has_text_entries(path):
        separator = find_separator(path)
    return make_input_section(separator or ",", decimal or ".", encoding)


def _allow_multiline(path: Path, csv_format: Input) -> Input:
    """Return the settings, with line breaks allowed if the file has text entries."""
    return (
        csv_format.model_copy(update={"multiline": True})
        if has_text_entries(path)
        else csv_format
    )


def _detect_decimal(path: Path, table: pa.Table, csv_format: Input) -> Input:
    """Return the section with the decimal point that the entries of a CSV have."""
    if not has_text_entries(path):
        return csv_format
    decimal = _find_decimal(table, csv_format.separator)
    return make_input_section(csv_format.separator, decimal, csv_format.encoding)


def may_be_thousands(column: pa.ChunkedArray) -> bool:
    """Whether each comma of a column of text may separate thousands."""
    commas = pc.match_substring(strip_blanks(column), ",")
    with_comma = strip_blanks(column).filter(commas)
    if not len(with_comma):
        return False
    return bool(pc.all(pc.match_substring_regex(with_comma, _THOUSANDS)).as_py())


def find_separator(path: Path) -> str:
    """Return what cuts most lines as it cuts the header; of equals, to most numbers."""
    with path.open("rb") as stream:
        read = stream.read(SAMPLE)
    text = read.decode("utf-8-sig", errors="replace")
    cut = len(read) == SAMPLE
    return max(SEPARATORS, key=lambda separator: _score_separator(text, separator, cut))


def _score_separator(text: str, separator: str, cut: bool) -> tuple[float, int, int]:
    """Return the share of lines with as many entries as the header, numbers, entries.

    If the text was `cut`, so was its last line.
    """
    lines = csv.reader(StringIO(text, newline=""), delimiter=separator)
    try:
        rows = [row for row in lines if row]
    except csv.Error:  # an entry without end
        return 0.0, 0, 0
    if cut:
        rows = rows[:-1] or rows
    width = len(rows[0]) if rows else 0
    if width < 2:
        return 0.0, 0, 0
    alike = sum(len(row) == width for row in rows) / len(rows)
    return alike, sum(map(_count_numbers, rows[:LINES])), width


def _count_numbers(row: list[str]) -> int:
    """Return how many entries of a row are numbers."""
    return sum(entry.replace(",", "").replace(".", "").isdecimal() for entry in row)


def _find_decimal(table: pa.Table, separator: str) -> str:
    """Return the decimal point that makes more columns numbers."""
    if separator == ",":
        return "."
    points = {
        decimal: sum(
            not parse_column(column, make_input_section(separator, decimal))[1]
            for column in table.columns
        )
        for decimal in (".", ",")
    }
    return "," if points[","] > points["."] else "."
