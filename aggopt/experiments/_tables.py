"""The tables of an experiment: each read once, whatever the number of cells."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aggopt.core.equality import to_hashable
from aggopt.data.fingerprint import fingerprint
from aggopt.data.readers.read import read_file
from aggopt.data.table import Table
from aggopt.errors import JobError, require_known
from aggopt.experiments._grid import Cell
from aggopt.job.roles import Roles


@dataclass(frozen=True, eq=False)
class Tables:
    """Tables by name, and their content once read."""

    given: Mapping[str, Any] = field(repr=False)
    _read: dict[Hashable, Any] = field(default_factory=dict, repr=False)
    _known: dict[Hashable, str] = field(default_factory=dict, repr=False)

    def data(self, cell: Cell) -> Any:
        """Return the table of a cell; raises as `aggopt.mask`, of files alone."""
        found, job = self.given[cell.table], cell.job
        if not isinstance(found, str | Path):
            return found
        how = cell.table, job.roles, job.input, to_hashable(job.attributes)
        if how not in self._read:
            self._read[how] = read_file(
                Path(found), job.roles, job.input, job.attributes
            )
        return self._read[how]

    def fingerprint(self, cell: Cell) -> str:
        """Return the SHA-256 of the table of a cell; raises as `aggopt.mask`."""
        job = cell.job
        how = cell.table, job.roles, job.input, to_hashable(job.attributes), job.missing
        if how not in self._known:
            data = self.data(cell)
            table = Table.of(data, job.roles, job.attributes, missing=job.missing)
            self._known[how] = fingerprint(table.frame)
        return self._known[how]


def named(tables: Any) -> dict[str, Any]:
    """Return tables by name: the name of a file, or the place in a list.

    Raises
    ------
    JobError
        No table is given, two have one name, or a name is not text.
    """
    if isinstance(tables, Mapping):
        pairs = list(tables.items())
    else:
        listed = tables if isinstance(tables, list | tuple) else [tables]
        pairs = [(_name(table, j), table) for j, table in enumerate(listed)]
    names = [name for name, _ in pairs]
    if not names:
        raise JobError("There are no tables.", fix="pass some, by name.")
    if not all(isinstance(name, str) and name for name in names):
        raise JobError("A table has a name that is no text.", fix="name it by a text.")
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise JobError(
            f"Two tables are called {twice[0]!r}.",
            fix='name them: {"a name": table, "another": table}.',
        )
    return dict(pairs)


def _name(table: Any, place: int) -> str:
    return Path(table).stem if isinstance(table, str | Path) else str(place)


def roles_of(roles: Any, names: list[str]) -> dict[str, Any]:
    """Return the roles of each table, which are given once, or by table.

    Raises
    ------
    JobError
        They are given by table, and one is missing, or is of no table.
    """
    by_table = isinstance(roles, Mapping) and all(
        isinstance(own, Mapping | Roles) for own in roles.values()
    )
    if not (by_table and roles):
        return dict.fromkeys(names, roles)
    for name in roles:
        require_known("table", name, names)
    left = [name for name in names if name not in roles]
    if left:
        raise JobError(
            f"The table {left[0]!r} has no roles.",
            fix="give the roles of each table, or those of all once.",
        )
    return {name: roles[name] for name in names}
