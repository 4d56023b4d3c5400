"""Aggregation by a model that shifts centroids, one attribute at a time."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from aggopt.aggregate.aggregation import get_column
from aggopt.algorithms.stiefel.run import solve_separately, stack_optima
from aggopt.core.deadline import LONGEST, compile_time
from aggopt.core.standardise import Scale
from aggopt.core.types import Floats, Labels
from aggopt.core.validation import is_number
from aggopt.errors import JobError, UnknownNameError, naming
from aggopt.models import Model
from aggopt.models.shared.joint_wishes import JointWishes
from aggopt.models.shared.value_bounds import move_to_bounds
from aggopt.solvers import Certificate, Claim, Solver, Status, choose_solver
from aggopt.solvers.certificate import Answer, choose_gap_size, is_gap_closed
from aggopt.solvers.options import check_time_limit
from aggopt.solvers.run_solver import run_solver

FEASIBLE = 1e-6  # largest violation, per record, that may be published
STARTS = ("means", "renormalised", "lagrangian")


@dataclass(frozen=True, eq=False)
class ShiftOptions:
    """Settings of a solve: the solver, its starts and its limits.

    Attributes
    ----------
    start
        For a local solver: "means" (group means, the default), "renormalised" means,
        the "lagrangian" solver's point, or centroids (m, d) in the original units,
        which are kept if nothing better is found.
    starts
        For a local solver: the number of additional random starts; the best is kept.
    seed
        Of the random starts.
    time_limit
        Seconds for each attribute, all starts together.  When omitted, `LONGEST` for
        declared programs whose solver branches, which might never end; the Lagrangian
        and local solvers end by themselves.
    options
        Under the solver's own names.
    """

    solver: Solver
    start: str | Floats | None = None
    starts: int = 0
    seed: int | None = None
    time_limit: float | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def limit(self) -> float | None:
        """The time limit in seconds, by default that of the solver; None for none."""
        endless = self.solver.is_global and self.solver.language is not None
        return LONGEST if self.time_limit is None and endless else self.time_limit

    def __post_init__(self) -> None:
        if isinstance(self.start, str) and self.start not in STARTS:
            raise UnknownNameError("start", self.start, STARTS)
        if self.starts < 0:
            raise JobError(f"starts = {self.starts}.", fix="set 0 or more.")
        if self.solver.is_global and (self.start is not None or self.starts):
            raise JobError(
                f"{self.solver.name} finds the optimum and takes no start.",
                fix="leave out start and starts, or name a local solver.",
            )
        check_time_limit(self.time_limit)
        if self.seed is not None and not self.starts:
            raise JobError(
                "seed is given, but nothing is random.", fix="ask for starts, too."
            )


def require_real(value: object, name: str) -> None:
    """Refuse a setting's value that is not a real number."""
    if not is_number(value):
        raise JobError(f"{name} = {value!r}.", fix="pass a number.")


def shift_means(
    model: Model,
    stated: Callable[[int], Any],
    scale: Scale,
    labels: Labels,
    shift_options: ShiftOptions,
    progress: Callable[[float], None] | None,
) -> list[tuple[Floats, Certificate]]:
    """Return the centroids (m_j,) and the certificate of each attribute, by `model`.

    They are standardised; `stated(j)` states attribute j's data.
    """
    programs = [
        None if constant else _build_data(stated, j)
        for j, constant in enumerate(scale.constant)
    ]
    counts = [int(get_column(labels, j).max()) + 1 for j in range(len(programs))]
    starts = _split_start(shift_options.start, scale, counts)
    solved: list[tuple[Floats, Certificate]] = []
    for j, data in enumerate(programs):
        options = replace(shift_options, start=starts[j])
        solved.append(
            _keep_constant(counts[j])
            if data is None
            else solve_shift(model, data, options)
        )
        if progress:
            progress((j + 1) / len(programs))
    return solved


def _build_data(stated: Callable[[int], Any], j: int) -> Any:
    """Return the model's data of attribute j; errors name the column."""
    with naming(f"Column {j}"):
        return stated(j)


def _split_start(
    start: str | Floats | None, scale: Scale, counts: Sequence[int]
) -> list[Any]:
    """Return each attribute's start; centroids (m, d) are standardised and split."""
    if start is None or isinstance(start, str):
        return [start] * len(counts)
    shape = max(counts), len(counts)
    is_present = np.arange(shape[0])[:, None] < counts
    if np.shape(start) != shape or (np.isfinite(start) != is_present).any():
        raise JobError(
            f"start has shape {np.shape(start)}, or entries that are not finite where "
            "an attribute has a group.",
            fix=f"pass centroids of shape {shape} in the original units, nan below the "
            "last group of an attribute that has fewer.",
        )
    z = scale.standardise(np.asarray(start, dtype=np.float64))
    return [z[:count, j].copy() for j, count in enumerate(counts)]


def _keep_constant(count: int) -> tuple[Floats, Certificate]:
    """Return `count` zeros, the z-scores of a constant attribute, and a certificate."""
    nothing = Certificate(Status.OPTIMAL, 0.0, 0.0, 0.0, "constant attribute", 0.0)
    return np.zeros(count), nothing


def solve_shift(
    model: Model, data: Any, options: ShiftOptions
) -> tuple[Floats, Certificate]:
    """Return the best centroids of one program, standardised, and the certificate.

    If it found none that may be published, return `data.renormalised`.
    """
    started = compile_time.now()
    answers = list(_iter_answers(model, data, options, started))
    moved = (_move_to_bounds(data, a) for a in _iter_given_starts(options))
    tried = [*answers, *moved]  # of equals the first
    fit = [
        (a, cost)
        for a in tried
        if (cost := _evaluate_point(model, data, a)) is not None
    ]
    if fit:
        best, _ = min(fit, key=lambda pair: pair[1])
        centroids = best.reading
        status = best.status
    else:
        best = None
        centroids = None
        status = _choose_failure_status({a.status for a in answers})
    if centroids is None:
        centroids = data.renormalised
    at = model.point(data, centroids)
    if status.usable and model.violation(data, at) > FEASIBLE:
        status = Status.FAILED  # hard wishes: the renormalised means miss them
    objective = model.objective(data, at)
    bounds = [_sum_separate_bounds(data), *(a.bound for a in answers)]
    size = (
        None
        if abs(objective) >= 1
        else choose_gap_size(objective, _choose_gap_unit(model, data))
    )
    bound = _choose_bound(bounds, objective, size) if status.usable else None
    is_shown = bound is not None and is_gap_closed(objective, bound, size)
    if status is Status.OPTIMAL and not is_shown:
        status = Status.UNPROVEN  # it was content with less, or with another point
    if (status.is_open or status is Status.KEPT) and is_shown:
        status = Status.OPTIMAL
    certificate = Certificate(
        status,
        objective,
        bound,
        model.violation(data, at),
        options.solver.name,
        compile_time.now() - started,
        claimed=_choose_best_claim(answers, objective, size) if status.usable else None,
        iterations=best.iterations if best else None,
        multipliers=best.multipliers if best else None,
        size=None if bound is None else size,
    )
    return centroids, certificate


def _choose_gap_unit(model: Model, data: Any) -> float:
    """Return the cost that small gaps are relative to: that of plain centroids.

    Weights of the objective may make it tiny, and its optimum may be 0.  Up to this
    size a gap is relative to it.
    """
    plain = np.zeros_like(data.renormalised), data.renormalised
    costs = [abs(model.objective(data, model.point(data, c))) for c in plain]
    return min(1.0, max(filter(np.isfinite, costs), default=0.0) / len(data.labels))


def _iter_given_starts(options: ShiftOptions) -> Iterator[Answer]:
    """Yield centroids that the caller gave as the start, as a solver's answer."""
    if isinstance(options.start, np.ndarray):
        yield Answer(options.start, Status.KEPT, None, options.solver.name, 0.0)


def _sum_separate_bounds(data: Any) -> float | None:
    """Return the sum of the attributes' separate bounds, for a joint program.

    The solvers of this program are local and prove nothing.
    """
    if not (isinstance(data, JointWishes) and data.bounded):
        return None
    bounds = [apart.bound for apart in solve_separately(data)]
    known_bounds = [bound for bound in bounds if bound is not None]
    return sum(known_bounds) if len(known_bounds) == len(bounds) else None


def _choose_bound(
    bounds: Sequence[float | None], objective: float, size: float | None
) -> float | None:
    """Return the largest lower bound that this objective does not contradict.

    One that is above it by no more than the rounding of either is the objective.
    """
    every = (bound for bound in bounds if bound is not None)
    true = (b for b in every if b <= objective or is_gap_closed(objective, b, size))
    return max((min(b, objective) for b in true), default=None)


def _choose_best_claim(
    answers: Sequence[Answer], objective: float, size: float | None
) -> Claim | None:
    """Return the best bound that user code claims, if the objective permits it."""
    claims = (a.claimed for a in answers if a.claimed is not None)
    possible = (
        c
        for c in claims
        if c.bound <= objective or is_gap_closed(objective, c.bound, size)
    )
    return max(possible, key=lambda claim: claim.bound, default=None)


def _choose_failure_status(statuses: set[Status]) -> Status:
    """Return the status of a solve without centroids, from those of its answers."""
    if Status.INFEASIBLE in statuses:
        return Status.INFEASIBLE
    if Status.UNANSWERED in statuses:
        return Status.UNANSWERED
    if Status.EXHAUSTED in statuses:
        return Status.EXHAUSTED
    return Status.FALLBACK if all(s.is_open for s in statuses) else Status.FAILED


def _iter_answers(
    model: Model, data: Any, options: ShiftOptions, started: float
) -> Iterator[Answer]:
    """Yield the solver's answer for each start, until the time limit."""
    for start in _iter_starts(model, data, options):
        left = None
        if options.limit is not None:
            left = options.limit - (compile_time.now() - started)
            if left <= 0:
                return
        answer = run_solver(
            model, data, options.solver, start, time_limit=left, options=options.options
        )
        yield _move_to_bounds(data, answer)


def _move_to_bounds(data: Any, answer: Answer) -> Answer:
    """Return an answer with centroids clipped to bounds that they barely miss."""
    if not data.bounded or answer.reading is None:
        return answer
    inside = move_to_bounds(answer.reading, data.lower, data.upper)
    return replace(answer, reading=inside)


def _evaluate_point(model: Model, data: Any, answer: Answer) -> float | None:
    """Return the objective of an answer that may be published, else None.

    One that is infeasible may not be, nor one that was cut short and is worse than
    the renormalised means.
    """
    if answer.reading is None or not answer.status.usable:
        return None
    at = model.point(data, answer.reading)
    if model.violation(data, at) > FEASIBLE:
        return None
    cost = model.objective(data, at)
    fallback = model.point(data, data.renormalised)
    fit = model.violation(data, fallback) <= FEASIBLE
    worse = fit and cost > model.objective(data, fallback)
    return None if answer.status.is_open and worse else cost


def _iter_starts(model: Model, data: Any, options: ShiftOptions) -> Iterator[Floats]:
    """Yield the initial centroids (m,) of each solver run."""
    if isinstance(options.start, np.ndarray):
        yield options.start
    elif options.start == "lagrangian":
        yield _solve_lagrangian(model, data)
    elif options.start == "renormalised" or np.ptp(data.means) == 0:
        yield data.renormalised
    else:
        yield data.means
    rng = np.random.default_rng(options.seed)
    for _ in range(options.starts):
        yield data.means + rng.normal(size=data.means.shape)


def _solve_lagrangian(model: Model, data: Any) -> Floats:
    """Return the centroids of the Lagrangian method, per attribute if joint."""
    if isinstance(data, JointWishes):
        return stack_optima(data, solve_separately(data))
    best = run_solver(
        model, data, choose_solver("lagrangian", *model.kinds), data.means
    )
    return np.asarray(data.means if best.reading is None else best.reading)
