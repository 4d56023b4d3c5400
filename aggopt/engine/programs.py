"""Programs of all groups: of numbers that are moved, and of categories."""

from dataclasses import replace

import pyarrow as pa

from aggopt.engine.config import InBlocks
from aggopt.engine.limits import with_ends
from aggopt.engine.passes_of_bounds import may_leave, require_found
from aggopt.engine.passes_of_categories import together
from aggopt.engine.passes_of_shifts import ShiftEnd
from aggopt.engine.reduced import GroupSums
from aggopt.engine.two_levels import Each
from aggopt.job import Job, Mean
from aggopt.pipeline.partition_step import require_solved
from aggopt.solvers import Certificate


def shifted(
    each: Each, config: InBlocks, groups: GroupSums, schema: pa.Schema
) -> tuple[InBlocks, list[ShiftEnd | None]]:
    """Return how centroids are moved, and how the programs of numbers ended, if any.

    Raises
    ------
    SolverError, InfeasibleInputError
        One has no answer that may be used; or no map keeps what is to be kept.
    """
    job, names = config.job, config.numbers
    config = replace(config, shift=groups.shift(_restored(job), config.constant))
    ends: list[ShiftEnd | None]
    if job.aggregation.method == "p3m":
        each("state", len(config.blocks), config)
        ends = each("solve", len(names), config)
        both = zip(names, ends, strict=True)
        require_solved({name: end.certificate(0.0) for name, end in both if end})
        return replace(config, solved=tuple(range(len(names)))), ends
    if not may_leave(job):
        return config, []
    ends = each("draw in", len(names), with_ends(config, schema))
    require_found(names, ends)
    drawn = tuple(j for j, end in enumerate(ends) if end is not None)
    return replace(config, solved=drawn), ends


def _restored(job: Job) -> str:
    """Return what means are moved for, that all records decide."""
    how = job.aggregation
    return str(how.keep) if isinstance(how, Mean) else "mean"


def chosen_of(each: Each, config: InBlocks) -> list[Certificate]:
    """Return how the programs of categories ended; none if blocks choose by themselves.

    Raises
    ------
    SolverError
        One has no answer that may be used.
    """
    if not together(config):
        return []
    ends: list[Certificate] = each("choose", len(config.categories), config)
    require_solved(dict(zip(config.categories, ends, strict=True)))
    return ends
