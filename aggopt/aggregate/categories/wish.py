"""Categories at a requested distance from records, with frequencies kept."""

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from aggopt.aggregate.categories._candidates import Candidates, read_level_categories
from aggopt.aggregate.categories.frequencies import Slack
from aggopt.aggregate.categories.kept_combinations import (
    FEASIBLE,
    build_frequency_data,
    certify_choice,
    read_slack_or_price,
    require_near,
    solve_choice,
)
from aggopt.aggregate.categories.published import PublishedCategories
from aggopt.aggregate.categories.registry import CategoryAggregator, CategorySection
from aggopt.aggregate.distance_requests import ByAttribute, Column, Number
from aggopt.core.deadline import Deadline
from aggopt.core.plural import plural
from aggopt.core.randomness import derive_secret, draw_permutation
from aggopt.core.record_weights import check_weights, scale_to_mean_one
from aggopt.core.section import SolverSection
from aggopt.core.types import F64, I64
from aggopt.core.validation import check_groups as numbered_groups
from aggopt.core.validation import is_number, require_seed
from aggopt.encoding import Categories, Domain
from aggopt.errors import JobError
from aggopt.models import category_wish as model
from aggopt.models import frequencies
from aggopt.solvers import Certificate, Solver, Status, choose_solver
from aggopt.solvers.certificate import Answer
from aggopt.solvers.options import check_time_limit
from aggopt.solvers.run_solver import run_solver

OWN = float(np.nextafter(0.0, 1.0))  # a distance that any other category keeps


def require_level_distances(delta: F64, domain: Domain) -> None:
    """Refuse requested distances (n,) larger than any between two levels.

    Raises
    ------
    JobError
        The message has the number of records that request more.
    """
    widest = domain.widest / domain.unit
    far = int((delta > widest).sum())
    if far:
        raise JobError(
            f"delta is out of reach in {plural(far, 'record')} of {len(delta)}: no two "
            f"levels are more than {widest:.6g} apart.",
            fix="ask for less; left out, any other category will do.",
        )


def read_distances(delta: npt.ArrayLike | None, categories: Categories) -> F64:
    """Return the requested distance of each record, (n,), validated."""
    distances = spread_number(
        "delta", OWN if delta is None else delta, len(categories.codes)
    )
    require_level_distances(distances, categories.domain)
    return distances


def spread_number(name: str, values: npt.ArrayLike, n: int) -> F64:
    """Return `values` as n finite numbers from 0 up; a single number is repeated."""
    numbers = np.asarray(values)
    if numbers.dtype.kind not in "iuf" or numbers.shape not in ((), (n,)):
        raise JobError(
            f"{name} has shape {numbers.shape} and type {numbers.dtype}.",
            fix=f"pass a number, or one for each record ({n},).",
        )
    wrong = int((~(numbers >= 0) | ~np.isfinite(numbers)).sum())
    if wrong:
        raise JobError(
            f"{name} has {plural(wrong, 'entry', 'entries')} below 0, missing or "
            "infinite.",
            fix="pass numbers from 0 up.",
        )
    return np.broadcast_to(numbers.astype(np.float64), n)


def require_budget(budget: float | None) -> None:
    """Refuse a loss budget below 1, in multiples of the least loss.

    Raises
    ------
    JobError
        The budget is not a finite number of at least 1.
    """
    if budget is not None and (not is_number(budget) or not 1 <= budget < np.inf):
        raise JobError(
            f"budget = {budget!r}.",
            fix="pass a number from 1 up: multiples of the loss of frequencies.",
        )


def require_decisive(
    domain: Domain, distances: F64, importance: F64, budget: float | None
) -> None:
    """Refuse equal requests (n,) of unordered names without a loss budget.

    Raises
    ------
    JobError
        No budget is given, and all requests are equal, of names without an order or a
        tree.
    """
    is_decided_by_cost = np.ptp(importance) == 0 and (distances > 0).all()
    if budget is None and domain.kind == "nominal" and is_decided_by_cost:
        raise JobError(
            "All records ask for the same, of names without an order or a tree: who is "
            "satisfied is then just who is lost, and only the budget decides.",
            fix="give importances that differ, an order or a tree; or a budget, such "
            "as budget = 1.1.",
        )


BUDGET = 1.1  # of the least loss that keeps frequencies: a tenth more


def wish(
    column: Any,
    groups: npt.ArrayLike,
    *,
    order: Any = None,
    tree: Any = None,
    delta: npt.ArrayLike | None = None,
    importance: npt.ArrayLike = 1.0,
    budget: float | None = None,
    slack: float | str | None = None,
    solver: str | None = None,
    time_limit: float | None = None,
    options: Mapping[str, Any] | None = None,
    seed: int = 0,
    weights: npt.ArrayLike | None = None,
) -> PublishedCategories:
    """Return categories at a distance from the records that request it, counts kept.

    As many records as possible, by importance, are published with a category at their
    requested distance.  Each category is published as often as before, within `slack`,
    and the loss is at most a `budget`.  The model is stated in
    `aggopt.models.category_wish`.

    Parameters
    ----------
    column, groups, order, tree
        As in `plurality`.
    delta : float or (n,)
        Requested distance between a record's category and the published one; two levels
        are at most 1 apart.  Any other category will do when omitted.
    importance : float or (n,)
        Weight of the request, from 0 up.
    budget : float
        Largest allowed loss, in multiples of the loss of `frequencies` with this slack,
        from 1 up; 1.1 when omitted.
    slack : float or "exact"
        The number of records by which the release may differ in each category; 4 when
        omitted.
    solver, options
        As in `frequencies`, only solvers that take integer programs.
    time_limit
        Seconds for each of the two programs, the loss and the distances; 600 when
        omitted.
    seed : int
        Seed of the choice among equivalent groups.
    weights : (n,)
        As in `frequencies`.  The request of a record is unweighted and counts once.

    Returns
    -------
    PublishedCategories
        `.values` (n,) and `.certificate`: the importance of all records that are nearer
        than requested, and its bound.  If no choice keeps the frequencies, the status
        reports it, and the values are the result of `plurality`.

    Raises
    ------
    JobError
        As `frequencies`; distances or importances that are not numbers from 0 up; a
        distance that no two levels have; a budget below 1; or, without a budget, names
        without order or tree whose importances are all equal: satisfied records are
        then the lost ones, and only the budget decides.
    InfeasibleInputError, TableError, SolverError
        As `frequencies`.

    Notes
    -----
    A published category other than a record's own does not guarantee privacy.

    Examples
    --------
    >>> school = ["low", "low", "high", "low", "low", "high", "low", "high", "high"]
    >>> insist = [0.0, 0, 1, 0, 0, 0, 0, 0, 0]
    >>> groups = [0, 0, 0, 1, 1, 1, 2, 2, 2]
    >>> found = wish(school, groups, importance=insist, slack=1)
    >>> found.certificate.objective, found.centroids[0]
    (0.0, 'low')
    """
    clock = Deadline(None)
    require_seed(seed)
    check_time_limit(time_limit)
    chosen_solver = choose_solver(solver, *model.MODEL.kinds)
    categories = read_level_categories(column, order, tree)
    label = numbered_groups(groups, len(categories.codes))
    distances = read_distances(delta, categories)
    insisted = spread_number("importance", importance, len(label))
    mean_weights = scale_to_mean_one(check_weights(weights, len(label)))
    allowed = read_slack_or_price(slack, None, many_cells=False)[0]
    require_budget(budget)
    require_near(allowed, weighted=mean_weights is not None)
    require_decisive(categories.domain, distances, insisted, budget)
    turn = draw_permutation(
        derive_secret(seed), "symmetric groups", int(label.max()) + 1
    )
    candidates = Candidates.observed([categories], turn[label], mean_weights)
    plain = build_frequency_data(candidates, [], allowed)
    wishes = distances, insisted, budget
    picked, proof = _choose_categories(
        plain, candidates, wishes, chosen_solver, time_limit, options, clock
    )
    (published,) = candidates.published(picked[turn], label, proof)
    return published


def _choose_categories(
    plain: frequencies.Data,
    candidates: Candidates,
    wishes: tuple[F64, F64, float | None],
    solver: Solver,
    time_limit: float | None,
    options: Mapping[str, Any] | None,
    clock: Deadline,
) -> tuple[I64, Certificate]:
    """Return the candidate of each group (m,) by records' requests, certified.

    It is the nearest category if no choice keeps the frequencies.
    """
    base = solve_choice(plain, time_limit)
    if base.reading is None:
        picked = candidates.losses.argmin(axis=1)
        return picked, certify_choice(
            frequencies.MODEL, plain, picked, base, candidates.unit, clock.spent
        )
    distances, insisted, budget = wishes
    loss = frequencies.objective(plain, frequencies.point(plain, base.reading))
    data = _build_wish_data(
        plain, candidates, distances, insisted, (budget or BUDGET) * loss
    )
    answer = run_solver(
        model.MODEL, data, solver, None, time_limit=time_limit, options=options
    )
    picked, answer = _choose_better(data, answer, base.reading)
    return picked, certify_choice(model.MODEL, data, picked, answer, 1.0, clock.spent)


def _build_wish_data(
    plain: frequencies.Data,
    candidates: Candidates,
    distances: F64,
    insisted: F64,
    budget: float,
) -> model.Data:
    """Return the data of the model that counts unmet requests within a budget."""
    (categories,) = candidates.of
    steps = categories.domain.steps / categories.domain.unit
    levels = candidates.nodes[:, 0]
    away = steps[:, levels][categories.codes]
    unmet = model.compute_unmet(candidates.labels, away, distances, insisted)
    return model.Data(
        plain.loss, plain.weights, plain.counts, plain.allowed, unmet, budget
    )


def _choose_better(data: model.Data, answer: Answer, start: Any) -> tuple[Any, Answer]:
    """Return the solver's choice if feasible and no worse than the start, else that."""
    start_objective = model.objective(data, model.point(data, start))
    if answer.reading is not None:
        at = model.point(data, answer.reading)
        missed = model.MODEL.violation(data, at)
        if missed <= FEASIBLE and model.objective(data, at) <= start_objective:
            return answer.reading, answer
    usable = answer.bound if answer.status.usable else None
    stopped = answer.status in (Status.UNANSWERED, Status.LIMIT)
    status = answer.status if stopped else Status.UNPROVEN
    start_answer = Answer(start, status, usable, answer.solver, answer.seconds)
    return start, start_answer


class CategoryWish(SolverSection, CategorySection):
    """Settings of `aggopt.aggregate.wish`."""

    method: Literal["wish"]
    delta: Number | Column | ByAttribute | None = Field(
        default=None,
        description='write a number of 0 or more, { column = "NAME" }, or '
        "{ attributes = { NAME = one of these, ... } } for all categories.",
    )
    importance: Number | Column | ByAttribute = Field(
        default=1.0,
        description='write a number from 0 to 1, { column = "NAME" }, or '
        "{ attributes = { NAME = one of these, ... } } for all categories.",
    )
    budget: float | None = Field(default=None, ge=1, allow_inf_nan=False, strict=True)
    slack: Slack | Literal["exact"] | None = Field(
        default=None,
        description='write by how many records counts may differ, or "exact".',
    )

    @property
    def function(self) -> str:
        """The name of its optimisation model."""
        return model.MODEL.name


AGGREGATOR = CategoryAggregator(
    name="wish",
    when="records that ask for another category, counts kept",
    rank=30,
    function=wish,
    settings=CategoryWish,
    certificate="importance of records nearer than they ask, and what the solver "
    "proves of it",
    model=model.MODEL,
    template="""\
# delta = 0.5            # wish: distance asked for, of 1 between names; left out, any
#                          other category; or { column = "far" }, listed in wish
# importance = 1.0       # how much each record insists; or { column = "much" }
# budget = 1.1           # of the least loss that keeps counts
""",
)
