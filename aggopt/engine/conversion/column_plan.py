"""Type of a column of CSV files, and the parsing of its entries."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import pyarrow as pa

from aggopt.core.plural import plural
from aggopt.data.parsing.infer_text_type import Spelling
from aggopt.data.parsing.parse_text import find_declared_types
from aggopt.data.readers.column_profile import NUMBERS, TEXT, TRUTH, WHOLE
from aggopt.engine.conversion.column_text import ColumnText
from aggopt.engine.conversion.summary import ConvertedColumn
from aggopt.errors import TableError
from aggopt.job import AttributeSection, Input, Job
from aggopt.job.roles import Roles

_WORDS = {pa.bool_(): TRUTH, pa.int64(): WHOLE, pa.float64(): NUMBERS}
_NUMERIC = AttributeSection(kind="numeric")


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
        Whether it is published unchanged: text then keeps blanks, and words such as NA.
    """

    name: str
    type: pa.DataType
    found: ColumnText
    said: bool
    masked: bool
    as_it_is: bool

    def read(self, column: pa.ChunkedArray, input_section: Input) -> pa.ChunkedArray:
        """Return parsed entries of the column, null for missing values."""
        if self._is_text and self.as_it_is:
            return column
        return self.found.spelling.read(column, self.type, input_section)

    def became(self, records: int) -> ConvertedColumn:
        """Return the summary of the column for this number of records."""
        spelling, text = self.found.spelling, self._is_text
        among = 0 < spelling.mixed < spelling.there
        by_other = text and not self.said and self.found.other == spelling.mixed
        return ConvertedColumn(
            self.name,
            _WORDS.get(self.type, TEXT),
            0 if text and self.as_it_is else records - spelling.there,
            words=spelling.mixed if text and among else 0,
            respelled=not text and self.masked and not self.found.comes_back,
            coded=text and not self.said and spelling.there > 0 == spelling.mixed,
            other_point=self.found.other if by_other else 0,
        )

    @property
    def _is_text(self) -> bool:
        return bool(pa.types.is_string(self.type))


def plan_columns(
    columns_by_name: Mapping[str, ColumnText], job: Job | None, numbers: Collection[str]
) -> list[ColumnPlan]:
    """Return the plan of each column, declared by the job or the caller, else inferred.

    Raises
    ------
    TableError
        As `find_declared_types`; or no column has one of these names.
    """
    declared_types = _list_declared_types(columns_by_name, job, numbers)
    as_it_is = job is not None
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
            )
        )
    return plans


def _list_declared_types(
    columns_by_name: Mapping[str, ColumnText], job: Job | None, numbers: Collection[str]
) -> dict[str, pa.DataType]:
    """Return the types that the job or the caller decides."""
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
) -> dict[str, Spelling]:
    return {
        name: text.spelling for name, text in columns_by_name.items() if name in names
    }
