"""Which policy on missing values would let `mask` begin."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from aggopt.command.readiness import refused
from aggopt.core.plural import many
from aggopt.encoding import Encoded
from aggopt.input.look import Look
from aggopt.job import Job, Missing
from aggopt.pipeline.attribute_blocks import blocks_of
from aggopt.pipeline.holes import joined_in, with_means
from aggopt.pipeline.partition_step import read_table


def policies(path: Path, job: Job, seen: Sequence[Look]) -> Iterator[str]:
    """Yield what a policy would do, where the job has none and values are missing."""
    quasi = {look.name: look.missing for look in seen}
    holes = sum(quasi.get(name, 0) for name in job.roles.quasi_identifier)
    if job.missing.policy != "refuse" or not holes:
        return
    asked = job.model_copy(update={"missing": Missing(policy="patterns")})
    if refused(path, asked) is None and (lost := _suppressed(path, asked)) is not None:
        yield (
            'policy = "patterns" under [missing] would take the table: '
            f"{many(holes, 'missing value')} would stay so, and "
            f"{many(lost, 'other')} would be suppressed."
        )
    asked = job.model_copy(update={"missing": Missing(policy="fill")})
    if refused(path, asked) is None:
        yield (
            'policy = "fill" under [missing] would take the table: in place of '
            f"{many(holes, 'missing value')} would stand what their groups publish."
        )


def _suppressed(path: Path, job: Job) -> int | None:
    """Return how many values patterns suppress; None where no policy is needed."""
    table, _ = read_table(path, job)
    found = table.encoded(job.partition.weights)
    absent = np.isnan(table.matrix())
    if not (isinstance(found, Encoded) and absent.any()):
        return None
    columns = blocks_of(job, with_means(found))
    parts = (joined_in(found, absent, job.privacy.k, block) for block in columns)
    return sum(int(part.suppressed.sum()) for part in parts)
