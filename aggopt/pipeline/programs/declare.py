"""The program of an attribute of a job: declared for others to solve, and judged."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import sha256
from math import isfinite
from pathlib import Path
from typing import Any, cast

import numpy as np

from aggopt.aggregate import Aggregation
from aggopt.aggregate.aggregation import get_column
from aggopt.aggregate.shifted_means import FEASIBLE
from aggopt.aggregate.user_model import ByModel
from aggopt.core.frame import compute_fingerprint
from aggopt.core.standardise import Scale
from aggopt.core.types import Labels
from aggopt.errors import JobError, require_known
from aggopt.job import Job, Shifting, Squared
from aggopt.models import Model
from aggopt.pipeline.aggregate.margins import make_margin_arguments
from aggopt.pipeline.partition.partition_table import partition_table
from aggopt.pipeline.partition.partitioned_table import PartitionedTable
from aggopt.pipeline.prepare.inputs import load_job, read_table
from aggopt.pipeline.prepare.job_settings import find_model, is_aggregated_by_stratum
from aggopt.pipeline.prepare.published_grid import read_bounds
from aggopt.solvers import Certificate, Status

KEPT = "_aggopt_program"  # attribute of a problem, or of its variable, with its program


def declare(
    data: Any,
    job: Job | str | Path,
    attribute: str,
    *,
    language: str = "cvxpy",
    trust: Iterable[str | Path] = (),
) -> Any:
    """Return the optimization problem of a job for one attribute, without solving it.

    Change it and solve it as you like, and pass it to `aggopt.adopt`, which judges its
    solution. It holds the originals, standardised, and the secret margins of this call:
    do not write it to a place that others can read.

    Parameters
    ----------
    data, job, trust
        As for `aggopt.mask`.
    attribute
        A quasi-identifier that is a number.
    language
        "cvxpy", for a `cvxpy.Problem`, or "pyomo", for a `ConcreteModel`.

    Raises
    ------
    UnknownNameError
        The attribute or language does not exist.
    JobError
        The job publishes by a formula, keeps a covariance, or values are missing; or
        the attribute has one value only.

    Examples
    --------
    >>> import pandas as pd, aggopt
    >>> people = pd.DataFrame({"age": [20, 21, 22, 60, 61, 65]})
    >>> roles, p3m = {"quasi-identifier": ["age"]}, {"method": "p3m"}
    >>> job = aggopt.Job(roles=roles, privacy={"k": 3}, aggregation=p3m)
    >>> problem = declare(people, job, "age")
    >>> [row.label for row in problem.constraints]
    ['distance', 'mean', 'variance']
    """
    return declare_program(data, job, attribute, language, trust)[0]


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
        """The SHA-256 of the job, its code and its groups."""
        stated = (*_describe_job(self.job), self.labels.tolist())
        return sha256(json.dumps(stated).encode()).hexdigest()

    def is_under(self, job: Job) -> bool:
        """Whether a job equals the one that the program was declared under.

        Python objects must be identical; two readings of unchanged files are equal.
        """
        objects = any(origin.where == "object" for origin in job.code)
        return self.job == job or (
            not objects and _describe_job(self.job) == _describe_job(job)
        )


def declare_program(
    data: Any,
    job: Job | str | Path,
    attribute: str,
    language: str,
    trust: Iterable[str | Path],
    secret: str | None = None,
) -> tuple[Any, Program, str]:
    """Return a problem, its program, and the secret of its margins."""
    job = load_job(job, trust).load_contents()
    aggregation = job.aggregation
    if not isinstance(aggregation, Shifting | ByModel):
        raise JobError(
            f"{aggregation.method!r} publishes by a formula, and declares no program.",
            fix='set method = "p3m" under [aggregation], or name a model of yours.',
        )
    if isinstance(aggregation, Shifting) and aggregation.kinds != ("variance",):
        raise JobError(
            "The job keeps more than variances, and has no program of one attribute.",
            fix='set keep = "variance" under [aggregation].',
        )
    partitioned = partition_table(data, job, None, secret=secret)
    program = _make_program(partitioned, attribute, job)
    require_known("modelling language of this model", language, program.model.languages)
    problem = program.model.build(program.data, language)
    for part in (problem, *_list_variables(problem)):
        setattr(part, KEPT, program)
    return problem, program, partitioned.secret


def _make_program(partitioned: PartitionedTable, attribute: str, job: Job) -> Program:
    """Return the program of one attribute of a partitioned table."""
    require_known("quasi-identifier that is a number", attribute, partitioned.names)
    if partitioned.kept is not None:
        raise JobError(
            "Programs are declared of complete tables, and values are missing.",
            fix="remove the records that miss a value.",
        )
    if partitioned.strata is not None and is_aggregated_by_stratum(job):
        raise JobError(
            "Programs are declared of all records together, and the job keeps what it "
            "keeps in each stratum.",
            fix='set keep = "overall" under [strata].',
        )
    j = partitioned.names.index(attribute)
    section = cast(Any, partitioned.job.aggregation)
    scale = Scale.of(partitioned.X[:, [j]], partitioned.weights)
    if scale.constant[0]:
        raise JobError(
            f"{attribute!r} has one value only: there is no program of it.",
            fix="name an attribute that varies.",
        )
    x = scale.standardise(partitioned.X[:, [j]])[:, 0]
    label = get_column(partitioned.labels_of_numbers, j)
    model = find_model(section)
    bounds = read_bounds(partitioned.table, partitioned.job, [attribute])
    sides = bounds.standardised(scale)._asdict()
    ends = {side: float(end[0]) for side, end in sides.items()}
    if isinstance(section, ByModel):
        takes = section.program.takes.settings if bounds.are_set else {}
        end_arguments = {side: end for side, end in ends.items() if side in takes}
        stated = model.data(x, label, **{**section.arguments, **end_arguments})
    else:
        margin_arguments = make_margin_arguments(partitioned)
        weight = section.alpha if isinstance(section, Squared) else section.price
        stated = model.data(
            x,
            label,
            margin_arguments["delta"][:, j].copy(),
            margin_arguments["importance"][:, j],
            weight,
            **ends,
            weights=partitioned.weights,
        )
    fingerprint = partitioned.source.fingerprint
    return Program(model, stated, label, scale, fingerprint, attribute, job)


def _list_variables(problem: Any) -> list[Any]:
    """Return the variables of a cvxpy problem; none of a Pyomo model."""
    return problem.variables() if hasattr(problem, "var_dict") else []


def adopt(
    problem: Any,
    data: Any,
    job: Job | str | Path,
    attribute: str,
    *,
    trust: Iterable[str | Path] = (),
) -> Aggregation:
    """Return the published values of a solved problem, judged by its model.

    Objective and violation are those of the declared model at the problem's centroids,
    whatever was added to the problem and however it was solved.  Nothing is proven.

    Parameters
    ----------
    problem
        A solved problem of `aggopt.declare`; in cvxpy also another problem with its
        variables.
    data, job, attribute, trust
        The table and the job that it was declared for.

    Returns
    -------
    Aggregation
        Of this attribute only, in its unit; the solver is called "adopted". The status
        is FAILED if a constraint of the model is missed by more than 1e-6, else
        HEURISTIC, because the search for the centroids is unknown.

    Raises
    ------
    JobError
        It was declared of something else, or holds no centroids, or values that are
        not one real number for each entry of a variable.

    Examples
    --------
    >>> import cvxpy as cp, pandas as pd, aggopt
    >>> def near(x, labels, sizes):
    ...     c = cp.Variable(len(sizes), name="c")
    ...     return cp.Problem(cp.Minimize(cp.sum_squares(c[labels] - x)))
    >>> people = pd.DataFrame({"age": [20, 21, 22, 60, 61, 65]})
    >>> roles = {"quasi-identifier": ["age"]}
    >>> job = aggopt.Job(roles=roles, privacy={"k": 3}, aggregation={"model": near})
    >>> problem = aggopt.declare(people, job, "age")
    >>> _ = problem.solve(solver="CLARABEL")
    >>> adopt(problem, people, job, "age").centroids.ravel().round(3).tolist()
    [21.0, 62.0]
    """
    declarations = (
        getattr(part, KEPT, None) for part in (problem, *_list_variables(problem))
    )
    program = next(
        (declared for declared in declarations if declared is not None), None
    )
    if program is None:
        raise JobError(
            "The problem was not declared here.", fix="pass that of aggopt.declare."
        )
    job = load_job(job, trust).load_contents()
    if not program.is_under(job):
        raise JobError(
            "The problem was declared under another job.",
            fix="pass the job that aggopt.declare was given; or declare it anew.",
        )
    table, _ = read_table(data, job)
    if (program.table, program.attribute) != (
        compute_fingerprint(table.frame),
        attribute,
    ):
        raise JobError(
            f"The problem was declared of {program.attribute!r}, or of another table.",
            fix="pass table, job and attribute that it was declared of.",
        )
    reading = read_problem(program, problem)
    if reading is None:
        raise JobError("The problem holds no centroids.", fix="solve it first.")
    return judge_centroids(program, reading, by="adopted")


def read_problem(program: Program, problem: Any) -> Any:
    """Return the values of a solved problem; None if it has no centroids."""
    for variable in _list_variables(problem):
        value = variable.value
        if value is not None and (
            np.shape(value) != variable.shape or np.iscomplexobj(value)
        ):
            raise JobError(
                f"The variable {variable.name()!r} of shape {variable.shape} holds "
                f"values of shape {np.shape(value)}, or complex ones.",
                fix="give it one real number for each of its entries.",
            )
    try:
        if program.model.declared:
            return problem.var_dict["c"].value
        return program.model.reader(problem, program.data)
    except (AttributeError, KeyError, TypeError, ValueError):
        return None  # a variable of the model was taken out, or replaced


def judge_centroids(program: Program, reading: Any, *, by: str) -> Aggregation:
    """Return centroids as an aggregation, certified by their own model."""
    centroids = np.asarray(getattr(reading, "c", reading))
    m = int(program.labels.max()) + 1
    if centroids.shape != (m,) or centroids.dtype.kind not in "iuf":
        raise JobError(
            f"There are centroids of shape {centroids.shape} and type "
            f"{centroids.dtype}, for {m} groups.",
            fix="bring one real number for each group.",
        )
    at = program.model.point(program.data, reading)
    c = np.asarray(at.c if hasattr(reading, "c") else reading)
    cost = program.model.objective(program.data, at)
    missed = program.model.violation(program.data, at)
    fit = missed <= FEASIBLE and isfinite(cost)
    proof = Certificate(
        Status.HEURISTIC if fit else Status.FAILED,
        cost,
        None,
        missed,
        by,
        0.0,
        judge=program.model.judge,
    )
    return Aggregation(program.scale.undo(c[:, None]), program.labels, (proof,))


def _describe_job(job: Job) -> tuple[str, list[dict[str, Any]]]:
    """Return the text of a job, and entries on the code that it names."""
    return job.as_text(), [origin.to_dict() for origin in job.code]
