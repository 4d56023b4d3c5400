"""All that stands in the way of a job and its table.

Every check is one that `mask` makes: of the whole job first and, where that is refused,
of its roles, of each column by itself and of its sections.  What depends on the groups
is not seen: it takes the work to find them.  Groups of an earlier release are read,
not found, so what they show together with it is seen, unless groups are to be merged.
"""

from collections.abc import Callable, Container, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np
import pyarrow as pa

from aggopt.command.placeholder_columns import Mended, RoleOf, mended, roles_of, wholes
from aggopt.core.column_names import is_perhaps_record
from aggopt.core.validation import Floats, check_group_size
from aggopt.data.context.distance_requests import resolve_request
from aggopt.data.context.strata import stratify
from aggopt.data.context.units import collapse_units
from aggopt.data.formats.csv import read_csv_shape
from aggopt.data.formats.registry import has_text_entries
from aggopt.data.readers.read import apply_roles as columns_as_read
from aggopt.data.table import Table
from aggopt.encoding import Encoded
from aggopt.encoding.incomplete import impute_means
from aggopt.errors import AggoptError, JobError
from aggopt.job import Correlation, Job, Shifting, choose_partition
from aggopt.job.earlier_section import EarlierGroups
from aggopt.job.roles import Roles
from aggopt.pipeline.aggregate.units_and_records import split_job
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
from aggopt.pipeline.validate.categories import CATEGORY_CHECKS, require_category_method
from aggopt.pipeline.validate.distance_requests import require_all_read
from aggopt.pipeline.validate.preflight_checks import OF_K, list_checks
from aggopt.pipeline.validate.units import require_uniform_settings
from aggopt.pipeline.waves.earlier_groups import add_earlier_groups

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
    def of(cls, error: AggoptError, column: str | None = None) -> "Obstacle":
        """Return what an error says."""
        return cls(error.problem, error.fix, column, error.exit_code)


class _Begun(Exception):
    """Nothing was refused: the work is about to begin."""


def refused(path: Path, table: pa.Table, job: Job) -> AggoptError | None:
    """Return why `mask` refuses before any work; None if it would begin.

    `table` are the records of the file at `path`, or some of them, as they are written.
    """
    how = job.partition
    is_read = isinstance(how, EarlierGroups) and how.changes != "merge"
    before_work = ("read", "group", "repair") if is_read else ("read",)

    def on_progress(step: str, share: float) -> None:
        if step not in before_work:
            raise _Begun

    try:
        data, parts = as_read(path, table, job), [job]
        if job.units.apart(job.roles):
            parts = [*split_job(job.contained(), read_table(data, job)[0])]
        for part in parts:
            with suppress(_Begun):
                partition_table(data, part, on_progress)
    except AggoptError as error:
        return error
    return None


def as_read(path: Path, table: pa.Table, job: Job) -> pa.Table:
    """Return records as `mask` reads those of the file; raises as `read`."""
    if has_text_entries(path):
        read_csv_shape(path, job.input)  # entries may span lines in what was looked at
    return columns_as_read(path, table, job.roles, job.input, job.attributes)


def obstacles(path: Path, table: pa.Table, job: Job) -> tuple[Obstacle, ...]:
    """Return all that is refused of a job and its table; nothing if `mask` would begin.

    `table` is the one at `path`, or a sample of it, as it is written.  Other columns
    and all sections are looked at as if a column that cannot be read were mended.
    """
    first = refused(path, table, job)
    return () if first is None else all_obstacles(path, table, job, first)


def all_obstacles(
    path: Path, table: pa.Table, job: Job, first: AggoptError
) -> tuple[Obstacle, ...]:
    """Return the same of a job that `mask` refuses for the error `first`."""
    if not len(table):
        return (Obstacle.of(first),)
    known, columns = role_of(job.roles), {}
    found = [*_of_roles(job, table.column_names)]
    for name in table.column_names:
        if name in known:
            columns[name] = mended(path, table, job, name, known[name])
            found += [Obstacle.of(error, name) for error in columns[name].wrong]
    whole_table = not found
    found += _of_sections(job, len(table), columns, known)
    if whole_table and first.problem not in {each.problem for each in found}:
        found.append(Obstacle.of(first))
    return tuple(dict.fromkeys(found))


def role_of(roles: Roles) -> RoleOf:
    """Return the field of the roles that each column has, the first that names it."""
    found: dict[str, str] = {}
    for field in Roles.model_fields:
        for name in getattr(roles, field):
            found.setdefault(name, field)
    return found


def dropped(job: Job, names: Container[str | None]) -> Job:
    """Return the job with some columns as identifiers, which are dropped."""
    known = {
        n: "identifier" if n in names else f for n, f in role_of(job.roles).items()
    }
    types = {n: how for n, how in job.attributes.items() if n not in names}
    return job.model_copy(update={"roles": roles_of(known), "attributes": types})


def hides_names(roles: Roles, names: list[str]) -> bool:
    """Whether names that the roles do not have may be those of a record."""
    known = role_of(roles)
    shared = sum(name in known for name in names)
    return shared < len(known) and is_perhaps_record(names, shared)


def _caught(
    check: Callable[..., object], *given: object, column: str | None = None
) -> Iterator[Obstacle]:
    try:
        check(*given)
    except AggoptError as error:
        yield Obstacle.of(error, column)


def _of_roles(job: Job, names: list[str]) -> Iterator[Obstacle]:
    """Yield what is wrong with the roles: names twice, unknown, or left out."""
    known, there = role_of(job.roles), set(names)
    yield from _caught(job.roles.check, list(known))
    yield from _caught(roles_of(known).check, names)
    present = {name: role for name, role in known.items() if name in there}
    if len(present) < len(known) and not hides_names(job.roles, names):
        yield from _caught(roles_of(present).check, names)


def _of_sections(
    job: Job, n: int, columns: Mapping[str, Mended], known: RoleOf
) -> Iterator[Obstacle]:
    """Yield what is wrong with [privacy], [partition], [aggregation] and others.

    Where a column may become names or numbers, it is what is wrong either way.
    """
    yield from _caught(check_group_size, job.privacy.k, n)
    if not job.roles.quasi_identifier:
        return
    lost = any(each.column is None for each in columns.values())
    tables, wrong = _tried(wholes, job, columns, known, n)
    if tables is None:
        yield from wrong
        return
    once = job.model_copy(update={"roles": roles_of(known)})  # each column
    ways = [list(_of_whole(once, whole, lost)) for whole in tables]
    yield from (each for each in ways[0] if all(each in way for way in ways))


def _of_whole(job: Job, whole: Table, lost: bool) -> Iterator[Obstacle]:
    """Yield what is wrong with the sections of a job beside a table that can be read.

    If a column is `lost`, and others stand in for it, correlations say nothing.
    """
    unified, wrong = _tried(collapse_units, whole, job)
    yield from wrong
    whole, units = unified or (whole, None)
    within, wrong = _tried(stratify, whole, job)
    yield from wrong
    whole, strata = within or (whole, None)
    X, n, names = whole.matrix(), len(whole.frame), whole.roles.quasi_identifier
    records, together = _encoded(whole, X, job), (tuple(range(len(names))),)
    columns = None
    if not (lost and isinstance(job.partition.attributes, Correlation)):
        columns, wrong = _tried(find_blocks, job, records)
        yield from wrong
    columns = columns or together
    enough = max(n, job.privacy.k)  # that there are fewer is said by itself
    job, _ = choose_partition(job, enough, count_widest_block(records, columns))
    job, _ = add_repair_for_search(job)
    job = set_category_method(job, whole)
    yield from _caught(require_category_method, job, whole)
    if whole.domains:
        for check in CATEGORY_CHECKS:
            if check not in OF_K or job.privacy.k <= n:
                yield from _caught(check, job, whole)
    yield from _caught(require_uniform_settings, job)
    for each in list_checks(whole, X, job, columns, strata, units):
        if job.privacy.k <= n or each.func not in OF_K:
            yield from _caught(each)
    yield from _caught(add_earlier_groups, job, whole, strata, units)
    yield from _of_wishes(job, whole, X)


def _encoded(whole: Table, X: Floats, job: Job) -> Floats | Encoded:
    """Return records as they are encoded; numbers where they are or cannot be."""
    found, _ = _tried(whole.encode, job.partition.weights)
    if found is None:
        return X
    return impute_means(found) if np.isnan(X).any() else found


def _of_wishes(job: Job, whole: Table, X: Floats) -> Iterator[Obstacle]:
    """Yield what is wrong with wishes, of numbers and of categories."""
    how = job.aggregation
    yield from _caught(read_category_requests, job, whole)
    yield from _caught(require_all_read, job)
    if not isinstance(how, Shifting) or not whole.numeric:
        return
    Z = np.zeros((len(X), len(whole.numeric)))
    for key in ("delta", "importance"):
        yield from _caught(resolve_request, getattr(how, key), whole, Z, key)
    if job.privacy.k <= len(X):
        yield from _caught(read_number_requests, whole, X, job)


def _tried(check: Callable[..., T], *given: object) -> tuple[T | None, list[Obstacle]]:
    try:
        return check(*given), []
    except AggoptError as error:
        return None, [Obstacle.of(error)]
