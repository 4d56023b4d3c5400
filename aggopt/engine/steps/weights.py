"""Sampling weights of a table in parts: of all records, and of some."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from aggopt.core.columns import REFUSE
from aggopt.core.types import Bool, Floats
from aggopt.data.context.weights import read_sampling_weights
from aggopt.data.table import Table
from aggopt.engine.state.run_state import RunState
from aggopt.engine.storage import scratch_files
from aggopt.engine.validate.values import require_supported_range
from aggopt.job import Job
from aggopt.pipeline.finish.notes import describe_sampling_weights
from aggopt.pipeline.prepare.defaults import merge_for_dominance
from aggopt.privacy.requirement import Requirement
from aggopt.release.audit.dominance import (
    make_dominance_requirements,
    select_value_weights,
)


def add_merging_for_dominance(job: Job) -> tuple[Job, tuple[str, ...]]:
    """Return the job with a repair for dominated groups, if needed, and notes."""
    if not job.roles.weight or job.privacy.repair or job.weights.dominance == 1:
        return job, ()
    return merge_for_dominance(job, apart=job.missing.policy == "patterns")


def read_weights(table: Table) -> Floats | None:
    """Return the sampling weight of each record, (n,); None if there are none."""
    sampling_weights = read_sampling_weights(table)
    return None if sampling_weights is None else sampling_weights.values


def describe_weights(weights: Floats | None) -> dict[str, Any]:
    """Return sum, minimum and maximum of the weights of a piece, by name."""
    if weights is None or not len(weights):
        return {}
    return {"weights": np.array([weights.sum(), weights.min(), weights.max()])}


def compute_mean_weight(paths: Sequence[Path], n: int, job: Job) -> float | None:
    """Return the mean of n sampling weights; None if all are equal or none exist.

    Raises
    ------
    TableError
        The largest is more than a million times the smallest.
    InfeasibleInputError
        One record has more of the weight of all than a group may have.
    """
    if not job.roles.weight:
        return None
    arrays = [scratch_files.load_arrays(path) for path in paths]
    described_weights = np.stack(
        [requirement["weights"] for requirement in arrays if "weights" in requirement]
    )
    total = described_weights[:, 0].sum()
    lowest = described_weights[:, 1].min()
    highest = described_weights[:, 2].max()
    require_supported_range(job, n, total, lowest, highest)
    return None if lowest == highest else float(total / n)


def scale_weights(weights: Floats | None, config: RunState) -> Floats | None:
    """Return weights (n,), scaled so that the weights of the table have mean 1.

    None if they do not differ.
    """
    if weights is None or config.mean_weight is None:
        return None
    return np.asarray(weights / config.mean_weight)


def list_table_weight_requirements(table: Table, job: Job) -> tuple[Requirement, ...]:
    """Return the dominance requirements on the weights of a table."""
    weights = read_weights(table)
    requirements = make_dominance_requirements(job, weights)
    if weights is not None and job.missing.policy == "fill":
        is_present = ~np.isnan(table.matrix())
        requirements += make_dominance_requirements(
            job, select_value_weights(weights, is_present)
        )
    return requirements


def append_weights(
    rows: pa.Table, weights: Floats | None, is_kept: Bool, config: RunState
) -> pa.Table:
    """Return rows with their records' weights (n,) as last columns.

    One, or one for each attribute if values may be missing: a record that does not
    decide on an attribute has no weight in it.  `is_kept` (n, d) marks the records
    that do.
    """
    columns: list[Floats] = [] if weights is None else [weights]
    if weights is not None and _has_weights_by_attribute(config.job):
        columns = list(np.where(is_kept, weights[:, None], 0.0).T)
    for column in columns:
        rows = scratch_files.append_column(rows, column)
    return rows


def remove_weights(rows: pa.Table, config: RunState) -> tuple[pa.Table, Floats | None]:
    """Return rows without the appended weight columns, and the weights (n, w)."""
    job = config.job
    columns = []
    if not job.roles.weight:
        return rows, None
    for _ in (
        job.roles.quasi_identifier
        if _has_weights_by_attribute(job)
        else job.roles.weight
    ):
        rows, column = scratch_files.split_last_column(rows)
        columns.append(column.astype(np.float64))
    return rows, np.stack(columns[::-1], axis=1)


def _has_weights_by_attribute(job: Job) -> bool:
    """Whether each attribute has weights of its own: values may be missing."""
    return job.missing.policy != REFUSE


def describe_folder_weights(config: RunState) -> list[str]:
    """Return the texts of notes on weighted figures; none for equal weights."""
    mean = config.mean_weight
    return describe_sampling_weights(
        config.job, None if mean is None else np.array([mean])
    )
