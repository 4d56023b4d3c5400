"""Result of one solver on the compared step of a job."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, cast

import numpy as np

from aggopt.aggregate import AGGREGATORS
from aggopt.core.compile_time import compile_time
from aggopt.core.html import HtmlFields
from aggopt.core.validation import Floats
from aggopt.errors import InfeasibleInputError, SolverError, TableError
from aggopt.job import Shifting, SolverSection
from aggopt.partition import univariate
from aggopt.partition._in_blocks import partition_blocks
from aggopt.partition.registry import PARTITIONERS
from aggopt.pipeline.aggregate.aggregate_table import (
    aggregate_categories,
    aggregate_table,
    assemble_columns,
)
from aggopt.pipeline.aggregate.margins import margin_arguments
from aggopt.pipeline.aggregate.missing_values import aggregate_observed
from aggopt.pipeline.finish.evaluate import evaluate
from aggopt.pipeline.finish.measures import AT_ONCE
from aggopt.pipeline.partition.partitioned_table import PartitionedTable
from aggopt.pipeline.validate.privacy_guarantees import repair_block
from aggopt.solvers import Solver
from aggopt.solvers.certificate import endings, largest_gap, total_bound

Share = Callable[[float], None]


@dataclass(frozen=True)
class Row(HtmlFields):
    """Result of one solver on a job: sums and extremes over its attributes.

    `bound` and `gap` are None if nothing is proven.  `holds` is whether the audit of
    these values confirms all requirements of the job.  `sl`, `si` and `holds` are None
    if no values are made: for groups of one attribute at a time.  `note` is the reason
    why a solver was left out or failed; all its figures are then None.
    """

    solver: str
    status: str | None = None
    objective: float | None = None
    bound: float | None = None
    gap: float | None = None
    violation: float | None = None
    sl: float | None = None
    si: float | None = None
    seconds: float | None = None
    holds: bool | None = None
    note: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return asdict(self)


def _passed(solver: Solver) -> Any:
    """Return the setting for a solver: code of the user's, or a name."""
    return solver if solver.origin else solver.name


def _taken(solver: Solver, limit: float) -> float | None:
    """Return a limit, None for code of the user's that takes none."""
    return None if solver.origin and not solver.limited else limit


def _limit_of(solver: Solver, limit: float) -> float | None:
    """Return a limit, None for a solver that takes none and has no language."""
    return limit if solver.limited or solver.language else None


def of_aggregation(
    given: PartitionedTable, solver: Solver, limit: float, on_progress: Share
) -> Row:
    """Return the row of a solver that solved the aggregation."""
    how = cast(SolverSection, given.job.aggregation)  # as was looked at before
    named = _passed(solver)
    settings = {
        **how.settings,
        **margin_arguments(given),
        "solver": named,
        "options": {},
    }
    within = _limit_of(solver, limit)
    settings |= {"time_limit": within, "progress": on_progress}
    if solver.is_global:
        for of_local in ("start", "starts", "seed"):
            settings.pop(of_local, None)
    if isinstance(how, Shifting):
        few, groups = np.arange(9.0)[:, None] ** 2, np.arange(9) // 3
        combine = AGGREGATORS[how.method].function
        keep = "covariance" if how.joint else "variance"
        first = {"solver": named, "keep": keep, "time_limit": within}
        combine(few, groups, **first)  # loads, compiles: not timed
    started = compile_time.now()
    masked = aggregate_observed(given, settings)
    seconds = compile_time.now() - started
    chosen = aggregate_categories(given, _ignored)
    row = _summed(solver.name, masked.certificates, seconds)
    row = _measured(given, row, assemble_columns(given, masked, chosen).values)
    usable = all(c.status.usable for c in masked.certificates)
    return row if usable else replace(row, holds=None)


def of_categories(
    given: PartitionedTable, solver: Solver, limit: float, on_progress: Share
) -> Row:
    """Return a solver's row for the categories of equal groups."""
    how = given.job.aggregation
    asked = {"solver": _passed(solver), "time_limit": limit, "options": {}}
    own = how.categories.model_copy(update=asked)  # type: ignore[union-attr]
    update = {"aggregation": how.model_copy(update={"categories": own})}
    given = replace(given, job=given.job.model_copy(update=update))

    def heard(step: str, share: float) -> None:
        if step == "categories":  # numbers are published by the job's own method
            on_progress(share)

    try:
        masked = aggregate_table(given, heard)
    except InfeasibleInputError as refusal:
        return Row(solver.name, note=refusal.problem)
    named = [masked.certificates[name] for name in given.table.domains]
    proofs = list({id(c): c for c in named}.values())  # one per set solved together
    row = _summed(solver.name, proofs, sum(c.seconds for c in proofs))
    if not all(c.status.usable for c in proofs):
        return row
    return _measured(given, row, masked.values)


def of_partition(
    given: PartitionedTable, solver: Solver, limit: float, on_progress: Share
) -> Row:
    """Return the row of a solver that solved the partition."""
    how, names = given.job.partition, given.job.roles.quasi_identifier
    settings = {**how.settings, "solver": _passed(solver), "options": {}}
    settings["time_limit"] = within = _limit_of(solver, limit)
    columns = [block.columns for block in given.blocks]
    first = {"solver": _passed(solver), "time_limit": within}
    k = given.job.privacy.k
    try:
        univariate(np.arange(9.0), 3, **first)  # loads, compiles: not timed
        started = compile_time.now()
        blocks = partition_blocks(
            given.X, k, columns, how.function, settings, on_progress, names
        )
    except (SolverError, TableError, InfeasibleInputError) as refusal:
        return Row(solver.name, note=refusal.problem)
    seconds = compile_time.now() - started
    return _summed(solver.name, [b.certificate for b in blocks], seconds)


def of_blocks(
    given: PartitionedTable, solver: Solver, limit: float, on_progress: Share
) -> Row:
    """Return a solver's row for a partition of several attributes together."""
    job, names = given.job, given.job.roles.quasi_identifier
    divide = PARTITIONERS.of(job.partition).function
    settings = {
        **job.partition.settings,
        "solver": _passed(solver),
        "time_limit": _taken(solver, limit),
    }
    columns = [block.columns for block in given.blocks]
    try:
        k = job.privacy.k
        found = partition_blocks(
            given.records, k, columns, divide, settings, on_progress, names
        )
    except (SolverError, TableError, InfeasibleInputError) as refusal:
        return Row(solver.name, note=refusal.problem)
    return _valued(replace(given, blocks=found), solver)


def of_repair(
    given: PartitionedTable, solver: Solver, limit: float, on_progress: Share
) -> Row:
    """Return a solver's row for a repair of equal groups."""
    privacy = given.job.privacy
    asked = {"solver": _passed(solver), "time_limit": _taken(solver, limit)}
    how = privacy.repair.model_copy(update=asked)  # type: ignore[union-attr]
    update = {"privacy": privacy.model_copy(update={"repair": how})}
    job = given.job.model_copy(update=update)
    try:
        block = repair_block(
            given.blocks[0], given.records, job, given.held, on_progress
        )
    except (SolverError, TableError, InfeasibleInputError) as refusal:
        return Row(solver.name, note=refusal.problem)
    return _valued(replace(given, blocks=(block,)), solver)


def _ignored(*_: object) -> None:
    """Do nothing: the remaining work is quick."""


def _valued(given: PartitionedTable, solver: Solver) -> Row:
    """Return the row of a partition, with the measures and the audit of its values."""
    proofs = [block.certificate for block in given.blocks]
    row = _summed(solver.name, proofs, sum(c.seconds for c in proofs))
    try:
        return _measured(given, row, aggregate_table(given, _ignored).values)
    except InfeasibleInputError as refusal:
        return replace(row, note=refusal.problem)


def _measured(given: PartitionedTable, row: Row, values: Floats) -> Row:
    """Return a row with the measures and the audit of values (n, d)."""
    tried = evaluate(given, values, linked_at_once=AT_ONCE)
    measures = tried.require_measures()
    return replace(row, sl=measures.sl, si=measures.si, holds=tried.audit.holds)


def _summed(name: str, certificates: Sequence[Any], seconds: float) -> Row:
    return Row(
        solver=name,
        status=endings(certificates),
        objective=sum(c.objective for c in certificates),
        bound=total_bound(certificates),
        gap=largest_gap(certificates),
        violation=max(c.violation for c in certificates),
        seconds=seconds,
    )
