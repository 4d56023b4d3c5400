"""Masking by any engine: a table in memory, or a folder of any size."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, overload

from aggopt.core.deferred_signals import reraise_interrupts
from aggopt.engine.executors.local import Executor, start_processes
from aggopt.engine.folder_release import FolderRelease
from aggopt.engine.run import mask_parts
from aggopt.engine.validate.executors import require_memory_settings, require_picklable
from aggopt.errors import JobError, require_known
from aggopt.job import Job
from aggopt.job.engine_section import ENGINES
from aggopt.pipeline.mask import mask as in_memory
from aggopt.pipeline.prepare.inputs import Progress, load_job, read_progress
from aggopt.release.release import Release


@overload
def mask(
    data: Any,
    job: Job | str | Path,
    *,
    control: Any = ...,
    progress: Progress | None = ...,
    secret: str | None = ...,
    trust: Iterable[str | Path] = ...,
) -> Release: ...


@overload
def mask(
    data: str | Path,
    job: Job | str | Path,
    *,
    out: str | Path,
    engine: str | None = ...,
    jobs: int | None = ...,
    workers: int | None = ...,
    scheduler: str | None = ...,
    resume: bool | None = ...,
    client: Any = ...,
    progress: Progress | None = ...,
    secret: str | None = ...,
    trust: Iterable[str | Path] = ...,
) -> FolderRelease: ...


@reraise_interrupts()
def mask(
    data: Any,
    job: Job | str | Path,
    *,
    out: str | Path | None = None,
    engine: str | None = None,
    jobs: int | None = None,
    workers: int | None = None,
    scheduler: str | None = None,
    resume: bool | None = None,
    client: Any = None,
    control: Any = None,
    progress: Progress | None = None,
    secret: str | None = None,
    trust: Iterable[str | Path] = (),
) -> Release | FolderRelease:
    """Return the audited release of a table, or write that of a folder of any size.

    Parameters
    ----------
    data
        A pandas, Polars or PyArrow table, a two-dimensional NumPy array (its columns
        are called "0", "1", ...), or the path of a file (docs/files.md).  With
        `out` a folder of Parquet files with equal columns, or a pattern:
        "in/*.parquet".
    job
        The job, with attributes and settings: a `Job`, or the path of a TOML file.
    out
        The folder to create once its files have passed the audit; next to it appears
        `OUT.private`, with manifest and keys, for you only (docs/engines.md).
    engine
        Engine that runs the tasks, "local" or "dask", in place of [engine] name.
    jobs, workers, scheduler, resume
        Replace these keys of [engine], like the command's options.
    client
        Dask client, in place of [engine] workers or scheduler.
    control
        Persons outside the release: their table, its path, or a share of the records,
        such as 0.1, for a second masking without them (docs/criteria.md).
        `release.criteria` then has singling out, linkability and inference.
    progress
        Called with the name of the step and its completed share.
    secret
        Secret of a release to reproduce (`aggopt.repeat` passes it): it determines
        margins and order.  Drawn when omitted.
    trust
        Files of code that the job may name: they see the originals, and have your
        rights.  Other files that the job names are not run.

    Returns
    -------
    Release or FolderRelease
        `release.table` is the masked table, of the kind of the input;
        `release.write("masked.csv")` writes it with manifest and private key.  The
        release of a folder is written already.

    Raises
    ------
    TableError, JobError, InfeasibleInputError
        The input cannot be used; found before any work starts, except for errors
        that depend on the records of a folder.
    UntrustedCodeError
        The job names a file of code that is not trusted, or changed since.
    SolverError
        The solver is missing, or found no solution for an attribute.
    PrivacyError
        The masked values do not satisfy a requirement of the job.
    EngineError
        Tasks failed, or the engine cannot be reached.  Nothing is left behind.

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
    keys = {"jobs": jobs, "workers": workers, "scheduler": scheduler, "resume": resume}
    if out is None:
        require_memory_settings(engine, client, keys)
        if control is not None:
            from aggopt.pipeline.review.criteria import mask_with_control

            return mask_with_control(
                data, job, control, progress=progress, secret=secret, trust=trust
            )
        return in_memory(data, job, progress=progress, secret=secret, trust=trust)
    if control is not None:
        raise JobError(
            "A control is for a table in memory, and an engine writes a folder.",
            fix="leave it out, and measure the release with the file of other persons: "
            "aggopt risk FOLDER RELEASE JOB --control FILE.",
        )
    loaded_job = load_job(
        replace_engine_keys(job, name=engine, **keys), trust
    ).load_contents()
    require_picklable(loaded_job)
    on_progress = read_progress(progress)
    folder = _read_pattern(data)
    with _open_executor(loaded_job, client, on_progress) as carrier:
        return mask_parts(folder, loaded_job, Path(out), carrier, on_progress, secret)


def _read_pattern(data: Any) -> str | Path:
    """Return the path or pattern `data`; refuse a table."""
    if isinstance(data, str | Path):
        return data
    raise JobError(
        f"A folder is to be written, and a {type(data).__name__} is no folder.",
        fix='pass a folder or a pattern, "in/*.parquet"; or leave out.',
    )


def replace_engine_keys(job: Job | str | Path, **keys: Any) -> Job:
    """Return the job with these [engine] keys replaced; None keeps the job's.

    Raises
    ------
    JobError
        As a job with these keys.
    """
    given_keys = {key: value for key, value in keys.items() if value is not None}
    if "name" in given_keys:
        require_known("engine", given_keys["name"], ENGINES)
    if isinstance(job, str | Path):
        return Job.read(job, engine=given_keys)
    if not given_keys or not isinstance(job, Job):
        return job
    section = job.engine.model_dump(exclude_unset=True) | given_keys
    return Job(**{**dict(job), "engine": section})


@contextmanager
def _open_executor(job: Job, client: Any, on_progress: Progress) -> Iterator[Executor]:
    """Yield the executor that the job's [engine] configures."""
    engine = job.engine
    if engine.name == "memory":
        raise JobError(
            'engine = "memory" masks a table, and a folder is to be written.',
            fix='set name = "local" under [engine].',
        )
    if engine.name == "local":
        if client is not None:
            raise JobError(
                'A client of Dask is given, and engine = "local".',
                fix='set name = "dask" under [engine].',
            )
        with start_processes(engine.jobs) as carrier:
            yield carrier
        return
    from aggopt.engine.executors.dask_cluster import connect_to_dask  # an extra

    on_progress("start workers" if engine.workers else "find workers", 0.0)
    with connect_to_dask(engine, client) as carrier:
        yield carrier
