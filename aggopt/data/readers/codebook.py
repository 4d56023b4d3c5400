"""Codebooks of statistical files: labels of columns and codes, and missing codes.

A codebook is stored with a table in the metadata of its fields, which a release drops.
"""

import json
from collections.abc import Container, Iterable, Mapping
from dataclasses import asdict, dataclass
from math import isfinite
from typing import Any

import pyarrow as pa

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
