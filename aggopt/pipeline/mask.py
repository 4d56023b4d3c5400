"""The way of a record: from a table to an audited release."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from aggopt.core.column_names import list_confusable_names
from aggopt.core.deferred_signals import reraise_interrupts
from aggopt.core.not_pickled import NotPickled
from aggopt.core.plural import plural
from aggopt.core.types import Bool
from aggopt.core.validation import Floats
from aggopt.data.context.units import find_repeated_identifiers
from aggopt.data.table import Table
from aggopt.errors import attribute_sections
from aggopt.job import Job
from aggopt.measure import Assessment
from aggopt.pipeline.aggregate import by_stratum, margins
from aggopt.pipeline.aggregate.aggregate_table import AggregatedTable, aggregate_table
from aggopt.pipeline.aggregate.unit_values import copy_to_records
from aggopt.pipeline.aggregate.units_and_records import mask_units_and_records
from aggopt.pipeline.finish import rounding
from aggopt.pipeline.finish.evaluate import evaluate
from aggopt.pipeline.finish.largest_loss import note_on_loss
from aggopt.pipeline.partition.partition_table import (
    Progress,
    load_job,
    partition_table,
    progress_or_noop,
    require_solved,
)
from aggopt.pipeline.partition.partitioned_table import PartitionedTable
from aggopt.pipeline.programs.user_model_messages import explain_stop
from aggopt.pipeline.validate import sampling_weights
from aggopt.pipeline.validate.infeasibility import explain_single_group
from aggopt.pipeline.waves.later_wave import (
    count_changes_as_written,
    note_on_uncounted_changes,
)
from aggopt.release.audit.audit import Audit
from aggopt.release.audit.counted_risk import replace_counted_risks
from aggopt.release.audit.risks import measure_risks
from aggopt.release.block_names import partition_certificates, partition_names
from aggopt.release.release import Release
from aggopt.solvers import Certificate, Status

CUT_SHORT = (
    Status.GAP,
    Status.UNPROVEN,
    Status.LIMIT,
    Status.FALLBACK,
    Status.UNANSWERED,
)
NAMES = (nw.String, nw.Categorical, nw.Enum)  # types whose entries may span lines


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
    drift = rounding.rounding_drifts(given, given.of_numbers(masked.values), after)
    repeated = map(str, find_repeated_identifiers(given.table))
    of_wave = (
        note_on_uncounted_changes(job, given.wave) if wave is None else (wave.note,)
    )
    lost = note_on_loss(measures, job.measures)
    about_margins = margins.notes(given)
    urgent = (
        *audit.disclosures,
        *(note for note in about_margins if note not in margins.HARMLESS),
        *of_wave,
        *repeated,
        *_beyond(given, after),
        *lost,
        *(given.strata.notes if given.strata else ()),
        *(audit.missing.notes if audit.missing else ()),
        *_incomplete(evaluation.complete, measures),
    )
    names = list_confusable_names(given.table.frame.columns)
    trivial = *given.reasons, *names, *_index(given)
    others = (
        *_notes(given, certificates),
        *audit.notes,
        *masked.notes,
        *margins.note_on_nearer_values(given, after),
        *rounding.notes(given, masked.values, published, drift),
        *_spanning(released, job),
        *sampling_weights.notes(given.job, given.weights),
        *by_stratum.notes(given.job, given.strata),
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


def _notes(given: PartitionedTable, certificates: dict[str, Certificate]) -> list[str]:
    constant = given.constant
    notes = [
        f"{name!r} has one value only: kept as it is, weight zero."
        for name, same in zip(given.job.roles.quasi_identifier, constant, strict=True)
        if same
    ]
    grouped = partition_certificates(given.blocks, given.job)
    of_groups = {f"groups of {name}": grouped[name] for name in grouped}
    notes += [
        f"{name!r}: {certificate.solver} {certificate.status}."
        f"{explain_stop(certificate, given.job)}"
        for name, certificate in (of_groups | certificates).items()
        if certificate.status in CUT_SHORT
    ]
    notes += [
        f"{name!r}: the bound {certificate.claimed}, and is not proven."
        for name, certificate in (of_groups | certificates).items()
        if certificate.claimed
    ]
    return [*notes, *_one_group(given, constant)]


def _index(given: PartitionedTable) -> list[str]:
    """Say that the index of a pandas table is kept, if it is."""
    if not given.table.keeps_index:
        return []
    return [
        "The index of the pandas table is kept in release.table, with all that it says "
        "of records; written files have none."
    ]


def _one_group(given: PartitionedTable, constant: Bool) -> list[str]:
    """Return a note if all records have one value although the originals differ."""
    n = len(given.whole)
    if n < 2 * given.job.privacy.k:
        return [f"All {n} records form one group: there are fewer than 2k."]
    alone = given.blocks[0].groups == 1
    why = explain_single_group(given.held, given.job.privacy) if alone else None
    if why:
        return [f"{why.problem} To fix: {why.fix}"]
    return [
        f"{', '.join(map(repr, names))}: all {n} records form one group."
        for names, block in zip(
            partition_names(given.blocks, given.job), given.blocks, strict=True
        )
        if block.groups == 1 and not constant[list(block.columns)].all()
    ]


def _incomplete(rows: Bool, measures: Assessment | None) -> list[str]:
    """Say how many records (n,) the measures are of, if not of all."""
    if rows.all():
        return []
    what = "Linkage, disclosure, loss and satisfaction are "
    of = f"of {len(rows)} records of which nothing is missing, before and after"
    proofs = "certificates are of all values that are there."
    if measures is None:
        return [f"{what}not measured: there are {rows.sum()} {of}; {proofs}"]
    return [f"{what}measured on the {rows.sum()} {of}; {proofs}"]


def _spanning(released: Table, job: Job) -> list[str]:
    """Return notes on the setting that reads CSV entries that span several lines."""
    if job.input.multiline:
        return []
    columns = ((name, released.frame[name]) for name in released.frame.columns)
    text = [(name, c.cast(nw.String)) for name, c in columns if c.dtype in NAMES]
    return [
        f"{name!r}: {plural(count, 'entry', 'entries')} span several lines: of a CSV "
        "file aggopt reads them only with multiline = true under [input]."
        for name, column in text
        if (count := int(column.str.contains("[\r\n]").sum()))
    ]


def _beyond(given: PartitionedTable, Y: Floats) -> list[str]:
    """Return a note on values Y (n, p) outside the originals' range, with a remedy."""
    lowest, highest = np.fmin.reduce(given.X), np.fmax.reduce(given.X)
    counts = ((lowest > Y) | (highest < Y)).sum(axis=0)
    if not counts.any():
        return []
    beyond = ", ".join(
        f"{name!r} {count}"
        for name, count in zip(given.names, counts, strict=True)
        if count
    )
    said = (
        f"Released values outside the range of the originals, of {len(Y)} each: "
        f"{beyond}."
    )
    clocks = given.table.clocks
    negative = [
        name
        for j, name in enumerate(given.names)
        if name not in clocks and lowest[j] >= 0 and (Y[:, j] < 0).any()
    ]
    if negative:
        said += (
            f" Below 0, where no original is: {', '.join(map(repr, negative))}; "
            f"lower = 0 under {attribute_sections(negative)} keeps values from 0 up."
        )
    return [said]
