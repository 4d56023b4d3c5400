"""The program of an attribute of a job: declared for others to solve, and judged."""

from collections.abc import Iterable
from math import isfinite
from pathlib import Path
from typing import Any, cast

import numpy as np

from aggopt.aggregate import Aggregation
from aggopt.aggregate.aggregation import get_column
from aggopt.aggregate.shifted_means import FEASIBLE
from aggopt.aggregate.user_model import ByModel
from aggopt.core.standardise import Scale
from aggopt.data.fingerprint import compute_fingerprint
from aggopt.errors import JobError, require_known
from aggopt.job import Job, Shifting, Squared
from aggopt.pipeline.aggregate.margins import margin_arguments
from aggopt.pipeline.partition.partition_table import partition_table
from aggopt.pipeline.partition.partitioned_table import PartitionedTable
from aggopt.pipeline.prepare.inputs import load_job, read_table
from aggopt.pipeline.prepare.job_properties import find_model, is_aggregated_by_stratum
from aggopt.pipeline.prepare.published_grid import read_bounds
from aggopt.pipeline.programs.program import Program
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


def declare_program(
    data: Any,
    job: Job | str | Path,
    attribute: str,
    language: str,
    trust: Iterable[str | Path],
    known: str | None = None,
) -> tuple[Any, Program, str]:
    """Return a problem, its program, and the secret of its margins or `known`."""
    job = load_job(job, trust).contained()
    how = job.aggregation
    if not isinstance(how, Shifting | ByModel):
        raise JobError(
            f"{how.method!r} publishes by a formula, and declares no program.",
            fix='set method = "p3m" under [aggregation], or name a model of yours.',
        )
    if isinstance(how, Shifting) and how.kinds != ("variance",):
        raise JobError(
            "The job keeps more than variances, and has no program of one attribute.",
            fix='set keep = "variance" under [aggregation].',
        )
    given = partition_table(data, job, None, known=known)
    made = _program(given, attribute, job)
    require_known("modelling language of this model", language, made.model.languages)
    problem = made.model.build(made.data, language)
    for part in (problem, *_variables(problem)):
        setattr(part, KEPT, made)
    return problem, made, given.secret


def _program(given: PartitionedTable, attribute: str, job: Job) -> Program:
    require_known("quasi-identifier that is a number", attribute, given.names)
    if given.kept is not None:
        raise JobError(
            "Programs are declared of complete tables, and values are missing.",
            fix="remove the records that miss a value.",
        )
    if given.strata is not None and is_aggregated_by_stratum(job):
        raise JobError(
            "Programs are declared of all records together, and the job keeps what it "
            "keeps in each stratum.",
            fix='set keep = "overall" under [strata].',
        )
    j = given.names.index(attribute)
    how = cast(Any, given.job.aggregation)
    scale = Scale.of(given.X[:, [j]], given.weights)
    if scale.constant[0]:
        raise JobError(
            f"{attribute!r} has one value only: there is no program of it.",
            fix="name an attribute that varies.",
        )
    x = scale.standardise(given.X[:, [j]])[:, 0]
    label = get_column(given.labels_of_numbers, j)
    model = find_model(how)
    bounds = read_bounds(given.table, given.job, [attribute])
    sides = bounds.standardised(scale)._asdict()
    ends = {side: float(end[0]) for side, end in sides.items()}
    if isinstance(how, ByModel):
        takes = how.program.takes.settings if bounds.there else {}
        own = {side: end for side, end in ends.items() if side in takes}
        stated = model.data(x, label, **{**how.arguments, **own})
    else:
        asked = margin_arguments(given)
        weight = how.alpha if isinstance(how, Squared) else how.price
        wishes = asked["delta"][:, j].copy(), asked["importance"][:, j], weight
        stated = model.data(x, label, *wishes, **ends, weights=given.weights)
    known = given.source.fingerprint
    return Program(model, stated, label, scale, known, attribute, job)


def _variables(problem: Any) -> list[Any]:
    """Return the variables of cvxpy, which another problem may be made of."""
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
    kept = (getattr(part, KEPT, None) for part in (problem, *_variables(problem)))
    made = next((each for each in kept if each is not None), None)
    if made is None:
        raise JobError(
            "The problem was not declared here.", fix="pass that of aggopt.declare."
        )
    job = load_job(job, trust).contained()
    if not made.is_under(job):
        raise JobError(
            "The problem was declared under another job.",
            fix="pass the job that aggopt.declare was given; or declare it anew.",
        )
    table, _ = read_table(data, job)
    if (made.table, made.attribute) != (compute_fingerprint(table.frame), attribute):
        raise JobError(
            f"The problem was declared of {made.attribute!r}, or of another table.",
            fix="pass table, job and attribute that it was declared of.",
        )
    reading = read_problem(made, problem)
    if reading is None:
        raise JobError("The problem holds no centroids.", fix="solve it first.")
    return judge_centroids(made, reading, by="adopted")


def read_problem(made: Program, problem: Any) -> Any:
    """Return the values of a problem; only the centroids if it judges itself."""
    for each in _variables(problem):
        seen = each.value
        if seen is not None and (np.shape(seen) != each.shape or np.iscomplexobj(seen)):
            raise JobError(
                f"The variable {each.name()!r} of shape {each.shape} holds values of "
                f"shape {np.shape(seen)}, or complex ones.",
                fix="give it one real number for each of its entries.",
            )
    try:
        if made.model.declared:
            return problem.var_dict["c"].value
        return made.model.reader(problem, made.data)
    except (AttributeError, KeyError, TypeError, ValueError):
        return None  # a variable of the model was taken out, or replaced


def judge_centroids(made: Program, reading: Any, *, by: str) -> Aggregation:
    """Return centroids judged by their model, for any solver."""
    found, m = np.asarray(getattr(reading, "c", reading)), int(made.labels.max()) + 1
    if found.shape != (m,) or found.dtype.kind not in "iuf":
        raise JobError(
            f"There are centroids of shape {found.shape} and type {found.dtype}, for "
            f"{m} groups.",
            fix="bring one real number for each group.",
        )
    at = made.model.point(made.data, reading)
    c = np.asarray(at.c if hasattr(reading, "c") else reading)
    cost = made.model.objective(made.data, at)
    missed = made.model.violation(made.data, at)
    fit = missed <= FEASIBLE and isfinite(cost)
    proof = Certificate(
        Status.HEURISTIC if fit else Status.FAILED,
        cost,
        None,
        missed,
        by,
        0.0,
        judge=made.model.judge,
    )
    return Aggregation(made.scale.undo(c[:, None]), made.labels, (proof,))
