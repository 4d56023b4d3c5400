"""Read tables from files."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from aggopt.errors import TableError
from aggopt.job import Input
from aggopt.roles import Roles

ENDINGS = (".csv", ".parquet")
MISSING = ("", "NA", "N/A", "NaN", "nan", "NULL", "null", "None", ".")
_WHOLE, _NUMBER = (
    r"^[+-]?\d{1,18}$",
    r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$|^[+-]?inf(inity)?$",
)


def read(path: Path, roles: Roles, how: Input) -> pa.Table:
    """Return the table in a .csv or .parquet file.

    Of a CSV file only the quasi-identifiers are read as numbers: every other entry
    stays the text that it is, so that a release repeats it letter by letter.

    Raises
    ------
    TableError
        As `as_written`; or a quasi-identifier holds text.
    """
    table = as_written(path, how)
    return _numbers(table, roles, how) if is_csv(path) else table


def as_written(path: Path, how: Input) -> pa.Table:
    """Return the table in a file, each entry of a CSV file as the text that it is.

    Raises
    ------
    TableError
        The file does not exist, is a directory, has another ending, or cannot be
        read.  The message never quotes the file.
    """
    check_ending(path)
    if not path.exists():
        raise TableError(f"There is no file {path}.", fix="check the path.")
    if path.is_dir():
        raise TableError(f"{path} is a directory.", fix="name a file in it.")
    try:
        return _text(path, how) if is_csv(path) else pyarrow.parquet.read_table(path)
    except OSError as error:
        raise TableError(
            f"{path} cannot be read: {error.strerror or 'it is damaged'}.",
            fix="check that it may be read and is what its ending says.",
        ) from None
    except pa.ArrowException:
        pass  # its message quotes the file
    raise TableError(
        f"{path} is not a readable {path.suffix.lower()[1:]} file.",
        fix="check that it is what its ending says; a CSV file must be UTF-8 text "
        "with a header line.",
    )


def is_csv(path: Path) -> bool:
    """Whether the file is a CSV file by its ending."""
    return path.suffix.lower() == ".csv"


def check_ending(path: Path) -> None:
    """Refuse a path that ends neither in .csv nor in .parquet."""
    if path.suffix.lower() not in ENDINGS:
        raise TableError(
            f"{path.name} ends in neither .csv nor .parquet.",
            fix="use one of the two.",
        )


def _text(path: Path, how: Input) -> pa.Table:
    ragged: list[int] = []

    def note(row: Any) -> str:
        ragged.append(row.number or 0)
        return "skip"

    names = _header(path, how)
    table = pyarrow.csv.read_csv(
        path,
        read_options=pyarrow.csv.ReadOptions(use_threads=False),
        parse_options=pyarrow.csv.ParseOptions(
            delimiter=how.separator, newlines_in_values=True, invalid_row_handler=note
        ),
        convert_options=pyarrow.csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False
        ),
    )
    if ragged:
        raise TableError(
            f"{len(ragged)} line(s) of {path.name} do not have {len(names)} entries, "
            f"the first of them record {ragged[0] - 1}.",
            fix="repair those lines, or set [input] separator in the job.",
        )
    return table


def _header(path: Path, how: Input) -> list[str]:
    with pyarrow.csv.open_csv(
        path,
        parse_options=pyarrow.csv.ParseOptions(
            delimiter=how.separator,
            newlines_in_values=True,
            invalid_row_handler=lambda _: "skip",
        ),
    ) as reader:
        return list(reader.schema.names)


def _numbers(text: pa.Table, roles: Roles, how: Input) -> pa.Table:
    worded = {}
    for j, name in enumerate(text.column_names):
        if name in roles.quasi_identifier and text.column_names.count(name) == 1:
            column, words = _parsed(text.column(j), how)
            text = text.set_column(j, name, column)
            if words:
                worded[name] = words
    if worded:
        counts = "; ".join(f"{name!r}: {count}" for name, count in worded.items())
        raise TableError(
            f"Quasi-identifiers have entries that are not numeric ({counts}).",
            fix="recode them as numbers, or give them another role; for numbers with "
            'a decimal comma set decimal = "," under [input]. Categorical '
            "quasi-identifiers are not supported yet.",
        )
    return text


def _parsed(column: pa.ChunkedArray, how: Input) -> tuple[pa.ChunkedArray, int]:
    """Return the column as numbers, nulls where missing, and how many are words."""
    trimmed = pc.utf8_trim_whitespace(column)
    if how.decimal != ".":
        trimmed = pc.replace_substring(trimmed, how.decimal, ".")
    missing = pc.is_in(trimmed, pa.array(MISSING))
    entries = pc.if_else(missing, pa.scalar(None, pa.string()), trimmed)
    numeric = pc.match_substring_regex(entries, _NUMBER, ignore_case=True)
    words = pc.sum(pc.invert(numeric)).as_py() or 0
    if words:
        return column, words
    whole = pc.all(pc.match_substring_regex(entries, _WHOLE)).as_py()
    plain = pc.replace_substring_regex(entries, r"^\+", "")
    return plain.cast(pa.int64() if whole else pa.float64()), 0
