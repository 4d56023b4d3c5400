"""Releases of several tables of the same people, linked by an identifier."""

from collections.abc import Sequence
from pathlib import Path

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import pyarrow as pa

from aggopt.core.types import Bool, Labels
from aggopt.data.readers.read import read_as_text
from aggopt.errors import JobError, TableError
from aggopt.job import Job
from aggopt.pipeline.waves.wave import find_changed, find_lacking, read_entries
from aggopt.release.audit.changes import NOT_THERE


class LinkedTables:
    """The tables that releases were made from, one each, and their people.

    `person` is an identifier of all of them, which no release holds.
    """

    def __init__(
        self, tables: Sequence[Path], person: str, jobs: Sequence[Job]
    ) -> None:
        """Read the people of each table.

        Raises
        ------
        JobError
            The person is not an identifier of a job, or k counts units of different
            columns.
        TableError
            It does not differ in every record; no person is in two tables; a table
            lacks the units; or a column that is published identifies each person.
        """
        self.person = person
        for path, job in zip(tables, jobs, strict=True):
            self._require_identifier(path, job)
        self._written = [
            read_as_text(p, j.input) for p, j in zip(tables, jobs, strict=True)
        ]
        pairs = zip(tables, self._written, strict=True)
        self.people = [self._read_people(path, table) for path, table in pairs]
        listed = [name for names in self.people for name in names]
        self.at = {name: i for i, name in enumerate(dict.fromkeys(listed))}
        if len(self.at) == len(listed):
            raise TableError(
                f"No person is in two of the tables, by {person!r}.",
                fix="name the identifier that all of them have; releases of different "
                "people need not be compared.",
            )
        self._require_no_key(jobs)
        self._units = self._read_units(tables, jobs)

    def united(self, groups: Sequence[Labels]) -> list[Labels]:
        """Return the group of each person (p,) in each table; -1 if not in it.

        -1 for people who are not in it.
        """
        groups_of_people = np.full((len(groups), len(self.at)), -1)
        for group_of_person, names, labels in zip(
            groups_of_people, self.people, groups, strict=True
        ):
            group_of_person[[self.at[name] for name in names]] = labels
        return list(groups_of_people)

    def changed(
        self, one: int, other: int, jobs: Sequence[Job]
    ) -> tuple[tuple[str, ...], Bool]:
        """Return the shared attributes of two waves, and a mask of changes (p, f).

        False for people that are not in both.
        """
        names = [
            name for name in jobs[one].influential if name in jobs[other].influential
        ]
        at = {name: i for i, name in enumerate(self.people[one])}
        rows = np.array([at.get(name, NOT_THERE) for name in self.people[other]])
        after = nw.from_native(self._written[other])
        decimal = jobs[other].input.decimal
        changes = find_changed(self._written[one], after, rows, names, decimal)
        is_changed = np.zeros((len(self.at), len(names)), bool)
        is_changed[[self.at[name] for name in self.people[other]]] = changes
        return tuple(names), is_changed

    def lacking(
        self, one: int, other: int, jobs: Sequence[Job], names: Sequence[str]
    ) -> dict[str, tuple[Bool, Bool]]:
        """Return masks (p,) of people without a value in two waves, by attribute."""
        quasi = {n for i in (one, other) for n in jobs[i].roles.quasi_identifier}
        masked = [name for name in names if name in quasi]
        after = nw.from_native(self._written[other])
        filled = (
            jobs[one].missing.policy == "fill",
            jobs[other].missing.policy == "fill",
        )
        lacking_by_name = {}
        both = find_lacking(self._written[one], after, masked, filled)
        for name, lack in both.items():
            people = (np.ones(len(self.at), bool), np.ones(len(self.at), bool))
            for people_of_wave, wave, records in zip(
                people, (one, other), lack, strict=True
            ):
                people_of_wave[[self.at[person] for person in self.people[wave]]] = (
                    records
                )
            lacking_by_name[name] = people
        return lacking_by_name

    def units(self, *waves: int) -> Labels | None:
        """Return the unit of each person (p,), from the last of these waves.

        -1 of people that none of them has; None if k counts records.
        """
        if self._units is None:
            return None
        units_of_people = np.full(len(self.at), NOT_THERE)
        for wave in waves:
            units_of_people[[self.at[name] for name in self.people[wave]]] = (
                self._units[wave]
            )
        return units_of_people

    def _read_units(
        self, tables: Sequence[Path], jobs: Sequence[Job]
    ) -> list[Labels] | None:
        """Return the unit of each record, by table; None if k counts records."""
        unit_roles = {job.roles.unit for job in jobs if job.roles.unit}
        if not unit_roles:
            return None
        names = min(unit_roles)
        if len(unit_roles) > 1:
            listed = ", ".join(
                repr(name) for unit in sorted(unit_roles) for name in unit
            )
            raise JobError(
                f"k counts units of different columns in these releases: {listed}.",
                fix="compare releases in which k counts units of one column.",
            )
        for path, table in zip(tables, self._written, strict=True):
            lacking = [name for name in names if name not in table.column_names]
            if lacking:
                raise TableError(
                    f"{path.name} has no column {', '.join(map(repr, lacking))}, and k "
                    "counts units by it.",
                    fix="name the tables that the releases were made from; or add the "
                    "units to this table.",
                )
        entries = [read_entries(nw.from_native(t), names) for t in self._written]
        codes = np.asarray(pd.factorize(np.concatenate(entries))[0])
        return np.split(codes, np.cumsum([len(entry) for entry in entries])[:-1])

    def _require_identifier(self, path: Path, job: Job) -> None:
        """Refuse a person column that a release would publish."""
        if self.person not in job.roles.identifier:
            raise JobError(
                f"{self.person!r} is no identifier of the release of {path.name}: the "
                "release would publish it, and anybody could link the waves.",
                fix="name one that each job lists as identifier, which drops it.",
            )

    def _read_people(self, path: Path, table: pa.Table) -> list[str]:
        """Return the person of each record of a table; refuse duplicates."""
        if self.person not in table.column_names:
            raise TableError(
                f"{path.name} has no column {self.person!r}.",
                fix="name the table that the release was made from, and the identifier "
                "that all tables have.",
            )
        entries = table[self.person].to_pylist()
        names = [str(entry) for entry in entries if entry not in (None, "")]
        lacking = len(entries) - len(names)
        again = len(names) - len(set(names))
        if lacking or again:
            raise TableError(
                f"{self.person!r} does not tell the records of {path.name} apart: "
                f"{lacking} have none, and {again} of {len(entries)} stand there "
                "again.",
                fix="name an identifier of one record each.",
            )
        return names

    def _require_no_key(self, jobs: Sequence[Job]) -> None:
        """Refuse a published column that identifies people in all waves."""
        plain = [set(job.roles.as_they_are) for job in jobs]
        for name in sorted(set.intersection(*plain)):
            if self._identifies_people(name):
                raise TableError(
                    f"{name!r} is published in all waves, differs in every record of "
                    "each, and is the same for each person: a person key, by which "
                    "whoever has the files puts them together.",
                    fix="drop it, as identifier, and publish none of the waves with "
                    "it.",
                )

    def _identifies_people(self, name: str) -> bool:
        """Whether each person has a unique entry, equal in all tables."""
        entry_of_person: dict[str, str] = {}
        for names, table in zip(self.people, self._written, strict=True):
            entries = [str(entry) for entry in table[name].to_pylist()]
            if len(set(entries)) < len(entries):
                return False
            for person, entry in zip(names, entries, strict=True):
                if entry_of_person.setdefault(person, entry) != entry:
                    return False
        return True
