"""Text columns: the types that their entries spell, and the values.

Types are inferred block by block and added up: a column has the type of all its
entries, at any place in a file.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from aggopt.errors import TableError
from aggopt.job import AttributeSection, Input, Roles

MISSING = (
    *("", "NA", "N/A", "NaN", "nan", "NULL", "null", "None", "."),
    *("n/a", "#N/A", "<NA>", "NaT"),
)
PLAIN = r"^(0|-?[1-9]\d{0,17})$"  # what such a number is written as: not 01, not +1
_TRUTH = (("True", "False"), ("TRUE", "FALSE"), ("true", "false"))
_WHOLE = r"^[+-]?\d{1,18}$"
_LARGE = r"\d{300}|[eE]\+?\d{3}"  # perhaps beyond what a number can be
_ANY_NUMBER = r"^[+-]?[.,]?\d[\d.,' ]*$"  # as some country writes one
_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$|^[+-]?inf(inity)?$"


@dataclass(frozen=True)
class Spelling:
    """The types that entries of text spell.

    Truth values are spelled in one way throughout: as this package writes them (True),
    as R and Excel do (TRUE), or as SQL does (true); t and f might as well be codes.

    Attributes
    ----------
    present, words
        The numbers of entries that are not missing, and of those that are not numbers.
    truths
        Whether all are truth values, by each way to spell them.
    is_whole, plain
        Whether all are whole numbers, and spelled as such are: not 01, not +1.
    beyond
        The number of numbers that are read as infinite because of their size.
    doubtful
        Whether, among words, some may be meant as a number or a truth.
    """

    present: int = 0
    words: int = 0
    truths: tuple[bool, ...] = (True,) * len(_TRUTH)
    is_whole: bool = True
    plain: bool = True
    beyond: int = 0
    doubtful: bool = False

    @classmethod
    def of(cls, column: pa.ChunkedArray, csv_format: Input) -> "Spelling":
        """Return the spelling of a column of text."""
        entries = strip_blanks(column).drop_null()
        present = len(entries)
        if not present:
            return cls()
        truths = tuple(_has_only(entries, pair) for pair in _TRUTH)
        if any(truths):
            return cls(
                present, present, truths, is_whole=False, plain=False, doubtful=True
            )
        words = present - pc.sum(spell_numbers(entries, csv_format)).as_py()
        are_whole = not words and _match_all(entries, _WHOLE)
        return cls(
            present=present,
            words=words,
            truths=truths,
            is_whole=are_whole,
            plain=are_whole and _match_all(blank_missing(column).drop_null(), PLAIN),
            beyond=0 if words or are_whole else _count_beyond(entries, csv_format),
            doubtful=words > 0 and _may_be_meant(entries),
        )

    def __add__(self, other: "Spelling") -> "Spelling":
        """Return the spelling of the entries of both."""
        both = zip(self.truths, other.truths, strict=True)
        return Spelling(
            present=self.present + other.present,
            words=self.words + other.words,
            truths=tuple(one and two for one, two in both),
            is_whole=self.is_whole and other.is_whole,
            plain=self.plain and other.plain,
            beyond=self.beyond + other.beyond,
            doubtful=self.doubtful or other.doubtful,
        )

    @property
    def truth(self) -> str:
        """The spelling of truth if all are truth values, else ""."""
        pairs = zip(_TRUTH, self.truths, strict=True)
        return next((pair[0] for pair, all_ in pairs if all_ and self.present), "")

    @property
    def wordy(self) -> bool:
        """Whether there are words alone, none that may be a number or a truth."""
        return 0 < self.words == self.present and not self.doubtful

    @property
    def mixed(self) -> int:
        """The number of words if all must be numbers, or else all truth values."""
        return 0 if self.truth else self.words

    @property
    def type(self) -> pa.DataType:
        """The type of all entries: numbers, truth values, or text."""
        if self.truth:
            return pa.bool_()
        if self.words:
            return pa.string()
        return pa.int64() if self.is_whole else pa.float64()

    @property
    def type_of_names(self) -> pa.DataType:
        """The type of names, which are numbers only if each is spelled as one."""
        as_is = bool(self.truth) or (self.is_whole and self.plain)
        return self.type if as_is else pa.string()

    def read(
        self, column: pa.ChunkedArray, type: pa.DataType, csv_format: Input
    ) -> pa.ChunkedArray:
        """Return a column of text as one of these types; missing entries are null."""
        if pa.types.is_string(type):
            return blank_missing(column)
        entries = strip_blanks(column)
        if pa.types.is_boolean(type):
            return pc.equal(entries, self.truth)
        return _parse_numbers(entries, type, csv_format)


def blank_missing(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return entries unchanged, null if they represent missing values."""
    missing = pc.is_in(pc.utf8_trim_whitespace(column), pa.array(MISSING))
    return pc.if_else(missing, pa.scalar(None, pa.string()), column)


def strip_blanks(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return entries without blanks around them, null if they are missing."""
    trimmed = pc.utf8_trim_whitespace(column)
    missing = pc.is_in(trimmed, pa.array(MISSING))
    return pc.if_else(missing, pa.scalar(None, pa.string()), trimmed)


def spell_numbers(entries: pa.ChunkedArray, csv_format: Input) -> pa.ChunkedArray:
    """Return which entries are numbers, null where one is."""
    pattern = _NUMBER.replace(r"\.", re.escape(csv_format.decimal))
    return pc.match_substring_regex(entries, pattern, ignore_case=True)


def _parse_numbers(
    entries: pa.ChunkedArray, type: pa.DataType, csv_format: Input
) -> pa.ChunkedArray:
    """Return entries that spell numbers as numbers."""
    if pc.any(pc.starts_with(entries, "+")).as_py():
        entries = pc.replace_substring_regex(entries, r"^\+", "")
    if csv_format.decimal != ".":
        entries = pc.replace_substring(entries, csv_format.decimal, ".")
    return entries.cast(type)


def _count_beyond(entries: pa.ChunkedArray, csv_format: Input) -> int:
    """Return the number of finite numbers that are too large for a float."""
    large = entries.filter(pc.match_substring_regex(entries, _LARGE))
    numbers = _parse_numbers(large, pa.float64(), csv_format)
    return int(pc.sum(pc.is_inf(numbers), min_count=0).as_py())


def _has_only(entries: pa.ChunkedArray, pair: tuple[str, str]) -> bool:
    if entries[0].as_py() not in pair:
        return False
    return bool(pc.all(pc.is_in(entries, pa.array(pair))).as_py())


def _may_be_meant(entries: pa.ChunkedArray) -> bool:
    """Whether an entry may be a number or a truth value."""
    truths = pc.is_in(entries, pa.array(sum(_TRUTH, ())))
    return _match_any(entries, _ANY_NUMBER) or bool(pc.any(truths).as_py())


def _match_all(entries: pa.ChunkedArray, pattern: str) -> bool:
    return bool(pc.all(pc.match_substring_regex(entries, pattern)).as_py())


def _match_any(entries: pa.ChunkedArray, pattern: str) -> bool:
    return bool(pc.any(pc.match_substring_regex(entries, pattern)).as_py())


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
        kind = attributes[name].read_kind if name in attributes else None
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
