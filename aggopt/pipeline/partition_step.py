"""From a table and a job to groups: all that comes before aggregation."""

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from aggopt.core.progress import require_progress
from aggopt.core.randomness import require_secret, secret
from aggopt.core.signals import heeded
from aggopt.core.standardise import Scale
from aggopt.core.validation import Floats, group_size
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
from aggopt.partition._shared.block import Block
from aggopt.partition._shared.result import INTERRUPTED
from aggopt.pipeline.attribute_blocks import (
    Columns,
    blocks_of,
    require_promise,
)
from aggopt.pipeline.category_job import (
    most_distinct,
    require_numbers,
    require_together,
    widest,
    wishes_of_categories,
    wishes_stated,
    with_categories,
)
from aggopt.pipeline.covariance import require_covariance
from aggopt.pipeline.fill import by_policy
from aggopt.pipeline.grouped import Grouped, constant_in
from aggopt.pipeline.guarantees import (
    partitioner,
    repaired,
    require_guarantees,
    with_search,
)
from aggopt.pipeline.guarantees import read as read_confidential
from aggopt.pipeline.holes import require_observed, with_means
from aggopt.pipeline.infeasibility import forced
from aggopt.pipeline.observed import require_alone
from aggopt.pipeline.weights import require_weights
from aggopt.solvers import Certificate, Solver, choose
from aggopt.solvers._options import native_options

Progress = Callable[[str, float], None]


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
    job, told = job_of(job).contained(), listener(told)
    own = secret() if known is None else require_secret(known)
    told("read", 0.0)
    table, source = read_table(data, job)
    whole = table.matrix()
    k = group_size(job.privacy.k, len(whole))
    encoded = table.encoded(job.partition.weights)
    holes = encoded if np.isnan(whole).any() else None
    records = whole if encoded is None else encoded
    if holes is not None:
        records = with_means(holes)
    columns = blocks_of(job, records)
    differing = partial(most_distinct, records, columns)
    job, chosen = settled(job, len(whole), widest(records, columns), differing)
    job, added = with_search(with_categories(job, table))
    reasons = (*chosen, *added, *(() if encoded is None else encoded.notes))
    _require_sense(table, whole, job, columns)
    asked = wishes_of(table, whole, job)
    held = read_confidential(table, job, job.input.decimal)
    how = partitioner(job, held), job.partition.settings, partial(told, "group")
    names, kept = job.roles.quasi_identifier, None
    mended = partial(told, "repair") if job.privacy.repair and repair else None
    with _interrupts_left_to_mask():
        if holes is None:
            blocks = divided(records, k, columns, *how, names)
        else:
            blocks, kept = by_policy(holes, columns, how, job, held, mended)
    if mended and kept is None:
        blocks = (repaired(blocks[0], records, job, held, mended),)
    if any(block.partition.interrupted for block in blocks):
        raise KeyboardInterrupt
    _require_variance(job, held, blocks)
    told("bound", 0.0)
    require_solved(proven(blocks, job))
    return Grouped(
        job, table, source, whole, records, blocks, asked, held, reasons, own, kept
    )


@contextmanager
def _interrupts_left_to_mask() -> Iterator[None]:
    """Keep a search from warning that Ctrl-C ended it: nothing is released of it."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", INTERRUPTED, UserWarning)
        yield


def job_of(job: Job | str | Path) -> Job:
    """Return the job, read if it is a file."""
    if isinstance(job, str | Path):
        job = Job.read(job)
    if not isinstance(job, Job):
        raise JobError(
            f"A {type(job).__name__} is not a job.",
            fix="pass a Job(...), or the path of a TOML file.",
        )
    return job


def _require_sense(table: Table, whole: Floats, job: Job, columns: Columns) -> None:
    """Refuse, before any work, a job that this table cannot be masked by."""
    require_observed(table, whole, job)
    require_alone(job, table, whole, columns)
    _require_possible(table, whole, job)
    _require_whole(table, job)
    require_promise(job, columns)
    require_numbers(job, table, columns)
    require_together(job, table, columns)
    require_weights(job, table, columns)
    require_guarantees(job)
    at = {place: j for j, place in enumerate(table.places)}
    own = (tuple(at[place] for place in block if place in at) for block in columns)
    require_covariance(table, whole[:, table.places], tuple(filter(None, own)), job)


def wishes_of(table: Table, whole: Floats, job: Job) -> dict[str, Floats]:
    """Return what records (n, d) ask for of each number, (n, p) each.

    Nothing if nothing shifts; 0 of what is missing.
    """
    how, columns = job.aggregation, job.roles.wish
    beside = wishes_stated(job)
    wishes_of_categories(job, table)
    if not isinstance(how, Shifting):
        require_read(columns, *beside)
        return {}
    require_read(columns, how.delta, how.importance, *beside)
    X = whole[:, table.places]
    there = ~np.isnan(X)
    Z = np.where(there, Scale.of(X).standardise(X), 0.0)
    delta = np.where(there, resolved(how.delta, table, Z, "delta"), 0.0)
    require_reach(delta, Z, job.privacy.k, table.numeric)
    importance = resolved(how.importance, table, Z, "importance")
    return {"delta": delta, "importance": np.where(there, importance, 0.0)}


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
    found = read(path, job.roles, job.input, job.attributes) if path else data
    table = Table.of(found, job.roles, job.attributes, missing=job.missing)
    file, digest = (path.name, sha256(path)) if path else (None, None)
    known = fingerprint(table.frame)
    return table, Source(file, digest, *table.frame.shape, known)


def _require_possible(table: Table, whole: Floats, job: Job) -> None:
    """Fail fast: make checks of later steps before long work."""
    if constant_in(table, whole).all():
        raise TableError(
            "No quasi-identifier varies: there is nothing to mask.",
            fix="name those that vary; where none does, k-anonymity needs no masking.",
        )
    how = job.aggregation
    for method in (job.partition, *how.programs, how.categories):
        if isinstance(method, Solved):
            native_options(chosen_solver(method), method.time_limit, method.options)
    if _keeps_variance(job) and len(whole) < 2 * job.privacy.k:
        raise InfeasibleInputError(
            f"{len(whole)} records with k = {job.privacy.k} make one group, and one "
            "value cannot keep the variance.",
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
    plain = isinstance(how, Mean) and how.keep == "mean"
    if not (plain and job.output.round_integers):
        raise JobError(
            'centroids = "integer" asks for groups whose means are to be rounded, and '
            "this job would not round them.",
            fix='set round_integers = true under [output] and method = "mean" under '
            "[aggregation], or leave centroids out.",
        )
    kinds, names = table.frame.schema, job.roles.quasi_identifier
    other = [n for n in names if n in table.domains or not kinds[n].is_integer()]
    if other:
        raise JobError(
            f'centroids = "integer" is for columns of whole numbers, which '
            f"{', '.join(map(repr, other))} are not by their type.",
            fix="convert them to integers, or leave centroids out.",
        )
