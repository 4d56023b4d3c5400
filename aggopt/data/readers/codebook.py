"""What a statistical file says of a column beside its values: labels, missing codes.

It travels with a table in the metadata of its fields, which a release drops.
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
    """What a file says of one column.

    Attributes
    ----------
    label
        Of the column, in words; "" if it has none.
    texts
        The text that stands for each code, in the order of the codes.
    ordered
        Whether the file says that this order has a meaning.
    missing
        First and last of the codes that stand for what is missing.
    labelled, plain
        How many entries have a text, and how many have none, where it is not clear
        whether they are codes or numbers; 0 and 0 where it is.
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

    def named(self, codes: Iterable[Code | None]) -> list[str | None]:
        """Return texts for codes (n,), spelled as numbers where there is none."""
        names = self.names
        return [None if c is None else names.get(c, spell_code(c)) for c in codes]

    def codes(self, entries: Iterable[str | None]) -> list[Code | None] | None:
        """Return codes for texts (n,); None if one of them stands for no code."""
        known = {text: code for code, text in self.texts}
        ends = (end for pair in self.missing for end in pair)
        text_codes = any(isinstance(code, str) for code in (*known.values(), *ends))
        made: list[Code | None] = []
        for entry in entries:
            code: Code | None = None
            if entry is not None:
                code = known.get(entry, entry if text_codes else _number(entry))
                if code is None:
                    return None
            made.append(code)
        return made

    def stands_for_missing(self, code: Code | None) -> bool:
        """Whether the file says of a code that it stands for what is missing."""
        return code is not None and any(lo <= code <= hi for lo, hi in self.missing)


def spell_code(code: Code) -> str:
    """Return a code without a text as text: 3, not 3.0."""
    whole = not isinstance(code, str) and float(code).is_integer()
    return str(int(code)) if whole else str(code)


def _number(entry: str) -> float | None:
    """Return the code that is spelled so."""
    try:
        number = float(entry)
    except ValueError:
        return None
    return number if isfinite(number) and spell_code(number) == entry else None


def attach_codebooks(table: pa.Table, books: Mapping[str, Codebook]) -> pa.Table:
    """Return a table that says of its columns what a file says of them."""
    fields = []
    for field in table.schema:
        codebook_text = json.dumps(asdict(books.get(field.name, Codebook())))
        fields.append(field.with_metadata({_KEY: codebook_text.encode()}))
    return pa.Table.from_arrays(table.columns, schema=pa.schema(fields))


def read_codebook(field: pa.Field) -> Codebook:
    """Return what was said of a column; nothing if nothing was."""
    codebook_text = (field.metadata or {}).get(_KEY)
    if codebook_text is None:
        return Codebook()
    found = json.loads(codebook_text)
    for name in ("texts", "missing"):
        found[name] = tuple(map(tuple, found[name]))
    return Codebook(**found)


def read_codebooks(data: Any) -> dict[str, Codebook]:
    """Return what was said of the columns of a table of Arrow's, by name."""
    if not isinstance(data, pa.Table):
        return {}
    return {field.name: read_codebook(field) for field in data.schema}


def published_books(
    books: Mapping[str, Codebook], names: Iterable[str], masked: Container[str]
) -> dict[str, Codebook]:
    """Return what may be said of the columns of a release: of masked numbers no code.

    A mean has no text of a code, and is none that stands for what is missing.
    """
    found = {name: books[name] for name in names if name in books}
    return {
        name: Codebook(book.label) if name in masked else book
        for name, book in found.items()
    }
