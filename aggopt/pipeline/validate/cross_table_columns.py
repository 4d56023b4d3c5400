"""Columns published unchanged, whose cross tables with categories are kept."""

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from aggopt.aggregate.categories.kept_combinations import read_cross_table_values
from aggopt.data.parsing.categories import find_missing_entries
from aggopt.data.parsing.entries import Entry, entry_reader, list_entries
from aggopt.data.table import Table
from aggopt.encoding.iso_text import parse_dates
from aggopt.errors import JobError, TableError, UnknownNameError, naming
from aggopt.job import Job


def read_cross_table_columns(table: Table, job: Job) -> nw.DataFrame[Any]:
    """Return the columns that `with` names; only the order of their values matters.

    Text that spells numbers or dates is converted, so that a CSV file and the table in
    memory give equal results.  Numbers become ranks, from 0.
    """
    own = table.frame.select(*_names(job))
    entry = entry_reader(job.input.decimal)
    return own.with_columns(*(_read(own[name], entry) for name in own.columns))


def _names(job: Job) -> tuple[str, ...]:
    return tuple(getattr(job.aggregation.categories, "with_", ()))


def _read(column: nw.Series[Any], entry: Entry) -> nw.Series[Any]:
    """Convert text that spells numbers or dates; return other columns unchanged."""
    if column.dtype != nw.String:
        return column
    which, spelled = pd.factorize(list_entries(column), use_na_sentinel=False)
    read = [entry(text) for text in spelled]
    there = {value for value in read if value is not None}
    if all(isinstance(value, int | float) for value in there):
        rank = {value: j for j, value in enumerate(sorted(there))}
        return _column(column, [rank.get(value) for value in read], which)
    pairs = zip(read, spelled, strict=True)
    texts = [None if value is None else text for value, text in pairs]
    try:
        return parse_dates(_column(column, texts, which))
    except TableError:
        return column


def _column(like: nw.Series[Any], values: list[Any], which: Any) -> nw.Series[Any]:
    made = [values[j] for j in which]
    return nw.new_series(like.name, made, backend=like.implementation)


def require_cross_table_columns(job: Job, table: Table) -> None:
    """Refuse, as kept with categories, columns that have no table worth keeping.

    Raises
    ------
    JobError
        One is named twice, masked or not published, or text that hardly two records
        share.
    TableError
        All of it is missing, or its values are of several types.
    """
    roles = table.roles
    plain = (*roles.confidential, *roles.other)
    names = _names(job)
    for name in names:
        if names.count(name) > 1:
            raise JobError(
                f"[aggregation.categories] with names {name!r} more than once.",
                fix="name it once.",
            )
        if name in roles.quasi_identifier:
            raise JobError(
                f"[aggregation.categories] with names {name!r}, which is masked.",
                fix='keep its table with another category by cross = [["A", "B"]]; '
                "with is for columns that are published as they are.",
            )
        if name not in plain:
            raise UnknownNameError("column that is published as it is", name, plain)
    beside = read_cross_table_columns(table, job)
    for name in beside.columns:
        with naming(repr(name)):
            _require_shared(beside[name], table)


def _require_shared(column: nw.Series[Any], table: Table) -> None:
    """Refuse a column without levels, among all records or the ones with a category."""
    read_cross_table_values(column.to_native(), len(column))
    for name in table.kept & table.domains.keys():
        rows = np.flatnonzero(~find_missing_entries(table.frame[name]))
        read_cross_table_values(column[rows].to_native(), len(rows))
