"""Profiles of the columns of a table: types and counts, never an entry."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aggopt.core.column_names import count_alike
from aggopt.core.types import F64, I64, Bool
from aggopt.data.parsing.parse_text import parse_column, strip_blanks
from aggopt.data.readers.codebook import read_codebook
from aggopt.data.readers.csv_dialect import may_be_thousands
from aggopt.data.readers.illness_names import has_illnesses
from aggopt.encoding.date_format import find_formats
from aggopt.encoding.encode_table import is_perhaps_codes
from aggopt.encoding.iso_text import is_date_text
from aggopt.job import Input

NOTHING = "nothing"
OTHER = "neither numbers nor text"
WHOLE = "whole numbers"
NUMBERS = "numbers"
TRUTH = "truth values"
TEXT = "text"
DATES = "dates or times"
SPELLED_DATES = "dates, spelled as text"
OTHER_DATES = "dates, not as ISO 8601 spells them"
CATEGORIES = "categories"
RANKED = "categories in an order"
NAMES = (TRUTH, TEXT, SPELLED_DATES, OTHER_DATES, CATEGORIES, RANKED)
MANY = 50  # records
NEARLY_ALL = 0.9  # of the records: ages and years never differ in so many
FEW_SHARE = 5  # records: the k of a job that is written for a table
MOST_NAMES = 10_000  # of a column: more are no categories
ALIKE = 0.7  # of numbers drawn at random nine of ten have all digits; some are 0
DENSE = 0.1  # of the numbers between the ends: those of a register with gaps
_TIME = r"([T ]\d{1,2}:\d\d(:\d\d)?)?$"
_OTHER_DATE = "|".join(  # 31.12.2020, 12/31/20, 2020/12/31
    rf"^\d{{1,2}}{by}\d{{1,2}}{by}(\d{{2}}|\d{{4}}){_TIME}" for by in (r"\.", "/", "-")
)
_OTHER_DATE += rf"|^\d{{4}}[./]\d{{1,2}}[./]\d{{1,2}}{_TIME}"


@dataclass(frozen=True, eq=False)
class ColumnProfile:
    """The profile of a column.

    Attributes
    ----------
    type
        In words: "whole numbers", "text", ...
    records, missing
        The number of entries, and the number of missing ones.
    counts : (different,)
        The number of records with each entry, unordered; None if entries cannot be
        compared.
    words
        The number of text entries in a CSV file that are not numbers, by either decimal
        point.
    whole
        Whether they are whole numbers, also if spelled 3.0, as in columns with holes.
    numbered
        Whether it counts the records: whole numbers, each one more than another.
    thousands
        Whether each decimal comma is at a place of a thousands separator.
    label
        The label of the column in a statistical file; "" without one.
    coded
        Whether its entries are the texts of codes in a statistical file.
    blank : (different,)
        Which entries of text, in the order of `counts`, have blanks or digits.
    codes
        Whether its entries look like numbers of persons or things: whole numbers, or
        text with digits and without blanks.
    numbers
        The profile of its numbers; None if they are not numbers.
    formats
        Formats that read its entries as dates, other than ISO 8601.
    alike
        The number of different names that differ from another one only in case, in
        blanks around them or in invisible characters.
    ill
        Whether its entries are names of illnesses.
    """

    name: str
    type: str
    records: int
    missing: int
    counts: I64 | None = field(default=None, repr=False)
    words: int | None = None
    whole: bool = False
    numbered: bool = False
    thousands: bool = False
    label: str = ""
    coded: bool = False
    blank: Bool | None = field(default=None, repr=False)
    codes: bool = False
    numbers: "NumberProfile | None" = field(default=None, repr=False)
    formats: tuple[str, ...] = ()
    alike: int = 0
    ill: bool = False

    @property
    def different(self) -> int | None:
        """The number of different entries, without missing ones."""
        return None if self.counts is None else len(self.counts)

    @property
    def constant(self) -> bool:
        """Whether all records have one entry, or nothing."""
        return self.type == NOTHING or (self.different == 1 and not self.missing)

    @property
    def names_records(self) -> bool:
        """Whether each entry is of one record, as a name or a number of it is."""
        present = self.records - self.missing
        apart = self.different == present > 1 and self.type in (TEXT, CATEGORIES)
        return self.numbered or (apart and self.words in (None, present))

    @property
    def may_number_records(self) -> bool:
        """Whether nearly each of many whole numbers is of one record, as a number is.

        Ages and years of that many records repeat; amounts of money may not.
        """
        present = self.records - self.missing
        apart = (self.different or 0) >= NEARLY_ALL * present
        return self.whole and present >= MANY and apart

    @property
    def looks_as_numbering(self) -> bool:
        """Whether whole numbers may number records, and amounts would look otherwise.

        These have more digits or fewer.
        """
        alike = self.numbers is None or self.numbers.alike
        return self.may_number_records and alike

    @property
    def mostly_rare(self) -> bool:
        """Whether most of its different entries are each of one record or two."""
        return self.counts is not None and 2 * self.rare(FEW_SHARE) > len(self.counts)

    @property
    def free(self) -> bool:
        """Whether text may be free text, and not a name of many records.

        It has entries of few records, and most are such, or these have blanks or
        digits.
        """
        if self.type not in (TEXT, CATEGORIES, OTHER_DATES) or self.counts is None:
            return False
        few = self.counts < FEW_SHARE
        odd = False if self.blank is None else bool((self.blank & few).any())
        return self.mostly_rare or (odd and not self.coded)

    @property
    def may_be_codes(self) -> bool:
        """Whether whole numbers are so few that they may be codes."""
        present = self.records - self.missing
        return self.whole and is_perhaps_codes(self.different or 0, present)

    def rare(self, k: int) -> int:
        """Return the number of names that fewer than k records have; 0 if not names."""
        if self.counts is None or self.type not in NAMES:
            return 0
        return int((self.counts < k).sum())

    def __str__(self) -> str:
        different = (
            f", {self.different} different" if self.different is not None else ""
        )
        return f"{self.type}{different if self.type != NOTHING else ''}" + (
            f", {self.missing} missing" if self.missing else ""
        )


@dataclass(frozen=True)
class NumberProfile:
    """The profile of the numbers of a column.

    Attributes
    ----------
    least, mean
        The least and the mean of the present numbers.
    alike
        Whether they may number something: most have as many digits, or they leave few
        numbers out, and none is below 0.
    fine
        Whether most have more than two decimals.
    stray
        How many look like codes for missing values: -9, 99, 999 and the like, far from
        all others.
    """

    least: float
    mean: float
    alike: bool
    fine: bool
    stray: int = 0

    @classmethod
    def of(cls, x: F64, *, different: int) -> "NumberProfile":
        """Return the profile of numbers (n,); `different` of them are distinct."""
        smallest = float(x.min())
        span = float(x.max()) - smallest  # a float of Python's is inf without a warning
        digits = np.floor(np.log10(np.maximum(np.abs(x), 1)))
        same = np.unique(digits, return_counts=True)[1].max() >= ALIKE * len(x)
        dense = different >= DENSE * (span + 1)
        with np.errstate(over="ignore", invalid="ignore"):
            cents = 100 * x
            mean = float(x.mean())
            fine = (np.abs(cents - np.rint(cents)) > 1e-6 * np.abs(x)).mean() > 0.5
        similar = smallest >= 0 and bool(same or dense)
        return cls(smallest, mean, similar, bool(fine), _count_stray(x))


_NINES = [10**n - back for n in range(2, 10) for back in (1, 2, 3)]  # 99, 98, 97, 999
_BELOW = [-1, *range(-9, -5), *(-n for n in (77, 88, *_NINES, 777, 888, 7777, 8888))]


def _count_stray(x: F64) -> int:
    """Return how many numbers (n,) look like codes for missing values.

    Those above leave a gap to the others that is as wide as all of these; those below
    are the only ones below 0.  Two numbers or more must remain.
    """
    above = np.isin(x, _NINES)
    below = np.isin(x, _BELOW)
    for stray in (above | below, above, below):
        rest = np.unique(x[~stray])
        if not stray.any() or len(rest) < 2:
            continue
        high = x[stray & above]
        width = rest[-1] / 2 - rest[0] / 2  # halves: the difference may be infinite
        is_far = not len(high) or high.min() / 2 - rest[-1] / 2 >= width
        is_below = not (stray & below).any() or rest[0] >= 0
        if is_far and is_below:
            return int(stray.sum())
    return 0


def profile_columns(
    table: pa.Table, csv_format: Input | None = None
) -> Iterator[ColumnProfile]:
    """Yield the profile of each column; `csv_format` describes text in a CSV file."""
    for field_ in table.schema:
        name = field_.name
        column = table[field_.name]
        book = read_codebook(field_)
        look = (
            _profile_column(name, column)
            if csv_format is None
            else _profile_text(name, column, csv_format)
        )
        coded = bool(book.texts) and look.type in (CATEGORIES, RANKED)
        yield replace(look, label=book.label, coded=coded)


def count_repeated_headers(table: pa.Table) -> int:
    """Return how many columns of text have their own name among their entries."""
    columns = zip(table.column_names, table.columns, strict=True)
    text = ((name, c) for name, c in columns if pa.types.is_string(c.type))
    return sum(pc.any(pc.equal(c, name)).as_py() is True for name, c in text)


def _profile_text(name: str, text: pa.ChunkedArray, csv_format: Input) -> ColumnProfile:
    column, words = parse_column(text, csv_format)
    if words:
        entries = strip_blanks(text)
        kind, formats = _classify_words(pc.unique(entries))
        missing = entries.null_count
        words = min(words, parse_column(text, _swap_point(csv_format))[1])
        counts = _count_entries(entries)
        blank = _find_blank(entries)
        profile = ColumnProfile(
            name, kind, len(text), missing, counts, words, blank=blank
        )
        return replace(
            profile,
            formats=formats,
            codes=are_codes(entries),
            alike=_count_alike_names(text),
            ill=has_illnesses(pc.unique(entries.drop_null())),
        )
    thousands = csv_format.decimal == "," and may_be_thousands(text)
    return _profile_column(name, column, thousands=thousands)


def _classify_words(entries: pa.Array) -> tuple[str, tuple[str, ...]]:
    """Return the kind of text entries (dates or text), and the formats of dates."""
    if is_date_text(entries):
        return SPELLED_DATES, ()
    if not pc.all(pc.match_substring_regex(entries, _OTHER_DATE)).as_py():
        return TEXT, ()
    return OTHER_DATES, find_formats(entries)


def _swap_point(csv_format: Input) -> Input:
    return Input(separator="\t", decimal="," if csv_format.decimal == "." else ".")


def _profile_column(
    name: str, column: pa.ChunkedArray, *, thousands: bool = False
) -> ColumnProfile:
    kind = column.type
    n = len(column)
    if pa.types.is_floating(kind):
        column = pc.if_else(pc.is_nan(column), pa.scalar(None, kind), column)
    missing = column.null_count
    if missing == n:
        return ColumnProfile(name, NOTHING, n, n, np.zeros(0, np.int64))
    counts = _count_entries(column)
    numbered = not missing and _is_numbered(column, counts)
    says = describe_type(kind)
    formats: tuple[str, ...] = ()
    if says == TEXT:
        says, formats = _classify_words(pc.unique(column.drop_null()))
    profile = ColumnProfile(name, says, n, missing, counts, whole=_is_whole(column))
    numbers = None
    if says in (WHOLE, NUMBERS) and counts is not None:
        x = column.drop_null().to_numpy().astype(np.float64)
        finite = x[np.isfinite(x)]
        if len(finite):
            numbers = NumberProfile.of(finite, different=len(counts))
    return replace(
        profile,
        numbered=numbered,
        thousands=thousands,
        blank=_find_blank(column),
        codes=are_codes(column),
        numbers=numbers,
        formats=formats,
        alike=_count_alike_names(column),
        ill=says in (TEXT, CATEGORIES) and has_illnesses(_list_names(column)),
    )


def _count_alike_names(column: pa.ChunkedArray) -> int:
    """Return how many names of a column look like another one; 0 for too many names."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return 0
    names = pc.unique(column.drop_null())
    return count_alike(names.to_pylist()) if len(names) <= MOST_NAMES else 0


def _list_names(column: pa.ChunkedArray) -> pa.Array:
    """Return the different entries of a column of text or categories."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return pc.unique(column.drop_null())


def _find_blank(column: pa.ChunkedArray) -> Bool | None:
    """Return which entries of text have blanks or digits, as `_counts` counts them."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return None
    entries = pc.value_counts(column.drop_null()).field("values")
    matches = pc.match_substring_regex(entries, r"\s|\d")
    return np.asarray(matches.to_numpy(zero_copy_only=False), bool)


def are_codes(column: pa.ChunkedArray | pa.Array) -> bool:
    """Whether entries look like numbers of persons or things, and not like words.

    Whole numbers, or text without blanks, most of it with digits.
    """
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    kind = column.type
    if pa.types.is_integer(kind):
        return True
    if pa.types.is_floating(kind):
        return bool(pc.all(pc.equal(pc.floor(column), column)).as_py())
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return False
    entries = pc.unique(column.drop_null())
    if pc.any(pc.match_substring_regex(entries, r"\S\s+\S")).as_py():
        return False
    digits = pc.sum(pc.match_substring_regex(entries, r"\d")).as_py() or 0
    return bool(2 * digits > len(entries))


def describe_type(kind: Any) -> str:
    """Return in words what entries of a type are."""
    is_a = pa.types
    if is_a.is_dictionary(kind):
        return RANKED if kind.ordered else CATEGORIES
    tests = (
        (is_a.is_boolean, TRUTH),
        (is_a.is_integer, WHOLE),
        (is_a.is_floating, NUMBERS),
        (is_a.is_decimal, NUMBERS),
        (is_a.is_temporal, DATES),
        (is_a.is_string, TEXT),
        (is_a.is_large_string, TEXT),
    )
    return next((words for test, words in tests if test(kind)), OTHER)


def _count_entries(column: pa.ChunkedArray) -> I64 | None:
    try:
        value_counts = pc.value_counts(column.drop_null())
    except pa.ArrowException:  # nested entries; the message may quote one
        return None
    return np.asarray(value_counts.field("counts").to_numpy(), np.int64)


def _is_whole(column: pa.ChunkedArray) -> bool:
    if not pa.types.is_floating(column.type):
        return bool(pa.types.is_integer(column.type))
    return bool(pc.all(pc.equal(pc.floor(column), column)).as_py())


def _is_numbered(column: pa.ChunkedArray, counts: I64 | None) -> bool:
    if not pa.types.is_integer(column.type) or counts is None:
        return False
    ends = pc.min_max(column).as_py()
    span: int = ends["max"] - ends["min"] + 1
    return len(counts) == len(column) == span and span > 1
