"""The job of a release, for any engine."""

from pathlib import Path
from typing import Any

from aggopt.job._file import sections_in
from aggopt.job._job import Job
from aggopt.job.engine_section import engine_of


def names_engine(file: Path) -> bool:
    """Whether a job in a file names an engine; raises as `sections_in`."""
    return "name" in _engine_in(file)


def job_of_release(file: Path) -> Job:
    """Return the job in a file, to inspect its release or its input.

    If it has settings of an engine without a name, because `--engine` names it, an
    engine with these settings is chosen.  Raises as `Job.read`.
    """
    own = _engine_in(file)
    unnamed = own and "name" not in own
    return Job.read(file, engine={"name": engine_of(own)} if unnamed else {})


def _engine_in(file: Path) -> dict[str, Any]:
    own = sections_in(file).get("engine")
    return own if isinstance(own, dict) else {}
