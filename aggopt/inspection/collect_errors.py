"""Collect all obstacles of a job and its table.

Every check is one that `mask` makes: of the whole job first and, if that is refused, of
its roles, of each column by itself and of its sections.  Obstacles that depend on the
groups are not listed: to find them takes the work.  Groups of an earlier release are
read, not computed: their obstacles are listed, too, unless groups are to be merged.
"""

from collections.abc import Callable, Container, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aggopt.core.column_names import is_perhaps_record
from aggopt.core.validation import Floats, check_group_size
from aggopt.data.context.distance_requests import resolve_request
from aggopt.data.context.strata import stratify
from aggopt.data.context.units import collapse_units
from aggopt.data.formats.csv import read_csv_shape
from aggopt.data.formats.registry import has_text_entries
from aggopt.data.parsing.parse_text import blank_non_numbers
from aggopt.data.readers.read import apply_roles
from aggopt.data.readers.read import apply_roles as columns_as_read
from aggopt.data.table import Table
from aggopt.encoding import Encoded
from aggopt.encoding.attribute_type import NUMERIC
from aggopt.encoding.encode_table import impute_means
from aggopt.encoding.iso_text import is_date_text
from aggopt.errors import AggoptError, JobError
from aggopt.job import (
    AttributeSection,
    Correlation,
    Job,
    Roles,
    Shifting,
    choose_partition,
)
from aggopt.job.earlier_section import EarlierGroups
from aggopt.pipeline.aggregate.units_and_records import split_job
from aggopt.pipeline.partition.key_tables import select_grouped
from aggopt.pipeline.partition.methods import (
    read_confidential as read_confidential,
)
from aggopt.pipeline.partition.partition_table import partition_table
from aggopt.pipeline.prepare.defaults import (
    add_repair_for_search,
    count_widest_block,
    set_category_method,
)
from aggopt.pipeline.prepare.inputs import read_table
from aggopt.pipeline.prepare.job_settings import find_blocks
from aggopt.pipeline.prepare.record_requests import (
    read_category_requests,
    read_number_requests,
)
from aggopt.pipeline.validate.categories import (
    CATEGORY_CHECKS,
    require_category_method,
    require_keys_of_categories,
)
from aggopt.pipeline.validate.distance_requests import require_all_read
from aggopt.pipeline.validate.missing_values import require_present_values
from aggopt.pipeline.validate.preflight_checks import OF_K, list_checks
from aggopt.pipeline.validate.units import require_uniform_settings
from aggopt.pipeline.waves.earlier_groups import add_earlier_groups

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
    """Return the job with these attributes only."""
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
    section = section.recoded
    update: dict[str, Any] = {"kind": None, "order": None, "tree": None}
    if kind == NAMES and section.order is not None:
        update["order"] = ["x", "y"]
    elif kind == NAMES and section.tree is not None:
        update["tree"] = {"above": ["x"], "below": ["y"]}
    return section.model_copy(update=update)


T = TypeVar("T")


@dataclass(frozen=True)
class Obstacle:
    """Why a job is refused, what to do, and which column it is about, if one alone.

    `code` is the exit code of a command that ends by it.
    """

    problem: str
    fix: str
    column: str | None = None
    code: int = JobError.exit_code

    @classmethod
    def from_error(cls, error: AggoptError, column: str | None = None) -> "Obstacle":
        """Return the obstacle of an error."""
        return cls(error.problem, error.fix, column, error.exit_code)


class _ReadyToPartition(Exception):
    """Nothing was refused: the work is about to begin."""


def find_refusal(path: Path, table: pa.Table, job: Job) -> AggoptError | None:
    """Return why `mask` refuses before any work; None if it would begin.

    `table` has the entries of the file at `path` unparsed, all records or some.
    """
    section = job.partition
    is_read = isinstance(section, EarlierGroups) and section.changes != "merge"
    before_work = ("read", "group", "repair") if is_read else ("read",)

    def on_progress(step: str, share: float) -> None:
        if step not in before_work:
            raise _ReadyToPartition

    try:
        data = read_as_mask(path, table, job)
        parts = [job]
        if job.units.apart(job.roles):
            parts = [*split_job(job.load_contents(), read_table(data, job)[0])]
        for part in parts:
            with suppress(_ReadyToPartition):
                partition_table(data, part, on_progress)
    except AggoptError as error:
        return error
    return None


def read_as_mask(path: Path, table: pa.Table, job: Job) -> pa.Table:
    """Return records as `mask` reads them from the file; raises as `read`."""
    if has_text_entries(path):
        read_csv_shape(path, job.input)  # entries may span lines in what was looked at
    return columns_as_read(path, table, job.roles, job.input, job.attributes)


def find_obstacles(path: Path, table: pa.Table, job: Job) -> tuple[Obstacle, ...]:
    """Return all obstacles of a job and its table; none if `mask` would begin.

    `table` has the entries of the file at `path` unparsed, all records or a sample.
    Other columns and all sections are checked as if no column were unreadable.
    """
    first = find_refusal(path, table, job)
    return () if first is None else collect_obstacles(path, table, job, first)


def collect_obstacles(
    path: Path, table: pa.Table, job: Job, first: AggoptError
) -> tuple[Obstacle, ...]:
    """Return all obstacles of a job that `mask` refuses for the error `first`."""
    if not len(table):
        return (Obstacle.from_error(first),)
    role_fields = map_roles(job.roles)
    columns = {}
    obstacles = [*_list_role_obstacles(job, table.column_names)]
    for name in table.column_names:
        if name in role_fields:
            columns[name] = read_or_replace(path, table, job, name, role_fields[name])
            obstacles += [
                Obstacle.from_error(error, name) for error in columns[name].wrong
            ]
    whole_table = not obstacles
    obstacles += _list_section_obstacles(job, len(table), columns, role_fields)
    if whole_table and first.problem not in {
        obstacle.problem for obstacle in obstacles
    }:
        obstacles.append(Obstacle.from_error(first))
    return tuple(dict.fromkeys(obstacles))


def map_roles(roles: Roles) -> RoleOf:
    """Return the field of the roles that each column has, the first that names it."""
    role_fields: dict[str, str] = {}
    for role in Roles.model_fields:
        for name in getattr(roles, role):
            role_fields.setdefault(name, role)
    return role_fields


def drop_columns(job: Job, names: Container[str | None]) -> Job:
    """Return the job with some columns as identifiers, which are dropped."""
    role_fields = {
        n: "identifier" if n in names else f for n, f in map_roles(job.roles).items()
    }
    types = {n: section for n, section in job.attributes.items() if n not in names}
    return job.model_copy(
        update={"roles": build_roles(role_fields), "attributes": types}
    )


def has_private_names(roles: Roles, names: list[str]) -> bool:
    """Whether names without a role may be the entries of a record."""
    role_fields = map_roles(roles)
    shared = sum(name in role_fields for name in names)
    return shared < len(role_fields) and is_perhaps_record(names, shared)


def try_check(
    check: Callable[..., object], *arguments: object, column: str | None = None
) -> Iterator[Obstacle]:
    """Call a check; yield its error as an obstacle, if it raises one."""
    try:
        check(*arguments)
    except AggoptError as error:
        yield Obstacle.from_error(error, column)


def _list_role_obstacles(job: Job, names: list[str]) -> Iterator[Obstacle]:
    """Yield obstacles of the roles: names twice, unknown, or left out."""
    role_fields = map_roles(job.roles)
    present_names = set(names)
    yield from try_check(job.roles.check, list(role_fields))
    yield from try_check(build_roles(role_fields).check, names)
    present = {
        name: role for name, role in role_fields.items() if name in present_names
    }
    if len(present) < len(role_fields) and not has_private_names(job.roles, names):
        yield from try_check(build_roles(present).check, names)


def _list_section_obstacles(
    job: Job, n: int, columns: Mapping[str, PlaceholderColumn], role_fields: RoleOf
) -> Iterator[Obstacle]:
    """Yield obstacles of [privacy], [partition], [aggregation] and others.

    If a column may become names or numbers, errors of both readings are yielded.
    """
    yield from try_check(check_group_size, job.privacy.k, n)
    if not job.roles.quasi_identifier:
        return
    lost = any(column.column is None for column in columns.values())
    tables, wrong = _try_call(build_tables, job, columns, role_fields, n)
    if tables is None:
        yield from wrong
        return
    once = job.model_copy(update={"roles": build_roles(role_fields)})  # each column
    ways = [list(_list_table_obstacles(once, table, lost)) for table in tables]
    yield from (
        obstacle for obstacle in ways[0] if all(obstacle in way for way in ways)
    )


def _list_table_obstacles(job: Job, table: Table, lost: bool) -> Iterator[Obstacle]:
    """Yield errors of the sections of a job, for a table that can be read.

    If a column is `lost` and placeholders replace it, correlations mean nothing.
    """
    unified, wrong = _try_call(collapse_units, table, job)
    yield from wrong
    table, units = unified or (table, None)
    within, wrong = _try_call(stratify, table, job)
    yield from wrong
    table, strata = within or (table, None)
    X = table.matrix()
    n = len(table.frame)
    names = table.roles.quasi_identifier
    records = _encode_records(table, X, job)
    together = (tuple(range(len(names))),)
    columns = None
    if not (lost and isinstance(job.partition.attributes, Correlation)):
        columns, wrong = _try_call(find_blocks, job, records)
        yield from wrong
    columns = columns or together
    columns = select_grouped(columns, job) or columns
    enough = max(n, job.privacy.k)  # that there are fewer is said by itself
    job, _ = choose_partition(job, enough, count_widest_block(records, columns))
    job, _ = add_repair_for_search(job)
    job = set_category_method(job, table)
    yield from try_check(require_category_method, job, table)
    yield from try_check(require_keys_of_categories, job, table)
    if table.domains:
        for check in CATEGORY_CHECKS:
            if check not in OF_K or job.privacy.k <= n:
                yield from try_check(check, job, table)
    yield from try_check(require_uniform_settings, job)
    for preflight_check in list_checks(table, X, job, columns, strata, units):
        if job.privacy.k <= n or preflight_check.func not in OF_K:
            yield from try_check(preflight_check)
    yield from try_check(add_earlier_groups, job, table, strata, units)
    yield from _list_request_obstacles(job, table, X)


def _encode_records(table: Table, X: Floats, job: Job) -> Floats | Encoded:
    """Return the encoded records, or their numbers if they cannot be encoded."""
    encoded, _ = _try_call(table.encode, job.partition.weights)
    if encoded is None:
        return X
    return impute_means(encoded) if np.isnan(X).any() else encoded


def _list_request_obstacles(job: Job, table: Table, X: Floats) -> Iterator[Obstacle]:
    """Yield obstacles of requested distances, of numbers and of categories."""
    section = job.aggregation
    yield from try_check(read_category_requests, job, table)
    yield from try_check(require_all_read, job)
    if not isinstance(section, Shifting) or not table.numeric:
        return
    Z = np.zeros((len(X), len(table.numeric)))
    for key in ("delta", "importance"):
        yield from try_check(resolve_request, getattr(section, key), table, Z, key)
    if job.privacy.k <= len(X):
        yield from try_check(read_number_requests, table, X, job)


def _try_call(
    check: Callable[..., T], *arguments: object
) -> tuple[T | None, list[Obstacle]]:
    """Return the result of a check and no obstacle, or None and its error."""
    try:
        return check(*arguments), []
    except AggoptError as error:
        return None, [Obstacle.from_error(error)]
