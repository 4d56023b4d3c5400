"""Records by unit, as by household: the unit of each, and values common to a unit."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from aggopt.core.plural import plural
from aggopt.core.types import F64, I64, Bool, Labels
from aggopt.core.validation import renumber_groups
from aggopt.data.parsing.parse_text import MISSING
from aggopt.data.readers.column_profile import are_codes
from aggopt.data.table import Table
from aggopt.encoding.typed_column import NAME, TypedColumn
from aggopt.errors import JobError, TableError, naming
from aggopt.job import Job

PER_UNIT = 20  # records: an entry of more is rather a region than a household


@dataclass(frozen=True, eq=False)
class RecordUnits:
    """The unit of each record.

    Attributes
    ----------
    unit_of_record : (n,)
        Unit of each record, 0..m-1.
    records
        The table of records if the table of units is masked in its place; else None.
    """

    unit_of_record: Labels = field(repr=False)
    records: Table | None = None

    @property
    def count(self) -> int:
        """The number of units."""
        return int(self.unit_of_record.max()) + 1


def read_units(table: Table) -> Labels | None:
    """Return the unit of each record (n,), 0..m-1; None if no column has the role.

    Raises
    ------
    TableError
        A record has no unit.
    """
    if not table.roles.unit:
        return None
    parts = [_encode_column(table.frame[name]) for name in table.roles.unit]
    pairs = np.unique(np.stack(parts, axis=1), axis=0, return_inverse=True)[1]
    return renumber_groups(pairs.ravel())


def collapse_units(table: Table, job: Job) -> tuple[Table, RecordUnits | None]:
    """Return the table to mask, and the units; None without units.

    If only attributes of units are masked, it is the table of units, with one record of
    each.

    Raises
    ------
    TableError
        A record has no unit, or an attribute of units varies within one.
    JobError
        The job has settings of records that do not apply to units.
    """
    unit = read_units(table)
    if unit is None:
        return table, None
    if not job.units.attributes:
        return table, RecordUnits(unit)
    _require_of_units(job)
    first = np.unique(unit, return_index=True)[1]
    _require_constant(table, unit, first, job.units.attributes)
    if job.units.apart(job.roles):
        return table, RecordUnits(unit)
    return table.select_rows(first), RecordUnits(unit, table)


def _encode_column(column: nw.Series[Any]) -> I64:
    with naming(f"Column {column.name!r}"):
        typed = TypedColumn.of(column)
        missing = int(typed.absent.sum())
        if missing:
            raise TableError(
                f"{plural(missing, 'record')} {'has' if missing == 1 else 'have'} no "
                "unit.",
                fix="give each a unit, one of its own if it is alone.",
            )
        return typed.coded[0]


def _require_of_units(job: Job) -> None:
    """Refuse settings of records if units are masked."""
    keep = getattr(job.aggregation, "keep", None)
    beside = getattr(job.aggregation.categories, "with_", ())
    settings = [
        (
            "requirements on confidential values",
            job.privacy.models,
            "leave l, t, ... out of [privacy]",
        ),
        (
            "wishes in columns",
            job.roles.wish,
            "list the columns of wish as drop, and leave them out of [aggregation]",
        ),
        (
            "sampling weights",
            job.roles.weight,
            f"list {_join_quoted(job.roles.weight)} as drop, and leave [weights] out",
        ),
        (
            "a regression on a column beside",
            getattr(keep, "formula", None),
            "leave the formula out of [aggregation]",
        ),
        (
            "tables with columns beside",
            beside,
            'leave "with" out of [aggregation.categories]',
        ),
    ]
    wrong = [(what, fix) for what, is_set, fix in settings if is_set]
    if wrong:
        raise JobError(
            f"The job asks for {' and '.join(what for what, _ in wrong)}, which "
            "records have, and masks attributes of units.",
            fix=f"{'; and '.join(fix for _, fix in wrong)}; or mask the records, "
            "without [units]: groups then hold records of k units.",
        )


def _join_quoted(names: Sequence[str]) -> str:
    return " and ".join(map(repr, names))


def _require_constant(
    table: Table, unit: Labels, first: Labels, names: Sequence[str]
) -> None:
    """Refuse attributes of these names, and strata, that vary within a unit."""
    every = table.roles.quasi_identifier
    X = table.matrix()
    strata = table.roles.stratum
    codes = [TypedColumn.of(table.frame[name]).coded[0] for name in strata]
    columns = [*X[:, [every.index(name) for name in names]].T, *codes]
    pairs = zip((*names, *strata), columns, strict=True)
    varies = (
        (name, len(np.unique(unit[_find_differences(x, unit, first)])))
        for name, x in pairs
    )
    varying = [f"{name!r} in {units}" for name, units in varies if units]
    if varying:
        raise TableError(
            f"What is said to be of units varies within some of {len(first)}: "
            f"{', '.join(varying)}.",
            fix="correct those records; or mask the records, without [units]: groups "
            "then hold records of k units.",
        )


def _find_differences(x: F64 | I64, unit: Labels, first: Labels) -> Bool:
    """Return which values (n,) are not that of the first record of their unit."""
    first_values = x[first][unit]
    return np.asarray((x != first_values) & ~(np.isnan(x) & np.isnan(first_values)))


def find_undeclared_units(table: Table) -> tuple[str, Labels] | None:
    """Return the column that seems to number units, and the unit of each record (n,).

    Each of its values has all quasi-identifiers in common, half of the records share
    theirs with another, and not all as often, as where a table is there twice.  None
    without such a column, or if units are named.
    """
    roles = table.roles
    X = table.matrix()
    for name in () if roles.unit else (*roles.identifier, *roles.other):
        unit = _guess_units(table.frame[name])
        if unit is None:
            continue
        first = np.unique(unit, return_index=True)[1]
        if not any(_find_differences(x, unit, first).any() for x in X.T):
            return name, unit
    return None


@dataclass(frozen=True)
class RepeatedIdentifiers:
    """Entries of an identifier that occur in several records.

    Attributes
    ----------
    entries, records, most
        The number of these entries, of their records, and of the records of the most
        frequent one.
    numbers_units
        Whether the column may number units: its entries look like numbers of persons or
        things, and have at most `PER_UNIT` records each on average.
    """

    name: str
    entries: int
    records: int
    most: int
    numbers_units: bool

    @classmethod
    def of(cls, name: str, counts: I64, *, codes: bool) -> "RepeatedIdentifiers | None":
        """Return it from the counts of a column's entries.

        None if all occur once, or if all records have the same entry, which identifies
        nobody.
        """
        counts = counts[counts > 0]
        several = counts[counts > 1]
        if not len(several) or len(counts) == 1:
            return None
        numbers_units = codes and int(counts.sum()) <= PER_UNIT * len(counts)
        records, most = int(several.sum()), int(several.max())
        return cls(name, len(several), records, most, numbers_units)

    def __str__(self) -> str:
        if self.numbers_units:
            remedy = (
                "If it identifies persons or households, k should count these: write "
                f'unit = ["{self.name}"] under [roles].'
            )
        else:
            remedy = (
                "If a person has several records, k should count persons: number them "
                "in a column with the role unit."
            )
        return (
            f"{self.name!r} has the same value in several records: "
            f"{plural(self.entries, 'value')} in {self.records} records, at most "
            f"{self.most} records each. {remedy}"
        )


def find_repeated_identifiers(table: Table) -> Iterator[RepeatedIdentifiers]:
    """Yield the identifiers with entries in several records, if no unit is named.

    A missing value is not an entry.
    """
    for name in () if table.roles.unit else table.roles.identifier:
        column = table.frame[name]
        if column.dtype.is_nested() or column.dtype == nw.Object:
            continue
        typed = TypedColumn(column, NAME)
        codes = typed.coded[0]
        if column.dtype == nw.String:  # of a CSV file nothing is an empty entry
            empty = column.str.strip_chars().is_in(["", *MISSING]).to_numpy()
            codes = np.where(empty.astype(bool), -1, codes)
        counts = np.bincount(codes[codes >= 0]).astype(np.int64)
        native = column.drop_nulls().unique().to_arrow()
        several = RepeatedIdentifiers.of(name, counts, codes=are_codes(native))
        if several is not None:
            yield several


def _guess_units(column: nw.Series[Any]) -> Labels | None:
    """Return which value each record (n,) has, where half of them share theirs."""
    if column.dtype.is_nested() or column.dtype == nw.Object:
        return None
    codes = TypedColumn(column, NAME).coded[0]
    if (codes < 0).any():
        return None
    unit = renumber_groups(codes)
    sizes = np.bincount(unit)
    shared = int(sizes[sizes > 1].sum())
    return unit if 2 * shared >= len(unit) and len(set(sizes.tolist())) > 1 else None
