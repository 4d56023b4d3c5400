"""Statistics that a job keeps, by the columns of its numbers."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from aggopt.aggregate.kept_statistics import FORMULA, KeptApart
from aggopt.core.validation import Floats
from aggopt.data.parsing.entries import Moment, Values, make_entry_reader
from aggopt.data.table import Table
from aggopt.errors import JobError, TableError, require_known
from aggopt.job import Job

FARTHEST = 1e100  # of a response: squares of it still fit into a float


def list_kept_columns(
    keep: KeptApart, names: Sequence[str]
) -> list[tuple[str, list[int]]]:
    """Return each statistic that is kept, with the columns of its numbers."""
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
    require_known("column that is published as it is", name, published)
    values = Values.of(table.frame[name], make_entry_reader(job.input.decimal))
    wrong = values.count(lambda value: not _is_number(value))
    if wrong:
        raise TableError(
            f"{name!r} is the response of a regression, and {wrong} of "
            f"{len(values.which)} values are missing or no numbers.",
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
    plain = isinstance(value, int | float) and not isinstance(value, Moment)
    return plain and abs(value) < FARTHEST


def replace_kept_names(
    table: Table, job: Job, settings: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the settings with columns of numbers in place of their names in `keep`."""
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
