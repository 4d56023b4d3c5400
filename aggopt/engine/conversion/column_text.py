"""Spelling of the entries of a CSV column, and whether numbers would preserve it.

It is computed block by block, and adds up: a column has the type that all its entries
have, at any position in a file.
"""

from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from aggopt.data.parsing.infer_text_type import (
    MISSING,
    PLAIN,
    Spelling,
    spell_numbers,
    strip_blanks,
)
from aggopt.data.parsing.number_style import NumberStyle
from aggopt.job import Input

POINT, COMMA = ".", ","


@dataclass(frozen=True)
class ColumnText:
    """Spelling of text entries.

    Attributes
    ----------
    spelling, style
        Type of the entries, and the style of the entries that are numbers.
    plain
        Whether all are whole numbers in plain spelling: not 01, not +1.
    bare, tight
        Whether no entry has blanks around it; whether no entry that is present has.
    missing
        The words that represent missing values.
    other
        Number of entries that are numbers by the other decimal point only.
    """

    spelling: Spelling = field(default_factory=Spelling)
    style: NumberStyle = field(default_factory=NumberStyle)
    plain: bool = True
    bare: bool = True
    tight: bool = True
    missing: frozenset[str] = frozenset()
    other: int = 0

    @classmethod
    def of(cls, column: pa.ChunkedArray, input_section: Input) -> "ColumnText":
        """Return the spelling of a column of text."""
        spelling = Spelling.of(column, input_section)
        trimmed = pc.utf8_trim_whitespace(column)
        is_blank = strip_blanks(column).drop_null()
        is_missing = pc.is_in(trimmed, pa.array(MISSING))
        absent = trimmed.filter(is_missing)
        same = pc.equal(column, trimmed)
        return cls(
            spelling,
            NumberStyle()
            if spelling.words
            else NumberStyle.of(is_blank, input_section.decimal),
            _is_all(pc.match_substring_regex(is_blank, PLAIN)),
            _is_all(same),
            _is_all(pc.or_(same, is_missing)),
            frozenset(pc.unique(absent).to_pylist()),
            _count_other_point(is_blank, input_section) if spelling.mixed else 0,
        )

    def __add__(self, other: "ColumnText") -> "ColumnText":
        """Return the spelling of the entries of both."""
        return ColumnText(
            self.spelling + other.spelling,
            self.style + other.style,
            self.plain and other.plain,
            self.bare and other.bare,
            self.tight and other.tight,
            self.missing | other.missing,
            self.other + other.other,
        )

    @property
    def type(self) -> pa.DataType:
        """Type of all entries: numbers or truth values, if these keep each spelling."""
        return self.spelling.type if self.comes_back else pa.string()

    @property
    def type_as_it_is(self) -> pa.DataType:
        """Type of a column published unchanged: blanks and missing words count too."""
        same = self.bare and len(self.missing) < 2
        return self.type if same else pa.string()

    @property
    def comes_back(self) -> bool:
        """Whether each entry can be recovered from its parsed value."""
        spelling = self.spelling
        if spelling.mixed or not spelling.there:
            return True
        if spelling.truth or not self.tight:
            return self.tight
        return self.plain if spelling.whole else self.style.one


def _count_other_point(entries: pa.ChunkedArray, input_section: Input) -> int:
    """Return how many entries have the other decimal point, and are numbers by it."""
    other = input_section.model_copy(
        update={"decimal": find_other_point(input_section.decimal)}
    )
    have_it = entries.filter(pc.match_substring(entries, other.decimal))
    return int(pc.sum(spell_numbers(have_it, other), min_count=0).as_py())


def find_other_point(decimal: str) -> str:
    """Return the decimal point that another one is not."""
    return COMMA if decimal == POINT else POINT


def _is_all(which: pa.ChunkedArray) -> bool:
    return bool(pc.all(which, min_count=0).as_py())
