"""Entries of text as the numbers, truth values or names that they spell."""

import re
from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

from aggopt.errors import TableError
from aggopt.input.refused import NOT_AS_THEY_ARE
from aggopt.job import AttributeSection, Input
from aggopt.job._roles import Roles

MISSING = (
    *("", "NA", "N/A", "NaN", "nan", "NULL", "null", "None", "."),
    *("n/a", "#N/A", "<NA>", "NaT"),
)
_TRUTH = (("True", "False"), ("TRUE", "FALSE"), ("true", "false"))
_WHOLE = r"^[+-]?\d{1,18}$"
_ANY_NUMBER = r"^[+-]?[.,]?\d[\d.,' ]*$"  # as some country writes one
_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$|^[+-]?inf(inity)?$"


def typed(
    text: pa.Table, roles: Roles, how: Input, attributes: Mapping[str, AttributeSection]
) -> pa.Table:
    """Return the table with numbers for numbers; with text for quasi-identifiers of it.

    What is neither is left to the user: a few words among numbers are mistakes, or
    these numbers are codes.
    """
    mixed, wanted = {}, {*roles.quasi_identifier, *roles.numbers}
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
        elif kind is None and name not in roles.numbers and wordy(column, words):
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
    yes = _truth(entries.drop_null())
    if yes:
        return pc.equal(entries, yes), 0
    numeric = _spell_numbers(entries, how)
    words = pc.sum(pc.invert(numeric)).as_py() or 0
    if words:
        return column, words
    whole = pc.all(pc.match_substring_regex(entries, _WHOLE)).as_py()
    plain = entries
    if pc.any(pc.starts_with(entries, "+")).as_py():
        plain = pc.replace_substring_regex(entries, r"^\+", "")
    if how.decimal != ".":
        plain = pc.replace_substring(plain, how.decimal, ".")
    return plain.cast(pa.int64() if whole else pa.float64()), 0


def _truth(there: pa.ChunkedArray) -> str:
    """Return how truth is spelled in entries that are all truth values, else ""."""
    first = there[0].as_py() if len(there) else None
    for pair in _TRUTH:
        if first in pair and pc.all(pc.is_in(there, pa.array(pair))).as_py():
            return pair[0]
    return ""


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
    trimmed = pc.utf8_trim_whitespace(column)
    missing = pc.is_in(trimmed, pa.array(MISSING))
    return pc.if_else(missing, pa.scalar(None, pa.string()), trimmed)
