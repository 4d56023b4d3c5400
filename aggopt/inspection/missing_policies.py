"""Which policy on missing values would let `mask` begin."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from aggopt.core.plural import plural
from aggopt.data.context.strata import stratify
from aggopt.data.context.units import collapse_units
from aggopt.data.readers.column_profile import ColumnProfile
from aggopt.encoding import Encoded
from aggopt.encoding.encode_table import impute_means
from aggopt.inspection.collect_errors import (
    Obstacle,
    find_obstacles,
    find_refusal,
    read_as_mask,
)
from aggopt.job import Job, Missing
from aggopt.pipeline.prepare.inputs import read_table
from aggopt.pipeline.prepare.job_settings import find_blocks
from aggopt.pipeline.prepare.prepared_table import (
    join_patterns,
    join_patterns_within_strata,
)


@dataclass(frozen=True)
class Policy:
    """A policy on missing values that a job may have, and why."""

    name: str
    reason: str


REFUSED = Policy("refuse", "no value of a quasi-identifier is missing")
FILLED = Policy("fill", "what the group publishes stands in their place")


def propose_policy(
    path: Path, table: pa.Table, job: Job, holed: Sequence[ColumnProfile]
) -> Policy:
    """Return what suits a table whose columns that are masked and `holed` miss values.

    They stay missing if that costs no other value; else they are filled.
    """
    if not holed:
        return REFUSED
    holes = sum(look.missing for look in holed)
    summary = f"{plural(holes, 'value')} of {plural(len(holed), 'column')} missing"
    trial_job = job.model_copy(update={"missing": Missing(policy="patterns")})
    lost = None
    if find_refusal(path, table, trial_job) is None:
        lost = _count_suppressed(path, table, trial_job)
    if lost == 0:
        return Policy(
            "patterns", f"{summary}: they stay so, and no other is suppressed"
        )
    costs = (
        "" if lost is None else f'; "patterns" would suppress {plural(lost, "other")}'
    )
    return Policy(FILLED.name, f"{summary}: {FILLED.reason}{costs}")


def explain_policies(
    path: Path,
    table: pa.Table,
    job: Job,
    obstacles: Sequence[Obstacle],
    profiles: Sequence[ColumnProfile],
) -> Iterator[str]:
    """Yield the effect of each policy, if the job has none and values are missing.

    There may be other `obstacles`, if the policy itself adds none.
    """
    quasi = {look.name: look.missing for look in profiles}
    holes = sum(quasi.get(name, 0) for name in job.roles.quasi_identifier)
    if job.missing.policy != "refuse" or not holes:
        return
    missing = plural(holes, "missing value")
    for name in ("patterns", "fill"):
        trial_job = job.model_copy(update={"missing": Missing(policy=name)})
        left = find_obstacles(path, table, trial_job)
        if not set(left) < set(obstacles):
            continue
        takes = f'policy = "{name}" under [missing] would take'
        takes += " what is missing" if left else " the table"
        if name == "fill":
            stands = f"in place of {missing} would stand what their groups publish."
            yield f"{takes}: {stands}"
            continue
        lost = None if left else _count_suppressed(path, table, trial_job)
        more = f"and {plural(lost or 0, 'other')} would be suppressed."
        if lost is None:
            more = "and others might be suppressed."
        yield f"{takes}: {missing} would stay so, {more}"


def _count_suppressed(path: Path, table: pa.Table, job: Job) -> int | None:
    """Return how many values patterns suppress; None if no policy is needed."""
    typed_table, _ = read_table(read_as_mask(path, table, job), job)
    read, strata = stratify(collapse_units(typed_table, job)[0], job)
    encoded = read.encode(job.partition.weights)
    absent = np.isnan(read.matrix())
    if not (isinstance(encoded, Encoded) and absent.any()):
        return None
    columns = find_blocks(job, impute_means(encoded))
    k = job.privacy.k
    if strata is None:
        parts = [join_patterns(encoded, absent, k, block) for block in columns]
    else:
        parts = [
            join_patterns_within_strata(encoded, absent, k, block, strata)
            for block in columns
        ]
    return sum(int(part.suppressed.sum()) for part in parts)
