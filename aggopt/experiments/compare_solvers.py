"""Comparison of solvers on one program: objective, bound, gap and time."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np

from aggopt.aggregate import AGGREGATORS
from aggopt.aggregate.own._section import ByModel
from aggopt.core.compile_time import compile_time
from aggopt.core.own_code import seen_from
from aggopt.core.trust import trusting
from aggopt.core.validation import Floats
from aggopt.errors import InfeasibleInputError, JobError, SolverError, TableError
from aggopt.job import Job, Recommended, Shifting, Solved
from aggopt.models import MODELS, Model
from aggopt.partition import univariate
from aggopt.partition._in_blocks import divided
from aggopt.partition._registry import PARTITIONERS, initial_methods
from aggopt.pipeline.aggregate_step import aggregated, categories, placed
from aggopt.pipeline.audit_values import audit_of
from aggopt.pipeline.before_work import model_of
from aggopt.pipeline.grouped import Grouped
from aggopt.pipeline.guarantees import repaired
from aggopt.pipeline.margins import program
from aggopt.pipeline.measured import AT_ONCE, measured
from aggopt.pipeline.observed import combined
from aggopt.pipeline.partition_step import Progress, group, job_of, listener
from aggopt.pipeline.rounding import released
from aggopt.repair._registry import REPAIRS
from aggopt.solvers import Solver, choose
from aggopt.solvers._certificate import endings, largest_gap, total_bound
from aggopt.solvers._choose import able_for
from aggopt.solvers._options import check_time_limit

Share = Callable[[float], None]

DEFAULT = 60.0  # seconds for a solver and an attribute by default


@dataclass(frozen=True)
class Row:
    """Result of one solver on a job: sums and extremes over its attributes.

    `bound` and `gap` are None where nothing is proven.  `sl`, `si` and `holds`,
    whether the audit of these values finds all that the job promises, are None where
    no values are made: for groups of one attribute at a time.  `note` is the reason
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

    One that the job names and the table has not, such as yours, comes first.

    Compared is the last step of the job that a solver carries out: its aggregation, on
    one and the same partition; or its repair, of the same groups; or its partition, as
    it is before any repair.  `solvers` names some of them; those must be there.
    `time_limit` is in seconds, for each solver and attribute; the job's own, or 60,
    when omitted.  The options of the job's solver are left out.  The secret margins of
    wishes are drawn once: the rows of one call are of one program.  `trust` is as for
    `mask`.

    Raises
    ------
    JobError
        `time_limit` is no number above 0.  Nothing in the job is for a solver to
        solve, or a named solver does not take its model.
    SolverError
        A named solver is not installed.
    """
    check_time_limit(time_limit)
    report = listener(progress)
    folder = None if isinstance(job, Job) else Path(job).parent
    job = data_job = job_of(job, trust)
    if isinstance(job.partition, Recommended):  # the table decides
        job = data_job = group(data, job, report).job
    step = _solved_by(job)
    if step.row is _divided:  # which each solver does anew
        first = PARTITIONERS[initial_methods()[0]]
        asked = {"method": first.name, "attributes": job.partition.attributes}
        quick = first.settings.model_validate(asked)
        data_job = job.model_copy(update={"partition": quick})
    given = group(data, data_job, report, repair=step.row is not _repaired)
    if given.kept is not None and step.row not in (_aggregated, _categorised):
        raise JobError(
            "Solvers are compared on partitions and repairs of complete tables, and "
            "values are missing.",
            fix='compare them on an aggregation, method = "p3m"; or remove the records '
            "that miss a value.",
        )
    if data_job is not job:
        own = given.job.model_copy(update={"partition": job.partition})
        given = replace(given, job=own)  # which says how categories are published
    with trusting(trust):
        seen = (name if folder is None else seen_from(folder, name) for name in solvers)
        named = [choose(name, *step.kinds, language=step.language) for name in seen]
        able = named or step.able
    for done, solver in enumerate(able):
        report(solver.name, done / len(able))
        if solver.lacks:
            yield Row(solver.name, note=f"not installed: {solver.lacks}")
        else:
            told = partial(_part, report, solver.name, done, len(able))
            limit = _first(time_limit, step.limit)
            yield step.row(given, solver, limit, told)


def _part(report: Progress, name: str, done: int, of: int, share: float) -> None:
    """Report a share of one solver's work as one of the work of all."""
    report(name, (done + share) / of)


def _first(asked: float | None, of_job: float | None) -> float:
    """Return the requested limit, else the job's, else the default."""
    limits = (limit for limit in (asked, of_job) if limit is not None)
    return next(limits, DEFAULT)


class _Step(NamedTuple):
    """The step of a job that a solver carries out: model, time limit, row, section.

    Of a model of the user's `own` is the class of its programs, and `language` what it
    is declared in.
    """

    model: Model
    limit: float | None
    row: Callable[[Grouped, Solver, float, Share], Row]
    section: Any
    own: str = ""
    language: tuple[str, ...] | None = None

    @property
    def kinds(self) -> tuple[str, str]:
        """By what a solver may say that it takes the model."""
        return (self.model.name, self.own or self.model.kind)

    @property
    def able(self) -> list[Solver]:
        """The solvers that take it, the job's own first if the table has it not."""
        able = able_for(*self.kinds, language=self.language)
        named = getattr(self.section, "solver", None)
        known = [name for s in able for name in (s.name, s.name.partition(":")[2])]
        if named is None or named in known:
            return able
        own = choose(named, *self.kinds, language=self.language)
        return able if own.name in known else [own, *able]


def _solved_by(job: Job) -> _Step:
    """Return the last step of a job that a solver carries out."""
    of_categories = job.aggregation.categories
    if isinstance(of_categories, Solved):
        limit = of_categories.time_limit
        return _Step(model_of(of_categories), limit, _categorised, of_categories)
    how = job.aggregation
    if isinstance(how, ByModel):
        own = how.program
        kind = own.kind_with(how.arguments)
        return _Step(own, how.time_limit, _aggregated, how, kind, own.languages)
    if isinstance(how, Shifting):
        if len(how.programs) > 1:
            raise JobError(
                f"keep asks for {len(how.programs)} kinds of programs, and no solver "
                "is compared on two.",
                fix='set keep = "variance" or keep = "covariance" to compare solvers.',
            )
        return _Step(model_of(how), how.time_limit, _aggregated, how)
    repair = job.privacy.repair
    method = REPAIRS.of(repair) if repair else None
    named = repair is not None and repair.solver is not None
    if repair and method and method.model and (named or method.asks_solver):
        return _Step(MODELS[method.model], repair.time_limit, _repaired, repair)
    if isinstance(job.partition, Solved):
        split = job.partition
        return _Step(model_of(split), split.time_limit, _partitioned, split)
    if model := PARTITIONERS.of(job.partition).model:
        limit = job.partition.settings["time_limit"]
        return _Step(MODELS[model], limit, _divided, job.partition)
    raise JobError(
        f"No solver is asked in {job.partition.method!r} and "
        f"{job.aggregation.method!r}, nor in a repair: they have methods of their own.",
        fix='set method = "p3m" under [aggregation], or "frequencies" under '
        '[aggregation.categories]; or "optimal", "univariate" or '
        '"individual_ranking" under [partition]; or repair = "merge-ilp" under '
        "[privacy].",
    )


def _passed(solver: Solver) -> Any:
    """Return what stands for a solver among settings: code of the user's, or a name."""
    return solver if solver.origin else solver.name


def _aggregated(given: Grouped, solver: Solver, limit: float, told: Share) -> Row:
    how = cast(Solved, given.job.aggregation)  # as was looked at before
    named = _passed(solver)
    settings = {**how.settings, **program(given), "solver": named, "options": {}}
    settings |= {"time_limit": limit if solver.limited else None, "progress": told}
    if solver.is_global:
        for of_local in ("start", "starts", "seed"):
            settings.pop(of_local, None)
    if isinstance(how, Shifting):
        few, groups = np.arange(9.0)[:, None] ** 2, np.arange(9) // 3
        combine, (kind,) = AGGREGATORS[how.method].function, how.kinds
        combine(few, groups, solver=named, keep=kind)  # compiles: not timed
    started = compile_time.now()
    masked = combined(given, settings)
    seconds = compile_time.now() - started
    tried = released(given, placed(given, masked, categories(given, _ignored)).values)
    found = measured(given.table, tried, given.asked, whole=AT_ONCE)
    row = _summed(solver.name, masked.certificates, seconds)
    usable = all(c.status.usable for c in masked.certificates)
    holds = audit_of(given, tried).holds if usable else None
    return replace(row, sl=found.sl, si=found.si, holds=holds)


def _categorised(given: Grouped, solver: Solver, limit: float, told: Share) -> Row:
    """Return a solver's row for the categories of the same groups."""
    how = given.job.aggregation
    asked = {"solver": _passed(solver), "time_limit": limit, "options": {}}
    own = how.categories.model_copy(update=asked)  # type: ignore[union-attr]
    update = {"aggregation": how.model_copy(update={"categories": own})}
    given = replace(given, job=given.job.model_copy(update=update))

    def heard(step: str, share: float) -> None:
        if step == "categories":  # numbers are published by the job's own method
            told(share)

    try:
        masked = aggregated(given, heard)
    except InfeasibleInputError as refusal:
        return Row(solver.name, note=refusal.problem)
    named = [masked.certificates[name] for name in given.table.domains]
    proofs = list({id(c): c for c in named}.values())  # one of what goes together
    row = _summed(solver.name, proofs, sum(c.seconds for c in proofs))
    if not all(c.status.usable for c in proofs):
        return row
    return _measured(given, row, masked.values)


def _partitioned(given: Grouped, solver: Solver, limit: float, told: Share) -> Row:
    how, names = given.job.partition, given.job.roles.quasi_identifier
    settings = {**how.settings, "solver": _passed(solver), "options": {}}
    settings["time_limit"] = limit if solver.language else None
    univariate(np.arange(9.0), 3, solver=_passed(solver))  # loads, compiles: not timed
    columns = [block.columns for block in given.blocks]
    k, started = given.job.privacy.k, compile_time.now()
    try:
        blocks = divided(given.X, k, columns, how.function, settings, told, names)
    except (SolverError, TableError, InfeasibleInputError) as refusal:
        return Row(solver.name, note=refusal.problem)
    seconds = compile_time.now() - started
    return _summed(solver.name, [b.certificate for b in blocks], seconds)


def _divided(given: Grouped, solver: Solver, limit: float, told: Share) -> Row:
    """Return a solver's row for a partition of several attributes together."""
    job, names = given.job, given.job.roles.quasi_identifier
    divide = PARTITIONERS.of(job.partition).function
    settings = {
        **job.partition.settings,
        "solver": _passed(solver),
        "time_limit": limit,
    }
    columns = [block.columns for block in given.blocks]
    try:
        k = job.privacy.k
        found = divided(given.records, k, columns, divide, settings, told, names)
    except (SolverError, TableError, InfeasibleInputError) as refusal:
        return Row(solver.name, note=refusal.problem)
    return _valued(replace(given, blocks=found), solver)


def _repaired(given: Grouped, solver: Solver, limit: float, told: Share) -> Row:
    """Return a solver's row for a repair of the same groups."""
    privacy = given.job.privacy
    asked = {"solver": _passed(solver), "time_limit": limit}
    how = privacy.repair.model_copy(update=asked)  # type: ignore[union-attr]
    update = {"privacy": privacy.model_copy(update={"repair": how})}
    job = given.job.model_copy(update=update)
    try:
        block = repaired(given.blocks[0], given.records, job, given.held, told)
    except (SolverError, TableError, InfeasibleInputError) as refusal:
        return Row(solver.name, note=refusal.problem)
    return _valued(replace(given, blocks=(block,)), solver)


def _ignored(*_: object) -> None:
    """Do nothing: what is left is quick."""


def _valued(given: Grouped, solver: Solver) -> Row:
    """Return the row of a partition, with the measures and the audit of its values."""
    proofs = [block.certificate for block in given.blocks]
    row = _summed(solver.name, proofs, sum(c.seconds for c in proofs))
    try:
        return _measured(given, row, aggregated(given, _ignored).values)
    except InfeasibleInputError as refusal:
        return replace(row, note=refusal.problem)


def _measured(given: Grouped, row: Row, values: Floats) -> Row:
    """Return a row with the measures and the audit of values (n, d)."""
    tried = released(given, values)
    found = measured(given.table, tried, given.asked, whole=AT_ONCE)
    return replace(row, sl=found.sl, si=found.si, holds=audit_of(given, tried).holds)


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
