"""Aggregation by a model of the user's, one attribute at a time."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from math import inf, isfinite, nan
from typing import Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt
from pydantic import ModelWrapValidatorHandler, model_validator

from aggopt.aggregate.aggregation import (
    Aggregation,
    get_column,
    group_means,
    read_float_records,
    read_start,
    scale_for,
    stack_centroids,
)
from aggopt.aggregate.joint_aggregation import CONSTANT
from aggopt.aggregate.registry import Aggregating, Aggregator
from aggopt.aggregate.shifted_means import FEASIBLE
from aggopt.core.deadline import compile_time, require_progress
from aggopt.core.plugins.section import UserMethodSection, split_settings
from aggopt.core.registry import Registry
from aggopt.core.section import SolverSection
from aggopt.core.standardise import Scale
from aggopt.core.types import Bool, Floats
from aggopt.core.validation import check_labellings
from aggopt.errors import AggoptError, JobError, naming
from aggopt.models import MODELS
from aggopt.models.shared.user_model import OwnModel
from aggopt.solvers import Certificate, Solver, Status, choose_solver
from aggopt.solvers.certificate import Answer, is_gap_closed, measure_gap_size
from aggopt.solvers.options import make_native_options
from aggopt.solvers.run_solver import run_solver
from aggopt.solvers.solve_problem import find_problem_class

# of a solve that ended without a point, how the model's own fallback is kept
_STATUS_OF_ANSWER = {
    Status.UNPROVEN: Status.FALLBACK,
    Status.LIMIT: Status.FALLBACK,
    Status.UNANSWERED: Status.UNANSWERED,
}


@dataclass(frozen=True, eq=False)
class OwnOptions:
    """Settings of a solve: the solver, its start, its time limit and its options."""

    solver: Solver
    start: Floats | None = None
    time_limit: float | None = None
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Judged:
    """Centroids (m,), their cost, and their largest violation of a constraint."""

    centroids: Floats
    cost: float
    violation: float

    @property
    def fit(self) -> bool:
        """Whether the centroids satisfy all constraints and have a finite cost."""
        return self.violation <= FEASIBLE and isfinite(self.cost)


def solve_user_model(
    model: OwnModel, data: Any, options: OwnOptions
) -> tuple[Floats, Certificate]:
    """Return the centroids (m,) of a user's model, by a solver, and a certificate.

    If it found none that may be published: after a limit the model's fallback, if that
    may be published; else the group means, and a status that is not usable.  The start
    is kept if it may be published and nothing better was found.
    """
    started = compile_time.now()
    answer = run_solver(
        model,
        data,
        options.solver,
        options.start,
        time_limit=options.time_limit,
        options=options.options,
    )
    status = answer.status
    best = None
    if answer.reading is not None and status.usable:
        best = judge_reading(model, data, answer.reading)
        status = status if best.fit else Status.FAILED
    elif status.usable:
        status = Status.FAILED
    kept_status = _STATUS_OF_ANSWER.get(answer.status)
    if status is Status.FAILED and kept_status is not None and model.fallback:
        best = judge_reading(model, data, model.fallback(data))
        status = kept_status if best.fit else Status.FAILED
    if options.start is not None:
        start = judge_reading(model, data, options.start)
        if start.fit and not (best and best.fit and best.cost <= start.cost):
            status = Status.KEPT
            best = start
    if best is None:
        means = group_means(data.x[:, None], data.labels)[:, 0]
        best = Judged(means, nan, inf)
    size = None
    if answer.bound is not None and status.usable:
        costs = _iter_reference_costs(model, data, options)
        size = measure_gap_size(best.cost, answer.bound, costs, len(data.x))
    certificate = certify_centroids(model, answer, status, best, size)
    return best.centroids, replace(certificate, seconds=compile_time.now() - started)


def _iter_reference_costs(
    model: OwnModel, data: Any, options: OwnOptions
) -> Iterator[float]:
    """Yield the costs of plain choices: the overall mean, the group means, the start.

    A model may be undefined at these points; this has no consequence for its optimum.
    """
    means = group_means(data.x[:, None], data.labels)[:, 0]
    for plain in (np.zeros_like(means), means, options.start):
        if plain is not None:
            with suppress(AggoptError):
                yield judge_reading(model, data, plain).cost


def certify_centroids(
    model: OwnModel, answer: Answer, status: Status, best: Judged, size: float | None
) -> Certificate:
    """Return the certificate of centroids judged by the user's model.

    Their gap is relative to `size`, or to their cost if it is None.
    """
    bound = _limit_bound(answer.bound, best.cost, size) if status.usable else None
    others = (
        *_STATUS_OF_ANSWER.values(),
        Status.KEPT,
    )  # points that the solver did not find
    has_multipliers = status.usable and status not in others
    if status.is_open or status in (Status.OPTIMAL, Status.LOCAL, Status.KEPT):
        shown = bound is not None and is_gap_closed(best.cost, bound, size)
        weaker = Status.UNPROVEN if status is Status.OPTIMAL else status
        status = Status.OPTIMAL if shown else weaker
    claim = answer.claimed if status.usable else None
    if claim is not None and _limit_bound(claim.bound, best.cost, size) is None:
        claim = None  # this very point shows that it is false
    return Certificate(
        status,
        best.cost,
        bound,
        best.violation,
        answer.solver,
        answer.seconds,
        claimed=claim,
        judge=model.judge,
        iterations=answer.iterations,
        multipliers=answer.multipliers if has_multipliers else None,
        size=None if bound is None else size,
    )


def _limit_bound(bound: float | None, cost: float, size: float | None) -> float | None:
    """Return the bound, at most the cost; None if the cost contradicts it."""
    if bound is None or not (bound <= cost or is_gap_closed(cost, bound, size)):
        return None
    return min(bound, cost)


def judge_reading(model: OwnModel, data: Any, reading: Any) -> Judged:
    """Return a solver's centroids, with cost and violation by the user's model.

    Raises
    ------
    JobError
        They are not one number for each group.
    """
    m = int(data.labels.max()) + 1
    if not model.declared:
        reading = _read_centroids(model, reading, m)
    at = model.point(data, reading)
    c = _read_centroids(model, at.c, m) if model.declared else reading
    return Judged(c, model.objective(data, at), model.violation(data, at))


def _read_centroids(model: OwnModel, result: Any, m: int) -> Floats:
    """Return a result as finite centroids (m,); refuse other shapes and types."""
    array = model.origin.run(np.array, result)
    numbers = array.dtype.kind in "biuf"
    c = array.astype(np.float64) if numbers else np.empty(0)
    if c.shape != (m,) or not np.isfinite(c).all():
        raise JobError(
            f"{model.name} gives centroids of shape {c.shape}, or some that are not "
            f"finite, for {m} groups.",
            fix="return one number for each group, or None if there is none.",
        )
    return c


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
    user_model = load_user_model(model)
    settings = _check_settings(user_model, settings)
    records = read_float_records(X)
    label = check_labellings(labels, *records.shape)
    scale = scale_for(records, label)
    Z = scale.standardise(records)
    column_settings = list(_iter_attribute_settings(settings, Z.shape))
    arguments = [
        (get_column(Z, j), get_column(label, j), only)
        for j, only in enumerate(column_settings)
    ]
    kind = user_model.kind or _find_problem_class(user_model, arguments, scale.constant)
    chosen = choose_solver(solver, user_model.name, kind, language=user_model.languages)
    make_native_options(chosen, time_limit, options)  # refuses unsupported options
    solve_options = OwnOptions(chosen, None, time_limit, options or {})
    counts = [int(get_column(label, j).max()) + 1 for j in range(Z.shape[1])]
    starts = _split_start(read_start(start, label), scale, counts)
    solved: list[tuple[Floats, Certificate]] = []
    for j, constant in enumerate(scale.constant):
        if constant:
            solved.append((np.zeros(counts[j]), CONSTANT))
        else:
            with naming(f"Column {j}"):
                data = user_model.data(
                    get_column(Z, j), get_column(label, j), **column_settings[j]
                )
                solved.append(
                    solve_user_model(
                        user_model, data, replace(solve_options, start=starts[j])
                    )
                )
        if progress:
            progress((j + 1) / len(scale.constant))
    centroids = stack_centroids([c for c, _ in solved])
    return Aggregation(scale.undo(centroids), label, tuple(c for _, c in solved))


def load_user_model(name_or_model: object) -> OwnModel:
    """Return a user's model, from its name or an object; refuse a built-in model.

    Raises
    ------
    JobError
        It is one of this package's, which have aggregations of their own.
    """
    model = (
        name_or_model
        if isinstance(name_or_model, OwnModel)
        else MODELS.adopt(name_or_model)
    )
    if isinstance(model, OwnModel):
        return model
    raise JobError(
        f"{model.name!r} is a model of this package.",
        fix="name what solves it as method under [aggregation], [partition] or "
        "[aggregation.categories]; or give a model of yours another name.",
    )


def _check_settings(model: OwnModel, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return a model's settings, completed by defaults; refuse unknown ones.

    The type of an array is the type of its entries.
    """
    arrays = {n: v for n, v in settings.items() if isinstance(v, np.ndarray) and v.size}
    entries = {name: array.flat[0].item() for name, array in arrays.items()}
    return {**model.takes.check_arguments({**settings, **entries}), **arrays}


def _iter_attribute_settings(
    settings: Mapping[str, Any], shape: tuple[int, int]
) -> Iterator[dict[str, Any]]:
    """Yield the settings of each attribute: its own entry of an array for all."""
    for j in range(shape[1]):
        yield {
            name: value[..., j]
            if isinstance(value, np.ndarray) and value.shape in (shape, shape[1:])
            else value
            for name, value in settings.items()
        }


def _split_start(
    start: Any, scale: Scale, counts: Sequence[int]
) -> Sequence[Floats | None]:
    """Return the starting centroids (m_j,) of each attribute, standardised."""
    if start is None:
        return [None] * len(counts)
    shape = max(counts), len(counts)
    try:
        z = np.asarray(start, np.float64)
    except (TypeError, ValueError):
        z = np.empty(0)
    is_present = np.arange(shape[0])[:, None] < counts
    if z.shape != shape or not np.isfinite(z[is_present]).all():
        raise JobError(
            f"start has shape {z.shape}, or entries that are not finite.",
            fix=f"pass centroids of shape {shape} in the original units.",
        )
    z = scale.standardise(z)
    return [z[:count, j].copy() for j, count in enumerate(counts)]


def choose_model_solver(
    model: OwnModel, settings: Mapping[str, Any], solver: object
) -> Solver:
    """Return the named solver for a user's model, or the first that is suitable."""
    kind = model.find_kind(settings)
    return choose_solver(solver, model.name, kind, language=model.languages)


def _find_problem_class(
    model: OwnModel,
    columns: Sequence[tuple[Any, Any, Mapping[str, Any]]],
    constant: Bool,
) -> str:
    """Return the problem class ("LP", ...) of the first attribute that varies."""
    for (x, labels, column_settings), is_constant in zip(
        columns, constant, strict=True
    ):
        if not is_constant:
            return find_problem_class(
                model.build(model.data(x, labels, **column_settings), "cvxpy")
            )
    return "LP"  # nothing is solved


class ByModel(UserMethodSection, SolverSection, Aggregating):
    """Settings of `aggopt.aggregate.by_model`; the other keys are the model's.

    Attributes
    ----------
    model
        The name of a file or of an entry point; in Python a function, a module or a
        `Model` as well.
    """

    methods: ClassVar[Registry[Any]] = MODELS
    method: Literal["by_model"] = "by_model"
    model: str

    @property
    def program(self) -> OwnModel:
        """The user's model, loaded when first used."""
        return self.load_contents()._own  # type: ignore[return-value]

    @property
    def own(self) -> Aggregator | None:
        """The user's model as an aggregation method; None before it is loaded."""
        if self._own is None:
            return None
        return Aggregator(
            name=self._own.name,
            when=self._own.when,
            function=by_model,
            settings=ByModel,
            certificate="what the model minimises, and a bound of what it declares",
            model=self.program,
            origin=self._own.origin,
        )

    @property
    def settings(self) -> dict[str, Any]:
        """The keyword arguments for `by_model`, including the model's own."""
        solver_settings = {
            name: getattr(self, name) for name in SolverSection.model_fields
        }
        del solver_settings["method"]
        return {"model": self.program, **solver_settings, **self.arguments}

    @model_validator(mode="wrap")
    @classmethod
    def _adopt_named(cls, section: Any, read: ModelWrapValidatorHandler[Self]) -> Self:
        """Read a section of a job, whose `model` may be a name or an object."""
        if not isinstance(section, Mapping):
            return read(section)
        settings = split_settings(cls, section)
        if isinstance(section["model"], str):
            return read(settings)
        model = load_user_model(section["model"])
        return read({**settings, "model": model.name})._with_adopted(model)

    def load_contents(self) -> Self:
        """Return the section with its model loaded and the settings checked.

        Raises
        ------
        JobError
            It is a model of this package.
        """
        return (
            self
            if self._own is not None
            else self._with_adopted(load_user_model(self.model))
        )

    def _with_adopted(self, model: OwnModel) -> Self:
        """Return a copy of the section with this model and its settings."""
        arguments = self.check_arguments(model.takes)
        section = self.model_copy(update={"model": model.name, "arguments": arguments})
        section._own = model
        return section
