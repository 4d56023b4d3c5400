"""Comparison of solvers on one program: objective, bound, gap and time."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from aggopt.core.plugins.loading import resolve_code_path
from aggopt.core.plugins.trust import trust_files
from aggopt.errors import JobError
from aggopt.experiments._solver_step import solved_by
from aggopt.experiments.solver_rows import (
    Row,
    of_aggregation,
    of_blocks,
    of_categories,
    of_repair,
)
from aggopt.job import Job, Recommended
from aggopt.partition.registry import PARTITIONERS, list_initial_methods
from aggopt.pipeline.partition.partition_table import (
    Progress,
    load_job,
    partition_table,
    progress_or_noop,
)
from aggopt.pipeline.partition.partitioned_table import PartitionedTable
from aggopt.solvers import choose
from aggopt.solvers.options import check_time_limit

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
    report = progress_or_noop(progress)
    folder = None if isinstance(job, Job) else Path(job).parent
    job = data_job = load_job(job, trust)
    if isinstance(job.partition, Recommended):  # the table decides
        job = data_job = partition_table(data, job, report).job
    step = solved_by(job)
    if step.row is of_blocks:  # each solver repeats it
        data_job = _quick(job)
    given = partition_table(data, data_job, report, repair=step.row is not of_repair)
    if step.row not in (of_aggregation, of_categories):
        _require_plain(given)
    if data_job is not job:
        own = given.job.model_copy(update={"partition": job.partition})
        given = replace(given, job=own)  # it sets how categories are published
    with trust_files(trust):
        seen = (
            name if folder is None else resolve_code_path(folder, name)
            for name in solvers
        )
        kinds, language = step.kinds, step.language
        named = [
            choose(name, *kinds, language=language, within=step.within) for name in seen
        ]
        able = named or step.able
    for done, solver in enumerate(able):
        report(solver.name, done / len(able))
        if solver.lacks:
            yield Row(solver.name, note=f"not installed: {solver.lacks}")
        else:
            on_progress = partial(_part, report, solver.name, done, len(able))
            limit = _first(time_limit, step.limit)
            yield step.row(given, solver, limit, on_progress)


def _quick(job: Job) -> Job:
    """Return the job with groups that are cheap to make, of equal attributes."""
    first = PARTITIONERS[list_initial_methods()[0]]
    asked = {"method": first.name, "attributes": job.partition.attributes}
    return job.model_copy(update={"partition": first.settings.model_validate(asked)})


def _require_plain(given: PartitionedTable) -> None:
    """Refuse holes, strata and weights, where groups are to be made or repaired."""
    if given.kept is not None:
        raise JobError(
            "Solvers are compared on partitions and repairs of complete tables, and "
            "values are missing.",
            fix='compare them on an aggregation, method = "p3m"; or remove the records '
            "that miss a value.",
        )
    if given.strata is not None:
        raise JobError(
            "Solvers are compared on partitions and repairs without strata.",
            fix='compare them on an aggregation, method = "p3m"; or leave stratum out.',
        )
    if given.weights is not None:
        raise JobError(
            "Solvers are compared on partitions and repairs without sampling weights.",
            fix='compare them on an aggregation, method = "p3m"; or leave weight out.',
        )


def _part(report: Progress, name: str, done: int, of: int, share: float) -> None:
    """Report a share of one solver's work as one of the work of all."""
    report(name, (done + share) / of)


def _first(asked: float | None, of_job: float | None) -> float:
    """Return the requested limit, else the job's, else the default."""
    limits = (limit for limit in (asked, of_job) if limit is not None)
    return next(limits, DEFAULT)
