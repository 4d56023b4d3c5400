"""The job by which a release was made, whoever carried it out."""

from pathlib import Path
from typing import Any

from aggopt.job._engine import engine_of
from aggopt.job._file import sections_in
from aggopt.job._job import Job


def names_engine(file: Path) -> bool:
    """Whether a job in a file says who carries it out; raises as `sections_in`."""
    return "name" in _engine_in(file)


def job_of_release(file: Path) -> Job:
    """Return the job in a file, to look at what it made, or what it is to be made of.

    Where it has settings of an engine and names none, because `--engine` does, it is of
    one that has these settings.  Raises as `Job.read`.
    """
    own = _engine_in(file)
    unnamed = own and "name" not in own
    return Job.read(file, engine={"name": engine_of(own)} if unnamed else {})


def _engine_in(file: Path) -> dict[str, Any]:
    own = sections_in(file).get("engine")
    return own if isinstance(own, dict) else {}
