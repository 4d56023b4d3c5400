"""Columns published unchanged, whose cross tables with categories are kept."""

from typing import Any

import narwhals.stable.v2 as nw
import pandas as pd

from aggopt.data.parsing.entries import Entry, list_entries, make_entry_reader
from aggopt.data.table import Table
from aggopt.encoding.iso_text import parse_text_dates
from aggopt.errors import TableError
from aggopt.job import Job


def read_cross_table_columns(table: Table, job: Job) -> nw.DataFrame[Any]:
    """Return the columns that `with` names; only the order of their values matters.

    Text that spells numbers or dates is converted, so that a CSV file and the table in
    memory give equal results.  Numbers become ranks, from 0.
    """
    columns = table.frame.select(*list_cross_table_names(job))
    entry = make_entry_reader(job.input.decimal)
    return columns.with_columns(
        *(_read_column(columns[name], entry) for name in columns.columns)
    )


def list_cross_table_names(job: Job) -> tuple[str, ...]:
    """Return the columns whose cross tables with categories are kept."""
    return tuple(getattr(job.aggregation.categories, "with_", ()))


def _read_column(column: nw.Series[Any], entry: Entry) -> nw.Series[Any]:
    """Convert text that spells numbers or dates; return other columns unchanged."""
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
    entries = [values[j] for j in which]
    return nw.new_series(like.name, entries, backend=like.implementation)
