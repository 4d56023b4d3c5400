"""Read a written release again: recount it and measure it against the original."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.csv

from aggopt.arrays import Labels
from aggopt.audit import Audit, audit
from aggopt.errors import TableError
from aggopt.files import as_written, read
from aggopt.job import Job
from aggopt.measure import Assessment
from aggopt.pipeline import measured
from aggopt.release import Files
from aggopt.staging import sha256
from aggopt.table import Table


@dataclass(frozen=True)
class Review:
    """What a second look at a written release found."""

    audit: Audit
    measures: Assessment

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return {"audit": self.audit.to_dict(), "measures": self.measures.to_dict()}


def review(
    original: Path, released: Path, job: Job, *, same_order: bool = False
) -> Review:
    """Return the audit and the measures of a release that was written before.

    A release is shuffled, so the private key beside it tells which record is which.
    With `same_order` the two files are taken to have the same record order, for a
    release that another program made.

    Raises
    ------
    TableError, JobError
        A file cannot be used; the numbers of records differ; the key is missing or
        belongs to another release.
    """
    roles = job.roles
    first = Table.of(read(original, roles, job.input), roles)
    kept = roles.model_copy(update={"identifier": ()})
    second = Table.of(_without(read(released, kept, job.input), roles.identifier), kept)
    n = len(first.frame)
    if len(second.frame) != n:
        raise TableError(
            f"{original.name} has {n} records and {released.name} {len(second.frame)}.",
            fix="assess a release against the table it was made from.",
        )
    place = np.arange(n) if same_order else _places(released, n)
    found = audit(as_written(released, job.input), roles, job.privacy.k)
    return Review(found, measured(first.matrix(), second.matrix()[place], job))


def _without(table: Any, identifiers: tuple[str, ...]) -> Any:
    """Leave identifiers to the audit, which reports them."""
    return table.drop_columns([c for c in identifiers if c in table.column_names])


def _places(released: Path, n: int) -> Labels:
    files = Files.beside(released)
    if files.manifest.exists():
        _require_same(files)
    if not files.private.exists():
        raise TableError(
            f"{files.private.name} is not beside {released.name}, so nobody can tell "
            "which record is which.",
            fix="put it there, or pass --same-order if the two tables have the same "
            "record order.",
        )
    try:
        place = pyarrow.csv.read_csv(files.private)["released_record"].to_numpy()
    except (pyarrow.ArrowException, KeyError):
        place = np.empty(0)
    if not np.array_equal(np.sort(place), np.arange(n)):
        raise TableError(
            f"{files.private.name} is not the key of these two tables.",
            fix="put back the one that was written with the release.",
        )
    return np.asarray(place, dtype=np.intp)


def _require_same(files: Files) -> None:
    try:
        stated = json.loads(files.manifest.read_text("utf-8"))["output"]["sha256"]
    except (OSError, ValueError, KeyError):
        stated = None
    if stated != sha256(files.table):
        raise TableError(
            f"{files.table.name} is not the file that {files.manifest.name} describes.",
            fix="put back the two that were written together.",
        )
