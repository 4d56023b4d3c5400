"""Comparison of solvers on one program: objective, bound, gap and time."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np

from aggopt.aggregate import AGGREGATORS
from aggopt.aggregate.user_model import ByModel
from aggopt.core.deadline import compile_time
from aggopt.core.html import HtmlFields
from aggopt.core.plugins.loading import resolve_code_path, trust_files
from aggopt.core.types import Floats
from aggopt.errors import InfeasibleInputError, JobError, SolverError, TableError
from aggopt.job import Job, Recommended, Shifting, SolverSection
from aggopt.models import MODELS, Model
from aggopt.partition import univariate
from aggopt.partition.block_partition import partition_blocks
from aggopt.partition.registry import PARTITIONERS, list_initial_methods
from aggopt.pipeline.aggregate.aggregate_table import (
    aggregate_categories,
    aggregate_table,
    join_columns,
)
from aggopt.pipeline.aggregate.margins import make_margin_arguments
from aggopt.pipeline.aggregate.table_parts import aggregate_observed
from aggopt.pipeline.finish.evaluate import AT_ONCE, evaluate
from aggopt.pipeline.partition.methods import repair_block
from aggopt.pipeline.partition.partition_table import partition_table
from aggopt.pipeline.partition.partitioned_table import PartitionedTable
from aggopt.pipeline.prepare.inputs import Progress, load_job, read_progress
from aggopt.pipeline.prepare.job_settings import are_bounded_jointly, find_model
from aggopt.repair.registry import REPAIRS
from aggopt.solvers import Solver, choose_solver
from aggopt.solvers.certificate import find_largest_gap, list_statuses, total_bound
from aggopt.solvers.options import check_time_limit
from aggopt.solvers.registry import list_able_solvers

Share = Callable[[float], None]


@dataclass(frozen=True)
class Row(HtmlFields):
    """Result of one solver on a job: sums and extremes over its attributes.

    `bound` and `gap` are None if nothing is proven.  `holds` is whether the audit of
    these values confirms all requirements of the job.  `sl`, `si` and `holds` are None
    if no values are made: for groups of one attribute at a time.  `note` is the reason
    why a solver was left out or failed; all its figures are then None.  `margins` is
    whether the program includes secret margins: those of all rows of one call.
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
    margins: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return asdict(self)


def _make_solver_setting(solver: Solver) -> Any:
    """Return the setting for a solver: code of the user's, or a name."""
    return solver if solver.origin else solver.name


def _choose_user_limit(solver: Solver, limit: float) -> float | None:
    """Return a limit, None for code of the user's that takes none."""
    return None if solver.origin and not solver.limited else limit


def _choose_limit(solver: Solver, limit: float) -> float | None:
    """Return a limit, None for a solver that takes none and has no language."""
    return limit if solver.limited or solver.language else None


def _make_aggregation_row(
    partitioned: PartitionedTable, solver: Solver, limit: float, on_progress: Share
) -> Row:
    """Return the row of a solver that solved the aggregation."""
    section = cast(
        SolverSection, partitioned.job.aggregation
    )  # as was looked at before
    solver_setting = _make_solver_setting(solver)
    settings = {
        **section.settings,
        **make_margin_arguments(partitioned),
        "solver": solver_setting,
        "options": {},
    }
    within = _choose_limit(solver, limit)
    settings |= {"time_limit": within, "progress": on_progress}
    if solver.is_global:
        for of_local in ("start", "starts", "seed"):
            settings.pop(of_local, None)
    if isinstance(section, Shifting):
        few = np.arange(9.0)[:, None] ** 2
        groups = np.arange(9) // 3
        combine = AGGREGATORS[section.method].function
        keep = "covariance" if section.joint else "variance"
        first = {"solver": solver_setting, "keep": keep, "time_limit": within}
        combine(few, groups, **first)  # loads, compiles: not timed
    started = compile_time.now()
    masked = aggregate_observed(partitioned, settings)
    seconds = compile_time.now() - started
    chosen = aggregate_categories(partitioned, _ignore_progress)
    row = _sum_row(solver.name, masked.certificates, seconds)
    row = _add_measures(
        partitioned, row, join_columns(partitioned, masked, chosen).values
    )
    usable = all(c.status.usable for c in masked.certificates)
    margins = isinstance(section, Shifting) and section.draws_margins
    return replace(row, holds=row.holds if usable else None, margins=margins)


def _make_categories_row(
    partitioned: PartitionedTable, solver: Solver, limit: float, on_progress: Share
) -> Row:
    """Return a solver's row for the categories of equal groups."""
    section = partitioned.job.aggregation
    settings = {
        "solver": _make_solver_setting(solver),
        "time_limit": limit,
        "options": {},
    }
    category_section = section.categories.model_copy(update=settings)  # type: ignore[union-attr]
    update = {
        "aggregation": section.model_copy(update={"categories": category_section})
    }
    partitioned = replace(partitioned, job=partitioned.job.model_copy(update=update))

    def heard(step: str, share: float) -> None:
        if step == "categories":  # numbers are published by the job's own method
            on_progress(share)

    try:
        masked = aggregate_table(partitioned, heard)
    except InfeasibleInputError as refusal:
        return Row(solver.name, note=refusal.problem)
    certificates = [masked.certificates[name] for name in partitioned.table.domains]
    proofs = list(
        {id(c): c for c in certificates}.values()
    )  # one per set solved together
    row = _sum_row(solver.name, proofs, sum(c.seconds for c in proofs))
    if not all(c.status.usable for c in proofs):
        return row
    return _add_measures(partitioned, row, masked.values)


def _make_partition_row(
    partitioned: PartitionedTable, solver: Solver, limit: float, on_progress: Share
) -> Row:
    """Return the row of a solver that solved the partition."""
    section = partitioned.job.partition
    names = partitioned.job.roles.quasi_identifier
    settings = {
        **section.settings,
        "solver": _make_solver_setting(solver),
        "options": {},
    }
    settings["time_limit"] = within = _choose_limit(solver, limit)
    columns = [block.columns for block in partitioned.blocks]
    first = {"solver": _make_solver_setting(solver), "time_limit": within}
    k = partitioned.job.privacy.k
    try:
        univariate(np.arange(9.0), 3, **first)  # loads, compiles: not timed
        started = compile_time.now()
        blocks = partition_blocks(
            partitioned.X, k, columns, section.function, settings, on_progress, names
        )
    except (SolverError, TableError, InfeasibleInputError) as refusal:
        return Row(solver.name, note=refusal.problem)
    seconds = compile_time.now() - started
    return _sum_row(solver.name, [b.certificate for b in blocks], seconds)


def _make_blocks_row(
    partitioned: PartitionedTable, solver: Solver, limit: float, on_progress: Share
) -> Row:
    """Return a solver's row for a partition of several attributes together."""
    job = partitioned.job
    names = partitioned.job.roles.quasi_identifier
    divide = PARTITIONERS.of(job.partition).function
    settings = {
        **job.partition.settings,
        "solver": _make_solver_setting(solver),
        "time_limit": _choose_user_limit(solver, limit),
    }
    columns = [block.columns for block in partitioned.blocks]
    try:
        k = job.privacy.k
        blocks_partition = partition_blocks(
            partitioned.records, k, columns, divide, settings, on_progress, names
        )
    except (SolverError, TableError, InfeasibleInputError) as refusal:
        return Row(solver.name, note=refusal.problem)
    return _evaluate_partition(replace(partitioned, blocks=blocks_partition), solver)


def _make_repair_row(
    partitioned: PartitionedTable, solver: Solver, limit: float, on_progress: Share
) -> Row:
    """Return a solver's row for a repair of equal groups."""
    privacy = partitioned.job.privacy
    settings = {
        "solver": _make_solver_setting(solver),
        "time_limit": _choose_user_limit(solver, limit),
    }
    section = privacy.repair.model_copy(update=settings)  # type: ignore[union-attr]
    update = {"privacy": privacy.model_copy(update={"repair": section})}
    job = partitioned.job.model_copy(update=update)
    try:
        block = repair_block(
            partitioned.blocks[0],
            partitioned.records,
            job,
            partitioned.held,
            on_progress,
        )
    except (SolverError, TableError, InfeasibleInputError) as refusal:
        return Row(solver.name, note=refusal.problem)
    return _evaluate_partition(replace(partitioned, blocks=(block,)), solver)


def _ignore_progress(*_: object) -> None:
    """Do nothing: the remaining work is quick."""


def _evaluate_partition(partitioned: PartitionedTable, solver: Solver) -> Row:
    """Return the row of a partition, with the measures and the audit of its values."""
    proofs = [block.certificate for block in partitioned.blocks]
    row = _sum_row(solver.name, proofs, sum(c.seconds for c in proofs))
    try:
        return _add_measures(
            partitioned, row, aggregate_table(partitioned, _ignore_progress).values
        )
    except InfeasibleInputError as refusal:
        return replace(row, note=refusal.problem)


def _add_measures(partitioned: PartitionedTable, row: Row, values: Floats) -> Row:
    """Return a row with the measures and the audit of values (n, d)."""
    tried = evaluate(partitioned, values, linked_at_once=AT_ONCE)
    measures = tried.require_measures()
    return replace(row, sl=measures.sl, si=measures.si, holds=tried.audit.holds)


def _sum_row(name: str, certificates: Sequence[Any], seconds: float) -> Row:
    """Return one row for the certificates of all attributes of a solver."""
    return Row(
        solver=name,
        status=list_statuses(certificates),
        objective=sum(c.objective for c in certificates),
        bound=total_bound(certificates),
        gap=find_largest_gap(certificates),
        violation=max(c.violation for c in certificates),
        seconds=seconds,
    )


class Step(NamedTuple):
    """Step of a job that a solver runs: model, time limit, row, section.

    Of a model of the user's `own` is the class of its programs, and `language` its
    modelling language; `within` is whether values have bounds that not all solvers
    keep.
    """

    model: Model
    limit: float | None
    row: Callable[[PartitionedTable, Solver, float, Share], Row]
    section: Any
    own: str = ""
    language: tuple[str, ...] | None = None
    within: bool = False

    @property
    def kinds(self) -> tuple[str, str]:
        """Names that a solver may declare if it takes the model."""
        return (self.model.name, self.own or self.model.kind)

    @property
    def able(self) -> list[Solver]:
        """The solvers that take it, the job's own first if the table has it not."""
        able = list_able_solvers(
            *self.kinds, language=self.language, within=self.within
        )
        job_solver = getattr(self.section, "solver", None)
        names = [name for s in able for name in (s.name, s.name.partition(":")[2])]
        if job_solver is None or job_solver in names:
            return able
        chosen = choose_solver(job_solver, *self.kinds, language=self.language)
        return able if chosen.name in names else [chosen, *able]


def _find_solver_step(job: Job) -> Step:
    """Return the last step of a job that a solver runs."""
    categories = job.aggregation.categories
    if isinstance(categories, SolverSection):
        limit = categories.time_limit
        return Step(find_model(categories), limit, _make_categories_row, categories)
    section = job.aggregation
    if isinstance(section, ByModel):
        program = section.program
        kind = program.find_kind(section.arguments)
        return Step(
            program,
            section.time_limit,
            _make_aggregation_row,
            section,
            kind,
            program.languages,
        )
    if isinstance(section, Shifting):
        if len(section.programs) > 1:
            raise JobError(
                f"keep asks for {len(section.programs)} kinds of programs, "
                "and no solver "
                "is compared on two.",
                fix='set keep = "variance" or keep = "covariance" to compare solvers.',
            )
        within = are_bounded_jointly(job)
        return Step(
            find_model(section),
            section.time_limit,
            _make_aggregation_row,
            section,
            within=within,
        )
    repair = job.privacy.repair
    method = REPAIRS.of(repair) if repair else None
    has_repair_solver = repair is not None and repair.solver is not None
    if repair and method and method.model and (has_repair_solver or method.asks_solver):
        return Step(MODELS[method.model], repair.time_limit, _make_repair_row, repair)
    if isinstance(job.partition, SolverSection):
        split = job.partition
        return Step(find_model(split), split.time_limit, _make_partition_row, split)
    if model := PARTITIONERS.of(job.partition).model:
        limit = job.partition.settings["time_limit"]
        return Step(MODELS[model], limit, _make_blocks_row, job.partition)
    raise JobError(
        f"No solver is asked in {job.partition.method!r} and "
        f"{job.aggregation.method!r}, nor in a repair: they have methods of their own.",
        fix='set method = "p3m" under [aggregation], or "frequencies" under '
        '[aggregation.categories]; or "optimal", "univariate" or '
        '"individual_ranking" under [partition]; or repair = "merge-ilp" under '
        "[privacy].",
    )


DEFAULT = 60.0  # seconds for a solver and an attribute by default


def compare(
    data: Any,
    job: Job | str | Path,
    solvers: Sequence[str] = (),
    time_limit: float | None = None,
    *,
    progress: Progress | None = None,
    trust: Iterable[str | Path] = (),
) -> Iterator[Row]:
    """Yield a row for each solver that takes the job's model, in the table's order.

    A solver that the job names and the table lacks, such as yours, is first.

    The comparison is of the last step of the job that a solver runs: its aggregation,
    on one partition; or its repair, of equal groups; or its partition, before any
    repair.  `solvers` names some of them; these must be installed.  `time_limit` is in
    seconds, for each solver and attribute; the job's own, or 60, when omitted.  The
    options of the job's solver are left out.  The secret margins of requests are drawn
    once: the rows of one call are of one program.  `trust` is as for `mask`.

    Raises
    ------
    JobError
        `time_limit` is not a number above 0.  Nothing in the job is for a solver to
        solve, or a named solver does not take its model.
    SolverError
        A named solver is not installed.

    Examples
    --------
    >>> import pandas as pd, aggopt
    >>> people = pd.DataFrame({"age": [20, 21, 22, 60, 61, 65]})
    >>> roles, p3m = {"quasi-identifier": ["age"]}, {"method": "p3m"}
    >>> job = aggopt.Job(roles=roles, privacy={"k": 3}, aggregation=p3m)
    >>> [row.status for row in compare(people, job, ["lagrangian"])]
    ['optimal']
    """
    check_time_limit(time_limit)
    report = read_progress(progress)
    folder = None if isinstance(job, Job) else Path(job).parent
    job = data_job = load_job(job, trust)
    if isinstance(job.partition, Recommended):  # the table decides
        job = data_job = partition_table(data, job, report).job
    step = _find_solver_step(job)
    if step.row is _make_blocks_row:  # each solver repeats it
        data_job = _reduce_job(job)
    partitioned = partition_table(
        data, data_job, report, repair=step.row is not _make_repair_row
    )
    if step.row not in (_make_aggregation_row, _make_categories_row):
        _require_plain(partitioned)
    if data_job is not job:
        job_of_solver = partitioned.job.model_copy(update={"partition": job.partition})
        partitioned = replace(
            partitioned, job=job_of_solver
        )  # it sets how categories are published
    with trust_files(trust):
        received = (
            name if folder is None else resolve_code_path(folder, name)
            for name in solvers
        )
        kinds = step.kinds
        language = step.language
        solvers_named = [
            choose_solver(name, *kinds, language=language, within=step.within)
            for name in received
        ]
        able = solvers_named or step.able
    for done, solver in enumerate(able):
        report(solver.name, done / len(able))
        if solver.lacks:
            yield Row(solver.name, note=f"not installed: {solver.lacks}")
        else:
            on_progress = partial(_report_part, report, solver.name, done, len(able))
            limit = _choose_time_limit(time_limit, step.limit)
            yield step.row(partitioned, solver, limit, on_progress)


def _reduce_job(job: Job) -> Job:
    """Return the job with groups that are cheap to make, of equal attributes."""
    first = PARTITIONERS[list_initial_methods()[0]]
    update = {"method": first.name, "attributes": job.partition.attributes}
    return job.model_copy(update={"partition": first.settings.model_validate(update)})


def _require_plain(partitioned: PartitionedTable) -> None:
    """Refuse holes, strata and weights, where groups are to be made or repaired."""
    if partitioned.kept is not None:
        raise JobError(
            "Solvers are compared on partitions and repairs of complete tables, and "
            "values are missing.",
            fix='compare them on an aggregation, method = "p3m"; or remove the records '
            "that miss a value.",
        )
    if partitioned.strata is not None:
        raise JobError(
            "Solvers are compared on partitions and repairs without strata.",
            fix='compare them on an aggregation, method = "p3m"; or leave stratum out.',
        )
    if partitioned.weights is not None:
        raise JobError(
            "Solvers are compared on partitions and repairs without sampling weights.",
            fix='compare them on an aggregation, method = "p3m"; or leave weight out.',
        )


def _report_part(report: Progress, name: str, done: int, of: int, share: float) -> None:
    """Report a share of one solver's work as one of the work of all."""
    report(name, (done + share) / of)


def _choose_time_limit(requested: float | None, of_job: float | None) -> float:
    """Return the requested limit, else the job's, else the default."""
    limits = (limit for limit in (requested, of_job) if limit is not None)
    return next(limits, DEFAULT)
