"""Read the job and the table that a caller passes."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from aggopt.core.deadline import require_progress
from aggopt.core.frame import compute_fingerprint
from aggopt.core.plugins.loading import trust_files
from aggopt.data.readers.read import read_file
from aggopt.data.table import Table
from aggopt.errors import JobError
from aggopt.job import Job
from aggopt.pipeline.prepare.memory_check import require_memory_to_read
from aggopt.release.files.staging import compute_sha256
from aggopt.release.manifest import Source

Progress = Callable[[str, float], None]


def read_progress(progress: Progress | None) -> Progress:
    """Return the progress callback, or one that does nothing; refuse other objects."""
    require_progress(progress, "the step and the share of it that is done")
    return progress or (lambda step, share: None)


def load_job(job: Job | str | Path, trust: Iterable[str | Path] = ()) -> Job:
    """Return the job, read from a file if a path, with its user code loaded.

    `trust` are the files of code that may be run.
    """
    if isinstance(job, str | Path):
        job = Job.read(job)
    if not isinstance(job, Job):
        raise JobError(
            f"A {type(job).__name__} is not a job.",
            fix="pass a Job(...), or the path of a TOML file.",
        )
    with trust_files(trust):
        return job.load_code()


def read_table(data: Any, job: Job) -> tuple[Table, Source]:
    """Return the checked table of data or of a file, and its source."""
    path = Path(data) if isinstance(data, str | Path) else None
    content = read_file(path, job.roles, job.input, job.attributes) if path else data
    if hasattr(content, "__len__"):  # else it is refused below
        require_memory_to_read(len(content), job)
    table = Table.of(content, job.roles, job.attributes, missing=job.missing)
    file, digest = (path.name, compute_sha256(path)) if path else (None, None)
    fingerprint_of_frame = compute_fingerprint(table.frame)
    return table, Source(file, digest, *table.frame.shape, fingerprint_of_frame)
