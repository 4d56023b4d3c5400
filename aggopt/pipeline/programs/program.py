"""The model, data, groups and job that a problem of one attribute was declared with."""

import json
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from aggopt.core.standardise import Scale
from aggopt.core.validation import Labels
from aggopt.job import Job
from aggopt.models import Model


@dataclass(frozen=True, eq=False)
class Program:
    """The source of a declared problem; it holds standardised originals.

    Attributes
    ----------
    labels : (n,)
        Group of each record.
    scale
        The scale of the attribute.
    table
        The fingerprint of the table.
    job
        The job, with all that it names loaded.
    """

    model: Model
    data: Any = field(repr=False)
    labels: Labels = field(repr=False)
    scale: Scale = field(repr=False)
    table: str = field(repr=False)
    attribute: str
    job: Job = field(repr=False)

    @property
    def digest(self) -> str:
        """The SHA-256 of the job's sections, of its code and of the groups it made."""
        stated = (*_stated(self.job), self.labels.tolist())
        return sha256(json.dumps(stated).encode()).hexdigest()

    def is_under(self, job: Job) -> bool:
        """Whether a job equals the one that the program was declared under.

        Python objects must be identical; two readings of unchanged files are equal.
        """
        objects = any(origin.where == "object" for origin in job.code)
        return self.job == job or (not objects and _stated(self.job) == _stated(job))


def _stated(job: Job) -> tuple[str, list[dict[str, Any]]]:
    """Return the sections of a job, and which code they name."""
    return job.as_text(), [origin.to_dict() for origin in job.code]
