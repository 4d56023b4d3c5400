"""Read the files of a written release again, for its report."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv

from aggopt.core.types import F64, Labels
from aggopt.data.context.units import read_units
from aggopt.data.readers.read import read_file
from aggopt.data.table import Table
from aggopt.job import AttributeSection, Job
from aggopt.pipeline.review import release_checks, review_release
from aggopt.pipeline.review.repeat import ReleaseRecipe
from aggopt.release.audit.audit import recount_file
from aggopt.release.files.output_paths import ReleaseFiles
from aggopt.release.files.staging import compute_sha256
from aggopt.release.report.facts import BY_BOTH, BY_MANIFEST, Facts
from aggopt.release.report.statement import Statement, make_facts, make_private_facts

NAMES = AttributeSection(kind="nominal")  # without the originals their levels are names


@dataclass(frozen=True, eq=False)
class _OrderedTables:
    """The two tables in equal order; units and weights in the order of the file."""

    released: Table
    original: Table | None
    units: Labels | None
    weights: F64 | None
    rows: Labels | None


def read_report_data(
    masked: Path,
    *,
    original: Path | None = None,
    private: bool = False,
    folder: Path | None = None,
    job_file: Path | None = None,
) -> Facts:
    """Return the data of a report on the released file `masked`, recounted.

    Its manifest is next to it, or in the `folder`.  With the `original` the two tables
    are compared, which needs the key; `private` adds facts that only the office may
    see. The requirements are read from the manifest. They must be equal to those of the
    job file `job_file`, if given.

    Raises
    ------
    TableError, JobError
        A file cannot be used or does not exist, or the manifest describes another
        table, or has requirements other than the job; or k counts units, which no
        release has, and `original` is not given.
    UntrustedCodeError
        The job names a file of code that is not trusted.
    """
    files = ReleaseFiles.of_table(masked, folder)
    release_checks.require_manifest(files)
    job = ReleaseRecipe.read(files.manifest).job
    if job_file is not None:
        release_checks.require_equal_requirements(files.manifest, job, job_file)
    tables = _read_tables(files, job, original)
    stated = Statement.of_file(files.manifest)
    groups = stated.groups
    measures = stated.measures
    blocks = [part["attributes"] for part in stated.entry("partition", list)]
    n = len(tables.released.frame)
    counted = recount_file(masked, job, blocks, n, tables.units, tables.weights)
    linkage = None if measures is None else measures["linkage"]
    facts = make_private_facts(stated, tables.rows, str(stated.find("output", "seed")))
    return make_facts(
        stated,
        title=job.output.title or masked.name,
        released=tables.released,
        original=tables.original,
        job=job,
        audit=counted.with_linkage(job.privacy, linkage),
        measures=measures,
        certificates=stated.certificates,
        groups=groups,
        promised_by=BY_MANIFEST if job_file is None else BY_BOTH,
        sha256=compute_sha256(masked),
        private=facts if private else None,
    )


def _read_tables(
    files: ReleaseFiles, job: Job, original: Path | None
) -> _OrderedTables:
    """Return the released table, with the original in its order if given."""
    if original is not None:
        return _read_both(files, job, original)
    release_checks.require_countable(job)
    types = _list_release_types(job)
    data = read_file(files.table, job.released_roles, job.released_input, types)
    return _OrderedTables(make_release_table(data, job), None, None, None, None)


def make_release_table(rows: pa.Table, job: Job) -> Table:
    """Return rows of a release as a `Table` with the released roles and types."""
    dropped = [name for name in job.dropped if name in rows.column_names]
    return Table.of(
        rows.drop_columns(dropped),
        job.released_roles,
        _list_release_types(job),
        missing=job.missing,
    )


def _list_release_types(job: Job) -> dict[str, AttributeSection]:
    """Return the types of a release's attributes; those with levels are nominal."""
    types = job.released_attributes
    return {n: NAMES if _has_levels(a) else a for n, a in types.items()}


def _has_levels(section: AttributeSection) -> bool:
    """Whether the section of an attribute has an order or a tree."""
    return section.order is not None or section.tree is not None


def _read_both(files: ReleaseFiles, job: Job, original: Path) -> _OrderedTables:
    """Return the released table and its original, in equal order."""
    first, second = review_release.read_original_and_release(
        original, files.table, job, files.private.parent
    )
    place = review_release.find_places_by_key(original, files, len(first.frame))
    beside = replace(second, frame=second.frame[place.tolist()])
    units = read_units(first)
    weights = review_release.read_shared_weights(first, beside)
    order = np.argsort(place)
    key = pyarrow.csv.read_csv(files.private)["released_record"].combine_chunks()
    rows = np.flatnonzero(np.asarray(key.is_valid()))
    return _OrderedTables(
        beside,
        first.as_read,
        None if units is None else units[order],
        None if weights is None else weights[order],
        None if len(rows) == len(key) else rows,
    )
