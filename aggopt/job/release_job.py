"""The job of a release, for any engine."""

from pathlib import Path
from typing import Any

from pydantic import ValidationError as Invalid

from aggopt.errors import AggoptError
from aggopt.job._job import Job, read_sections
from aggopt.job.engine_section import find_engine
from aggopt.job.roles import Roles


def has_engine(file: Path) -> bool:
    """Whether a job in a file names an engine; raises as `read_sections`."""
    return "name" in _read_engine(file)


def read_job_of_release(file: Path) -> Job:
    """Return the job in a file, to inspect its release or its input.

    If it has settings of an engine without a name, because `--engine` names it, an
    engine with these settings is chosen.  Raises as `Job.read`.
    """
    engine = _read_engine(file)
    unnamed = engine and "name" not in engine
    return Job.read(file, engine={"name": find_engine(engine)} if unnamed else {})


def read_stated_roles(file: Path) -> Roles | None:
    """Return the roles that a job file states; None if these are refused, too.

    Other sections of the job may be refused.
    """
    try:
        return Roles.model_validate(read_sections(file).get("roles"))
    except (Invalid, AggoptError):
        return None


def _read_engine(file: Path) -> dict[str, Any]:
    """Return the section [engine] of a job file, unchecked."""
    engine = read_sections(file).get("engine")
    return engine if isinstance(engine, dict) else {}
