"""Utility of a written release, compared to the table that it was made from."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from aggopt.core.types import Floats
from aggopt.data.table import Table
from aggopt.encoding.clock import Clock
from aggopt.errors import TableError, require_known
from aggopt.job import Job
from aggopt.measure.utility import Utility, assess
from aggopt.pipeline.review.review_release import ReleaseSource, TwoFiles
from aggopt.release.audit.risks import read_plain_column, read_weight_column


def measure_utility(
    original: Path,
    released: Path,
    job: Job,
    *,
    model: Sequence[str] = (),
    weight: str | None = None,
    strata: Sequence[str] = (),
    same_order: bool = False,
    private: Path | None = None,
    progress: Callable[[str, float], None] = lambda step, share: None,
) -> Utility:
    """Return the utility of a released file, compared with its original.

    Formulas may name every column that is published; `strata` are those of the job when
    left out, and so is the weight.  Without one the order of
    the records does not matter; with one that is not published, the private key has it,
    see `aggopt.pipeline.review.review_release.assess_release`.

    Raises
    ------
    TableError, JobError
        As `review` and `aggopt.measure.utility.assess`.
    """
    source = TwoFiles(original, released, same_order, private)
    return measure_utility_of(
        source, job, model=model, weight=weight, strata=strata, progress=progress
    )


def measure_utility_of(
    source: ReleaseSource,
    job: Job,
    *,
    model: Sequence[str] = (),
    weight: str | None = None,
    strata: Sequence[str] = (),
    progress: Callable[[str, float], None] = lambda step, share: None,
) -> Utility:
    """Return the utility of a release, read from files or folders."""
    progress("read", 0.0)
    roles = job.roles
    plain = roles.as_they_are
    weight = weight or next(iter(roles.weight), None)
    strata = strata or roles.stratum
    for name in strata:
        require_known("column that is published unchanged", name, plain)
    if weight is not None:
        unmasked = (*roles.identifier, *plain, *roles.weight)
        require_known("column that is not masked", weight, unmasked)
    first, second = source.tables(job)
    weights = read_weight_column(first, weight, job)
    if weight in (*plain, *job.released_roles.weight):
        after = read_weight_column(second, weight, job)
    else:
        after = _order_as_released(weights, source)
    return assess(
        _make_frame(first.as_read, job),
        _make_frame(second, job),
        model=model,
        masked=roles.quasi_identifier,
        beside=[name for name in roles.confidential if name not in strata],
        strata=strata,
        dates=[name for name, clock in first.clocks.items() if not _is_duration(clock)],
        weights=weights,
        released_weights=after,
        progress=partial(progress, "measure"),
    )


def _is_duration(clock: Clock) -> bool:
    """Whether the clock is of durations, which have a total; dates have none."""
    return bool(pa.types.is_duration(clock.type))


def _order_as_released(weights: Floats | None, source: ReleaseSource) -> Floats | None:
    """Return weights of the original (n,) in the order of the release."""
    if weights is None:
        return None
    place = source.places(len(weights))
    after = np.empty(len(weights))
    after[place] = weights
    return after


def _make_frame(table: Table, job: Job) -> Any:
    """Return the published columns as a pandas DataFrame of numbers and text."""
    import pandas as pd

    columns: dict[str, Any] = {}
    for name in job.roles.quasi_identifier:
        if name in table.numeric:
            columns[name] = table.numbers(name)
        else:
            columns[name] = format_entries(table.frame[name].to_list())
    for name in job.roles.as_they_are:
        columns[name] = read_analysis_column(table, name, job)
    return pd.DataFrame(columns)


def read_analysis_column(table: Table, name: str, job: Job) -> Any:
    """Return a column as numbers if it has no other value, else as text.

    Text it is, too, where two entries would be read as one number.
    """
    try:
        column = read_plain_column(table, name, job)
    except TableError:
        return format_entries(table.frame[name].to_list())
    return format_entries(column.tolist()) if column.dtype == object else column


def format_entries(entries: Sequence[Any]) -> Any:
    """Return entries as text, None for missing ones."""
    result = np.empty(len(entries), dtype=object)
    result[:] = [None if entry is None else str(entry) for entry in entries]
    return result
