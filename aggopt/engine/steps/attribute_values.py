"""First passes: levels of categories, and unit and origin of dates, of all records.

Dates, times of day and durations are numbers as in memory: whole multiples of the
coarsest unit that makes all of the table's whole, counted from the first of them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa

from aggopt.core.types import F64, Floats
from aggopt.data.parsing.categories import Types, find_encoding_types
from aggopt.data.parsing.dates import find_clocks, parse_date_columns
from aggopt.data.table import Table, list_attributes_kept_missing
from aggopt.encoding import AttributeType
from aggopt.encoding.attribute_type import NUMERIC
from aggopt.encoding.clock import Clock
from aggopt.encoding.iso_text import parse_text_dates as dated
from aggopt.encoding.spans import NumberSpans
from aggopt.engine.state.category_levels import Levels, count_values
from aggopt.engine.state.moments import PartMoments
from aggopt.engine.state.run_state import RunState
from aggopt.engine.steps.strata import read_published_rows
from aggopt.engine.storage.input_parts import InputFolder
from aggopt.engine.storage.scratch_files import (
    decode_dictionaries,
    load_state,
    read_buckets,
    save_state,
    sum_arrays,
    write_sorted,
)
from aggopt.engine.validate import values
from aggopt.errors import AggoptError, TableError, naming
from aggopt.job import Job
from aggopt.pipeline.prepare.defaults import set_category_method
from aggopt.pipeline.validate import categories
from aggopt.pipeline.validate.true_statements import require_statements

LevelsOrError = tuple[str, Levels | AggoptError]
Check = tuple[str | None, partial[None]]


def find_categories(schema: pa.Schema, job: Job) -> tuple[str, ...]:
    """Return the quasi-identifiers that are categories, by type or declaration."""
    return select_attributes(_is_category, schema, job)


def select_attributes(
    are: Callable[[pa.DataType, str | None], bool], schema: pa.Schema, job: Job
) -> tuple[str, ...]:
    """Return the quasi-identifiers for which `are(type, declared kind)` is true."""
    return tuple(
        name
        for name in job.roles.quasi_identifier
        if name in schema.names
        and are(schema.field(name).type, get_declared_kind(job, name))
    )


def _is_category(kind: pa.DataType, value: str | None) -> bool:
    """Whether a column of this type and declared kind is a category."""
    number = pa.types.is_integer(kind) or pa.types.is_floating(kind)
    return value not in NUMERIC if value else not (number or pa.types.is_temporal(kind))


def get_declared_kind(job: Job, name: str) -> str | None:
    """Return the kind that the job declares for an attribute; None if none."""
    return job.attributes[name].type.kind if name in job.attributes else None


def make_empty_table(schema: pa.Schema, config: RunState) -> Table:
    """Return an empty table with the columns and the levels of the whole table.

    Columns that are not read are left out.
    """
    clocks, spans = config.clocks, config.spans
    return _make_empty_table(schema, config.job, config.levels, clocks, spans)


def _make_empty_table(
    schema: pa.Schema,
    job: Job,
    levels: Mapping[str, Levels],
    clocks: Mapping[str, Clock],
    spans: Mapping[str, NumberSpans] | None = None,
) -> Table:
    """Return a table without records that has the types and levels of the folder."""
    frame = nw.from_native(schema.empty_table(), eager_only=True)
    domains = {name: level.domain for name, level in levels.items()}
    types = _list_types(schema, job)
    attributes = list_missing_attributes(job)
    return Table(
        frame,
        job.roles.released,
        False,
        types,
        domains,
        clocks,
        attributes,
        spans={} if spans is None else spans,
    )


def find_number_spans(schema: pa.Schema, job: Job) -> dict[str, NumberSpans]:
    """Return what groups publish about numbers, before any value is read, by name."""
    nothing = np.empty(0)
    return {
        name: NumberSpans.of(job.attributes[name].type.rule, nothing)
        for name in list_stated_numbers(schema, job)
    }


def list_stated_numbers(schema: pa.Schema, job: Job) -> list[str]:
    """Return the numbers that publish true statements."""
    names = [n for n in job.roles.quasi_identifier if n in job.attributes]
    stated = [n for n in names if job.attributes[n].is_truthful]
    categories = find_categories(schema, job)
    return [n for n in stated if n in schema.names and n not in categories]


def add_span_ends(
    spans: Mapping[str, NumberSpans], names: Sequence[str], moments: PartMoments
) -> dict[str, NumberSpans]:
    """Return the statements about numbers `names`, with the moments of all records."""
    ended = {}
    for name, statements in spans.items():
        j = names.index(name)
        ends = float(moments.low[j]), float(moments.high[j])
        ended[name] = NumberSpans(
            statements.publish, *ends, float(moments.mean[j]), statements.cuts
        )
    return ended


def list_missing_attributes(job: Job) -> frozenset[str]:
    """Return the quasi-identifiers that may have missing values."""
    names = job.roles.quasi_identifier
    return list_attributes_kept_missing(names, job.attributes, job.missing.policy)


def _list_types(schema: pa.Schema, job: Job) -> Types:
    """Return the encoding type of each column, declared or by the schema."""
    declared_types = {
        n: attribute for n, attribute in job.attributes.items() if n in schema.names
    }
    return find_encoding_types(
        nw.from_native(schema.empty_table(), eager_only=True), declared_types
    )


def count_levels(number: int, config: RunState) -> int:
    """Write the counts of each category's values in a piece; return its records."""
    piece = config.pieces[number]
    names = (*config.categories, *config.job.roles.stratum)
    rows, _ = read_published_rows(piece.read(names), 0, config)
    types = _list_types(rows.schema, config.job)
    attributes = list_missing_attributes(config.job)
    for place, name in enumerate(config.categories):
        with naming(piece.path.name), naming(f"Column {name!r}", name):
            declared = types.get(name, AttributeType())
            holes = name in attributes
            column = count_values(rows.column(name), declared, holes=holes)
        one = np.zeros(len(column), np.int64)
        write_sorted(config.at(f"levels of {place}", number), column, one, 1)
    return len(rows)


def add_levels(config: RunState, schema: pa.Schema) -> RunState:
    """Return the run state with the category levels of the whole table.

    Raises
    ------
    TableError
        As `Levels.of`.
    JobError, InfeasibleInputError
        The levels cannot be published as the job requires, or bounds are of what is no
        number.
    """
    types = _list_types(schema, config.job)
    levels = {}
    for place, name in enumerate(config.categories):
        files = config.all(f"levels of {place}", len(config.pieces))
        with naming(f"Column {name!r}", name):
            rows = read_buckets(files, [0])
            levels[name] = Levels.of(rows, types.get(name, AttributeType()))
    with_levels = replace(config, levels=levels)
    table = make_empty_table(schema, with_levels)
    job = set_category_method(config.job, table)
    for _, check in _list_level_checks(job, table, levels):
        check()
    return replace(with_levels, job=job)


def list_folder_checks(
    schema: pa.Schema, job: Job, levels: Mapping[str, Levels]
) -> Iterator[Check]:
    """Yield the checks that a job passes once the levels of categories are known.

    Each has the column that it is about, None if about the job.  They need no record.
    """
    clocks = {
        name: Clock(schema.field(name).type, 0, 1) for name in find_dates(schema, job)
    }
    stated, dates = list_stated_numbers(schema, job), find_dates(schema, job)
    yield None, partial(require_statements, job, stated, dates)
    table = _make_empty_table(schema, job, levels, clocks)
    yield from _list_level_checks(set_category_method(job, table), table, levels)


def _list_level_checks(
    job: Job, table: Table, levels: Mapping[str, Levels]
) -> Iterator[Check]:
    """Yield the checks of settings of categories, and of bounds of numbers."""
    yield None, partial(categories.require_category_method, job, table)
    if levels:
        yield None, partial(categories.require_publishable_nodes, job, table)
    if not job.roles.weight:  # else once it is known what records weigh
        counts = partial(
            categories.require_level_counts,
            *(job, levels, lambda name: levels[name].counts),
            weighted=False,
        )
        yield None, counts
    yield None, partial(categories.require_categories, job, frozenset(levels))
    for name, level in levels.items():
        frequent = (job, name, level.domain, level.counts)
        yield name, partial(categories.require_frequent, *frequent)
    for name in (n for n, section in job.attributes.items() if section.limited):
        yield name, partial(values.require_number_with_bounds, table, name)


def iterate_folder_levels(parts: InputFolder, job: Job) -> Iterator[LevelsOrError]:
    """Yield each category's name with its levels, or the error that refuses it.

    All records are read, of categories alone, a piece at a time.
    """
    types = _list_types(parts.schema, job)
    attributes = list_missing_attributes(job)
    for name in find_categories(parts.schema, job):
        declared = types.get(name, AttributeType())
        holes = name in attributes
        try:
            with naming(f"Column {name!r}", name):
                counts = [
                    count_values(piece.read([name]).column(name), declared, holes=holes)
                    for piece in parts.pieces
                ]
                all_counts = pa.concat_tables(map(decode_dictionaries, counts))
                yield name, Levels.of(all_counts, declared)
        except AggoptError as error:
            yield name, error


def sum_level_weights(
    X: Floats, record_weights: Floats | None, config: RunState
) -> dict[str, F64]:
    """Return the total weight of each level of each category, by name."""
    if record_weights is None:
        return {}
    weights = {}
    for place, (name, x) in enumerate(_iterate_columns(X, config)):
        is_present = ~np.isnan(x)
        m = config.levels[name].domain.m
        codes = x[is_present].astype(np.int64)
        sums = np.bincount(codes, record_weights[is_present], m)
        weights[f"weight of {place}"] = np.asarray(sums, np.float64)
    return weights


def _iterate_columns(X: Floats, config: RunState) -> Iterator[tuple[str, Floats]]:
    """Yield the name and the column (n,) of each category in X (n, d)."""
    yield from zip(config.categories, X[:, config.places_of_categories].T, strict=True)


def add_weighted_levels(config: RunState) -> RunState:
    """Return the run state with levels weighted by their records' weights.

    Raises
    ------
    JobError, InfeasibleInputError
        Their counts must be kept, and no groups of k keep them.
    """
    if not (config.job.roles.weight and config.levels):
        return config
    levels = dict(config.levels)
    weighted = config.mean_weight is not None
    categories.require_level_counts(
        config.job, levels, lambda name: levels[name].counts, weighted=weighted
    )
    if not weighted:
        return config
    names = [f"weight of {place}" for place in range(len(levels))]
    sums = sum_arrays(config.all("described", len(config.pieces)), *names)
    for name, key in zip(levels, names, strict=True):
        levels[name] = levels[name].weighed(sums[key])
    return replace(config, levels=levels)


def find_dates(schema: pa.Schema, job: Job) -> tuple[str, ...]:
    """Return the quasi-identifiers that are dates, by type or declaration."""
    return select_attributes(_is_date, schema, job)


def _is_date(kind: pa.DataType, value: str | None) -> bool:
    """Whether a column of this type and declared kind has dates."""
    return value == "date" or (
        value in (None, "numeric") and pa.types.is_temporal(kind)
    )


def count_dates(number: int, config: RunState) -> int:
    """Write origin and unit of each date column of a piece; return its records.

    Raises
    ------
    TableError, JobError
        They are not dates; the message has the file and the column.
    """
    piece = config.pieces[number]
    rows = piece.read([*config.dates, *config.job.roles.stratum])
    with naming(piece.path.name):
        rows = _convert_dates(rows, config)
    rows, _ = read_published_rows(rows, 0, config)
    for place, name in enumerate(config.dates):
        with naming(piece.path.name):
            column = _find_clock(rows.column(name), name, config.job)
        save_state(config.at(f"dates of {place}", number), column)
    return len(rows)


def _convert_dates(rows: pa.Table, config: RunState) -> pa.Table:
    """Return rows with text parsed to dates, in the format that the job sets."""
    declared = {
        n: config.job.attributes[n].type
        for n in config.dates
        if get_declared_kind(config.job, n)
    }
    frame = parse_date_columns(nw.from_native(rows, eager_only=True), declared)
    return frame.to_native()


def _find_clock(column: pa.ChunkedArray, name: str, job: Job) -> Clock | None:
    """Return the unit and origin of a column of dates; None if all are missing."""
    present = column.drop_null()
    if not len(present):
        return None
    frame = nw.from_native(pa.table({name: present}), eager_only=True)
    declared = {name: job.attributes[name].type} if get_declared_kind(job, name) else {}
    return find_clocks(frame, [name], declared, ())[name]


def add_clocks(config: RunState) -> RunState:
    """Return the run state with unit and origin of the dates of the whole table.

    Raises
    ------
    TableError
        All of them are missing, or files spell them in several ways.
    """
    clocks = {}
    for place, name in enumerate(config.dates):
        with naming(f"Column {name!r}", name):
            clocks[name] = _join_clocks(place, config)
    return replace(config, clocks=clocks)


def _join_clocks(place: int, config: RunState) -> Clock:
    """Return the common unit and origin of a date column, over all pieces."""
    paths = config.all(f"dates of {place}", len(config.pieces))
    pieces = zip(config.pieces, map(load_state, paths), strict=True)
    known_clocks = [(piece.path.name, clock) for piece, clock in pieces if clock]
    if not known_clocks:
        raise TableError("All values are missing.", fix="leave the column out.")
    first = known_clocks[0][0]
    kind = known_clocks[0][1].type
    for file, clock in known_clocks:
        if clock.type != kind:
            raise TableError(
                f"{file} spells {clock.type}, and {first} {kind}.",
                fix="spell all alike, as 2020-12-31, or 2020-12-31 23:59:59.",
            )
    clocks = [clock for _, clock in known_clocks]
    # each unit is a multiple of the next: a value whole in the least is in all
    start = min(c.start for c in clocks)
    unit = min(c.whole for c in clocks)
    return Clock(kind, start, unit, clocks[0].format)


def parse_dates(rows: pa.Table, config: RunState) -> pa.Table:
    """Return rows of a piece with columns of text parsed to dates."""
    for name, clock in config.clocks.items():
        column = rows.column(name)
        place = rows.schema.get_field_index(name)
        if column.null_count == len(column):
            rows = rows.set_column(place, name, pa.nulls(len(column), clock.type))
        elif column.type != clock.type:
            text = nw.from_native(column, series_only=True)
            rows = rows.set_column(place, name, dated(text, clock.format).to_arrow())
    return rows
