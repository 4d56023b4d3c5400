"""The role of each attribute of a table.  Roles have no defaults."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator

from aggopt.core.column_names import count_numeric_names
from aggopt.core.plural import agree
from aggopt.errors import JobError, TableError

DROPPED = ("identifier", "unit", "wish", "drop")  # roles that no release holds


class Roles(BaseModel):
    """The role of each attribute; every attribute has exactly one.

    Attributes have names; the columns of a NumPy array are called "0", "1", ...

    Attributes
    ----------
    identifier
        Identifies a record directly (name, passport number).  Dropped from every
        release.
    quasi_identifier
        Known to others and identifying in combination (age, income, region).  Masked:
        one value per group is published.  Written `quasi-identifier` in a job file.
    confidential
        Must not be revealed about a person by a release (diagnosis, salary).  Published
        unchanged.
    other
        Neither known to others nor confidential.  Published unchanged.
    stratum
        Contains whole groups (region, sex): all records of a group have one value.
        Published unchanged, and part of every combination that k refers to.
    unit
        Identifies the units of records, as households: k counts units.  Dropped from
        every release.
    weight
        The sampling weight of a record, the number of people that it represents: one
        numeric column.  [weights] sets its published form.
    wish
        The requested distance of a record, or its importance; numeric.  Read by an
        aggregation if the job names it, and dropped from every release.
    drop
        Columns without use in a release, as empty or nested ones.  Dropped from it.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    identifier: tuple[str, ...] = ()
    quasi_identifier: tuple[str, ...] = Field(alias="quasi-identifier", min_length=1)
    confidential: tuple[str, ...] = ()
    other: tuple[str, ...] = ()
    stratum: tuple[str, ...] = ()
    unit: tuple[str, ...] = ()
    weight: tuple[str, ...] = ()
    wish: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()

    @field_validator("*", mode="before")
    @classmethod
    def _require_lists(cls, names: Any, about: ValidationInfo) -> Any:
        one = about.field_name == "weight"
        if one and isinstance(names, str):
            return [names]
        if not isinstance(names, list | tuple):
            form = '"NAME"' if one else '["NAME", ...]'
            raise ValueError(f"write {'a name' if one else 'a list of names'}: {form}")
        if one and len(names) > 1:
            raise ValueError(f"{len(names)} columns are named: a record has one weight")
        return names

    def __iter__(self) -> Iterator[tuple[str, tuple[str, ...]]]:  # type: ignore[override]
        """Yield each role, as a job file spells it, with its attributes."""
        for name, field in type(self).model_fields.items():
            yield field.alias or name, getattr(self, name)

    @property
    def dropped(self) -> tuple[str, ...]:
        """Attributes that no release holds."""
        return tuple(name for role in DROPPED for name in getattr(self, role))

    @property
    def numbers(self) -> tuple[str, ...]:
        """Attributes that are numbers and are not masked: weights and wishes."""
        return (*self.weight, *self.wish)

    @property
    def published(self) -> tuple[str, ...]:
        """Attributes that a release holds, weights included."""
        return (*self.combination, *self.weight, *self.confidential, *self.other)

    @property
    def as_they_are(self) -> tuple[str, ...]:
        """Attributes that are published unchanged, confidential ones included."""
        return (*self.stratum, *self.confidential, *self.other)

    @property
    def combination(self) -> tuple[str, ...]:
        """Attributes whose combination k records share in a release."""
        return (*self.quasi_identifier, *self.stratum)

    @property
    def released(self) -> "Roles":
        """The roles that are left in a release."""
        gone: dict[str, tuple[str, ...]] = dict.fromkeys(DROPPED, ())
        return self.model_copy(update=gone)

    def check(self, columns: Sequence[str]) -> None:
        """Refuse unless each of `columns` plays exactly one role and no more exist.

        Raises
        ------
        JobError
            An attribute is named twice, or is not in the table.
        TableError
            An attribute of the table plays no role.
        """
        counts = Counter(column for _, members in self for column in members)
        twice = [column for column, times in counts.items() if times > 1]
        if twice:
            raise JobError(
                f"Named more than once in the roles: {_join_quoted(twice)}.",
                fix="give each attribute exactly one role.",
            )
        existing = set(columns)
        absent = [column for column in counts if column not in existing]
        if absent:
            raise JobError(
                f"The roles name {_join_quoted(absent)}, which the table does not "
                "have.",
                fix=_advise_names(columns, len(counts) - len(absent)),
            )
        undeclared = [column for column in columns if column not in counts]
        if undeclared:
            raise TableError(
                f"No role is declared for {_join_quoted(undeclared)}.",
                fix="name each in one of [roles] identifier, quasi-identifier, "
                "confidential, other, stratum, unit, weight, wish, drop.",
            )


def _advise_names(columns: Sequence[str], role_count: int) -> str:
    """Return advice on the names of the columns; the roles name `role_count` of them.

    If the roles know few names, the names may be a record and are not repeated.
    """
    count = count_numeric_names(columns)
    if count:
        return (
            f"{count} of the table's {len(columns)} column names "
            f"{agree(count, 'is a number', 'are numbers')}: if its first line is a "
            "record, put a line with names above it."
        )
    if not columns:
        return "bring a table with columns."
    if 2 * role_count < len(columns):
        return (
            f"use the table's own names, of which the roles have {role_count} of "
            f"{len(columns)}; if its first line is a record, put a line with names "
            "above it."
        )
    return f"use the table's own names: {_join_quoted(columns)}."


def _join_quoted(names: Sequence[str]) -> str:
    return ", ".join(repr(name) for name in names)
