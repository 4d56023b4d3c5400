"""Programs of all groups: of numbers that are moved, and of categories."""

from dataclasses import replace

import pyarrow as pa

from aggopt.engine.reduce.group_sums import GroupSums
from aggopt.engine.state.run_state import BlockState, ShiftEnd
from aggopt.engine.state.shuffle import Each
from aggopt.engine.steps.bounded_means import is_bound_at_risk, require_found
from aggopt.engine.steps.categories import is_chosen_globally
from aggopt.engine.steps.value_bounds import add_bounds
from aggopt.job import Job, Mean
from aggopt.pipeline.validate.solver_answers import require_solved
from aggopt.solvers import Certificate


def solve_number_programs(
    run_step: Each, config: BlockState, groups: GroupSums, schema: pa.Schema
) -> tuple[BlockState, list[ShiftEnd | None]]:
    """Return the shift of centroids, and results of the programs of numbers, if any.

    Raises
    ------
    SolverError, InfeasibleInputError
        One has no usable solution; or no map keeps the moments to keep.
    """
    job, names = config.job, config.numbers
    config = replace(config, shift=groups.shift(_restore_moments(job), config.constant))
    ends: list[ShiftEnd | None]
    if job.aggregation.method == "p3m":
        run_step("state", len(config.blocks), config)
        ends = run_step("solve", len(names), config)
        both = zip(names, ends, strict=True)
        require_solved({name: end.certificate(0.0) for name, end in both if end})
        return replace(config, solved=tuple(range(len(names)))), ends
    if not is_bound_at_risk(job):
        return config, []
    ends = run_step("draw in", len(names), add_bounds(config, schema))
    require_found(names, ends)
    drawn = tuple(j for j, end in enumerate(ends) if end is not None)
    return replace(config, solved=drawn), ends


def _restore_moments(job: Job) -> str:
    """Return what means are moved for, that all records decide."""
    aggregation = job.aggregation
    return str(aggregation.keep) if isinstance(aggregation, Mean) else "mean"


def solve_category_programs(run_step: Each, config: BlockState) -> list[Certificate]:
    """Return the results of categories' programs; none if blocks choose.

    Raises
    ------
    SolverError
        One has no answer that may be used.
    """
    if not is_chosen_globally(config):
        return []
    ends: list[Certificate] = run_step("choose", len(config.categories), config)
    require_solved(dict(zip(config.categories, ends, strict=True)))
    return ends
