"""All that stands in the way of a job and its table.

Every check is one that `mask` makes: of the whole job first and, where that is refused,
of its roles, of each column by itself and of its sections.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from aggopt.core.names import may_be_record
from aggopt.core.validation import group_size
from aggopt.errors import AggoptError
from aggopt.input.files import is_csv, typed
from aggopt.input.table import Table
from aggopt.job import Correlation, Job, Shifting, Solved, settled
from aggopt.job._roles import Roles
from aggopt.pipeline.attribute_blocks import blocks_of, require_promise
from aggopt.pipeline.category_job import (
    require_numbers,
    require_together,
    widest,
    with_categories,
)
from aggopt.pipeline.guarantees import read as read_confidential
from aggopt.pipeline.guarantees import require_guarantees, with_search
from aggopt.pipeline.partition_step import chosen_solver, group, read_table, wishes_of
from aggopt.pipeline.weights import require_weights
from aggopt.solvers._options import native_options

RoleOf = Mapping[str, str]  # field of the roles that names each column, the first


@dataclass(frozen=True)
class Obstacle:
    """Why a job is refused, what to do, and which column it is about, if one alone."""

    problem: str
    fix: str
    column: str | None = None

    @classmethod
    def of(cls, error: AggoptError, column: str | None = None) -> "Obstacle":
        """Return what an error says."""
        return cls(error.problem, error.fix, column)


class _Begun(Exception):
    """Nothing was refused: groups are about to be made."""


def refused(path: Path, job: Job) -> AggoptError | None:
    """Return why `mask` refuses before any work; None if it would begin."""

    def told(step: str, share: float) -> None:
        if step != "read":
            raise _Begun

    try:
        group(path, job, told)
    except _Begun:
        return None
    except AggoptError as error:
        return error
    return None


def obstacles(path: Path, table: pa.Table, job: Job) -> tuple[Obstacle, ...]:
    """Return all that is refused of a job and its table; nothing if `mask` would begin.

    `table` is the one at `path`, as it is written.
    """
    first = refused(path, job)
    if first is None:
        return ()
    if not len(table):
        return (Obstacle.of(first),)
    known = role_of(job)
    found = [*_of_roles(job, table.column_names)]
    for name in table.column_names:
        if name in known:
            own = {name: known[name]}
            found += _caught(_read, path, table, job, own, column=name)
    readable = not found
    whole = _read(path, table, job, known) if readable else None
    found += _of_sections(job, len(table), whole)
    if readable and first.problem not in {each.problem for each in found}:
        found.append(Obstacle.of(first))
    return tuple(dict.fromkeys(found))


def role_of(job: Job) -> RoleOf:
    """Return the field of the roles that each column has, the first that names it."""
    found: dict[str, str] = {}
    for field in Roles.model_fields:
        for name in getattr(job.roles, field):
            found.setdefault(name, field)
    return found


def hides_names(job: Job, names: list[str]) -> bool:
    """Whether names that the roles do not have may be those of a record."""
    known = role_of(job)
    shared = sum(name in known for name in names)
    return shared < len(known) and may_be_record(names, shared)


def _caught(
    check: Callable[..., object], *given: object, column: str | None = None
) -> Iterator[Obstacle]:
    try:
        check(*given)
    except AggoptError as error:
        yield Obstacle.of(error, column)


def _of_roles(job: Job, names: list[str]) -> Iterator[Obstacle]:
    """Yield what is wrong with the roles: names twice, unknown, or left out."""
    known, there = role_of(job), set(names)
    yield from _caught(job.roles.check, list(known))
    yield from _caught(_roles(known).check, names)
    present = {name: role for name, role in known.items() if name in there}
    if len(present) < len(known) and not hides_names(job, names):
        yield from _caught(_roles(present).check, names)


def _roles(known: RoleOf) -> Roles:
    fields: dict[str, list[str]] = {field: [] for field in Roles.model_fields}
    for name, field in known.items():
        fields[field].append(name)
    return Roles.model_construct(None, **{f: tuple(each) for f, each in fields.items()})


def _read(path: Path, table: pa.Table, job: Job, known: RoleOf) -> Table:
    """Return columns as if they were the whole table, and all that the job names."""
    roles = _roles(known)
    types = {n: how for n, how in job.attributes.items() if n in known}
    alone = job.model_copy(update={"roles": roles, "attributes": types})
    part = table.select(list(known))
    data = typed(part, roles, job.input, types) if is_csv(path) else part
    found, _ = read_table(data, alone)
    read_confidential(found, alone, job.input.decimal)
    return found


def _of_sections(job: Job, n: int, whole: Table | None) -> Iterator[Obstacle]:
    """Yield what is wrong with [privacy], [partition] and [aggregation].

    `whole` is the table of n records, if it can be read.
    """
    yield from _caught(group_size, job.privacy.k, n)
    yield from _caught(_require_kept, job, n, whole)
    for method in (job.partition, job.aggregation, job.aggregation.categories):
        if isinstance(method, Solved):
            yield from _caught(_require_solver, method)
    shifts = isinstance(job.aggregation, Shifting)
    if whole is not None and (whole.numeric or not shifts) and job.privacy.k <= n:
        yield from _caught(wishes_of, whole, whole.matrix(), job)


def _require_kept(job: Job, n: int, whole: Table | None) -> None:
    """Refuse blocks, a partition and a repair that keep not all that is required."""
    if isinstance(job.partition.attributes, Correlation) and whole is None:
        return
    d = len(job.roles.quasi_identifier)
    X = np.empty((n, d)) if whole is None else whole.matrix()
    encoded = None if whole is None else whole.encoded(job.partition.weights)
    records = X if encoded is None else encoded
    columns = blocks_of(job, records)
    enough = max(n, job.privacy.k)  # that there are fewer is said by itself
    made, _ = settled(job, enough, widest(records, columns))
    made, _ = with_search(made)
    require_promise(made, columns)
    if whole is not None:
        made = with_categories(made, whole)
        require_numbers(made, whole, columns)
        require_together(made, whole, columns)
        require_weights(made, whole, columns)
    require_guarantees(made)


def _require_solver(method: Solved) -> None:
    native_options(chosen_solver(method), method.time_limit, method.options)
