"""The pass before the others: levels of categories, on which all tasks then agree."""

from collections.abc import Callable
from dataclasses import replace

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa

from aggopt.aggregate.categories._frequencies import Frequencies
from aggopt.aggregate.categories._kept import allowed_or_price
from aggopt.encoding import AttributeType
from aggopt.encoding._attribute_type import NUMERIC
from aggopt.engine.able import MEMORY
from aggopt.engine.config import Config
from aggopt.engine.levels import Levels, counted
from aggopt.engine.strata import kept_rows
from aggopt.engine.workspace import gathered, shuffle
from aggopt.errors import JobError, naming
from aggopt.input.categories import Types, types_of
from aggopt.input.table import Table, kept_by
from aggopt.job import Job
from aggopt.pipeline.category_job import (
    publishing,
    require_possible,
    require_published,
)


def categories_in(schema: pa.Schema, job: Job) -> tuple[str, ...]:
    """Return the quasi-identifiers that are categories, as their types or a job say."""
    return those_that(_is_category, schema, job)


def those_that(
    are: Callable[[pa.DataType, str | None], bool], schema: pa.Schema, job: Job
) -> tuple[str, ...]:
    """Return the quasi-identifiers that are so, by their type and what the job says."""
    return tuple(
        name
        for name in job.roles.quasi_identifier
        if name in schema.names and are(schema.field(name).type, said_of(job, name))
    )


def _is_category(kind: pa.DataType, said: str | None) -> bool:
    number = pa.types.is_integer(kind) or pa.types.is_floating(kind)
    return said not in NUMERIC if said else not (number or pa.types.is_temporal(kind))


def said_of(job: Job, name: str) -> str | None:
    """Return the kind that a job says an attribute is of, if it does."""
    return job.attributes[name].type.kind if name in job.attributes else None


def without_records(schema: pa.Schema, config: Config) -> Table:
    """Return a table that others are like: of such columns and levels, without records.

    Those that are not read are left out.
    """
    frame = nw.from_native(schema.empty_table(), eager_only=True)
    domains = {name: levels.domain for name, levels in config.levels.items()}
    roles, types = config.job.roles.released, _types(schema, config.job)
    kept = kept_in(config.job)
    return Table(frame, roles, False, types, domains, config.clocks, kept)


def kept_in(job: Job) -> frozenset[str]:
    """Return the quasi-identifiers of which values may be missing, and are no level."""
    names, policy = job.roles.quasi_identifier, job.missing.policy
    return kept_by(names, job.attributes, policy)


def _types(schema: pa.Schema, job: Job) -> Types:
    given = {n: how for n, how in job.attributes.items() if n in schema.names}
    return types_of(nw.from_native(schema.empty_table(), eager_only=True), given)


def levels_counted(number: int, config: Config) -> int:
    """Write how many records of a piece have each level; return how many they are."""
    piece = config.pieces[number]
    names = (*config.categories, *config.job.roles.stratum)
    rows, _ = kept_rows(piece.read(names), 0, config)
    types, kept = _types(rows.schema, config.job), kept_in(config.job)
    for place, name in enumerate(config.categories):
        with naming(piece.path.name), naming(f"Column {name!r}"):
            how, holes = types.get(name, AttributeType()), name in kept
            found = counted(rows.column(name), how, holes=holes)
        one = np.zeros(len(found), np.int64)
        shuffle(config.at(f"levels of {place}", number), found, one, 1)
    return len(rows)


def require_unweighed(schema: pa.Schema, job: Job) -> None:
    """Refuse categories of records that have weights, before any is read.

    Raises
    ------
    JobError
        Their names are in it.
    """
    found = categories_in(schema, job) if job.roles.weight else ()
    if found:
        raise JobError(
            f"{', '.join(map(repr, found))}: categories, and records have "
            "weights: an engine that works block by block does not do that.",
            fix=f"list the weights as identifier, which drops them; {MEMORY}.",
        )


def with_levels(config: Config, schema: pa.Schema) -> Config:
    """Return what tasks are told, with the levels of the whole table.

    Raises
    ------
    TableError
        As `Levels.of`.
    JobError, InfeasibleInputError
        The levels cannot be published as the job says.
    """
    types, levels = _types(schema, config.job), {}
    for place, name in enumerate(config.categories):
        files = config.all(f"levels of {place}", len(config.pieces))
        with naming(f"Column {name!r}"):
            found = gathered(files, [0])
            levels[name] = Levels.of(found, types.get(name, AttributeType()))
    made = replace(config, levels=levels)
    table = without_records(schema, made)
    job = publishing(config.job, table)
    if levels:
        require_published(job, table)
        _require_counts(job, levels)
    return replace(made, job=job)


def _require_counts(job: Job, levels: dict[str, Levels]) -> None:
    """Refuse counts of levels that no groups of k can keep, where they are kept."""
    said = job.aggregation.categories
    if not isinstance(said, Frequencies):
        return
    slack, _ = allowed_or_price(said.slack, said.price, many_cells=False)
    if slack is None:
        return
    for name, each in levels.items():
        with naming(repr(name)):
            require_possible(each.counts[each.counts > 0], job.privacy.k, slack)
