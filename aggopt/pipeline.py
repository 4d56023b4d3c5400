"""The way of a record: from a table to an audited release."""

from collections.abc import Callable
from functools import partial
from inspect import signature
from pathlib import Path
from typing import Any

from aggopt import aggregate, partition
from aggopt.aggregate import Aggregation
from aggopt.arrays import Floats, group_size
from aggopt.audit import audit
from aggopt.errors import InfeasibleInputError, SolverError, TableError
from aggopt.files import read
from aggopt.job import Job, Mean, P3m
from aggopt.manifest import Source
from aggopt.measure import Assessment, assess
from aggopt.models import p3m
from aggopt.release import Release
from aggopt.scale import Scale
from aggopt.solvers import Certificate, Status, choose
from aggopt.staging import sha256
from aggopt.table import Table

Progress = Callable[[str, float], None]


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
    job = job if isinstance(job, Job) else Job.read(job)
    table, source = _table(data, job)
    X = table.matrix()
    k = group_size(job.privacy.k, len(X))
    _require_possible(X, job)
    told = progress or (lambda step, share: None)

    divide = getattr(partition, job.partition.method)
    labels = _call(divide, X, k, **job.partition.settings, told=partial(told, "group"))
    combine = getattr(aggregate, job.aggregation.method)
    masked: Aggregation = _call(
        combine, X, labels, **job.aggregation.settings, told=partial(told, "aggregate")
    )
    names = job.roles.quasi_identifier
    certificates = dict(zip(names, masked.certificates, strict=True))
    _require_solved(certificates)

    told("audit", 0.0)
    released = table.masked(masked.values, round_integers=job.output.round_integers)
    found = audit(released.frame.to_native(), job.roles, k)
    found.require()
    told("measure", 0.0)
    measures = measured(X, released.matrix(), job)
    notes = (*_notes(X, names, labels, certificates), *found.notes)
    return Release(released, labels, certificates, found, measures, notes, job, source)


def measured(original: Floats, released: Floats, job: Job) -> Assessment:
    """Return the measures of a release, SL at the distance that the job asks for."""
    asked = job.aggregation.delta if isinstance(job.aggregation, P3m) else 0.1
    return assess(original, released, delta=asked)


def _table(data: Any, job: Job) -> tuple[Table, Source]:
    if not isinstance(data, str | Path):
        table = Table.of(data, job.roles)
        return table, Source(None, None, *table.frame.shape)
    path = Path(data)
    table = Table.of(read(path, job.roles, job.input), job.roles)
    return table, Source(path.name, sha256(path), *table.frame.shape)


def _require_possible(X: Floats, job: Job) -> None:
    """Refuse now what a later step would refuse after long work."""
    if Scale.of(X).constant.all():
        raise TableError(
            "No quasi-identifier varies: there is nothing to mask.",
            fix="name those that do, or release the table as it is.",
        )
    how = job.aggregation
    if isinstance(how, P3m):
        choose(how.solver, p3m.CLASS)
    keeps_variance = isinstance(how, P3m) or (isinstance(how, Mean) and how.renormalise)
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


def _notes(
    X: Floats, names: tuple[str, ...], labels: Any, certificates: dict[str, Certificate]
) -> list[str]:
    constant = Scale.of(X).constant
    notes = [
        f"{name!r} has one value only: kept as it is, weight zero."
        for name, same in zip(names, constant, strict=True)
        if same
    ]
    if labels.max() == 0:
        notes.append(
            f"All {len(X)} records form one group: there are fewer than 2k of them."
        )
    notes += [
        f"{name!r}: {certificate.solver} stopped at a limit; the best point is kept."
        for name, certificate in certificates.items()
        if certificate.status is Status.LIMIT
    ]
    return notes
