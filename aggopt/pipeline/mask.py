"""The way of a record: from a table to an audited release."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from aggopt.core.deferred_signals import reraise_interrupts
from aggopt.core.not_pickled import NotPickled
from aggopt.data.table import Table
from aggopt.job import Job
from aggopt.pipeline.aggregate.aggregate_table import AggregatedTable, aggregate_table
from aggopt.pipeline.aggregate.units_and_records import (
    copy_to_records,
    mask_units_and_records,
)
from aggopt.pipeline.finish.evaluate import count_changes_as_written, evaluate
from aggopt.pipeline.finish.linkage import keep_linkage
from aggopt.pipeline.finish.notes import collect_notes
from aggopt.pipeline.finish.rounding_notes import measure_drifts
from aggopt.pipeline.partition.partition_table import partition_table
from aggopt.pipeline.partition.partitioned_table import PartitionedTable
from aggopt.pipeline.prepare.inputs import Progress, load_job, read_progress
from aggopt.pipeline.validate.solver_answers import require_solved
from aggopt.release.audit.audit import Audit
from aggopt.release.audit.risks import measure_risks, replace_counted_risks
from aggopt.release.release import Release


@reraise_interrupts()
def mask(
    data: Any,
    job: Job | str | Path,
    *,
    progress: Progress | None = None,
    secret: str | None = None,
    trust: Iterable[str | Path] = (),
) -> Release:
    """Return the audited release of a table, or of a file that fits memory.

    Parameters and errors are those of `aggopt.mask`.
    """
    on_progress = read_progress(progress)
    job = load_job(job, trust)
    if job.units.apart(job.roles):
        return _make_release(
            *mask_units_and_records(data, job, on_progress, secret), on_progress
        )
    return publish_partitioned(
        partition_table(data, job, on_progress, secret=secret), on_progress
    )


def publish_partitioned(
    partitioned: PartitionedTable, on_progress: Progress
) -> Release:
    """Return the audited release of a partitioned table, whose linkage is limited."""
    partitioned = keep_linkage(partitioned, on_progress)
    return _make_release(
        *copy_to_records(partitioned, aggregate_table(partitioned, on_progress)),
        on_progress,
    )


def _make_release(
    partitioned: PartitionedTable, masked: AggregatedTable, on_progress: Progress
) -> Release:
    """Return the audited release of a table's groups with these published values."""
    job = partitioned.job
    certificates = masked.certificates
    require_solved(certificates)

    evaluation = evaluate(
        partitioned,
        masked.values,
        extra=job.measures.own,
        check=Audit.require,
        on_progress=on_progress,
    )
    released = evaluation.released
    audit = evaluation.audit
    measures = evaluation.measures
    wave = count_changes_as_written(partitioned, released)
    after = partitioned.of_numbers(evaluation.originals.after)
    drift = measure_drifts(partitioned, partitioned.of_numbers(masked.values), after)
    notes = collect_notes(partitioned, masked, evaluation, drift, wave)
    return Release(
        masked=released,
        blocks=partitioned.blocks,
        certificates=certificates,
        audit=audit,
        measures=None if measures is None else replace_counted_risks(measures, audit),
        notes=notes.all,
        job=job,
        source=partitioned.source,
        secret=partitioned.secret,
        drift=drift,
        risks=measure_risks(partitioned.table, released, job),
        strata=partitioned.strata,
        units=partitioned.units.unit_of_record if partitioned.units else None,
        original=NotPickled(_select_quasi_identifiers(partitioned.table.as_read)),
        weights=partitioned.weights_of_values,
        urgent=notes.urgent,
        trivial=notes.trivial,
        wave=wave,
    )


def _select_quasi_identifiers(table: Table) -> Table:
    """Return the table's quasi-identifiers and sampling weights only."""
    frame = table.frame.select(*table.roles.quasi_identifier, *table.roles.weight)
    return replace(table, frame=frame, codebooks={}, unrecoded=None)
