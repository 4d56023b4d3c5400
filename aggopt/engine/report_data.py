"""Data of a report on a folder that an engine released: its files, read again."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from aggopt.data.readers.read import read_release_as_text
from aggopt.data.table import Table
from aggopt.engine.certificates import GROUPS, LOSS, LOSSES
from aggopt.engine.folder_review import TwoFolders
from aggopt.engine.runs.journal import make_private_path
from aggopt.engine.storage.input_parts import ENDING, InputFolder
from aggopt.engine.validate import output_folders
from aggopt.errors import JobError, MemoryLimitError
from aggopt.job import Job
from aggopt.pipeline.finish.evaluate import measure_if_varying
from aggopt.pipeline.prepare.record_requests import read_requests
from aggopt.pipeline.review.release_checks import require_equal_requirements
from aggopt.pipeline.review.report_data import make_release_table
from aggopt.pipeline.review.review_release import read_aligned
from aggopt.pipeline.review.trusted_code import attach_trusted_code
from aggopt.privacy.dominance import Dominance
from aggopt.privacy.requirement import Check
from aggopt.release.audit.audit import Audit, audit_release
from aggopt.release.report.facts import BY_BOTH, BY_MANIFEST, Facts, Loss
from aggopt.release.report.statement import Statement, make_facts

READ = (
    "read audit, certificates and measures in the manifest.json of its private folder."
)
LARGEST = 20_000_000  # values: a page is made of all of them at once
COMPARED = 2_000_000  # masked values: attacks on them take a minute, about
ATTACKS = "aggopt assess ORIGINALS RELEASE JOB runs them, if memory suffices"


def read_folder_report(
    folder: Path,
    *,
    private: Path | None = None,
    job_file: Path | None = None,
    originals: Path | None = None,
) -> Facts:
    """Return the data of a report on a released folder, recounted in its files.

    Its manifest is in `private`; in the private folder beside it when omitted.  What
    was promised is what that states, and the job in the file `job_file`, if it is
    named. The `originals`, a folder or a pattern, are compared if they have at most
    `COMPARED` values and fit memory; the page has a note if they do not.  The values
    filled in and the records published unchanged are what the manifest states, and so
    is what groups keep of the sampling weights that originals had.

    Raises
    ------
    TableError, JobError
        The manifest is not there, was edited, describes other files, promises other
        than the job, or was made of other originals; or the release is too large for a
        page.
    UntrustedCodeError
        The job names a file of code that is not trusted.
    """
    manifest = (private or make_private_path(folder)) / output_folders.MANIFEST
    output_folders.require_described(folder, manifest)
    output_folders.require_as_written(manifest)
    stated = Statement.of_file(manifest)
    if originals is not None:
        records = InputFolder.of(originals).records
        made_of = stated.count("input", "records")
        output_folders.require_made_of(originals, records, made_of, stated.name)
    trusted_code = attach_trusted_code(stated.entry("job", dict), stated.find("code"))
    job = Job(**trusted_code).load_code()
    if job_file is not None:
        require_equal_requirements(manifest, job, job_file)
    rows = _read_records(folder, job)
    loss = _read_loss(stated)
    proven = dict(stated.certificates)
    if GROUPS not in proven:
        raise stated.error("measures")
    groups = {", ".join(job.roles.quasi_identifier): proven.pop(GROUPS)}
    comparison = _compare(folder, manifest.parent, originals, len(rows), job)
    return make_facts(
        stated,
        title=job.output.title or folder.name,
        released=make_release_table(rows, job)
        if comparison.released is None
        else comparison.released,
        original=comparison.original,
        job=job,
        audit=_audit(rows, job),
        measures=comparison.measures,
        certificates=proven,
        groups=groups,
        promised_by=BY_MANIFEST if job_file is None else BY_BOTH,
        loss=loss,
        stated=_read_dominance(stated) if _requires_dominance(job) else (),
        unlinked=comparison.reason,
    )


@dataclass(frozen=True, eq=False)
class _Compared:
    """A release beside its originals; or the reason why they are not compared."""

    original: Table | None = field(default=None, repr=False)
    released: Table | None = field(default=None, repr=False)
    measures: Mapping[str, Any] | None = None
    reason: str = ""


def _compare(
    folder: Path, private: Path, originals: Path | None, n: int, job: Job
) -> _Compared:
    """Return the comparison of n released records with the originals, if possible."""
    if originals is None:
        return _Compared(reason=f"the originals are not compared; {ATTACKS}")
    values = n * len(job.roles.quasi_identifier)
    if values > COMPARED:
        return _Compared(
            reason=f"there are {values:,} masked values, and at most {COMPARED:,} are "
            f"compared for a page; {ATTACKS}"
        )
    source = TwoFolders(originals, folder, private=private)
    try:
        original, released, _ = read_aligned(source, job)
    except MemoryLimitError:
        return _Compared(reason=f"the originals do not fit memory; {ATTACKS}")
    requests = read_requests(original, original.matrix(), job)
    if_varying = measure_if_varying(original, released, requests)
    measures = None if if_varying is None else if_varying.to_dict()
    return _Compared(original.as_read, released, measures)


def _read_loss(stated: Statement) -> Loss:
    """Return the information losses in the manifest of a folder, as shares."""
    measures = stated.entry("measures", dict)
    are_numbers = all(isinstance(measures.get(name, 0.0), float) for name in LOSSES)
    if LOSS not in measures or not are_numbers:
        raise stated.error("measures")
    shares = {name: measures[name] / 100 for name in LOSSES if name in measures}
    return Loss(shares[LOSS], *(shares.get(name) for name in LOSSES[1:]))


def _audit(rows: pa.Table, job: Job) -> Audit:
    """Return the audit of the released records, counted again."""
    return audit_release(
        rows,
        job.roles,
        job.privacy,
        compatible=job.missing.report_compatible,
        bounds=job.attributes,
        dropped=job.dropped,
    )


def _requires_dominance(job: Job) -> bool:
    """Whether the job limits the share of one record in a group's weight."""
    return bool(job.roles.weight) and job.weights.dominance < 1


def _read_dominance(stated: Statement) -> tuple[Check, ...]:
    """Return the manifest's audit results on the dominance of sampling weights."""
    promises = stated.entry("audit", dict).get("promises")
    entries = (
        [check for check in promises if isinstance(check, dict)] if promises else []
    )
    names = {field.name for field in fields(Check)}
    checks = [Check(**check) for check in entries if check.keys() == names]
    is_kept = [check for check in checks if check.promise == Dominance.model]
    if not (is_kept and all(check.holds for check in is_kept)):
        raise stated.error("audit")
    return tuple(is_kept)


def _read_records(folder: Path, job: Job) -> pa.Table:
    """Return all released records as one table, unless too many for a page."""
    files = sorted(folder.glob(f"*{ENDING}"))
    counts = [pq.read_metadata(file) for file in files]
    size = sum(count.num_rows * count.num_columns for count in counts)
    if size > LARGEST:
        raise JobError(
            f"{folder} has {size:,} values, and a page is made of {LARGEST:,} at most.",
            fix=READ,
        )
    return pa.concat_tables(
        [read_release_as_text(file, job.input, job.roles) for file in files]
    )
