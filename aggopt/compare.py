"""One program, every solver: what each finds, proves and takes."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from aggopt import aggregate
from aggopt.errors import InfeasibleInputError, JobError, SolverError, TableError
from aggopt.grouped import Grouped, Progress, group, listener, model_of
from aggopt.job import Job, Shifting, Solved
from aggopt.margin import program
from aggopt.output.rounding import released
from aggopt.output.trial import audit_of
from aggopt.partition import univariate
from aggopt.partition._blocks import divided
from aggopt.pipeline import AT_ONCE, measured
from aggopt.solvers import SOLVERS, Solver, choose
from aggopt.solvers._certificate import endings, largest_gap, total_bound

DEFAULT = 60.0  # seconds for a solver and an attribute, where nobody says


@dataclass(frozen=True)
class Row:
    """What one solver made of a job: sums and extremes over its attributes.

    `bound` and `gap` are None where a solver proves nothing.  `sl`, `si` and `holds`,
    whether the audit of these values finds all that the job promises, are None for a
    partition, of which no values are made.  `note` says why a solver was left out or
    gave up; all its figures are then None.
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


def compare(
    data: Any,
    job: Job | str | Path,
    solvers: Sequence[str] = (),
    time_limit: float | None = None,
    *,
    progress: Progress | None = None,
) -> Iterator[Row]:
    """Yield a row for each solver that takes the job's model, in the table's order.

    Compared is the job's aggregation, on one and the same partition; if that has a
    formula, its partition, as it is before any repair.  `solvers` names some of them;
    those must be there.  `time_limit` is in seconds, for each solver and attribute; the
    job's own, or 60, when omitted.  The options of the job's solver are left out.

    Raises
    ------
    JobError
        Nothing in the job is for a solver to solve, or a named solver does not take
        its model.
    SolverError
        A named solver is not installed.
    """
    told = listener(progress)
    given = group(data, job, told)
    how, row = _solved_by(given.job)
    model = model_of(how)
    kinds = (model.NAME, model.CLASS)
    named = [choose(name, *kinds) for name in solvers]
    able = named or [s for s in SOLVERS.values() if s.fits(*kinds)]
    for done, solver in enumerate(able):
        told(solver.name, done / len(able))
        if solver.lacks:
            yield Row(solver.name, note=f"not installed: {solver.lacks}")
        else:
            yield row(given, solver, time_limit or how.time_limit or DEFAULT)


Compared = Callable[[Grouped, Solver, float], Row]


def _solved_by(job: Job) -> tuple[Solved, Compared]:
    """Return the step of a job that solvers are compared on, and how."""
    if isinstance(job.aggregation, Shifting):
        return job.aggregation, _aggregated
    if isinstance(job.partition, Solved):
        return job.partition, _partitioned
    raise JobError(
        f"Nothing is solved in {job.partition.method!r} and "
        f"{job.aggregation.method!r}: they have rules and formulas.",
        fix='set method = "p3m" under [aggregation], or "univariate" or '
        '"individual_ranking" under [partition].',
    )


def _aggregated(given: Grouped, solver: Solver, limit: float) -> Row:
    how = given.job.aggregation
    settings = {**how.settings, **program(given), "solver": solver.name}
    settings |= {"options": {}, "time_limit": limit}
    if solver.is_global:
        for of_local in ("start", "starts", "seed"):
            settings.pop(of_local, None)
    combine = getattr(aggregate, how.method)
    few = np.arange(9.0)[:, None] ** 2
    combine(few, np.arange(9) // 3, solver=solver.name)  # loads, compiles: not timed
    started = time.perf_counter()
    masked = combine(given.X, given.labels, **settings)
    seconds = time.perf_counter() - started
    tried = released(given, masked.values)
    found = measured(given.X, tried.matrix(), given.asked, whole=AT_ONCE)
    row = _summed(solver.name, masked.certificates, seconds)
    usable = all(c.status.usable for c in masked.certificates)
    holds = audit_of(given, tried).holds if usable else None
    return replace(row, sl=found.sl, si=found.si, holds=holds)


def _partitioned(given: Grouped, solver: Solver, limit: float) -> Row:
    how, names = given.job.partition, given.job.roles.quasi_identifier
    settings = {**how.settings, "solver": solver.name, "options": {}}
    settings["time_limit"] = limit if solver.language else None
    univariate(np.arange(9.0), 3, solver=solver.name)  # loads, compiles: not timed
    columns = [block.columns for block in given.blocks]
    k, started = given.job.privacy.k, time.perf_counter()
    try:
        blocks = divided(given.X, k, columns, how.function, settings, names=names)
    except (SolverError, TableError, InfeasibleInputError) as refusal:
        return Row(solver.name, note=refusal.problem)
    seconds = time.perf_counter() - started
    return _summed(solver.name, [b.certificate for b in blocks], seconds)


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
