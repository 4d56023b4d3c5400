"""Refusals of files that are not those of one release."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from aggopt.core.columns import find_groups
from aggopt.core.plural import plural
from aggopt.core.regular_files import require_regular
from aggopt.data.table import Table
from aggopt.errors import JobError, TableError
from aggopt.job import Job
from aggopt.job.release_job import read_job_of_release
from aggopt.pipeline.review.private_key import read_record_order
from aggopt.release.files.output_paths import ReleaseFiles
from aggopt.release.files.staging import compute_sha256
from aggopt.release.manifest import SHUFFLED, read_manifest_or_none

LARGEST = 0.5  # share of the table: the rest is masked
SHARE_OR_FILE = "pass a share such as 0.1, or the file of other persons."
FEWEST = 10  # records of a control


def require_original_first(original: Path, released: Path) -> None:
    """Refuse a release given in the place of its original."""
    manifest = ReleaseFiles.of_table(original).manifest
    if not (manifest.exists() and released.exists()):
        return
    for path in (manifest, released):
        require_regular(path)
    if read_manifest_or_none(manifest, "input", "sha256") == compute_sha256(released):
        raise TableError(
            f"{original.name} is the release, made from {released.name}: "
            f"{manifest.name} says so.",
            fix="name the original first, and then what was released.",
        )


def require_record_order(original: Path, files: ReleaseFiles, n: int) -> None:
    """Refuse `same_order` if manifest or key state another record order."""
    for path in (files.manifest, files.private):
        if path.exists():
            require_regular(path)
            says = _is_shuffled if path == files.manifest else _is_reordered
            if says(path, n):
                raise TableError(
                    f"{files.table.name} has another record order than "
                    f"{original.name}: {path.name} says so.",
                    fix="leave --same-order out: the key says which record is which. "
                    f"If {path.name} is of another release, move it away first.",
                )


def _is_shuffled(manifest: Path, n: int) -> bool:
    """Whether the manifest is of a release in random order."""
    return bool(read_manifest_or_none(manifest, "order") == SHUFFLED)


def _is_reordered(key: Path, n: int) -> bool:
    """Whether the private key states another order than the original's."""
    place = read_record_order(key, n)
    return place is not None and not np.array_equal(place, np.arange(n))


def require_described_files(original: Path, files: ReleaseFiles) -> None:
    """Refuse files whose digests differ from those in the manifest."""
    hashes = {
        original: read_manifest_or_none(files.manifest, "input", "sha256")
        or compute_sha256(original),
        files.table: read_manifest_or_none(files.manifest, "output", "sha256"),
        files.private: read_manifest_or_none(files.manifest, "output", "key_sha256"),
    }
    for path, stated_hash in hashes.items():
        if path.exists() and compute_sha256(path) != stated_hash:
            raise TableError(
                f"{path.name} is not the file that {files.manifest.name} describes.",
                fix="bring together the files of one and the same run.",
            )


def require_one_table(tables: Sequence[Path], stated: Sequence[dict[str, Any]]) -> None:
    """Refuse releases that were made from different tables."""
    for key in ("sha256", "records"):
        values = {manifest["input"].get(key) for manifest in stated}
        if len(values) > 1:
            files = ", ".join(table.name for table in tables)
            raise TableError(
                f"{files} are releases of different tables, by their manifests.",
                fix="compare releases that were made from one and the same file; or "
                "name the file of each, and an identifier that all have: "
                "--original a.csv --original b.csv --person NAME.",
            )


def require_equal_requirements(manifest: Path, job: Job, job_file: Path) -> None:
    """Refuse a manifest whose requirements differ from those of the job file."""
    wanted = read_job_of_release(job_file)
    other = [
        s
        for s in PROMISED
        if _format_requirements(job, s) != _format_requirements(wanted, s)
    ]
    if other:
        raise JobError(
            f"{manifest.name} and {job_file.name} differ in what is promised: "
            f"[{'], ['.join(other)}].",
            fix="name the job that the release was made by; if this is it, the "
            "manifest has been edited: mask the table again.",
        )


def _format_requirements(job: Job, section: str) -> str:
    """Return the requirements of a section as text, without repairs and paths."""
    values = job.model_dump().get(section, {})
    requirements = {key: value for key, value in values.items() if key != "repair"}
    return re.sub(r"[^']*[/\\](?=[^'/\\]+\.py:)", "", str(requirements))


def require_manifest(files: ReleaseFiles) -> None:
    """Refuse a released table without a manifest that describes it."""
    for path in (files.table, files.manifest):
        if not path.exists():
            raise TableError(
                f"{path} is not there.",
                fix="name the released table, and the folder of its manifest, if it is "
                "elsewhere (--manifests).",
            )
        require_regular(path)
    if compute_sha256(files.table) != read_manifest_or_none(
        files.manifest, "output", "sha256"
    ):
        raise TableError(
            f"{files.table.name} is not the file that {files.manifest.name} describes.",
            fix="bring together the files of one and the same run.",
        )


def require_control(records: int) -> None:
    """Refuse a control of few records, which shows nothing and would be published.

    Raises
    ------
    JobError
        It has fewer than ten.
    """
    if records < FEWEST:
        raise JobError(
            f"The control has {plural(records, 'record')}, and fewer than {FEWEST} "
            "show nothing.",
            fix="pass a larger share, such as 0.1, or the file of more persons.",
        )


def require_share(share: float) -> None:
    """Refuse a share of the table as control that is not above 0 and at most 0.5."""
    if isinstance(share, bool) or not 0 < share <= LARGEST:
        raise JobError(
            f"The control is a share of {share}, which is not above 0 and at most "
            f"{LARGEST:g}.",
            fix=SHARE_OR_FILE,
        )


def require_other_records(original: Table, control: Table) -> None:
    """Refuse a control with the records of the table, which no comparison shows.

    Records are equal if they are in all columns that both tables have.  Those that are
    unique in the table count: other persons seldom have all their entries.

    Raises
    ------
    TableError
        Half of the control or more are such records.
    """
    import pandas as pd

    shared = set(control.frame.columns)
    tables = original.frame, control.frame
    entries = {
        name: [str(entry) for table in tables for entry in table[name].to_list()]
        for name in original.frame.columns
        if name in shared
    }
    n = len(original.frame)
    labels = find_groups(pd.DataFrame(entries))
    counts = np.bincount(labels[:n], minlength=int(labels.max()) + 1)
    copies = int((counts[labels[n:]] == 1).sum())
    if 2 * copies >= len(control.frame):
        raise TableError(
            f"{copies} of {plural(len(control.frame), 'record')} of the control are "
            "records of the table: a control has persons outside the release.",
            fix="pass a file of other persons, or a share such as 0.1.",
        )


def require_countable(job: Job) -> None:
    """Refuse requirements that cannot be counted in the file without the original."""
    fix = "name the table that was masked: aggopt report TABLE MASKED JOB."
    if job.roles.unit:
        units = ", ".join(job.roles.unit)
        raise TableError(f"k counts units ({units}), which no release has.", fix=fix)
    if job.roles.weight and job.weights.dominance < 1:
        raise TableError(
            "dominance is of the sampling weights of the originals, which no release "
            "has.",
            fix=fix,
        )


PROMISED = ("roles", "privacy", "strata", "units", "weights")  # sections of a job
