"""Codebooks of statistical files, and their columns: numbers, dates, texts of codes.

A codebook is stored with a table in the metadata of its fields, which a release drops.
"""

import json
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from math import isfinite
from typing import Any

import numpy as np
import pyarrow as pa

from aggopt.core.plural import plural
from aggopt.errors import TableError, naming
from aggopt.job import AttributeSection, Roles

Code = float | str
_KEY = b"aggopt.codebook"


@dataclass(frozen=True)
class Codebook:
    """The entry of a codebook on one column.

    Attributes
    ----------
    label
        Of the column, in words; "" if it has none.
    texts
        The text of each code, in the order of the codes.
    ordered
        Whether the file marks this order as meaningful.
    missing
        First and last of the codes for missing values.
    labelled, plain
        The numbers of entries with and without a text if they may be codes or numbers;
        otherwise 0 and 0.
    """

    label: str = ""
    texts: tuple[tuple[Code, str], ...] = ()
    ordered: bool = False
    missing: tuple[tuple[Any, Any], ...] = ()
    labelled: int = 0
    plain: int = 0

    @property
    def unclear(self) -> bool:
        """Whether some entries are labelled codes and others are not."""
        return self.labelled > 0

    @property
    def names(self) -> dict[Code, str]:
        """The text of each code that has one."""
        return dict(self.texts)

    def label_codes(self, codes: Iterable[Code | None]) -> list[str | None]:
        """Return texts for codes (n,); codes without text are spelled as numbers."""
        names = self.names
        return [None if c is None else names.get(c, spell_code(c)) for c in codes]

    def encode_texts(self, entries: Iterable[str | None]) -> list[Code | None] | None:
        """Return codes for texts (n,); None if a text has no code."""
        code_of = {text: code for code, text in self.texts}
        ends = (end for pair in self.missing for end in pair)
        text_codes = any(isinstance(code, str) for code in (*code_of.values(), *ends))
        codes: list[Code | None] = []
        for entry in entries:
            code: Code | None = None
            if entry is not None:
                code = code_of.get(entry, entry if text_codes else _parse_code(entry))
                if code is None:
                    return None
            codes.append(code)
        return codes

    def is_missing_code(self, code: Code | None) -> bool:
        """Whether the file declares that a code represents missing values."""
        return code is not None and any(lo <= code <= hi for lo, hi in self.missing)


def spell_code(code: Code) -> str:
    """Return a code without a text as text: 3, not 3.0."""
    is_whole = not isinstance(code, str) and float(code).is_integer()
    return str(int(code)) if is_whole else str(code)


def _parse_code(entry: str) -> float | None:
    """Return the code that is spelled so."""
    try:
        number = float(entry)
    except ValueError:
        return None
    return number if isfinite(number) and spell_code(number) == entry else None


def attach_codebooks(table: pa.Table, books: Mapping[str, Codebook]) -> pa.Table:
    """Return a table with its codebooks in the metadata."""
    fields = []
    for field in table.schema:
        codebook_text = json.dumps(asdict(books.get(field.name, Codebook())))
        fields.append(field.with_metadata({_KEY: codebook_text.encode()}))
    return pa.Table.from_arrays(table.columns, schema=pa.schema(fields))


def read_codebook(field: pa.Field) -> Codebook:
    """Return the codebook of a column; empty if it has none."""
    codebook_text = (field.metadata or {}).get(_KEY)
    if codebook_text is None:
        return Codebook()
    entries = json.loads(codebook_text)
    for name in ("texts", "missing"):
        entries[name] = tuple(map(tuple, entries[name]))
    return Codebook(**entries)


def read_codebooks(data: Any) -> dict[str, Codebook]:
    """Return the codebooks of an Arrow table's columns, by name."""
    if not isinstance(data, pa.Table):
        return {}
    return {field.name: read_codebook(field) for field in data.schema}


def select_published_books(
    books: Mapping[str, Codebook], names: Iterable[str], masked: Container[str]
) -> dict[str, Codebook]:
    """Return the codebooks of a release's columns; masked numbers keep no codes.

    A mean has no text of a code, and does not represent a missing value.
    """
    published = {name: books[name] for name in names if name in books}
    return {
        name: Codebook(book.label) if name in masked else book
        for name, book in published.items()
    }


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
        kind = attributes[name].read_kind if name in attributes else None
        is_names = bool(book.texts) and pa.types.is_dictionary(table.column(j).type)
        if book.unclear and kind is None:
            wrong.append(f"{name!r}: {book.labelled} with a text, {book.plain} without")
        elif is_names and (kind == "numeric" or name in roles.numbers):
            table = _replace_column(
                table, j, _read_numbers(name, table.column(j), book)
            )
        elif book.unclear and kind not in ("numeric", "date"):
            with naming(repr(name)):
                table = _replace_column(table, j, _label_codes(table.column(j), book))
    if wrong:
        raise TableError(
            "Columns have codes that the file gives a text, and values that it gives "
            f"none ({'; '.join(wrong)}).",
            fix='say what they are, under [attributes.NAME]: kind = "numeric" if all '
            'are numbers, "nominal" or an order if all are codes; or declare in the '
            "file the codes that stand for what is missing.",
        )
    return table


def _replace_column(table: pa.Table, j: int, column: pa.Array) -> pa.Table:
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
