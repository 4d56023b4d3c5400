"""The job of a release, for any engine."""

from pathlib import Path
from typing import Any

from pydantic import ValidationError as Invalid

from aggopt.errors import AggoptError
from aggopt.job._file import sections_in
from aggopt.job._job import Job
from aggopt.job.engine_section import engine_of
from aggopt.job.roles import Roles


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


def stated_roles(file: Path) -> Roles | None:
    """Return the roles that a job file states; None if these are refused, too.

    Other sections of the job may be refused.
    """
    try:
        return Roles.model_validate(sections_in(file).get("roles"))
    except (Invalid, AggoptError):
        return None


def _engine_in(file: Path) -> dict[str, Any]:
    own = sections_in(file).get("engine")
    return own if isinstance(own, dict) else {}
