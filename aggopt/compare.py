"""One program, every solver: what each finds, proves and takes."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from aggopt import aggregate
from aggopt.aggregate import Aggregation
from aggopt.errors import JobError
from aggopt.grouped import Grouped, Progress, group, model_of
from aggopt.job import Job, Shifting
from aggopt.measure import Assessment
from aggopt.pipeline import measured
from aggopt.solvers import SOLVERS, Solver, choose


@dataclass(frozen=True)
class Row:
    """What one solver made of a job: sums and extremes over its attributes.

    `bound` and `gap` are None where a solver proves nothing.  `note` says why a
    solver that is not here was left out; its figures are then None.
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

    The partition is made once.  `solvers` names some of them; those must be there.
    `time_limit` is in seconds, for each solver and attribute; the job's own, or 60,
    when omitted.  The options of the job's solver are left out.

    Raises
    ------
    JobError
        The job's aggregation is none that a solver solves, or a named solver does
        not take its model.
    SolverError
        A named solver is not installed.
    """
    told = progress or (lambda step, share: None)
    given = group(data, job, told)
    how = given.job.aggregation
    if not isinstance(how, Shifting):
        raise JobError(
            f"Nothing is solved in {how.method!r}: it has a formula.",
            fix='set method = "p3m" under [aggregation].',
        )
    model = model_of(how)
    kinds = (model.NAME, model.CLASS)
    named = [choose(name, *kinds) for name in solvers]
    able = named or [s for s in SOLVERS.values() if s.fits(*kinds)]
    for done, solver in enumerate(able):
        told(solver.name, done / len(able))
        yield _row(given, solver, time_limit)


def _row(given: Grouped, solver: Solver, time_limit: float | None) -> Row:
    if solver.lacks:
        return Row(solver.name, note=f"not installed: {solver.lacks}")
    how = given.job.aggregation
    settings = {**how.settings, **given.asked, "solver": solver.name}
    limit = time_limit or settings["time_limit"] or 60.0
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
    measures = measured(given.X, masked.values, given.asked)
    return _summed(solver.name, masked, measures, seconds)


def _summed(
    name: str, masked: Aggregation, measures: Assessment, seconds: float
) -> Row:
    certificates = masked.certificates
    bounds = [c.bound for c in certificates if c.bound is not None]
    return Row(
        solver=name,
        status=masked.status,
        objective=sum(c.objective for c in certificates),
        bound=sum(bounds) if len(bounds) == len(certificates) else None,
        gap=masked.gap,
        violation=max(c.violation for c in certificates),
        sl=measures.sl,
        si=measures.si,
        seconds=seconds,
    )
