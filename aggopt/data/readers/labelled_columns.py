"""Columns of a statistical file: numbers, dates, or the texts of codes."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from aggopt.core.plural import plural
from aggopt.data.readers.codebook import Code, Codebook, read_codebook
from aggopt.errors import TableError, naming
from aggopt.job import AttributeSection
from aggopt.job.roles import Roles

_MOST_WHOLE = 2.0**53  # beyond it not every whole number is a float


def make_column(
    values: Sequence[Any], book: Codebook, *, is_text: bool
) -> tuple[pa.Array, Codebook]:
    """Return the column of the entries (n,) of a file, and its codebook.

    Codes that all have a text become these texts, if all texts differ.  If only some
    have one, the codebook has their number, and the column is unchanged.
    """
    if is_text:
        values = [value or None for value in values]
    codes = {value for value in values if value is not None}
    present = {code for code in codes if not book.is_missing_code(code)}
    names = book.names
    bare = present - names.keys()
    levels = _order_codes(codes, book)
    only = replace(book, texts=_select_texts(book, codes))
    if not book.texts or bare == present:
        return _make_plain(values, is_text=is_text), only
    if not bare and len(set(book.label_codes(levels))) == len(levels):
        return _make_texts(values, levels, book), replace(
            book, texts=_select_texts(book, levels)
        )
    plain = sum(value in bare for value in values)
    labelled = sum(value in present - bare for value in values)
    only = replace(only, labelled=labelled, plain=plain)
    return _make_plain(values, is_text=is_text), only


def apply_declared_types(
    table: pa.Table, roles: Roles, attributes: Mapping[str, AttributeSection]
) -> pa.Table:
    """Return a table with the job's declared types of quasi-identifiers and wishes.

    Codes are numbers if the job declares them numeric, or if they are wishes or
    weights.  If only some have a text, they are names if the job declares that.

    Raises
    ------
    TableError
        Only some codes of a quasi-identifier or a wish have a text, and the job does
        not declare their type.
    """
    wrong = []
    for j, name in enumerate(table.column_names):
        if name not in (*roles.quasi_identifier, *roles.numbers):
            continue
        book = read_codebook(table.schema.field(j))
        kind = attributes[name].type.kind if name in attributes else None
        is_names = bool(book.texts) and pa.types.is_dictionary(table.column(j).type)
        if book.unclear and kind is None:
            wrong.append(f"{name!r}: {book.labelled} with a text, {book.plain} without")
        elif is_names and (kind == "numeric" or name in roles.numbers):
            table = _with(table, j, _read_numbers(name, table.column(j), book))
        elif book.unclear and kind not in ("numeric", "date"):
            with naming(repr(name)):
                table = _with(table, j, _label_codes(table.column(j), book))
    if wrong:
        raise TableError(
            "Columns have codes that the file gives a text, and values that it gives "
            f"none ({'; '.join(wrong)}).",
            fix='say what they are, under [attributes.NAME]: kind = "numeric" if all '
            'are numbers, "nominal" or an order if all are codes; or declare in the '
            "file the codes that stand for what is missing.",
        )
    return table


def _with(table: pa.Table, j: int, column: pa.Array) -> pa.Table:
    field = table.schema.field(j).with_type(column.type)
    return table.set_column(j, field, column)


def _make_plain(values: Sequence[Any], *, is_text: bool) -> pa.Array:
    """Return entries as text, dates, times, whole numbers or floats."""
    if is_text:
        return pa.array(values, pa.string())
    column = pa.array(values)
    if pa.types.is_null(column.type):
        return column.cast(pa.float64())
    return to_integers_if_whole(column) if pa.types.is_floating(column.type) else column


def to_integers_if_whole(numbers: pa.Array) -> pa.Array:
    """Return floats as whole numbers if all are, and none is a negative zero."""
    present = np.asarray(numbers.drop_null())
    small = (np.abs(present) < _MOST_WHOLE).all()
    if (
        small
        and (present == np.rint(present)).all()
        and not _has_negative_zeros(present)
    ):
        return numbers.cast(pa.int64())
    return numbers


def _has_negative_zeros(numbers: Any) -> bool:
    return bool((np.signbit(numbers) & (numbers == 0)).any())


def _order_codes(codes: Collection[Code], book: Codebook) -> list[Code]:
    """Return codes in their order; if ordered, also codes that no record has."""
    named_codes = book.names if book.ordered else ()
    rest = (code for code in named_codes if not book.is_missing_code(code))
    return sorted({*codes, *rest})


def _select_texts(
    book: Codebook, codes: Collection[Code]
) -> tuple[tuple[Code, str], ...]:
    """Return the texts of these codes alone."""
    return tuple((code, text) for code, text in book.texts if code in codes)


def _make_texts(
    values: Sequence[Any], levels: Sequence[Code], book: Codebook
) -> pa.Array:
    """Return the texts of codes (n,) as a dictionary column of the levels."""
    at = {code: j for j, code in enumerate(levels)}
    places = pa.array([None if v is None else at[v] for v in values], pa.int32())
    texts = pa.array(book.label_codes(levels), pa.string())
    return pa.DictionaryArray.from_arrays(places, texts, ordered=book.ordered)


def _label_codes(column: pa.ChunkedArray, book: Codebook) -> pa.Array:
    """Return text for codes if only some have one; refuse texts of several codes."""
    values = column.to_pylist()
    codes = {value for value in values if value is not None}
    texts = len(set(book.label_codes(codes)))
    if texts < len(codes):
        raise TableError(
            f"{plural(len(codes), 'code')} of the file have {plural(texts, 'text')}.",
            fix="give each code a text of its own.",
        )
    return pa.array(book.label_codes(values), pa.string())


def _read_numbers(name: str, column: pa.ChunkedArray, book: Codebook) -> pa.Array:
    """Return codes as numbers for texts; refuse codes that are text."""
    codes = book.encode_texts(column.cast(pa.string()).to_pylist())
    if codes is None or any(isinstance(code, str) for code in codes):
        raise TableError(
            f"The codes of {name!r} are text.",
            fix='write kind = "nominal" under [attributes.NAME].',
        )
    return _make_plain(codes, is_text=False)
