"""Entries of text as the numbers, truth values or names that they spell."""

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

from aggopt.data.parsing.infer_text_type import (
    Spelling,
    blank_missing,
    spell_numbers,
    strip_blanks,
)
from aggopt.errors import TableError
from aggopt.job import AttributeSection, Input, Roles


def parse_table(
    text: pa.Table,
    roles: Roles,
    csv_format: Input,
    attributes: Mapping[str, AttributeSection],
) -> pa.Table:
    """Return the table with numbers for numbers; with text for quasi-identifiers of it.

    Mixed columns are left to the user: a few words among numbers are mistakes, or the
    numbers are codes.
    """
    wanted = (*roles.quasi_identifier, *roles.numbers)
    names = [name for name in text.column_names if name in wanted]
    spellings = {name: Spelling.of(text[name], csv_format) for name in names}
    types = find_declared_types(spellings, roles, attributes)
    columns = {
        name: spellings[name].read(text[name], types[name], csv_format)
        if name in types
        else text[name]
        for name in text.column_names
    }
    return pa.table(columns)


def find_declared_types(
    spellings: Mapping[str, Spelling],
    roles: Roles,
    attributes: Mapping[str, AttributeSection],
) -> dict[str, pa.DataType]:
    """Return the types that quasi-identifiers, weights and wishes spell.

    Raises
    ------
    TableError
        Some have words among numbers, or numbers that no float can be.
    """
    types = {}
    mixed = {}
    for name, spelling in spellings.items():
        kind = attributes[name].type.kind if name in attributes else None
        number = kind == "numeric" or name in roles.numbers
        if kind == "date" or (kind is None and not number and spelling.wordy):
            types[name] = pa.string()
        elif kind not in (None, "numeric"):
            types[name] = spelling.type_of_names
        elif spelling.mixed:
            mixed[name] = spelling.mixed
        else:
            types[name] = spelling.type
    if mixed:
        counts = "; ".join(f"{name!r}: {count}" for name, count in mixed.items())
        raise TableError(
            f"Columns that must be numeric have entries that are not ({counts}).",
            fix=f"{NOT_AS_THEY_ARE} For numbers with "
            'a decimal comma set decimal = "," under [input], and leave out points '
            "between thousands. All columns need one decimal sign: rewrite those that "
            "use another.",
        )
    _require_within(spellings, types)
    return types


def _require_within(
    spellings: Mapping[str, Spelling], types: Mapping[str, pa.DataType]
) -> None:
    """Refuse numbers that are too large, and would be read as infinite."""
    numbers = (name for name, type_ in types.items() if pa.types.is_floating(type_))
    counts = [f"{n!r}: {spellings[n].beyond}" for n in numbers if spellings[n].beyond]
    if counts:
        raise TableError(
            f"Columns have numbers beyond 1.8e308 ({'; '.join(counts)}).",
            fix="correct these entries, or divide the column.",
        )


def parse_column(
    column: pa.ChunkedArray, csv_format: Input
) -> tuple[pa.ChunkedArray, int]:
    """Return the column as numbers, or truth values, and the number of words.

    Missing entries are null; a column with words is unchanged.
    """
    spelling = Spelling.of(column, csv_format)
    if spelling.mixed:
        return column, spelling.mixed
    return spelling.read(column, spelling.type, csv_format), 0


def count_missing_words(column: pa.ChunkedArray) -> int:
    """Return the number of entries with text that represents missing values."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return 0
    return int(blank_missing(column).null_count - column.null_count)


def blank_non_numbers(column: pa.ChunkedArray, csv_format: Input) -> pa.ChunkedArray:
    """Return a column of text with entries that are not numbers removed."""
    entries = strip_blanks(column)
    numeric = pc.fill_null(spell_numbers(entries, csv_format), False)
    return pc.if_else(numeric, entries, pa.scalar(""))


UNDONE = (
    "Published as it is (confidential, other), what others know of a person undoes k."
)
NOT_AS_THEY_ARE = (
    "make them numbers; if they are categories, or text that spells dates, say so under"
    ' [attributes.NAME], with kind = "nominal", an order or a tree, or kind = "date"; '
    f"or drop them, as identifier. {UNDONE}"
)
CHECK = "`aggopt check` says what that would do."
