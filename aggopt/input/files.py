"""Read tables from files."""

import re
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from aggopt.core.names import check_header, check_names
from aggopt.core.regular import require_regular
from aggopt.errors import TableError
from aggopt.input.csv_check import checked
from aggopt.input.refused import NOT_AS_THEY_ARE
from aggopt.job import AttributeSection, Input
from aggopt.job._roles import Roles

ENDINGS = (".csv", ".parquet")
MISSING = (
    *("", "NA", "N/A", "NaN", "nan", "NULL", "null", "None", "."),
    *("n/a", "#N/A", "<NA>", "NaT"),
)
_TRUTH = (("True", "False"), ("TRUE", "FALSE"), ("true", "false"))
_WHOLE = r"^[+-]?\d{1,18}$"
_ANY_NUMBER = r"^[+-]?[.,]?\d[\d.,' ]*$"  # as some country writes one
_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$|^[+-]?inf(inity)?$"


def read(
    path: Path,
    roles: Roles,
    how: Input,
    attributes: Mapping[str, AttributeSection] | None = None,
) -> pa.Table:
    """Return the table in a .csv or .parquet file.

    Of a CSV file only quasi-identifiers and wishes are read as numbers, if they are:
    every other entry stays the text that it is, so that a release repeats it letter by
    letter.  `attributes` says which quasi-identifiers are categories all the same.

    Raises
    ------
    TableError
        As `as_written`; or a column that must be numeric holds text.
    """
    table = as_written(path, how)
    return typed(table, roles, how, attributes or {}) if is_csv(path) else table


def as_written(path: Path, how: Input) -> pa.Table:
    """Return the table in a file, each entry of a CSV file as the text that it is.

    Raises
    ------
    TableError
        The file does not exist, is no plain file, has another ending, or cannot be
        read.  The message never quotes the file.
    """
    check_ending(path)
    require_regular(path)
    try:
        return _text(path, how) if is_csv(path) else _parquet(path)
    except OSError as error:
        raise TableError(
            f"{path} cannot be read: {error.strerror or 'it is damaged'}.",
            fix="check that it may be read and is what its ending says.",
        ) from None
    except pa.ArrowException:
        pass  # its message quotes the file
    raise TableError(
        f"{path} is not a readable {path.suffix.lower()[1:]} file.",
        fix="check that it is what its ending says, and not damaged.",
    )


def as_released(path: Path, how: Input) -> pa.Table:
    """Return the same of a release, null where an entry of a CSV file is empty.

    That is how a release has what is missing: no name in it is an empty text.

    Raises
    ------
    TableError
        As `as_written`.
    """
    table = as_written(path, how)
    if not is_csv(path):
        return table
    nothing = pa.scalar(None, pa.string())
    there = [pc.if_else(pc.equal(c, ""), nothing, c) for c in table.columns]
    return pa.table(there, names=table.column_names)


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


def _parquet(path: Path) -> pa.Table:
    check_names(list(pyarrow.parquet.read_schema(path).names))
    return pyarrow.parquet.read_table(path)


def _text(path: Path, how: Input) -> pa.Table:
    shape = checked(path, how)
    check_header(shape.names, path.name)
    if not shape.records:  # the reader below needs a line end behind the header
        return pa.table({name: pa.array([], pa.string()) for name in shape.names})
    table = pyarrow.csv.read_csv(
        path,
        # one block: entries may be as long as they like
        read_options=pyarrow.csv.ReadOptions(
            use_threads=False, block_size=min(path.stat().st_size + 1, 2**31 - 1)
        ),
        parse_options=pyarrow.csv.ParseOptions(
            delimiter=how.separator,
            newlines_in_values=True,
            ignore_empty_lines=len(shape.names) > 1,
        ),
        convert_options=pyarrow.csv.ConvertOptions(
            column_types=dict.fromkeys(shape.names, pa.string()),
            strings_can_be_null=False,
        ),
    )
    if table.num_rows != shape.records:
        raise TableError(
            f"{path.name} can be read in two ways, as {shape.records} or as "
            f"{table.num_rows} records.",
            fix="write it again with quotes around entries that hold separators, "
            "quotes or line breaks.",
        )
    return table


def typed(
    text: pa.Table, roles: Roles, how: Input, attributes: Mapping[str, AttributeSection]
) -> pa.Table:
    """Return the table with numbers for numbers; with text for quasi-identifiers of it.

    What is neither is left to the user: a few words among numbers are mistakes, or
    these numbers are codes.
    """
    mixed, wanted = {}, {*roles.quasi_identifier, *roles.wish}
    for j, name in enumerate(text.column_names):
        if name not in wanted:
            continue
        kind = attributes[name].type.kind if name in attributes else None
        if kind == "date":
            text = text.set_column(j, name, present(text.column(j)))
            continue
        column, words = parsed(text.column(j), how)
        if kind not in (None, "numeric"):
            column = named(text.column(j), column)
        elif kind is None and name not in roles.wish and wordy(column, words):
            column = present(column)
        elif words:
            mixed[name] = words
        text = text.set_column(j, name, column)
    if mixed:
        counts = "; ".join(f"{name!r}: {count}" for name, count in mixed.items())
        raise TableError(
            f"Columns that must be numeric have entries that are not ({counts}).",
            fix=f"{NOT_AS_THEY_ARE} For numbers with "
            'a decimal comma set decimal = "," under [input], and leave out points '
            "between thousands.",
        )
    return text


def named(column: pa.ChunkedArray, parsed: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column of names: truth values, whole numbers, or else the very text.

    Numbers are numbers if each is spelled as numbers are: 01 and 1.0 are text.
    """
    entries = present(column)
    if pa.types.is_boolean(parsed.type):
        return parsed
    if pa.types.is_int64(parsed.type):
        again = parsed.cast(pa.string())
        if pc.all(pc.equal(again, entries)).as_py():
            return parsed
    return entries


def wordy(column: pa.ChunkedArray, words: int) -> bool:
    """Whether there are words, and none that may be meant as a number or a truth."""
    if not words:
        return False
    trimmed = stripped(column).drop_null()
    numbers = pc.match_substring_regex(trimmed, _ANY_NUMBER)
    truths = pc.is_in(trimmed, pa.array(sum(_TRUTH, ())))
    return words == len(trimmed) and not pc.any(pc.or_(numbers, truths)).as_py()


def present(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return entries as they are, null where they stand for what is missing."""
    missing = pc.is_in(pc.utf8_trim_whitespace(column), pa.array(MISSING))
    return pc.if_else(missing, pa.scalar(None, pa.string()), column)


def parsed(column: pa.ChunkedArray, how: Input) -> tuple[pa.ChunkedArray, int]:
    """Return the column as numbers, or truth values, and how many are words.

    What is missing is null.  Truth values are spelled in one way throughout: as this
    package writes them (True), as R and Excel do (TRUE), or as SQL does (true); t and f
    might as well be codes.
    """
    entries = stripped(column)
    there = entries.drop_null()
    for yes, no in _TRUTH if len(there) else ():
        if pc.all(pc.is_in(there, pa.array((yes, no)))).as_py():
            return pc.equal(entries, yes), 0
    numeric = _spell_numbers(entries, how)
    words = pc.sum(pc.invert(numeric)).as_py() or 0
    if words:
        return column, words
    whole = pc.all(pc.match_substring_regex(entries, _WHOLE)).as_py()
    plain = pc.replace_substring_regex(entries, r"^\+", "")
    plain = pc.replace_substring(plain, how.decimal, ".")
    return plain.cast(pa.int64() if whole else pa.float64()), 0


def reads_as_missing(column: pa.ChunkedArray) -> int:
    """Return how many entries are text that a CSV file has for what is missing."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return 0
    return int(present(column).null_count - column.null_count)


def numbers_alone(column: pa.ChunkedArray, how: Input) -> pa.ChunkedArray:
    """Return a column of text with nothing in place of entries that are no numbers."""
    entries = stripped(column)
    numeric = pc.fill_null(_spell_numbers(entries, how), False)
    return pc.if_else(numeric, entries, pa.scalar(""))


def _spell_numbers(entries: pa.ChunkedArray, how: Input) -> pa.ChunkedArray:
    pattern = _NUMBER.replace(r"\.", re.escape(how.decimal))
    return pc.match_substring_regex(entries, pattern, ignore_case=True)


def stripped(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return entries without blanks around them, null where they say "missing"."""
    return pc.utf8_trim_whitespace(present(column))
