"""Settings of a job for its table: blocks, categories, and statistics that are kept."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from aggopt.aggregate.kept_statistics import FORMULA, Keeping, KeptApart
from aggopt.aggregate.user_model import ByModel, choose_model_solver
from aggopt.core.plural import agree
from aggopt.core.types import I64, Floats
from aggopt.data.context.rare_categories import count_by_level, find_rare_nodes
from aggopt.data.context.units import read_units
from aggopt.data.parsing.categories import find_missing_entries, find_nodes
from aggopt.data.parsing.entries import (
    Entry,
    Moment,
    Values,
    list_entries,
    make_entry_reader,
)
from aggopt.data.table import Table
from aggopt.encoding import Domain, Encoded
from aggopt.encoding.iso_text import parse_text_dates
from aggopt.errors import JobError, TableError, require_known
from aggopt.job import Correlation, Job, Mean, Median, SolverSection
from aggopt.models import MODELS, Model
from aggopt.partition import correlated_blocks
from aggopt.partition.block_partition import require_cover
from aggopt.partition.shared.settings import ONE_BY_ONE, TOGETHER
from aggopt.solvers import Solver, choose_solver

Columns = tuple[tuple[int, ...], ...]


def find_blocks(job: Job, X: Floats | Encoded) -> Columns:
    """Return the blocks of attributes grouped together, as positions in X.

    The columns of tables of keys are the last block: see `suppress_keys`.

    Raises
    ------
    JobError
        The job names blocks, and a quasi-identifier is in none or in two, or is none.
    """
    attributes = job.partition.attributes
    names = job.roles.quasi_identifier
    if job.units.apart(job.roles):
        of_unit = [name in job.units.attributes for name in names]
        by_kind = (np.flatnonzero(np.equal(of_unit, kind)) for kind in (True, False))
        return tuple(tuple(columns.tolist()) for columns in by_kind)
    if job.key_columns:
        keys = tuple(map(names.index, job.key_columns))
        rest = tuple(j for j in range(len(names)) if j not in keys)
        return tuple(filter(None, (rest, keys)))
    if attributes == TOGETHER:
        return (tuple(range(len(names))),)
    if attributes == ONE_BY_ONE:
        return tuple((j,) for j in range(len(names)))
    if isinstance(attributes, Correlation):
        return tuple(map(tuple, correlated_blocks(X, attributes.correlation)))
    require_cover(attributes, names, "quasi-identifier")
    return tuple(tuple(map(names.index, block)) for block in attributes)


def get_publishable_nodes(job: Job, name: str) -> str:
    """Return the nodes that a category publishes: "leaf", "node" or "ancestor".

    Suppressed values and ranges are ancestors, too, in a domain of their own.
    """
    stated = job.attributes.get(name)
    if stated is None:
        return "leaf"
    return "ancestor" if stated.is_truthful else stated.publish


def list_categories_by_block(
    job: Job, table: Table, columns: Columns
) -> list[list[str]]:
    """Return the categories among the attributes of each block."""
    names = job.roles.quasi_identifier
    blocks = [[names[j] for j in block] for block in columns]
    return [[name for name in block if name in table.domains] for block in blocks]


def find_avoided_nodes(
    job: Job, name: str, domain: Domain, count: Callable[[], I64]
) -> frozenset[Hashable]:
    """Return the names of a category's rare nodes, if the job avoids them.

    `count` returns the originals of each level (m,).
    """
    section = job.attributes.get(name)
    if section is None or section.rare != "avoid":
        return frozenset()
    return find_rare_nodes(count(), domain, job.privacy.k)


def count_level_originals(table: Table, name: str) -> I64:
    """Return the number of records, or units, of each level (m,) of a category."""
    domain = table.domains[name]
    column = table.frame[name]
    codes = find_nodes(column, domain)
    if name in table.kept_missing:
        codes = np.where(find_missing_entries(column), -1, codes)
    return count_by_level(codes, domain, read_units(table))


def is_aggregated_by_stratum(job: Job) -> bool:
    """Whether the numbers of each stratum are aggregated separately.

    False if the values of a group depend only on its own records.
    """
    aggregation = job.aggregation
    of_groups = isinstance(aggregation, Mean | Median) and not aggregation.keeps - {
        "mean"
    }
    return bool(job.roles.stratum) and job.strata.keep == "stratum" and not of_groups


def find_model(section: SolverSection) -> Model:
    """Return the optimisation model of a method that uses a solver."""
    return section.program if isinstance(section, ByModel) else MODELS[section.function]


def choose_method_solver(section: SolverSection) -> Solver:
    """Return the solver for a method, named in its settings or the default."""
    if isinstance(section, ByModel):
        return choose_model_solver(section.program, section.arguments, section.solver)
    return choose_solver(section.solver, *find_model(section).kinds)


def is_variance_kept(job: Job) -> bool:
    """Whether the aggregation keeps the variance of each attribute."""
    return "variance" in job.aggregation.keeps


def are_bounded_jointly(job: Job) -> bool:
    """Whether an attribute with bounds keeps its covariance with others."""
    return any(
        section.bounded
        for name, section in job.attributes.items()
        if _find_kept_statistic(job, name) == "covariance"
    )


def _find_kept_statistic(job: Job, name: str) -> str | None:
    """Return the statistic that the aggregation keeps of an attribute."""
    aggregation = job.aggregation
    if not isinstance(aggregation, Keeping):
        return None
    if not isinstance(aggregation.keep, KeptApart):
        return aggregation.keep
    return next((what for what, names in aggregation.keep.parts if name in names), None)


FARTHEST = 1e100  # of a response: squares of it still fit into a float


def list_kept_columns(
    keep: KeptApart, names: Sequence[str]
) -> list[tuple[str, list[int]]]:
    """Return pairs of a kept statistic and the columns of its attributes."""
    return [
        (what, [names.index(name) for name in kept_names])
        for what, kept_names in keep.parts
    ]


def read_response(table: Table, job: Job) -> Floats:
    """Return the response (n,) of the regression that a job keeps.

    Raises
    ------
    JobError
        It is not a column that is published unchanged, or has one value only.
    TableError
        It is not a number in some records.
    """
    name = job.aggregation.keep.formula[0]  # type: ignore[attr-defined]
    roles = job.roles
    published = (*roles.confidential, *roles.other)
    require_known("column that is published unchanged", name, published)
    values = Values.of(table.frame[name], make_entry_reader(job.input.decimal))
    wrong = values.count(lambda value: not _is_number(value))
    if wrong:
        raise TableError(
            f"{name!r} is the response of a regression, and {wrong} of "
            f"{len(values.which)} values "
            f"{agree(wrong, 'is missing or no number', 'are missing or no numbers')}.",
            fix=f"name another response in keep = {FORMULA}, or remove those records.",
        )
    numbers = np.array([float(value) for value in values.distinct])
    if len(numbers) < 2:
        raise JobError(
            f"{name!r} is the response of a regression and has one value only.",
            fix="name another, or leave the regression out.",
        )
    return np.asarray(numbers[values.which])


def _is_number(value: Any) -> bool:
    """Whether a value is a number below the largest supported one, and no date."""
    plain = isinstance(value, int | float) and not isinstance(value, Moment)
    return plain and abs(value) < FARTHEST


def replace_kept_names(
    table: Table, job: Job, settings: Mapping[str, Any]
) -> dict[str, Any]:
    """Return settings with column numbers instead of names in `keep`."""
    keep = settings.get("keep")
    if not isinstance(keep, KeptApart):
        return dict(settings)
    columns_kept: dict[str, Any] = {}
    for statistic, columns in list_kept_columns(keep, table.numeric):
        if statistic == "covariance":
            columns_kept.setdefault(statistic, []).append(columns)
        else:
            columns_kept[statistic] = columns
    by_column = {**settings, "keep": columns_kept}
    if keep.formula:
        by_column["response"] = read_response(table, job)
    return by_column


def read_cross_table_columns(table: Table, job: Job) -> nw.DataFrame[Any]:
    """Return the columns that `with` names, with text parsed.

    Text that spells numbers or dates is converted, so that a CSV file and the table in
    memory give equal results.  Numbers become ranks, from 0.
    """
    columns = table.frame.select(*list_cross_table_names(job))
    entry = make_entry_reader(job.input.decimal)
    return columns.with_columns(
        *(_read_column(columns[name], entry) for name in columns.columns)
    )


def list_cross_table_names(job: Job) -> tuple[str, ...]:
    """Return the names of columns whose cross tables with categories are kept."""
    return tuple(getattr(job.aggregation.categories, "with_", ()))


def _read_column(column: nw.Series[Any], entry: Entry) -> nw.Series[Any]:
    """Return a column with numbers in text as ranks, and dates in text parsed."""
    if column.dtype != nw.String:
        return column
    which, spelled = pd.factorize(list_entries(column), use_na_sentinel=False)
    read = [entry(text) for text in spelled]
    present = {value for value in read if value is not None}
    if all(isinstance(value, int | float) for value in present):
        rank = {value: j for j, value in enumerate(sorted(present))}
        return _make_column(column, [rank.get(value) for value in read], which)
    pairs = zip(read, spelled, strict=True)
    texts = [None if value is None else text for value, text in pairs]
    try:
        return parse_text_dates(_make_column(column, texts, which))
    except TableError:
        return column


def _make_column(like: nw.Series[Any], values: list[Any], which: Any) -> nw.Series[Any]:
    """Return a column like `like`, with entry `values[j]` for each j in `which`."""
    entries = [values[j] for j in which]
    return nw.new_series(like.name, entries, backend=like.implementation)
