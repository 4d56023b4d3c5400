"""A table whose faulty columns are replaced by placeholders, to check all the rest.

Nothing that only the columns themselves are to blame for is seen in it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aggopt.data.formats.registry import has_text_entries
from aggopt.data.parsing.parse_text import blank_non_numbers
from aggopt.data.readers.read import apply_roles
from aggopt.data.table import Table
from aggopt.encoding.attribute_type import NUMERIC
from aggopt.encoding.iso_text import is_date_text
from aggopt.errors import AggoptError
from aggopt.job import AttributeSection, Job
from aggopt.job.roles import Roles
from aggopt.pipeline.partition.methods import (
    read_confidential as read_confidential,
)
from aggopt.pipeline.validate.missing_values import require_present_values

RoleOf = Mapping[str, str]  # field of the roles that names each column, the first
NAMES = "names"
NUMBERS = "numbers"


@dataclass(frozen=True)
class PlaceholderColumn:
    """A column as read, or its placeholder, and the errors of the column.

    Attributes
    ----------
    column
        None if nothing of it can be kept.
    kind
        The kind of its placeholder: "names", "numbers", or "" if it may become either.
    """

    wrong: tuple[AggoptError, ...]
    column: pa.ChunkedArray | None = field(default=None, repr=False)
    kind: str = ""


def build_roles(role_fields: RoleOf) -> Roles:
    """Return the roles that name these columns; they are not checked."""
    fields: dict[str, list[str]] = {name: [] for name in Roles.model_fields}
    for name, role in role_fields.items():
        fields[role].append(name)
    return Roles.model_construct(
        None, **{f: tuple(names) for f, names in fields.items()}
    )


def read_or_replace(
    path: Path, table: pa.Table, job: Job, name: str, role: str
) -> PlaceholderColumn:
    """Return a column of the table at `path` as written, and its errors."""
    alone = _select_attributes(job, {name: role})
    column = table[name]
    wrong: list[AggoptError] = []

    def read_part(part: pa.Table) -> pa.ChunkedArray:
        return apply_roles(path, part, alone.roles, job.input, alone.attributes)[name]

    try:
        column = read_part(table.select([name]))
    except AggoptError as error:
        wrong.append(error)
        if has_text_entries(path):
            column = read_part(pa.table({name: blank_non_numbers(column, job.input)}))
    for tried in list(_iter_fillings(column))[len(wrong) :]:
        try:
            _check_columns(pa.table({name: tried}), alone)
            return PlaceholderColumn(tuple(wrong), tried)
        except AggoptError as error:
            wrong.append(error)
    return PlaceholderColumn(tuple(wrong), None, _infer_kind(job, name, role, column))


def build_tables(
    job: Job, read_columns: Mapping[str, PlaceholderColumn], role_fields: RoleOf, n: int
) -> list[Table]:
    """Return tables with placeholders for the columns that cannot be read.

    Two of them, if some may become names or numbers.
    """
    lost = {name: _infer_kind(job, name, role) for name, role in role_fields.items()}
    lost = {name: kind for name, kind in lost.items() if name not in read_columns}
    lost |= {
        name: column.kind
        for name, column in read_columns.items()
        if column.column is None
    }
    ways = (NUMBERS, NAMES) if "" in lost.values() else (NUMBERS,)
    tables = []
    for way in ways:
        kinds = {name: kind or way for name, kind in lost.items()}
        columns = {
            name: _build_placeholder(kinds[name], n, role_fields[name], job.privacy.k)
            if name in kinds
            else read_columns[name].column
            for name in role_fields
        }
        about = _select_attributes(job, role_fields)
        types = {
            name: _align_section(section, kinds.get(name))
            for name, section in about.attributes.items()
        }
        tables.append(
            Table.of(pa.table(columns), about.roles, types, missing=job.missing)
        )
    return tables


def _select_attributes(job: Job, role_fields: RoleOf) -> Job:
    types = {n: section for n, section in job.attributes.items() if n in role_fields}
    update: dict[str, Any] = {"roles": build_roles(role_fields), "attributes": types}
    return job.model_copy(update=update)


def _check_columns(data: pa.Table, job: Job) -> None:
    """Make all checks of the columns of a table, whatever the rest of the job."""
    table = Table.of(data, job.roles, job.attributes, missing=job.missing)
    if job.roles.quasi_identifier:
        if job.privacy.k <= len(table.frame):
            require_present_values(table, table.matrix(), job)
        table.encode(job.partition.weights)
    read_confidential(table, job, job.input.decimal)


def _iter_fillings(column: pa.ChunkedArray) -> Iterator[pa.ChunkedArray]:
    """Yield a column and, if values are missing, the column with others in their place.

    Infinite numbers are missing, too.
    """
    yield column
    present = column.is_valid().to_numpy()
    if pa.types.is_floating(column.type):
        present &= np.isfinite(column.to_numpy().astype(np.float64))
    rows = np.flatnonzero(present)
    if 0 < len(rows) < len(column):
        place = np.arange(len(column))
        lacking = np.setdiff1d(place, rows)
        place[lacking] = np.resize(rows, len(lacking))
        yield column.take(pa.array(place))


def _infer_kind(
    job: Job, name: str, role: str, column: pa.ChunkedArray | None = None
) -> str:
    """Return the kind of an unreadable column, by its role, the job or its type."""
    if role != "quasi_identifier":
        return NUMBERS
    section = job.attributes.get(name)
    kind = section.type.kind if section else None
    if kind is not None:
        return NUMBERS if kind in NUMERIC else NAMES
    text = column is not None and pa.types.is_string(column.type)
    return NAMES if text and not is_date_text(pc.unique(column)) else ""


def _build_placeholder(kind: str, n: int, role: str, k: int) -> pa.Array:
    """Return values that no check refuses; no wishes, alike weights, names of k."""
    if role == "wish":
        return pa.array(np.zeros(n))
    if role == "weight":
        return pa.array(np.ones(n))
    if role == "stratum":  # of all records
        return pa.array(["x"] * n)
    place = np.arange(n)
    if kind == NUMBERS:
        return pa.array(place)
    return pa.array(np.where(place % 2 * (n >= 2 * k), "x", "y"), pa.string())


def _align_section(section: AttributeSection, kind: str | None) -> AttributeSection:
    """Return the settings of an attribute, for the placeholder that replaces it."""
    if kind is None:
        return section
    update: dict[str, Any] = {"kind": None, "order": None, "tree": None}
    if kind == NAMES and section.order is not None:
        update["order"] = ["x", "y"]
    elif kind == NAMES and section.tree is not None:
        update["tree"] = {"above": ["x"], "below": ["y"]}
    return section.model_copy(update=update)
