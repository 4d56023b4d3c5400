"""Audit of a written file, read as any reader would."""

from collections.abc import Sequence
from pathlib import Path

from aggopt.core.validation import Floats, Labels
from aggopt.data.readers.read import read_release_as_text
from aggopt.errors import PrivacyError, TableError
from aggopt.job import Job
from aggopt.release.audit.audit import Audit, audit_release
from aggopt.release.audit.dominance import make_dominance_requirements


def recount_file(
    aside: Path,
    job: Job,
    blocks: Sequence[Sequence[str]],
    records: int,
    units: Labels | None = None,
    weights: Floats | None = None,
) -> Audit:
    """Return the audit of a release from the bytes of its file.

    `units` are the units of its records, in its order, if k counts them.  `weights` are
    the records' weights, published or not: (n,), or (n, d) of their values.

    Raises
    ------
    PrivacyError
        The file does not read as this number of records.
    """
    try:
        csv_format = job.released_input.model_copy(update={"multiline": True})
        written = read_release_as_text(aside, csv_format, job.roles)
    except TableError:
        written = ()
    if len(written) != records:
        raise PrivacyError(
            f"What was written does not read as {records} records.",
            fix="write a .parquet file; nothing was left behind.",
        )
    return audit_release(
        written,
        job.roles,
        job.privacy,
        blocks,
        decimal=job.input.decimal,
        compatible=job.missing.report_compatible,
        bounds=job.attributes,
        units=units,
        dropped=job.dropped,
        pseudonym=job.pseudonym,
        dominance=make_dominance_requirements(job, weights),
    )
