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

    def read(self, column: pa.ChunkedArray, how: Input) -> pa.ChunkedArray:
        """Return parsed entries of the column, null for missing values."""
        if self._is_text and self.as_it_is:
            return column
        return self.found.spelling.read(column, self.type, how)

    def became(self, records: int) -> ConvertedColumn:
        """Return the summary of the column for this number of records."""
        own, text = self.found.spelling, self._is_text
        among = 0 < own.mixed < own.there
        by_other = text and not self.said and self.found.other == own.mixed
        return ConvertedColumn(
            self.name,
            _WORDS.get(self.type, TEXT),
            0 if text and self.as_it_is else records - own.there,
            words=own.mixed if text and among else 0,
            respelled=not text and self.masked and not self.found.comes_back,
            coded=text and not self.said and own.there > 0 == own.mixed,
            other_point=self.found.other if by_other else 0,
        )

    @property
    def _is_text(self) -> bool:
        return bool(pa.types.is_string(self.type))


def plan_columns(
    found: Mapping[str, ColumnText], job: Job | None, numbers: Collection[str]
) -> list[ColumnPlan]:
    """Return the plan of each column, declared by the job or the caller, else inferred.

    Raises
    ------
    TableError
        As `find_declared_types`; or no column has one of these names.
    """
    said = _declared_types(found, job, numbers)
    as_it_is = job is not None
    plans = []
    for name, text in found.items():
        own = text.type_as_it_is if as_it_is else text.type
        plans.append(
            ColumnPlan(
                name,
                said.get(name, own),
                text,
                said=name in said,
                masked=name in said and name not in numbers,
                as_it_is=as_it_is and name not in said,
            )
        )
    return plans


def _declared_types(
    found: Mapping[str, ColumnText], job: Job | None, numbers: Collection[str]
) -> dict[str, pa.DataType]:
    """Return the types that the job or the caller decides."""
    unknown = [name for name in numbers if name not in found]
    if unknown:
        raise TableError(
            f"There is no column {', '.join(map(repr, unknown))}, which numbers names.",
            fix=f"name some of the {plural(len(found), 'column')} of the files.",
        )
    types: dict[str, pa.DataType] = {}
    if numbers:
        roles = Roles(**{"quasi-identifier": tuple(numbers)})
        own = _spelled(found, numbers)
        types = find_declared_types(own, roles, dict.fromkeys(numbers, _NUMERIC))
    if job is None:
        return types
    masked = (*job.roles.quasi_identifier, *job.roles.numbers)
    rest = _spelled(found, [name for name in masked if name not in numbers])
    return types | find_declared_types(rest, job.roles, job.attributes)


def _spelled(
    found: Mapping[str, ColumnText], names: Collection[str]
) -> dict[str, Spelling]:
    return {name: text.spelling for name, text in found.items() if name in names}
