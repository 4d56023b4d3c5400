"""Requirements that compare confidential values with those of all other records.

The distance of a group from the table, and the ends of levels, depend on all records.
Each value is counted before blocks exist, and again in the written files.
"""

from pathlib import Path

import narwhals.stable.v2 as nw
import pyarrow as pa

from aggopt.data.context.confidential import Confidential, read_confidential_attributes
from aggopt.data.context.confidential_parts import (
    WholeAttribute,
    count_entries,
    merge_entry_counts,
)
from aggopt.engine.state.run_state import RunState
from aggopt.engine.storage.scratch_files import (
    load_state,
    load_table,
    save_state,
    save_table,
)
from aggopt.engine.validate.values import require_few_records
from aggopt.job import Job
from aggopt.privacy.model import OWN_MODELS


def needs_global_values(job: Job) -> bool:
    """Whether a requirement on a group depends on the values of all records."""
    privacy = job.privacy
    if not privacy.asked.isdisjoint({"t", OWN_MODELS}):
        return True
    treated = (privacy.treatment(name) for name in job.roles.confidential)
    levels = any(treatment.levels is not None for treatment in treated)
    return "l" in privacy.asked and levels


def count_confidential_values(
    rows: pa.Table, step: str, number: int, config: RunState
) -> None:
    """Write the counts of confidential values in some records, if required."""
    if not needs_global_values(config.job):
        return
    for j, name in enumerate(config.job.roles.confidential):
        save_table(config.at(f"{step}-{j}", number), count_entries(rows.column(name)))


def collect_global_values(step: str, count: int, config: RunState) -> Path | None:
    """Write the table-wide confidential values; return the path, None if unused.

    Raises
    ------
    TableError, JobError, InfeasibleInputError
        Confidential values do not fit their settings in the job.
    """
    job = config.job
    if not needs_global_values(job):
        return None
    values = []
    for j, name in enumerate(job.roles.confidential):
        parts = map(load_table, config.all(f"{step}-{j}", count))
        together = merge_entry_counts(parts, name)
        attribute = WholeAttribute.of(name, together, job.privacy, job.input.decimal)
        require_few_records(attribute.held)
        values.append(attribute)
    to = config.work / f"whole-{step}"
    save_state(to, tuple(values))
    return to


def read_confidential_of_part(
    frame: nw.DataFrame[pa.Table], config: RunState
) -> tuple[Confidential, ...]:
    """Return the confidential attributes of some records, with requirements."""
    job = config.job
    if config.whole is None:
        return read_confidential_attributes(
            frame, job.roles, job.privacy, job.input.decimal
        )
    return tuple(
        attribute.among(frame[attribute.held.name], job.input.decimal)
        for attribute in _load_attributes(config.whole)
    )


def _load_attributes(path: Path) -> tuple[WholeAttribute, ...]:
    """Return the confidential attributes of the whole table from a file."""
    state: tuple[WholeAttribute, ...] = load_state(path)
    return state
