"""The way of a record: from a table to an audited release."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from aggopt.core.column_names import list_confusable_names
from aggopt.core.deferred_signals import reraise_interrupts
from aggopt.core.not_pickled import NotPickled
from aggopt.data.context.units import find_repeated_identifiers
from aggopt.data.table import Table
from aggopt.job import Job
from aggopt.pipeline.aggregate.aggregate_table import AggregatedTable, aggregate_table
from aggopt.pipeline.aggregate.by_stratum import note_on_strata
from aggopt.pipeline.aggregate.margins import (
    HARMLESS,
    note_on_margins,
    note_on_nearer_values,
)
from aggopt.pipeline.aggregate.unit_values import copy_to_records
from aggopt.pipeline.aggregate.units_and_records import mask_units_and_records
from aggopt.pipeline.finish.evaluate import count_changes_as_written, evaluate
from aggopt.pipeline.finish.largest_loss import note_on_loss
from aggopt.pipeline.finish.notes import (
    note_on_certificates,
    note_on_exceeded_ranges,
    note_on_incomplete_records,
    note_on_index,
    note_on_sampling_weights,
    note_on_spanning_entries,
    note_on_uncounted_changes,
)
from aggopt.pipeline.finish.rounding import note_on_rounding, rounding_drifts
from aggopt.pipeline.partition.partition_table import partition_table
from aggopt.pipeline.partition.partitioned_table import PartitionedTable
from aggopt.pipeline.prepare.inputs import Progress, load_job, progress_or_noop
from aggopt.pipeline.validate.solver_answers import require_solved
from aggopt.release.audit.audit import Audit
from aggopt.release.audit.counted_risk import replace_counted_risks
from aggopt.release.audit.risks import measure_risks
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
    """Return the audited release of `data`.

    Parameters
    ----------
    data
        A pandas, Polars or PyArrow table, a two-dimensional NumPy array (its columns
        are called "0", "1", ...), or the path of a file (docs/files.md).
    job
        What to mask and how: a `Job`, or the path of a TOML file.
    progress
        Called with the name of the step and the share of it that is done.
    secret
        The secret of a release to repeat (as `aggopt.repeat` does).  It determines the
        margins and the order.  Drawn when omitted.
    trust
        Files of code that the job may name.  They can read the originals, and run with
        your rights.  No other file that the job names is run.

    Returns
    -------
    Release
        `release.table` is the masked table, of the type of `data`;
        `release.write("masked.csv")` writes it with manifest and private key.

    Raises
    ------
    TableError, JobError, InfeasibleInputError
        The input cannot be used; found before any work starts.
    UntrustedCodeError
        The job names a file of code that is not trusted, or changed since.
    SolverError
        The solver is missing, or found nothing for an attribute.
    PrivacyError
        The audit of the masked values found less than the job requires, or more is lost
        than it allows.

    Examples
    --------
    >>> import pandas as pd
    >>> import aggopt
    >>> people = pd.DataFrame({"name": list("abcdef"), "age": [20, 21, 22, 60, 61, 65]})
    >>> roles = {"identifier": ["name"], "quasi-identifier": ["age"]}
    >>> release = aggopt.mask(people, aggopt.Job(roles=roles, privacy={"k": 3}))
    >>> release.table["age"].tolist()
    [21.0, 21.0, 21.0, 62.0, 62.0, 62.0]
    >>> release.audit.smallest
    3
    """
    on_progress, job = progress_or_noop(progress), load_job(job, trust)
    if job.units.apart(job.roles):
        return _released(
            *mask_units_and_records(data, job, on_progress, secret), on_progress
        )
    return release_partitioned(
        partition_table(data, job, on_progress, known=secret), on_progress
    )


def release_partitioned(given: PartitionedTable, on_progress: Progress) -> Release:
    """Return the audited release of a table that is grouped; raises as `mask`."""
    return _released(
        *copy_to_records(given, aggregate_table(given, on_progress)), on_progress
    )


def _released(
    given: PartitionedTable, masked: AggregatedTable, on_progress: Progress
) -> Release:
    """Return the audited release of the published values of a table's groups."""
    job, certificates = given.job, masked.certificates
    require_solved(certificates)

    evaluation = evaluate(
        given,
        masked.values,
        extra=job.measures.own,
        check=Audit.require,
        on_progress=on_progress,
    )
    released, audit = evaluation.released, evaluation.audit
    measures, published = evaluation.measures, evaluation.originals.after
    wave = None if given.wave is None else count_changes_as_written(given, released)
    after = given.of_numbers(published)
    drift = rounding_drifts(given, given.of_numbers(masked.values), after)
    repeated = map(str, find_repeated_identifiers(given.table))
    of_wave = (
        note_on_uncounted_changes(job, given.wave) if wave is None else (wave.note,)
    )
    lost = note_on_loss(measures, job.measures)
    about_margins = note_on_margins(given)
    urgent = (
        *audit.disclosures,
        *(note for note in about_margins if note not in HARMLESS),
        *of_wave,
        *repeated,
        *note_on_exceeded_ranges(given, after),
        *lost,
        *(given.strata.notes if given.strata else ()),
        *(audit.missing.notes if audit.missing else ()),
        *note_on_incomplete_records(evaluation.complete, measures),
    )
    names = list_confusable_names(given.table.frame.columns)
    trivial = *given.reasons, *names, *note_on_index(given)
    others = (
        *note_on_certificates(given, certificates),
        *audit.notes,
        *masked.notes,
        *note_on_nearer_values(given, after),
        *note_on_rounding(given, masked.values, published, drift),
        *note_on_spanning_entries(released, job),
        *note_on_sampling_weights(given.job, given.weights),
        *note_on_strata(given.job, given.strata),
        *about_margins,
    )
    notes = (*urgent, *(note for note in others if note not in urgent), *trivial)
    return Release(
        masked=released,
        blocks=given.blocks,
        certificates=certificates,
        audit=audit,
        measures=None if measures is None else replace_counted_risks(measures, audit),
        notes=notes,
        job=job,
        source=given.source,
        secret=given.secret,
        drift=drift,
        risks=measure_risks(given.table, released, job),
        strata=given.strata,
        units=given.units.of if given.units else None,
        original=NotPickled(_quasi_identifiers(given.table)),
        weights=given.weights_of_values,
        urgent=len(urgent),
        trivial=len(trivial),
        wave=wave,
    )


def _quasi_identifiers(table: Table) -> Table:
    """Return a table of the quasi-identifiers and of the sampling weights."""
    frame = table.frame.select(*table.roles.quasi_identifier, *table.roles.weight)
    return replace(table, frame=frame, codebooks={})
