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
from aggopt.partition.block_partition import partition_blocks, select_block
from aggopt.partition.shared.result import INTERRUPTED, Block
from aggopt.pipeline.partition.key_tables import (
    add_key_block,
    find_present,
    select_grouped,
)
from aggopt.pipeline.partition.merged_groups import (
    MergeableGroups,
    is_mergeable,
    keep_average_risk,
)
from aggopt.pipeline.partition.methods import (
    list_group_requirements,
    make_partitioner,
    make_requirement_arguments,
    make_weight_arguments,
    repair_block,
)
from aggopt.pipeline.partition.methods import read_confidential as read_confidential
from aggopt.pipeline.partition.missing_values import partition_incomplete
from aggopt.pipeline.partition.partitioned_table import PartitionedTable, Partitions
from aggopt.pipeline.partition.subsets import (
    OnProgress,
    SubsetPartitioner,
    partition_within_strata,
    repair_within_strata,
)
from aggopt.pipeline.prepare.defaults import add_defaults
from aggopt.pipeline.prepare.inputs import Progress, load_job, read_progress, read_table
from aggopt.pipeline.prepare.job_settings import Columns, find_blocks
from aggopt.pipeline.prepare.memory_check import require_memory_to_group
from aggopt.pipeline.prepare.prepared_table import PreparedTable, prepare_table
from aggopt.pipeline.prepare.record_requests import read_requests
from aggopt.pipeline.validate import preflight_checks
from aggopt.pipeline.validate.categories import (
    require_category_settings,
    require_keys_of_categories,
)
from aggopt.pipeline.validate.distance_requests import require_all_read
from aggopt.pipeline.validate.solver_answers import require_solved
from aggopt.pipeline.validate.strata import require_satisfiable_strata
from aggopt.pipeline.validate.units import require_one_kind
from aggopt.pipeline.waves import later_wave
from aggopt.pipeline.waves.earlier_groups import (
    add_earlier_groups,
    describe_split_groups,
)
from aggopt.release.manifest import partition_certificates
from aggopt.solvers import Status


@reraise_interrupts()
def partition_table(
    data: Any,
    job: Job | str | Path,
    on_progress: Progress | None,
    *,
    secret: str | None = None,
    repair: bool = True,
    groups: Partitions | None = None,
) -> PartitionedTable:
    """Return the table of a job, checked and partitioned.

    `secret` is that of a release to repeat; a new one when omitted.  Without
    `repair`, return the groups before any repair.  `groups` are groups of an equal
    table, made by a job with equal sections except [aggregation] and [output].  They
    are used without partitioning, and all other checks are made.
    """
    job = load_job(job).load_contents()
    on_progress = read_progress(on_progress)
    preflight_checks.require_memory_engine(job)
    require_one_kind(job)
    secret = make_secret() if secret is None else require_secret(secret)
    on_progress("read", 0.0)
    table, source = read_table(data, job)
    records, wave = later_wave.read_later_wave(table, job)
    prepared = prepare_table(records, job)
    columns = find_blocks(job, prepared.records)
    section = job.partition
    grouped = select_grouped(columns, job)
    job, reasons = add_defaults(job, prepared, grouped or columns)
    _run_checks(prepared, columns, job)
    table = prepared.table
    strata = prepared.strata
    requests = read_requests(table, prepared.whole, job)
    require_all_read(job)
    confidential = list_group_requirements(prepared, job)
    if groups is None:
        require_satisfiable_strata(confidential, strata, repair)
        job = add_earlier_groups(job, table, strata, prepared.units)
        if wave is not None:
            on_progress("group", 0.0)
            job, wave = later_wave.place_new_records(job, wave, prepared)
        reasons = (*reasons, *describe_split_groups(job, strata))
        groups = _make_groups(
            prepared, columns, job, confidential, on_progress, repair=repair
        )
        if repair and wave is None:
            groups, merged = _keep_average_risk(prepared, groups, job, confidential)
            reasons = (*reasons, *merged)
    blocks, is_kept = groups
    if wave is not None:
        changes = later_wave.count_group_changes(wave, blocks, strata, prepared.units)
        if not changes.holds:
            changes.require(later_wave.suggest_wave_remedy(records, job, wave.wave))
    preflight_checks.require_variance(job, confidential, blocks)
    on_progress("bound", 0.0)
    _check_certificates(blocks, job)
    if not grouped:  # by no method: all are keys
        job = job.model_copy(update={"partition": section})
        reasons = ()
    return PartitionedTable(
        job=job,
        table=table,
        source=source,
        whole=prepared.whole,
        records=prepared.records,
        blocks=blocks,
        asked=requests,
        held=confidential,
        reasons=reasons,
        secret=secret,
        kept=is_kept,
        strata=strata,
        units=prepared.units,
        sampling=prepared.sampling,
        wave=wave,
    )


def _check_certificates(blocks: Sequence[Block], job: Job) -> None:
    """Refuse blocks without a solution; raise the interrupt of a certificate."""
    certificates = partition_certificates(blocks, job)
    statuses = {certificate.status for certificate in certificates.values()}
    if Status.INTERRUPTED in statuses:
        raise KeyboardInterrupt
    require_solved(certificates)


def _run_checks(prepared: PreparedTable, columns: Columns, job: Job) -> None:
    """Refuse a table and a job that fail any check before partitioning."""
    require_category_settings(job, prepared.table)
    n, coordinates = prepared.records.shape
    require_memory_to_group(n, coordinates, job)
    require_keys_of_categories(job, prepared.table)
    grouped = select_grouped(columns, job) or columns
    checks = preflight_checks.list_checks(
        prepared.table, prepared.whole, job, grouped, prepared.strata, prepared.units
    )
    for check in checks:
        check()


def _make_groups(
    prepared: PreparedTable,
    columns: Columns,
    job: Job,
    confidential: tuple[Confidential, ...],
    on_progress: Progress,
    *,
    repair: bool,
) -> Partitions:
    """Return the groups of all records by the job's method, repaired if required."""
    weights = make_weight_arguments(job, prepared.weights, apart=prepared.apart)
    requirements = make_requirement_arguments(job, confidential, prepared.units)
    settings = {**job.partition.settings, **weights, **requirements}
    method = make_partitioner(job, confidential)
    partitioner = SubsetPartitioner(
        method, settings, partial(on_progress, "group"), job.partition.bound
    )
    on_repair = (
        partial(on_progress, "repair") if job.privacy.repair and repair else None
    )
    grouped = select_grouped(columns, job)
    partitions = Partitions((), find_present(prepared.whole))
    with _ignore_interrupt_warnings():
        if grouped:
            partitions = _partition_by_policy(
                prepared, grouped, partitioner, job, confidential, on_repair
            )
    if job.key_columns:
        partitions = add_key_block(partitions, prepared.whole, job, prepared.strata)
    if any(block.partition.interrupted for block in partitions.blocks):
        raise KeyboardInterrupt
    return partitions


def _keep_average_risk(
    prepared: PreparedTable,
    groups: Partitions,
    job: Job,
    confidential: tuple[Confidential, ...],
) -> tuple[Partitions, tuple[str, ...]]:
    """Return the groups, merged until the average risk is within its limit, and a note.

    Groups that cannot be merged are unchanged: the audit decides on the limit.
    """
    blocks, is_kept = groups
    if not is_mergeable(job, blocks, incomplete=prepared.holes is not None):
        return groups, ()
    mergeable = MergeableGroups.of(
        blocks[0],
        prepared.records,
        job,
        confidential,
        prepared.strata,
        prepared.weights,
    )
    block, reasons = keep_average_risk(mergeable, prepared.units)
    return Partitions((block,), is_kept), reasons


def _partition_by_policy(
    prepared: PreparedTable,
    columns: Columns,
    partitioner: SubsetPartitioner,
    job: Job,
    confidential: tuple[Confidential, ...],
    on_repair: OnProgress | None,
) -> Partitions:
    """Return the groups of records, by the job's policy on missing values."""
    strata = prepared.strata
    names = job.roles.quasi_identifier
    if prepared.holes is not None:
        units = prepared.units
        counts_units = units is not None and units.records is None
        incomplete = partition_incomplete(
            prepared.holes,
            columns,
            partitioner,
            job,
            confidential,
            on_repair,
            strata,
            prepared.weights,
            units=units.unit_of_record if units and counts_units else None,
        )
        return Partitions(*incomplete)
    blocks: tuple[Block, ...]
    if strata is not None:
        encoded = cast(Encoded, prepared.records)  # as of any table with strata
        blocks = partition_within_strata(
            encoded, strata, columns, job.privacy.k, partitioner, names, job.strata.jobs
        )
    else:
        blocks = partition_blocks(
            prepared.records,
            job.privacy.k,
            columns,
            partitioner.function,
            partitioner.settings,
            partitioner.on_progress,
            names,
            partitioner.bound,
        )
    if on_repair:
        blocks = _repair_blocks(blocks, prepared, job, confidential, on_repair)
    return Partitions(blocks, None)


def _repair_blocks(
    blocks: Sequence[Block],
    prepared: PreparedTable,
    job: Job,
    confidential: tuple[Confidential, ...],
    on_progress: OnProgress,
) -> tuple[Block, ...]:
    """Return each block with groups that satisfy the job's requirements."""
    records = prepared.records
    strata = prepared.strata
    weights = prepared.weights
    share = 1 / len(blocks)
    repaired = []
    for block in blocks:
        X = records if len(blocks) == 1 else select_block(records, block.columns)
        if strata is None:
            repaired.append(
                repair_block(
                    block,
                    X,
                    job,
                    confidential,
                    on_progress,
                    weights=weights,
                    share=share,
                )
            )
        else:
            encoded = cast(Encoded, X)
            repaired.append(
                repair_within_strata(
                    block,
                    encoded,
                    strata,
                    job,
                    confidential,
                    on_progress,
                    weights,
                    share,
                )
            )
    return tuple(repaired)


@contextmanager
def _ignore_interrupt_warnings() -> Iterator[None]:
    """Suppress warnings of a search that Ctrl-C ended early."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", INTERRUPTED)
        yield
