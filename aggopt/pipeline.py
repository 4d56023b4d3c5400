"""The way of a record: from a table to an audited release."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np

from aggopt import aggregate, partition
from aggopt.aggregate import Aggregation
from aggopt.arrays import Floats, Labels, group_size
from aggopt.errors import InfeasibleInputError, JobError, SolverError, TableError
from aggopt.input.files import read
from aggopt.input.table import Table
from aggopt.input.wishes import resolved
from aggopt.job import Job, Mean, Shifting
from aggopt.measure import Assessment, assess
from aggopt.output.audit import audit
from aggopt.output.manifest import Source
from aggopt.output.release import Release
from aggopt.output.staging import sha256
from aggopt.scale import Scale
from aggopt.solvers import Certificate, Solver, Status, choose
from aggopt.solvers._options import native_options

Progress = Callable[[str, float], None]
ROUNDING = 1e-6  # of an attribute's range; float32 stays below it


def mask(
    data: Any, job: Job | str | Path, *, progress: Progress | None = None
) -> Release:
    """Return the audited release of `data`.

    Parameters
    ----------
    data
        A pandas, Polars or PyArrow table, a two-dimensional NumPy array (its columns
        are called "0", "1", ...), or the path of a .csv or .parquet file.
    job
        What to mask and how: a `Job`, or the path of a TOML file.
    progress
        Called with the name of the step and the share of it that is done.

    Returns
    -------
    Release
        `release.table` is the masked table, as the kind that came in;
        `release.write("masked.csv")` writes it with manifest and private key.

    Raises
    ------
    TableError, JobError, InfeasibleInputError
        The input cannot be used; found before any work starts.
    SolverError
        The solver is missing, or found nothing for an attribute.
    PrivacyError
        The audit of the masked values found less than the job promises.

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
    told = progress or (lambda step, share: None)
    given = group(data, job, told)
    job, table = given.job, given.table
    combine = getattr(aggregate, job.aggregation.method)
    settings = {**job.aggregation.settings, **given.asked}
    masked: Aggregation = _call(
        combine, given.X, given.labels, **settings, told=partial(told, "aggregate")
    )
    names = job.roles.quasi_identifier
    certificates = dict(zip(names, masked.certificates, strict=True))
    _require_solved(certificates)

    told("audit", 0.0)
    released = table.masked(masked.values, round_integers=job.output.round_integers)
    found = audit(released.frame.to_native(), job.roles, job.privacy.k)
    found.require()
    told("measure", 0.0)
    measures = measured(given.X, released.matrix(), given.asked)
    notes = (
        *_notes(given, certificates),
        *_moved(given, masked, released),
        *found.notes,
    )
    return Release(
        released, given.labels, certificates, found, measures, notes, job, given.source
    )


@dataclass(frozen=True)
class Grouped:
    """A checked table and its partition: what an aggregation starts from.

    `X` (n, d) are the quasi-identifiers, `asked` what the records wish.
    """

    job: Job
    table: Table
    source: Source
    X: Floats = field(repr=False)
    labels: Labels = field(repr=False)
    asked: dict[str, Floats] = field(repr=False)


def group(data: Any, job: Job | str | Path, told: Progress) -> Grouped:
    """Return the table, checked and partitioned as the job says; raises as `mask`."""
    if isinstance(job, str | Path):
        job = Job.read(job)
    if not isinstance(job, Job):
        raise JobError(
            f"A {type(job).__name__} is not a job.",
            fix="pass a Job(...), or the path of a TOML file.",
        )
    told("read", 0.0)
    table, source = _table(data, job)
    X = table.matrix()
    k = group_size(job.privacy.k, len(X))
    _require_possible(X, job)
    asked = wishes_of(table, X, job)
    divide = getattr(partition, job.partition.method)
    labels = _call(divide, X, k, **job.partition.settings, told=partial(told, "group"))
    return Grouped(job, table, source, X, labels, asked)


def wishes_of(table: Table, X: Floats, job: Job) -> dict[str, Floats]:
    """Return what records X (n, d) ask for, (n, d) each; nothing if nothing shifts."""
    how = job.aggregation
    if not isinstance(how, Shifting):
        return {}
    Z = Scale.of(X).standardise(X)
    return {
        "delta": resolved(how.delta, table, Z, "delta"),
        "importance": resolved(how.importance, table, Z, "importance"),
    }


def model_of(how: Shifting) -> Any:
    """Return the model file of an aggregation: the two have one name."""
    return import_module(f"aggopt.models.{how.method}")


def chosen_solver(how: Shifting) -> Solver:
    """Return the solver that an aggregation will use; raises as `choose`."""
    model = model_of(how)
    return choose(how.solver, model.NAME, model.CLASS)


def measured(
    original: Floats, released: Floats, asked: dict[str, Floats]
) -> Assessment:
    """Return the measures of a release; SL by what the records ask for, if they do."""
    if not asked:
        return assess(original, released)
    weights = asked["importance"] if asked["importance"].any() else 1.0
    return assess(original, released, delta=asked["delta"], weights=weights)


def _table(data: Any, job: Job) -> tuple[Table, Source]:
    path = Path(data) if isinstance(data, str | Path) else None
    table = Table.of(
        read(path, job.roles, job.input) if path else data,
        job.roles,
    )
    fingerprint = hashlib.sha256(table.matrix().tobytes()).hexdigest()
    file, digest = (path.name, sha256(path)) if path else (None, None)
    return table, Source(file, digest, *table.frame.shape, fingerprint)


def _require_possible(X: Floats, job: Job) -> None:
    """Refuse now what a later step would refuse after long work."""
    if Scale.of(X).constant.all():
        raise TableError(
            "No quasi-identifier varies: there is nothing to mask.",
            fix="name those that do, or release the table as it is.",
        )
    how = job.aggregation
    if isinstance(how, Shifting):
        native_options(chosen_solver(how), None, how.options)
    keeps_variance = isinstance(how, Shifting) or (
        isinstance(how, Mean) and how.renormalise
    )
    if keeps_variance and len(X) < 2 * job.privacy.k:
        raise InfeasibleInputError(
            f"{len(X)} records with k = {job.privacy.k} make one group, and one value "
            "cannot keep the variance.",
            fix="choose k of at most half the records, or aggregate by the mean as it "
            "is.",
        )


def _call(
    step: Callable[..., Any], *data: Any, told: Callable[[float], None], **settings: Any
) -> Any:
    """Run a step, which says how far it is if it can."""
    told(0.0)
    if "progress" in signature(step).parameters:
        settings["progress"] = told
    return step(*data, **settings)


def _require_solved(certificates: dict[str, Certificate]) -> None:
    failed = {n: c for n, c in certificates.items() if not c.status.usable}
    if failed:
        seen = ", ".join(f"{n!r}: {c.status} ({c.solver})" for n, c in failed.items())
        raise SolverError(
            f"No usable answer was found for {seen}.",
            fix="name another solver in the job, or other wishes (delta, alpha); "
            "nothing was released.",
        )


def _notes(given: Grouped, certificates: dict[str, Certificate]) -> list[str]:
    n, constant = len(given.X), Scale.of(given.X).constant
    notes = [
        f"{name!r} has one value only: kept as it is, weight zero."
        for name, same in zip(certificates, constant, strict=True)
        if same
    ]
    if given.labels.max() == 0:
        notes.append(f"All {n} records form one group: there are fewer than 2k.")
    notes += [
        f"{name!r}: {certificate.solver} {certificate.status}."
        for name, certificate in certificates.items()
        if certificate.status in (Status.LIMIT, Status.FALLBACK)
    ]
    return notes


def _moved(given: Grouped, masked: Aggregation, released: Table) -> list[str]:
    """Say what a certificate and a range do not: rounding, and values beyond it."""
    notes, X, Y = [], given.X, released.matrix()
    low, high = X.min(axis=0), X.max(axis=0)
    rounded = (np.abs(Y - masked.values) > ROUNDING * (high - low)).any(axis=0)
    beyond = ((low > Y) | (high < Y)).sum(axis=0)
    for j, name in enumerate(given.job.roles.quasi_identifier):
        if rounded[j]:
            notes.append(
                f"{name!r} was rounded to its type: the certificate is of the values "
                "before, the measures are of those released."
            )
        if beyond[j]:
            notes.append(
                f"{name!r}: {beyond[j]} released values lie outside the range of the "
                "originals."
            )
    return notes
