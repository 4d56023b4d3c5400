"""Read, check and partition the table of a job: all steps before aggregation."""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, cast

from aggopt.core.deferred_signals import reraise_interrupts
from aggopt.core.randomness import make_secret, require_secret
from aggopt.data.context.confidential import Confidential
from aggopt.encoding import Encoded
from aggopt.job import Job
from aggopt.partition._in_blocks import partition_blocks, select_block
from aggopt.partition.shared.result import INTERRUPTED, Block
from aggopt.pipeline.partition.methods import (
    make_partitioner,
    repair_block,
    weight_arguments,
)
from aggopt.pipeline.partition.missing_imputed import partition_incomplete
from aggopt.pipeline.partition.partitioned_table import PartitionedTable, Partitions
from aggopt.pipeline.partition.requirements import (
    group_requirements,
)
from aggopt.pipeline.partition.requirements import (
    read_confidential as read_confidential,
)
from aggopt.pipeline.partition.strata import (
    partition_within_strata,
    repair_within_strata,
)
from aggopt.pipeline.partition.subsets import OnProgress, SubsetPartitioner
from aggopt.pipeline.prepare.attribute_blocks import Columns, find_blocks
from aggopt.pipeline.prepare.defaults import with_defaults
from aggopt.pipeline.prepare.inputs import (
    Progress,
    load_job,
    progress_or_noop,
    read_table,
)
from aggopt.pipeline.prepare.memory_check import (
    require_memory_to_group,
)
from aggopt.pipeline.prepare.prepared_table import PreparedTable, prepare_table
from aggopt.pipeline.prepare.record_requests import read_requests
from aggopt.pipeline.validate.categories import require_category_settings
from aggopt.pipeline.validate.distance_requests import require_all_read
from aggopt.pipeline.validate.preflight_checks import (
    preflight_checks,
    require_memory_engine,
    require_variance,
)
from aggopt.pipeline.validate.solver_answers import require_solved
from aggopt.pipeline.validate.strata import require_kept
from aggopt.pipeline.validate.units import require_one_kind
from aggopt.pipeline.waves.earlier_groups import (
    add_earlier_groups,
    note_on_split_groups,
)
from aggopt.pipeline.waves.later_wave import (
    count_group_changes,
    place_new_records,
    read_later_wave,
    suggest_wave_remedy,
)
from aggopt.release.block_names import partition_certificates


@reraise_interrupts()
def partition_table(
    data: Any,
    job: Job | str | Path,
    on_progress: Progress | None,
    *,
    known: str | None = None,
    repair: bool = True,
    made: Partitions | None = None,
) -> PartitionedTable:
    """Return the table, checked and partitioned by the job; raises as `mask`.

    `known` is the secret of a release to repeat; a new one when omitted.  Without
    `repair`, return the groups before any repair.  `made` are groups of an equal table,
    made by a job with equal sections except [aggregation] and [output].  They are used
    without partitioning, and all other checks are made.
    """
    job, on_progress = load_job(job).contained(), progress_or_noop(on_progress)
    require_memory_engine(job)
    require_one_kind(job)
    own = make_secret() if known is None else require_secret(known)
    on_progress("read", 0.0)
    table, source = read_table(data, job)
    records, wave = read_later_wave(table, job)
    given = prepare_table(records, job)
    columns = find_blocks(job, given.records)
    job, reasons = with_defaults(job, given, columns)
    require_category_settings(job, given.table)
    n, coordinates = given.records.shape
    require_memory_to_group(n, coordinates, job)
    table, whole, strata, units = given.table, given.whole, given.strata, given.units
    for check in preflight_checks(table, whole, job, columns, strata, units):
        check()
    asked = read_requests(table, whole, job)
    require_all_read(job)
    held = group_requirements(given, job)
    if made is None:
        require_kept(held, strata, repair)
        job = add_earlier_groups(job, table, strata, units)
        if wave is not None:
            on_progress("group", 0.0)
            job, wave = place_new_records(job, wave, given)
        reasons = (*reasons, *note_on_split_groups(job, strata))
        made = _make_groups(given, columns, job, held, on_progress, repair=repair)
    blocks, kept = made
    if wave is not None:
        changes = count_group_changes(wave, blocks, strata, units)
        if not changes.holds:
            changes.require(suggest_wave_remedy(records, job, wave.wave))
    require_variance(job, held, blocks)
    on_progress("bound", 0.0)
    require_solved(partition_certificates(blocks, job))
    found = job, table, source, whole, given.records, blocks, asked, held, reasons
    return PartitionedTable(*found, own, kept, strata, units, given.sampling, wave)


def _make_groups(
    given: PreparedTable,
    columns: Columns,
    job: Job,
    held: tuple[Confidential, ...],
    on_progress: Progress,
    *,
    repair: bool,
) -> Partitions:
    """Return the groups of records by the job's method, with its repair, if any."""
    of_weights = weight_arguments(job, given.weights, apart=given.apart)
    settings = {**job.partition.settings, **of_weights}
    how = make_partitioner(job, held), settings, partial(on_progress, "group")
    mended = partial(on_progress, "repair") if job.privacy.repair and repair else None
    with _leave_interrupts_to_mask():
        made = _by_policy(given, columns, how, job, held, mended)
    if any(block.partition.interrupted for block in made.blocks):
        raise KeyboardInterrupt
    return made


def _by_policy(
    given: PreparedTable,
    columns: Columns,
    how: SubsetPartitioner,
    job: Job,
    held: tuple[Confidential, ...],
    mended: OnProgress | None,
) -> Partitions:
    """Return the groups of records, by the policy of the job if some have holes."""
    strata, names = given.strata, job.roles.quasi_identifier
    if given.holes is not None:
        asked = columns, how, job, held, mended, strata, given.weights
        members = given.units
        units = members.of if members and members.records is None else None
        return Partitions(*partition_incomplete(given.holes, *asked, units=units))
    blocks: tuple[Block, ...]
    if strata is not None:
        whole = cast(Encoded, given.records)  # as of any table with strata
        k, jobs = job.privacy.k, job.strata.jobs
        blocks = partition_within_strata(whole, strata, columns, k, how, names, jobs)
    else:
        blocks = partition_blocks(given.records, job.privacy.k, columns, *how, names)
    if mended:
        blocks = _repair_blocks(blocks, given, job, held, mended)
    return Partitions(blocks, None)


def _repair_blocks(
    blocks: Sequence[Block],
    given: PreparedTable,
    job: Job,
    held: tuple[Confidential, ...],
    on_progress: OnProgress,
) -> tuple[Block, ...]:
    """Return each block with groups that satisfy the job's requirements."""
    records, strata, weights = given.records, given.strata, given.weights
    made = []
    for block in blocks:
        own = records if len(blocks) == 1 else select_block(records, block.columns)
        if strata is None:
            made.append(
                repair_block(block, own, job, held, on_progress, weights=weights)
            )
            continue
        asked = strata, job, held, on_progress, weights
        made.append(repair_within_strata(block, cast(Encoded, own), *asked))
    return tuple(made)


@contextmanager
def _leave_interrupts_to_mask() -> Iterator[None]:
    """Keep a search from warning that Ctrl-C ended it: nothing is released of it."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", INTERRUPTED)
        yield
