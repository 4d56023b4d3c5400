"""First pass: collect the category levels of the whole table."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa

from aggopt.aggregate.categories.frequencies import Frequencies
from aggopt.aggregate.categories.kept_combinations import (
    read_slack_or_price,
    require_near,
)
from aggopt.core.types import F64
from aggopt.core.validation import Floats
from aggopt.data.parsing.categories import Types, find_encoding_types
from aggopt.data.table import Table, list_attributes_kept_missing
from aggopt.encoding import AttributeType
from aggopt.encoding.attribute_type import NUMERIC
from aggopt.engine.state.category_levels import Levels, count_values
from aggopt.engine.state.run_state import RunState
from aggopt.engine.steps.strata import read_published_rows
from aggopt.engine.storage.input_parts import InputFolder
from aggopt.engine.storage.scratch_files import (
    decode_dictionaries,
    read_buckets,
    sum_arrays,
    write_sorted,
)
from aggopt.errors import AggoptError, naming
from aggopt.job import Job
from aggopt.pipeline.prepare.defaults import set_category_method
from aggopt.pipeline.validate.categories import (
    require_categories,
    require_category_method,
    require_frequent,
    require_possible,
    require_publishable_nodes,
)

LevelsOrError = tuple[str, Levels | AggoptError]


def find_categories(schema: pa.Schema, job: Job) -> tuple[str, ...]:
    """Return the quasi-identifiers that are categories, by their types or the job."""
    return select_attributes(_is_category, schema, job)


def select_attributes(
    are: Callable[[pa.DataType, str | None], bool], schema: pa.Schema, job: Job
) -> tuple[str, ...]:
    """Return the quasi-identifiers that are selected by their type and the job."""
    return tuple(
        name
        for name in job.roles.quasi_identifier
        if name in schema.names
        and are(schema.field(name).type, get_declared_kind(job, name))
    )


def _is_category(kind: pa.DataType, value: str | None) -> bool:
    number = pa.types.is_integer(kind) or pa.types.is_floating(kind)
    return value not in NUMERIC if value else not (number or pa.types.is_temporal(kind))


def get_declared_kind(job: Job, name: str) -> str | None:
    """Return the kind that the job declares for an attribute, if any."""
    return job.attributes[name].type.kind if name in job.attributes else None


def make_empty_table(schema: pa.Schema, config: RunState) -> Table:
    """Return an empty table with the columns and levels of the others.

    Columns that are not read are left out.
    """
    frame = nw.from_native(schema.empty_table(), eager_only=True)
    domains = {name: levels.domain for name, levels in config.levels.items()}
    roles, types = config.job.roles.released, _list_types(schema, config.job)
    attributes = list_missing_attributes(config.job)
    return Table(frame, roles, False, types, domains, config.clocks, attributes)


def list_missing_attributes(job: Job) -> frozenset[str]:
    """Return the quasi-identifiers that may lack values and have no level for that."""
    names, policy = job.roles.quasi_identifier, job.missing.policy
    return list_attributes_kept_missing(names, job.attributes, policy)


def _list_types(schema: pa.Schema, job: Job) -> Types:
    declared_types = {
        n: attribute for n, attribute in job.attributes.items() if n in schema.names
    }
    return find_encoding_types(
        nw.from_native(schema.empty_table(), eager_only=True), declared_types
    )


def count_levels(number: int, config: RunState) -> int:
    """Write how many records of a piece have each level; return how many they are."""
    piece = config.pieces[number]
    names = (*config.categories, *config.job.roles.stratum)
    rows, _ = read_published_rows(piece.read(names), 0, config)
    types, attributes = (
        _list_types(rows.schema, config.job),
        list_missing_attributes(config.job),
    )
    for place, name in enumerate(config.categories):
        with naming(piece.path.name), naming(f"Column {name!r}", name):
            declared, holes = types.get(name, AttributeType()), name in attributes
            column = count_values(rows.column(name), declared, holes=holes)
        one = np.zeros(len(column), np.int64)
        write_sorted(config.at(f"levels of {place}", number), column, one, 1)
    return len(rows)


def add_levels(config: RunState, schema: pa.Schema) -> RunState:
    """Return the run state with the levels of the whole table.

    Raises
    ------
    TableError
        As `Levels.of`.
    JobError, InfeasibleInputError
        The levels cannot be published as the job requires.
    """
    types, levels = _list_types(schema, config.job), {}
    for place, name in enumerate(config.categories):
        files = config.all(f"levels of {place}", len(config.pieces))
        with naming(f"Column {name!r}", name):
            rows = read_buckets(files, [0])
            levels[name] = Levels.of(rows, types.get(name, AttributeType()))
    with_levels = replace(config, levels=levels)
    table = make_empty_table(schema, with_levels)
    job = set_category_method(config.job, table)
    require_category_method(job, table)
    if levels:
        require_publishable_nodes(job, table)
    if not job.roles.weight:  # else once it is known what records weigh
        _require_counts(with_levels)
    require_categories(job, frozenset(levels))
    for name, level in levels.items():
        require_frequent(job, name, level.domain, level.counts)
    return replace(with_levels, job=job)


def iterate_folder_levels(parts: InputFolder, job: Job) -> Iterator[LevelsOrError]:
    """Yield each category with its levels in a folder, or why it is refused.

    All records are read, of categories alone, a piece at a time.
    """
    types, attributes = _list_types(parts.schema, job), list_missing_attributes(job)
    for name in find_categories(parts.schema, job):
        declared, holes = types.get(name, AttributeType()), name in attributes
        try:
            with naming(f"Column {name!r}", name):
                counts = [
                    count_values(piece.read([name]).column(name), declared, holes=holes)
                    for piece in parts.pieces
                ]
                values = pa.concat_tables(map(decode_dictionaries, counts))
                yield name, Levels.of(values, declared)
        except AggoptError as error:
            yield name, error


def sum_level_weights(
    X: Floats, each: Floats | None, config: RunState
) -> dict[str, F64]:
    """Return the weights (n,) that records X (n, d) of each level have, by name."""
    if each is None:
        return {}
    weights = {}
    for place, (name, x) in enumerate(_iterate_columns(X, config)):
        is_present, m = ~np.isnan(x), config.levels[name].domain.m
        codes = x[is_present].astype(np.int64)
        sums = np.bincount(codes, each[is_present], m)
        weights[f"weight of {place}"] = np.asarray(sums, np.float64)
    return weights


def _iterate_columns(X: Floats, config: RunState) -> Iterator[tuple[str, Floats]]:
    """Yield the name of each category and its column of records X (n, d)."""
    yield from zip(config.categories, X[:, config.places_of_categories].T, strict=True)


def add_weighted_levels(config: RunState) -> RunState:
    """Return the run state with levels weighted by the weights of their records.

    Raises
    ------
    JobError, InfeasibleInputError
        Their counts must be kept, and no groups of k keep them.
    """
    if not (config.job.roles.weight and config.levels):
        return config
    _require_counts(config)
    if config.mean_weight is None:
        return config
    levels = dict(config.levels)
    names = [f"weight of {place}" for place in range(len(levels))]
    sums = sum_arrays(config.all("described", len(config.pieces)), *names)
    for name, key in zip(levels, names, strict=True):
        levels[name] = levels[name].weighed(sums[key])
    return replace(config, levels=levels)


def _require_counts(config: RunState) -> None:
    """Refuse counts of levels that must be kept if no groups of k can keep them."""
    method, weighted = config.job.aggregation.categories, config.mean_weight is not None
    if not (isinstance(method, Frequencies) and config.levels):
        return
    slack, _ = read_slack_or_price(method.slack, method.price, many_cells=False)
    require_near(slack, weighted=weighted)
    if slack is None or weighted:
        return
    for name, level in config.levels.items():
        with naming(repr(name)):
            counts = level.counts[level.counts > 0]
            require_possible(counts, config.job.privacy.k, slack)
