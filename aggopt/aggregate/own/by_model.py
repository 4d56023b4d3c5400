"""Aggregation by a model of the user's, one attribute at a time."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from aggopt.aggregate._numbers import numbers
from aggopt.aggregate.aggregation import (
    Aggregation,
    begun_by,
    column,
    scale_for,
    stacked,
)
from aggopt.aggregate.joint_aggregation import CONSTANT
from aggopt.aggregate.own._solution import OwnOptions, solution
from aggopt.core.progress import require_progress
from aggopt.core.standardise import Scale
from aggopt.core.types import Bool
from aggopt.core.validation import Floats, check_labellings
from aggopt.errors import JobError, naming
from aggopt.models import MODELS
from aggopt.models.shared.user_model import OwnModel
from aggopt.solvers import Certificate, Solver, choose
from aggopt.solvers._solve import class_of
from aggopt.solvers.options import native_options


def by_model(
    X: npt.ArrayLike,
    labels: npt.ArrayLike,
    /,
    model: Any,
    *,
    solver: Any = None,
    start: Floats | Aggregation | None = None,
    time_limit: float | None = None,
    options: Mapping[str, Any] | None = None,
    progress: Callable[[float], None] | None = None,
    **settings: Any,
) -> Aggregation:
    """Return the centroids of each attribute by a model of your own.

    Parameters
    ----------
    X : (n, d)
        Records, original units.  The model receives them standardised, one attribute at
        a time.
    labels : (n,) or (n, d)
        Group of each record, 0..m-1, for all attributes or for each of them.
    model
        A function (x, labels, sizes, **settings) that returns a cvxpy.Problem with a
        variable "c", the centroids: its declaration is its own judge.  Or a module or
        `aggopt.models.Model`, whose objective and violations judge every answer; or
        the path of a file of either, "mine.py:capped", if the caller trusts it.
    solver
        A name of `aggopt.solvers.SOLVERS` that takes programs of its class, any solver
        of cvxpy or Pyomo ("cvxpy:OSQP", "pyomo:gurobi"), or one of your own; the first
        that is installed when omitted.
    start : (m, d), or Aggregation
        Centroids to start from, if the solver supports it, in original units; or an
        earlier result of these groups.  The result never costs more.  If nothing better
        is found, a start that satisfies all constraints is kept, and the status reports
        it.
    time_limit
        Seconds per attribute.
    options
        Passed to the solver under its own names.
    progress
        Called with the share of attributes done.
    settings
        Settings of the model.  An array (n, d), or (d,) with a number for each
        attribute, is passed attribute by attribute.

    Returns
    -------
    Aggregation
        One certificate per attribute, in standardised units.  If no publishable
        solution was found, the centroids are the group means, and the certificate's
        status reports it.  `bound` is the bound of the declared program; a bound from
        your own code is `claimed`.

    Raises
    ------
    TableError, JobError, SolverError
        An argument cannot be used; the model fails, lacks a part, or is not trusted.

    Examples
    --------
    >>> import cvxpy as cp
    >>> def near(x, labels, sizes):
    ...     c = cp.Variable(len(sizes), name="c")
    ...     return cp.Problem(cp.Minimize(cp.sum_squares(c[labels] - x)))
    >>> X = [[1.0], [2.0], [3.0], [7.0], [8.0], [9.0]]
    >>> masked = by_model(X, [0, 0, 0, 1, 1, 1], near, solver="highs")
    >>> [round(float(c), 6) for c in masked.centroids[:, 0]]
    [2.0, 8.0]
    """
    require_progress(progress)
    own = own_model(model)
    settings = _checked(own, settings)
    records = numbers(X)
    label = check_labellings(labels, *records.shape)
    scale = scale_for(records, label)
    Z = scale.standardise(records)
    column_settings = list(_of_attributes(settings, Z.shape))
    given = [
        (column(Z, j), column(label, j), only) for j, only in enumerate(column_settings)
    ]
    kind = own.kind or _class_of(own, given, scale.constant)
    chosen = choose(solver, own.name, kind, language=own.languages)
    native_options(chosen, time_limit, options)  # refuses unsupported options
    how = OwnOptions(chosen, None, time_limit, options or {})
    counts = [int(column(label, j).max()) + 1 for j in range(Z.shape[1])]
    starts = _starts(begun_by(start, label), scale, counts)
    solved: list[tuple[Floats, Certificate]] = []
    for j, constant in enumerate(scale.constant):
        if constant:
            solved.append((np.zeros(counts[j]), CONSTANT))
        else:
            with naming(f"Column {j}"):
                data = own.data(column(Z, j), column(label, j), **column_settings[j])
                solved.append(solution(own, data, replace(how, start=starts[j])))
        if progress:
            progress((j + 1) / len(scale.constant))
    centroids = stacked([c for c, _ in solved])
    return Aggregation(scale.undo(centroids), label, tuple(c for _, c in solved))


def own_model(named: object) -> OwnModel:
    """Return the model of the user's that is named, or an object as one.

    Raises
    ------
    JobError
        It is one of this package's, which have aggregations of their own.
    """
    model = named if isinstance(named, OwnModel) else MODELS.adopted(named)
    if isinstance(model, OwnModel):
        return model
    raise JobError(
        f"{model.name!r} is a model of this package.",
        fix="name what solves it as method under [aggregation], [partition] or "
        "[aggregation.categories]; or give a model of yours another name.",
    )


def _checked(model: OwnModel, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings, completed by defaults; refuse unknown ones.

    The type of an array is the type of its entries.
    """
    arrays = {n: v for n, v in given.items() if isinstance(v, np.ndarray) and v.size}
    entries = {name: array.flat[0].item() for name, array in arrays.items()}
    return {**model.takes.checked({**given, **entries}), **arrays}


def _of_attributes(
    settings: Mapping[str, Any], shape: tuple[int, int]
) -> Iterator[dict[str, Any]]:
    """Yield the settings of each attribute: of an array of all, its own."""
    for j in range(shape[1]):
        yield {
            name: value[..., j]
            if isinstance(value, np.ndarray) and value.shape in (shape, shape[1:])
            else value
            for name, value in settings.items()
        }


def _starts(start: Any, scale: Scale, counts: Sequence[int]) -> Sequence[Floats | None]:
    """Return the start of each attribute (m_j,), standardised."""
    if start is None:
        return [None] * len(counts)
    shape = max(counts), len(counts)
    try:
        z = np.asarray(start, np.float64)
    except (TypeError, ValueError):
        z = np.empty(0)
    there = np.arange(shape[0])[:, None] < counts
    if z.shape != shape or not np.isfinite(z[there]).all():
        raise JobError(
            f"start has shape {z.shape}, or entries that are not finite.",
            fix=f"pass centroids of shape {shape} in the original units.",
        )
    z = scale.standardise(z)
    return [z[:count, j].copy() for j, count in enumerate(counts)]


def solver_for(model: OwnModel, settings: Mapping[str, Any], named: object) -> Solver:
    """Return the solver that is named of a model with these settings, or the first."""
    kind = model.kind_with(settings)
    return choose(named, model.name, kind, language=model.languages)


def _class_of(
    model: OwnModel, given: Sequence[tuple[Any, Any, Mapping[str, Any]]], constant: Bool
) -> str:
    """Return the class of a function's problem for the first attribute that varies."""
    for (x, labels, column_settings), same in zip(given, constant, strict=True):
        if not same:
            return class_of(
                model.build(model.data(x, labels, **column_settings), "cvxpy")
            )
    return "LP"  # nothing is solved
