"""Type of a column of CSV files, from the spelling of its entries, and its summary.

The spelling is computed block by block, and adds up: a column has the type that all its
entries have, at any position in a file.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from aggopt.core.plural import plural
from aggopt.data.parsing import parse_text
from aggopt.data.parsing.number_style import NumberStyle
from aggopt.data.parsing.parse_text import find_declared_types
from aggopt.data.readers.column_profile import NUMBERS, TEXT, TRUTH, WHOLE
from aggopt.errors import TableError
from aggopt.job import AttributeSection, Input, Job, Roles

_WORDS = {pa.bool_(): TRUTH, pa.int64(): WHOLE, pa.float64(): NUMBERS}
_NUMERIC = AttributeSection(kind="numeric")


POINT = "."
COMMA = ","


def find_other_point(decimal: str) -> str:
    """Return the decimal point other than `decimal`: comma for point, and back."""
    return COMMA if decimal == POINT else POINT


@dataclass(frozen=True)
class ConvertedColumn:
    """Summary of one converted column.

    Attributes
    ----------
    name, type
        Name of the column, and its type, in words.
    missing
        Number of entries that represented a missing value.
    words
        Number of entries that are not numbers, if others are: so it is text.
    coded
        Whether it is text because numbers would not preserve the spelling of entries.
    respelled
        Whether it is numbers all the same, because the job masks it as numbers.
    other_point
        Number of entries that are numbers by the other decimal point, if all entries
        that are not numbers by the decimal point of the files are: so it is text.
    """

    name: str
    type: str
    missing: int
    words: int = 0
    coded: bool = False
    respelled: bool = False
    other_point: int = 0

    def __str__(self) -> str:
        missing = f", {self.missing} missing" if self.missing else ""
        return f"{self.name!r}: {self.type}{missing}"


@dataclass(frozen=True)
class ConversionSummary:
    """A folder of Parquet files that were CSV.

    Attributes
    ----------
    path, files
        The folder, and the names of its files, in the order of the records.
    records
        Number of records.
    separator, decimal
        Separator and decimal point of the CSV files.
    columns
        Summary of each column.
    """

    path: Path
    files: tuple[str, ...]
    records: int
    separator: str
    decimal: str
    columns: tuple[ConvertedColumn, ...]

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on columns whose inferred type may be wrong, as texts."""
        return tuple(self._iter_notes())

    def _iter_notes(self) -> Iterator[str]:
        """Yield the text of a note on each column of doubtful type."""
        for column in self.columns:
            present = self.records - column.missing
            if column.other_point:
                points = f"{find_other_point(self.decimal)!r}, and not {self.decimal!r}"
                yield (
                    f"{column.name!r} is text: {column.other_point} of "
                    f"{plural(present, 'entry', 'entries')} would be numbers if the "
                    f"decimal point were {points}. If they are, write all columns with "
                    "one decimal point, and nothing between thousands; if all have "
                    "that one, say so: --decimal, decimal=..., or under [input] of the "
                    "job."
                )
            elif column.words:
                be = "is no number" if column.words == 1 else "are no numbers"
                yield (
                    f"{column.name!r} is text: {column.words} of "
                    f"{plural(present, 'entry', 'entries')} {be}."
                )
            if column.coded:
                yield (
                    f"{column.name!r} is text: numbers would lose the spelling of some "
                    "entries (01, 1.10 beside 1.1, 1E5, many digits, blanks "
                    "around). If it is to have numbers, name it: --numbers, or "
                    "numbers=[...]."
                )
            if column.respelled:
                yield (
                    f"{column.name!r} is numbers, as the job masks it, which lose "
                    "the spelling of some entries (01, 1.10 beside 1.1, 1E5, many "
                    "digits, blanks around). If they are codes, say so: kind = "
                    f'"nominal" under [attributes], for {column.name!r}.'
                )

    def to_dict(self) -> dict[str, Any]:
        """Return the summary as plain values, ready for JSON."""
        return {**asdict(self), "path": str(self.path), "notes": list(self.notes)}

    def __str__(self) -> str:
        size = (
            f"{plural(self.records, 'record')}, {plural(len(self.columns), 'column')}"
        )
        return "\n".join(
            (
                f"{size}, in {plural(len(self.files), 'file')}",
                *(f"  {column}" for column in self.columns),
                *(f"Note: {note}" for note in self.notes),
            )
        )


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
    empty
        Number of entries without any character.
    """

    spelling: parse_text.Spelling = field(default_factory=parse_text.Spelling)
    style: NumberStyle = field(default_factory=NumberStyle)
    plain: bool = True
    bare: bool = True
    tight: bool = True
    missing: frozenset[str] = frozenset()
    other: int = 0
    empty: int = 0

    @classmethod
    def of(cls, column: pa.ChunkedArray, input_section: Input) -> "ColumnText":
        """Return the spelling of the entries of a text column."""
        spelling = parse_text.Spelling.of(column, input_section)
        trimmed = pc.utf8_trim_whitespace(column)
        is_blank = parse_text.strip_blanks(column).drop_null()
        is_missing = pc.is_in(trimmed, pa.array(parse_text.MISSING))
        absent = trimmed.filter(is_missing)
        same = pc.equal(column, trimmed)
        return cls(
            spelling,
            NumberStyle()
            if spelling.words
            else NumberStyle.of(is_blank, input_section.decimal),
            _is_all(pc.match_substring_regex(is_blank, parse_text.PLAIN)),
            _is_all(same),
            _is_all(pc.or_(same, is_missing)),
            frozenset(pc.unique(absent).to_pylist()),
            _count_other_point(is_blank, input_section) if spelling.mixed else 0,
            _count_true(pc.equal(column, "")),
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
            self.empty + other.empty,
        )

    @property
    def type(self) -> pa.DataType:
        """Type of the column; text if numbers would not preserve the spelling."""
        return self.spelling.type if self.comes_back else pa.string()

    @property
    def type_as_it_is(self) -> pa.DataType:
        """Type of a column that is published unchanged."""
        same = self.bare and len(self.missing) < 2
        return self.type if same else pa.string()

    @property
    def comes_back(self) -> bool:
        """Whether the text of each entry can be recovered from its parsed value."""
        spelling = self.spelling
        if spelling.mixed or not spelling.present:
            return True
        if spelling.truth or not self.tight:
            return self.tight
        return self.plain if spelling.is_whole else self.style.one


def _count_other_point(entries: pa.ChunkedArray, input_section: Input) -> int:
    """Return the number of entries that are numbers by the other decimal point."""
    other = input_section.model_copy(
        update={"decimal": find_other_point(input_section.decimal)}
    )
    have_it = entries.filter(pc.match_substring(entries, other.decimal))
    return _count_true(parse_text.spell_numbers(have_it, other))


def _count_true(booleans: pa.ChunkedArray) -> int:
    """Return the number of true entries of a column of booleans."""
    return int(pc.sum(booleans, min_count=0).as_py())


def _is_all(booleans: pa.ChunkedArray) -> bool:
    """Whether all entries of a column of booleans are true."""
    return bool(pc.all(booleans, min_count=0).as_py())


@dataclass(frozen=True)
class ColumnPlan:
    """Type and parsing of one column.

    Attributes
    ----------
    name, type
        Name of the column, and its type in the Parquet files.
    found
        Spelling of its entries.
    said, masked
        Whether the job or the caller declares the type; whether only the job does.
    as_it_is
        Whether it is published unchanged: text then keeps blanks and words such as NA,
        and only entries without any character are missing.
    is_stratum
        Whether it is a stratum, of which such entries are a value, as in `mask`.
    """

    name: str
    type: pa.DataType
    found: ColumnText
    said: bool
    masked: bool
    as_it_is: bool
    is_stratum: bool

    def read(self, column: pa.ChunkedArray, input_section: Input) -> pa.ChunkedArray:
        """Return the column parsed to its type, null for missing values."""
        if self._is_text and self.is_stratum:
            return column
        if self._is_text and self.as_it_is:
            return pc.if_else(pc.equal(column, ""), None, column)
        return self.found.spelling.read(column, self.type, input_section)

    def became(self, records: int) -> ConvertedColumn:
        """Return the summary of the converted column of this number of records."""
        spelling = self.found.spelling
        text = self._is_text
        among = 0 < spelling.mixed < spelling.present
        missing = records - spelling.present
        if text and self.as_it_is:
            missing = 0 if self.is_stratum else self.found.empty
        by_other = text and not self.said and self.found.other == spelling.mixed
        return ConvertedColumn(
            self.name,
            _WORDS.get(self.type, TEXT),
            missing,
            words=spelling.mixed if text and among else 0,
            respelled=not text and self.masked and not self.found.comes_back,
            coded=text and not self.said and spelling.present > 0 == spelling.mixed,
            other_point=self.found.other if by_other else 0,
        )

    @property
    def _is_text(self) -> bool:
        """Whether the column is stored as text."""
        return bool(pa.types.is_string(self.type))


def plan_columns(
    columns_by_name: Mapping[str, ColumnText], job: Job | None, numbers: Collection[str]
) -> list[ColumnPlan]:
    """Return the planned type of each column: declared by job or caller, or inferred.

    Raises
    ------
    TableError
        As `find_declared_types`; or no column has one of these names.
    """
    declared_types = _list_declared_types(columns_by_name, job, numbers)
    as_it_is = job is not None
    strata = job.roles.stratum if job else ()
    plans = []
    for name, text in columns_by_name.items():
        column_type = text.type_as_it_is if as_it_is else text.type
        plans.append(
            ColumnPlan(
                name,
                declared_types.get(name, column_type),
                text,
                said=name in declared_types,
                masked=name in declared_types and name not in numbers,
                as_it_is=as_it_is and name not in declared_types,
                is_stratum=name in strata,
            )
        )
    return plans


def _list_declared_types(
    columns_by_name: Mapping[str, ColumnText], job: Job | None, numbers: Collection[str]
) -> dict[str, pa.DataType]:
    """Return the types of columns that the job or the caller declares, by name."""
    unknown = [name for name in numbers if name not in columns_by_name]
    if unknown:
        raise TableError(
            f"There is no column {', '.join(map(repr, unknown))}, which numbers names.",
            fix=f"name some of the {plural(len(columns_by_name), 'column')} of the "
            "files.",
        )
    types: dict[str, pa.DataType] = {}
    if numbers:
        roles = Roles(**{"quasi-identifier": tuple(numbers)})
        spelled_numbers = _list_spelled_numbers(columns_by_name, numbers)
        types = find_declared_types(
            spelled_numbers, roles, dict.fromkeys(numbers, _NUMERIC)
        )
    if job is None:
        return types
    masked = (*job.roles.quasi_identifier, *job.roles.numbers)
    rest = _list_spelled_numbers(
        columns_by_name, [name for name in masked if name not in numbers]
    )
    return types | find_declared_types(rest, job.roles, job.attributes)


def _list_spelled_numbers(
    columns_by_name: Mapping[str, ColumnText], names: Collection[str]
) -> dict[str, parse_text.Spelling]:
    """Return the number spelling of the named columns, by name."""
    return {
        name: text.spelling for name, text in columns_by_name.items() if name in names
    }
