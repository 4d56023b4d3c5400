"""Confidential values of a table in parts, and requirements on all of its records."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aggopt.core.types import F64, I64, Bool
from aggopt.data.context.confidential import Confidential, make_confidential
from aggopt.data.parsing.entries import Values, make_entry_reader
from aggopt.errors import InfeasibleInputError, naming
from aggopt.job import Privacy
from aggopt.privacy.requirement import Check, Requirement


@dataclass(frozen=True, eq=False)
class OfPart(Requirement):
    """A requirement applied to groups of some records of a table.

    Attributes
    ----------
    requirement
        The requirement on the values, each present once.
    which : (n,)
        Index of the value of each record.
    """

    requirement: Requirement = field(repr=False)
    which: I64 = field(repr=False)

    @property
    def attribute(self) -> str:  # type: ignore[override]
        """Name of the attribute."""
        return self.requirement.attribute

    @property
    def model(self) -> str:  # type: ignore[override]
        """The name of the privacy model."""
        return self.requirement.model

    @property
    def sign(self) -> str:  # type: ignore[override]
        """Sign of the comparison that protects."""
        return self.requirement.sign

    @property
    def additive(self) -> bool:  # type: ignore[override]
        """Whether a union of groups that satisfy it satisfies it."""
        return self.requirement.additive

    @property
    def n(self) -> int:
        """Number of these records."""
        return len(self.which)

    @property
    def name(self) -> str:
        """Name of the measured quantity."""
        return self.requirement.name

    @property
    def required(self) -> float:
        """Required value for the worst group."""
        return self.requirement.required

    @property
    def trivial(self) -> bool:
        """Whether any groups satisfy it."""
        return self.requirement.trivial

    def measure_groups(self, records: I64, starts: I64) -> F64:
        """Return the quantity that the requirement limits, of each group, (groups,)."""
        return self.requirement.measure_groups(self.which[records], starts)

    def find_broken(self, records: I64, starts: I64) -> Bool:
        """Whether each group violates it, (groups,)."""
        return self.requirement.find_broken(self.which[records], starts)

    def measure_shortfall(self, records: I64, starts: I64) -> F64:
        """Return the shortfall of each group."""
        return self.requirement.measure_shortfall(self.which[records], starts)

    def find_worst(self, records: I64, starts: I64, values: F64) -> float:
        """Return the value of the worst group, rounded once."""
        return self.requirement.find_worst(self.which[records], starts, values)

    def complete_check(self, check: Check) -> Check:
        """Return the check with additions of the model."""
        return self.requirement.complete_check(check)

    def describe_kept(self, value: float) -> str:
        """Return the requirement that these groups satisfy."""
        return self.requirement.describe_kept(value)

    def list_remedies(self, total: Check) -> list[str]:
        """Return weaker requirements that are feasible if `total`, of all, fails."""
        return self.requirement.list_remedies(total)


MOST = 2_000_000  # values of an attribute: some hundred bytes each, in each process
VALUE = "value"
COUNT = "count"


def count_entries(column: pa.ChunkedArray) -> pa.Table:
    """Return the different entries of a column, and how many records have each."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    value_counts = pc.value_counts(column)
    return pa.table(
        {VALUE: value_counts.field("values"), COUNT: value_counts.field("counts")}
    )


def merge_entry_counts(parts: Iterable[pa.Table], name: str) -> pa.Table:
    """Return the entry counts of all parts of a table, each from `count_entries`.

    Raises
    ------
    InfeasibleInputError
        The values exceed the memory of a process.
    """
    totals: pa.Table | None = None
    for part in parts:
        both = part if totals is None else pa.concat_tables([totals, part])
        summed = both.group_by(VALUE, use_threads=False).aggregate([(COUNT, "sum")])
        totals = summed.rename_columns({f"{COUNT}_sum": COUNT})
        if len(totals) > MOST:
            raise InfeasibleInputError(
                f"{name!r} has more than {MOST} different values, and to keep what is "
                "promised of them each process holds all.",
                fix="round the attribute, promise l or p of values, or mask the table "
                "in parts.",
            )
    return totals


@dataclass(frozen=True, eq=False)
class WholeAttribute:
    """A confidential attribute of a table in parts, and its requirements.

    Attributes
    ----------
    held
        Its values, each once, and its requirements, measured against all records.
    places
        Index of each value among them.
    """

    held: Confidential
    places: Mapping[Any, int] = field(repr=False)

    @classmethod
    def of(
        cls, name: str, occurring: pa.Table, privacy: Privacy, decimal: str
    ) -> "WholeAttribute":
        """Return it of its entries and how often they occur.

        Raises
        ------
        TableError, JobError
            As `aggopt.data.context.confidential.read_confidential_attributes`.
        """
        entry = make_entry_reader(decimal)
        with naming(repr(name)):
            values = Values.of(nw.from_native(occurring, eager_only=True)[VALUE], entry)
            counts = occurring.column(COUNT).to_numpy()
            attribute = make_confidential(name, values, privacy, entry, counts)
        places = zip(values.distinct[values.which], range(len(counts)), strict=True)
        return cls(attribute, dict(places))

    def among(self, column: nw.Series[Any], decimal: str) -> Confidential:
        """Return the attribute of the records in `column`, with its requirements."""
        which = self.which(column, decimal)
        requirements = (
            OfPart(requirement, which) for requirement in self.held.requirements
        )
        return Confidential(self.held.name, self.held.codes[which], tuple(requirements))

    def which(self, column: nw.Series[Any], decimal: str) -> I64:
        """Return which of the values each of some records has, (n,)."""
        values = Values.of(column, make_entry_reader(decimal))
        places = [self.places[value] for value in values.distinct]
        return np.array(places, np.int64)[values.which]
