"""From a table and a job to groups: all that comes before aggregation."""

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, cast

from aggopt.core.progress import require_progress
from aggopt.core.randomness import require_secret, secret
from aggopt.core.signals import heeded
from aggopt.core.trust import trusting
from aggopt.encoding import Encoded
from aggopt.errors import JobError, SolverError
from aggopt.input.confidential import Confidential
from aggopt.input.files import read
from aggopt.input.fingerprint import fingerprint
from aggopt.input.table import Table
from aggopt.job import Job
from aggopt.output.block_names import proven
from aggopt.output.manifest import Source
from aggopt.output.staging import sha256
from aggopt.partition._in_blocks import partition_blocks, select_attributes
from aggopt.partition._shared.result import INTERRUPTED, Block
from aggopt.pipeline.attribute_blocks import Columns, blocks_of
from aggopt.pipeline.before_work import before_work, require_variance
from aggopt.pipeline.completed_job import completed
from aggopt.pipeline.earlier_groups import parted, with_earlier_groups
from aggopt.pipeline.fill import by_policy
from aggopt.pipeline.grouped import Blocks, Grouped
from aggopt.pipeline.guarantees import (
    partitioner,
    repaired,
)
from aggopt.pipeline.guarantees import read as read_confidential
from aggopt.pipeline.later_wave import later_wave, require_wave, with_places
from aggopt.pipeline.own_model_words import remedy
from aggopt.pipeline.parts import How, OnProgress
from aggopt.pipeline.prepared import PreparedTable, prepared
from aggopt.pipeline.sampling_weights import by_weight, of_weights
from aggopt.pipeline.strata import repaired_within, require_kept, within_strata
from aggopt.pipeline.units import of_units
from aggopt.pipeline.wishes import wishes_of
from aggopt.solvers import Certificate

Progress = Callable[[str, float], None]


def progress_or_noop(progress: Progress | None) -> Progress:
    """Return the progress callback, or one that does nothing; refuse what is none."""
    require_progress(progress, "the step and the share of it that is done")
    return progress or (lambda step, share: None)


@heeded()
def group(
    data: Any,
    job: Job | str | Path,
    on_progress: Progress | None,
    *,
    known: str | None = None,
    repair: bool = True,
    made: Blocks | None = None,
) -> Grouped:
    """Return the table, checked and partitioned as the job says; raises as `mask`.

    `known` is the secret of a release that is made again; a new one when omitted.
    Without `repair` the groups are those that a repair would be given.  `made` are
    groups of the same table that another job made with the same sections but for
    [aggregation] and [output]: nothing is partitioned then, all else is checked.
    """
    job, on_progress = job_of(job).contained(), progress_or_noop(on_progress)
    require_memory(job)
    _require_one_kind(job)
    own = secret() if known is None else require_secret(known)
    on_progress("read", 0.0)
    table, source = read_table(data, job)
    table, wave = later_wave(table, job)
    given = prepared(table, job)
    columns = blocks_of(job, given.records)
    job, reasons = completed(job, given, columns)
    table, whole, strata, units = given.table, given.whole, given.strata, given.units
    for check in before_work(table, whole, job, columns, strata, units):
        check()
    asked = wishes_of(table, whole, job)
    held = _held(given, job)
    if made is None:
        require_kept(held, strata, repair)
        job = with_earlier_groups(job, table, strata, units)
        if wave is not None:
            on_progress("group", 0.0)
            job, wave = with_places(job, wave, given)
        reasons = (*reasons, *parted(job, strata))
        made = _made(given, columns, job, held, on_progress, repair=repair)
    blocks, kept = made
    if wave is not None:
        require_wave(wave, blocks, job, strata, units)
    require_variance(job, held, blocks)
    on_progress("bound", 0.0)
    require_solved(proven(blocks, job))
    found = job, table, source, whole, given.records, blocks, asked, held, reasons
    return Grouped(*found, own, kept, strata, units, given.sampling, wave)


def _held(given: PreparedTable, job: Job) -> tuple[Confidential, ...]:
    """Return what groups are required to keep of each confidential attribute."""
    return (
        *read_confidential(given.table, job, job.input.decimal),
        *of_units(job, given.units),
        *of_weights(job, given.sampling),
    )


def _made(
    given: PreparedTable,
    columns: Columns,
    job: Job,
    held: tuple[Confidential, ...],
    on_progress: Progress,
    *,
    repair: bool,
) -> Blocks:
    """Return the groups of records as the job says, repaired if it asks for that."""
    of_weights = by_weight(job, given.weights, apart=given.apart)
    settings = {**job.partition.settings, **of_weights}
    how = partitioner(job, held), settings, partial(on_progress, "group")
    mended = partial(on_progress, "repair") if job.privacy.repair and repair else None
    with _interrupts_left_to_mask():
        made = _by_policy(given, columns, how, job, held, mended)
    if any(block.partition.interrupted for block in made.blocks):
        raise KeyboardInterrupt
    return made


def _by_policy(
    given: PreparedTable,
    columns: Columns,
    how: How,
    job: Job,
    held: tuple[Confidential, ...],
    mended: OnProgress | None,
) -> Blocks:
    """Return the groups of records, by the policy of the job if some have holes."""
    strata, names = given.strata, job.roles.quasi_identifier
    if given.holes is not None:
        asked = columns, how, job, held, mended, strata, given.weights
        members = given.units
        units = members.of if members and members.records is None else None
        return Blocks(*by_policy(given.holes, *asked, units=units))
    blocks: tuple[Block, ...]
    if strata is not None:
        whole = cast(Encoded, given.records)  # as of any table with strata
        k, jobs = job.privacy.k, job.strata.jobs
        blocks = within_strata(whole, strata, columns, k, how, names, jobs)
    else:
        blocks = partition_blocks(given.records, job.privacy.k, columns, *how, names)
    if mended:
        blocks = _repaired(blocks, given, job, held, mended)
    return Blocks(blocks, None)


def _repaired(
    blocks: Sequence[Block],
    given: PreparedTable,
    job: Job,
    held: tuple[Confidential, ...],
    on_progress: OnProgress,
) -> tuple[Block, ...]:
    """Return each block with groups that satisfy what the job requires."""
    records, strata, weights = given.records, given.strata, given.weights
    made = []
    for block in blocks:
        own = records if len(blocks) == 1 else select_attributes(records, block.columns)
        if strata is None:
            made.append(repaired(block, own, job, held, on_progress, weights=weights))
            continue
        asked = strata, job, held, on_progress, weights
        made.append(repaired_within(block, cast(Encoded, own), *asked))
    return tuple(made)


def _require_one_kind(job: Job) -> None:
    """Refuse attributes of units beside those of records: `mask` takes them apart."""
    if job.units.apart(job.roles):
        raise JobError(
            "Some quasi-identifiers are of units, and others of records: such a job is "
            "for aggopt mask, aggopt check, and what looks at releases.",
            fix="name those of one kind alone, and drop the others, as identifier.",
        )


@contextmanager
def _interrupts_left_to_mask() -> Iterator[None]:
    """Keep a search from warning that Ctrl-C ended it: nothing is released of it."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", INTERRUPTED)
        yield


def job_of(job: Job | str | Path, trust: Iterable[str | Path] = ()) -> Job:
    """Return the job, read if it is a file, with the code that it names loaded.

    `trust` are the files of code that may be run.
    """
    if isinstance(job, str | Path):
        job = Job.read(job)
    if not isinstance(job, Job):
        raise JobError(
            f"A {type(job).__name__} is not a job.",
            fix="pass a Job(...), or the path of a TOML file.",
        )
    with trusting(trust):
        return job.loaded()


def require_memory(job: Job) -> None:
    """Refuse a job whose [engine] is for folders: a table is at hand.

    Raises
    ------
    JobError
        The way to a folder is in it.
    """
    if job.engine.name != "memory":
        raise JobError(
            f"[engine] name = {job.engine.name!r} masks a folder into another, and a "
            "table is to be masked.",
            fix='name the folder to write, out = "masked"; or leave [engine] out.',
        )


def require_solved(certificates: Mapping[str, Certificate]) -> None:
    """Refuse to go on where a solver found no answer that may be used."""
    failed = {n: c for n, c in certificates.items() if not c.status.usable}
    if failed:
        seen = ", ".join(f"{n!r}: {c.status} ({c.solver})" for n, c in failed.items())
        raise SolverError(
            f"No usable answer was found for {seen}.",
            fix=f"{remedy(failed.values())}; nothing was released.",
        )


def read_table(data: Any, job: Job) -> tuple[Table, Source]:
    """Return the checked table of data or of a file, and what it is."""
    path = Path(data) if isinstance(data, str | Path) else None
    found = read(path, job.roles, job.input, job.attributes) if path else data
    table = Table.of(found, job.roles, job.attributes, missing=job.missing)
    file, digest = (path.name, sha256(path)) if path else (None, None)
    known = fingerprint(table.frame)
    return table, Source(file, digest, *table.frame.shape, known)
