"""From a table and a job to groups: all that comes before aggregation."""

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from aggopt.core.progress import require_progress
from aggopt.core.randomness import require_secret, secret
from aggopt.core.signals import heeded
from aggopt.core.standardise import Scale
from aggopt.core.validation import Floats, Labels, group_size
from aggopt.errors import InfeasibleInputError, JobError, SolverError, TableError
from aggopt.input.confidential import Confidential
from aggopt.input.files import read
from aggopt.input.fingerprint import fingerprint
from aggopt.input.table import Table
from aggopt.input.wishes import require_reach, require_read, resolved
from aggopt.job import Job, Mean, Shifting, Solved, settled
from aggopt.models import MODELS, Model
from aggopt.output.block_names import proven
from aggopt.output.manifest import Source
from aggopt.output.staging import sha256
from aggopt.partition._in_blocks import divided
from aggopt.partition._shared.block import Block, labels_of
from aggopt.partition._shared.result import INTERRUPTED
from aggopt.pipeline.attribute_blocks import (
    Columns,
    blocks_of,
    require_promise,
)
from aggopt.pipeline.guarantees import (
    partitioner,
    repaired,
    require_guarantees,
    with_search,
)
from aggopt.pipeline.guarantees import read as read_confidential
from aggopt.pipeline.infeasibility import forced
from aggopt.solvers import Certificate, Solver, choose
from aggopt.solvers._options import native_options

Progress = Callable[[str, float], None]


@dataclass(frozen=True, eq=False)
class Grouped:
    """A checked table and its partition: what an aggregation starts from.

    `X` (n, d) are the quasi-identifiers, `blocks` those that are partitioned together
    with their groups, `asked` what the records wish, `held` what is confidential,
    `reasons` why the partition's method was chosen where the job leaves that open,
    `secret` what all of the release's secret randomness comes from.
    """

    job: Job
    table: Table
    source: Source
    X: Floats = field(repr=False)
    blocks: tuple[Block, ...]
    asked: dict[str, Floats] = field(repr=False)
    held: tuple[Confidential, ...] = ()
    reasons: tuple[str, ...] = ()
    secret: str = field(default_factory=secret, repr=False)

    @property
    def labels(self) -> Labels:
        """Group of each record: (n,) with one block, (n, d) with several."""
        return labels_of(self.blocks)


def listener(progress: Progress | None) -> Progress:
    """Return the progress callback, or one that does nothing; refuse what is none."""
    require_progress(progress, "the step and the share of it that is done")
    return progress or (lambda step, share: None)


@heeded()
def group(
    data: Any,
    job: Job | str | Path,
    told: Progress,
    *,
    known: str | None = None,
    repair: bool = True,
) -> Grouped:
    """Return the table, checked and partitioned as the job says; raises as `mask`.

    `known` is the secret of a release that is made again; a new one when omitted.
    Without `repair` the groups are those that a repair would be given.
    """
    job, told = _job(job), listener(told)
    own = secret() if known is None else require_secret(known)
    told("read", 0.0)
    table, source = read_table(data, job)
    X = table.matrix()
    k = group_size(job.privacy.k, len(X))
    columns = blocks_of(job, X)
    job, chosen = settled(job, len(X), max(map(len, columns)))
    job, added = with_search(job)
    reasons = (*chosen, *added)
    _require_sense(table, X, job, columns)
    asked = wishes_of(table, X, job)
    held = read_confidential(table, job, job.input.decimal)
    with _interrupts_left_to_mask():
        blocks = divided(
            X,
            k,
            columns,
            partitioner(job, held),
            job.partition.settings,
            partial(told, "group"),
            job.roles.quasi_identifier,
        )
    if job.privacy.repair and repair:
        blocks = (repaired(blocks[0], X, job, held, partial(told, "repair")),)
    if any(block.partition.interrupted for block in blocks):
        raise KeyboardInterrupt
    _require_variance(job, held, blocks)
    told("bound", 0.0)
    require_solved(proven(blocks, job))
    return Grouped(job, table, source, X, blocks, asked, held, reasons, own)


@contextmanager
def _interrupts_left_to_mask() -> Iterator[None]:
    """Keep a search from warning that Ctrl-C ended it: nothing is released of it."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", INTERRUPTED, UserWarning)
        yield


def _job(job: Job | str | Path) -> Job:
    if isinstance(job, str | Path):
        job = Job.read(job)
    if not isinstance(job, Job):
        raise JobError(
            f"A {type(job).__name__} is not a job.",
            fix="pass a Job(...), or the path of a TOML file.",
        )
    return job


def _require_sense(table: Table, X: Floats, job: Job, columns: Columns) -> None:
    """Refuse, before any work, a job that this table cannot be masked by."""
    _require_possible(X, job)
    _require_whole(table, job)
    require_promise(job, columns)
    require_guarantees(job)


def wishes_of(table: Table, X: Floats, job: Job) -> dict[str, Floats]:
    """Return what records X (n, d) ask for, (n, d) each; nothing if nothing shifts."""
    how, columns = job.aggregation, job.roles.wish
    if not isinstance(how, Shifting):
        require_read(columns)
        return {}
    require_read(columns, how.delta, how.importance)
    Z = Scale.of(X).standardise(X)
    delta = resolved(how.delta, table, Z, "delta")
    require_reach(delta, Z, job.privacy.k, table.roles.quasi_identifier)
    return {
        "delta": delta,
        "importance": resolved(how.importance, table, Z, "importance"),
    }


def model_of(how: Solved) -> Model:
    """Return the model of a method that a solver carries out."""
    return MODELS[how.function]


def chosen_solver(how: Solved) -> Solver:
    """Return the solver that a method will use; raises as `choose`."""
    return choose(how.solver, *model_of(how).kinds)


def require_solved(certificates: Mapping[str, Certificate]) -> None:
    """Refuse to go on where a solver found no answer that may be used."""
    failed = {n: c for n, c in certificates.items() if not c.status.usable}
    if failed:
        seen = ", ".join(f"{n!r}: {c.status} ({c.solver})" for n, c in failed.items())
        raise SolverError(
            f"No usable answer was found for {seen}.",
            fix="name another solver in the job, allow it more time, or state other "
            "wishes (delta, alpha, margin); nothing was released.",
        )


def read_table(data: Any, job: Job) -> tuple[Table, Source]:
    """Return the checked table of data or of a file, and what it is."""
    path = Path(data) if isinstance(data, str | Path) else None
    table = Table.of(
        read(path, job.roles, job.input) if path else data,
        job.roles,
    )
    file, digest = (path.name, sha256(path)) if path else (None, None)
    known = fingerprint(table.frame)
    return table, Source(file, digest, *table.frame.shape, known)


def _require_possible(X: Floats, job: Job) -> None:
    """Fail fast: make checks of later steps before long work."""
    if Scale.of(X).constant.all():
        raise TableError(
            "No quasi-identifier varies: there is nothing to mask.",
            fix="name those that vary; where none does, k-anonymity needs no masking.",
        )
    for method in (job.partition, job.aggregation):
        if isinstance(method, Solved):
            native_options(chosen_solver(method), method.time_limit, method.options)
    if _keeps_variance(job) and len(X) < 2 * job.privacy.k:
        raise InfeasibleInputError(
            f"{len(X)} records with k = {job.privacy.k} make one group, and one value "
            "cannot keep the variance.",
            fix="choose k of at most half the records, or aggregate by the mean as it "
            "is.",
        )


def _keeps_variance(job: Job) -> bool:
    return "variance" in job.aggregation.keeps


def _require_variance(
    job: Job, held: tuple[Confidential, ...], blocks: tuple[Block, ...]
) -> None:
    """Refuse one group that t made, where the aggregation is to keep the variance."""
    if not _keeps_variance(job) or blocks[0].groups > 1:
        return
    why = forced(held, job.privacy)
    if why:
        raise InfeasibleInputError(
            f"{why.problem} One value cannot keep the variance.",
            fix=f"{why.fix[:-1]}; or aggregate by the mean as it is.",
        )


def _require_whole(table: Table, job: Job) -> None:
    """Refuse groups that are best for whole numbers where others would be published."""
    if getattr(job.partition, "centroids", "any") != "integer":
        return
    how = job.aggregation
    plain = isinstance(how, Mean) and not how.renormalise
    if not (plain and job.output.round_integers):
        raise JobError(
            'centroids = "integer" asks for groups whose means are to be rounded, and '
            "this job would not round them.",
            fix='set round_integers = true under [output] and method = "mean" under '
            "[aggregation], or leave centroids out.",
        )
    kinds = table.frame.schema
    other = [n for n in job.roles.quasi_identifier if not kinds[n].is_integer()]
    if other:
        raise JobError(
            f'centroids = "integer" is for columns of whole numbers, which '
            f"{', '.join(map(repr, other))} are not by their type.",
            fix="convert them to integers, or leave centroids out.",
        )
