"""Roles that a file declares for its columns, such as those of an `sdcMicroObj`.

They are stored with a table in the metadata of its schema, which a release drops.
`aggopt init` proposes them.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

import pyarrow as pa

_KEY = b"aggopt.roles"


@dataclass(frozen=True)
class DeclaredRole:
    """The role that a file declares for a column, and the reason."""

    role: str
    reason: str


@dataclass(frozen=True)
class DeclaredRoles:
    """The roles that a file declares for its columns.

    Attributes
    ----------
    columns
        The role of each column that has one, by name.
    others
        Reason to publish columns without a role unchanged; "" if there is none.
    k
        Records of each combination, at least; None if the file declares no number.
    notes
        Sentences on what a job cannot take over.
    """

    columns: Mapping[str, DeclaredRole] = field(default_factory=dict)
    others: str = ""
    k: int | None = None
    notes: tuple[str, ...] = ()

    def find_column(self, role: str) -> str | None:
        """Return the name of the first column that has this role; None without one."""
        names = (
            name for name, declared in self.columns.items() if declared.role == role
        )
        return next(names, None)


def attach_roles(table: pa.Table, roles: DeclaredRoles) -> pa.Table:
    """Return a table with the roles of its columns in the metadata."""
    return table.replace_schema_metadata({_KEY: json.dumps(asdict(roles)).encode()})


def read_declared_roles(table: pa.Table) -> DeclaredRoles | None:
    """Return the roles that a table's file declares; None without any."""
    text = (table.schema.metadata or {}).get(_KEY)
    if text is None:
        return None
    entries = json.loads(text)
    entries["columns"] = {
        name: DeclaredRole(**role_entries)
        for name, role_entries in entries["columns"].items()
    }
    return DeclaredRoles(**{**entries, "notes": tuple(entries["notes"])})
