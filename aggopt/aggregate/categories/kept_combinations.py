"""Combinations of categories chosen by the model of frequencies."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from aggopt.aggregate.categories._candidates import Candidates
from aggopt.aggregate.categories.published import PublishedCategories
from aggopt.core.deadline import Deadline
from aggopt.core.frame import to_column, to_frame
from aggopt.core.plural import agree, plural
from aggopt.core.randomness import derive_secret, draw_permutation, draw_uniforms
from aggopt.core.record_weights import check_weights, scale_to_mean_one
from aggopt.core.types import I64, Bool
from aggopt.core.validation import check_groups as numbered_groups
from aggopt.core.validation import is_number, require_seed
from aggopt.encoding import Categories
from aggopt.encoding.typed_column import MOMENT, NUMBER, TypedColumn
from aggopt.errors import InfeasibleInputError, JobError, TableError
from aggopt.models import Model
from aggopt.models import frequencies as model
from aggopt.privacy.value_levels import fill_equally
from aggopt.solvers import Certificate, Status, choose_solver
from aggopt.solvers.certificate import Answer, choose_gap_size, is_gap_closed
from aggopt.solvers.options import check_time_limit
from aggopt.solvers.run_solver import run_solver

FEASIBLE = 1e-6  # records: what adding up may miss


def certify_choice(
    model: Model, data: Any, picked: I64, answer: Answer, unit: float, seconds: float
) -> Certificate:
    """Return the certificate of the candidate picked for each group (groups,)."""
    at = model.point(data, picked)
    objective = model.objective(data, at)
    missed = model.violation(data, at)
    status = answer.status
    bound = answer.bound
    if status.usable and (answer.reading is None or missed > FEASIBLE):
        status = Status.FAILED
    size = choose_gap_size(objective, _find_least_cost(data))
    near = bound is not None and is_gap_closed(objective, bound, size)
    if not status.usable or (bound is not None and bound > objective and not near):
        bound = None
    if status is Status.OPTIMAL and not near:
        status = Status.UNPROVEN
    if (status.is_open or status is Status.UNANSWERED) and near:
        status = Status.OPTIMAL
    proven = None if bound is None else min(bound, objective) / unit
    relative = None if size is None or bound is None else size / unit
    return Certificate(
        status,
        objective / unit,
        proven,
        missed,
        answer.solver,
        seconds,
        iterations=answer.iterations,
        size=relative,
    )


def _find_least_cost(data: Any) -> float:
    """Return the smallest cost above 0 of one choice; a cost below it is rounding."""
    costs = data.unmet if hasattr(data, "unmet") else data.loss
    price = getattr(data, "price", None)
    lowest = np.min(costs, initial=price or np.inf, where=costs > 0)
    return float(lowest) if np.isfinite(lowest) else 0.0


LIMIT = 60.0  # seconds: 30 162 records take one


def choose_among_ties(
    candidates: Candidates, tied: Bool, seed: int, time_limit: float | None
) -> tuple[I64, Certificate | None]:
    """Return one tied candidate of each group (groups,), and a certificate.

    The certificate's objective is the number of records by which candidates are
    published more or less often than records have them; None if nothing is tied.
    """
    if not (tied.sum(axis=1) > 1).any():
        return tied.argmax(axis=1), None
    clock = Deadline(None)
    weights, counts = candidates.table(np.zeros_like(candidates.original))
    data = model.Data(np.where(tied, 0.0, np.inf), weights, counts, price=1.0)
    solver = choose_solver(None, *model.MODEL.kinds)
    answer = run_solver(model.MODEL, data, solver, None, time_limit=time_limit or LIMIT)
    picked = choose_at_random(tied, seed) if answer.reading is None else answer.reading
    return picked, certify_choice(model.MODEL, data, picked, answer, 1.0, clock.spent)


def choose_at_random(tied: Bool, seed: int) -> I64:
    """Return a random one of the tied candidates (groups, q) of each group."""
    drawn = np.full(tied.shape, -1.0)
    drawn[tied] = draw_uniforms(derive_secret(seed), "tied categories", int(tied.sum()))
    return np.asarray(drawn.argmax(axis=1))


LEVELS = 5  # of numbers: fifths, as offices publish them


def read_cross_table_values(beside: Any, n: int) -> list[I64]:
    """Return the integer codes of attributes that are published unchanged.

    `beside` is a column (n,), or a table of columns.  Numbers and dates of more than
    `LEVELS` values are cut into as many levels of equally many records; missing entries
    are a value of their own.

    Raises
    ------
    TableError
        It is neither, or has another number of records.
    JobError
        A column has more than half as many values as records, and they are not numbers.
    """
    if beside is None:
        return []
    flat = isinstance(beside, list | tuple) or np.ndim(beside) == 1
    if flat or hasattr(beside, "to_frame"):  # values, or a series
        return [_encode_series(to_column(beside), n)]
    frame = to_frame(beside)
    return [_encode_series(frame[name], n) for name in frame.columns]


def _encode_series(series: Any, n: int) -> I64:
    """Return the codes of a column's values; many numbers are cut into fifths."""
    column = TypedColumn.of(series)
    codes, distinct = column.coded
    if len(codes) != n:
        raise TableError(
            f"The attribute beside has {len(codes)} records, and the category {n}.",
            fix="pass the same records in the same order.",
        )
    present = ~column.absent
    if column.what in (NUMBER, MOMENT) and len(distinct) > LEVELS:
        codes = codes.copy()
        codes[present] = fill_equally(column.entries[present], LEVELS)
    elif len(distinct) > max(2, n / 2):
        raise JobError(
            f"The attribute beside has {len(distinct)} different values among {n} "
            "records: hardly two have the same.",
            fix="leave it out, or pass one of fewer values.",
        )
    return np.unique(codes, return_inverse=True)[1].astype(np.int64)


EXACT = "exact"
USUAL = 4.0  # records: less than a group of five


class KeepingOptions(NamedTuple):
    """The arguments that one attribute and several have in common."""

    with_: Any
    slack: float | str | None
    price: float | None
    solver: str | None
    time_limit: float | None
    options: Mapping[str, Any] | None
    seed: int
    weights: npt.ArrayLike | None = None


def choose_combinations(
    categories: Sequence[Categories], groups: npt.ArrayLike, options: KeepingOptions
) -> tuple[PublishedCategories, ...]:
    """Return the categories of each attribute, chosen together, counts kept."""
    clock = Deadline(None)
    require_seed(options.seed)
    check_time_limit(options.time_limit)
    solver = choose_solver(options.solver, *model.MODEL.kinds)
    label = numbered_groups(groups, len(categories[0].codes))
    mean_weights = scale_to_mean_one(check_weights(options.weights, len(label)))
    beside = read_cross_table_values(options.with_, len(label))
    many_cells = len(categories) > 1 or options.with_ is not None
    allowed, price = read_slack_or_price(
        options.slack, options.price, many_cells=many_cells
    )
    require_near(allowed, weighted=mean_weights is not None)
    turn = draw_permutation(
        derive_secret(options.seed), "symmetric groups", int(label.max()) + 1
    )
    candidates = Candidates.observed(categories, turn[label], mean_weights)
    data = build_frequency_data(candidates, beside, allowed, price)
    limits: Any = {"time_limit": options.time_limit, "options": options.options}
    answer = run_solver(model.MODEL, data, solver, None, **limits)
    if answer.bound is not None:  # of losses that are whole numbers
        answer = replace(answer, bound=model.round_bound_up(data, answer.bound))
    picked = answer.reading
    if picked is None:
        losses = candidates.losses
        picked = choose_at_random(
            losses == losses.min(axis=1, keepdims=True), options.seed
        )
    proof = certify_choice(
        model.MODEL, data, picked, answer, candidates.unit, clock.spent
    )
    return candidates.published(picked[turn], label, proof)


def solve_choice(data: model.Data, time_limit: float | None) -> Answer:
    """Return a solver's choice of candidates at least loss, with counts kept."""
    solver = choose_solver(None, *model.MODEL.kinds)
    return run_solver(model.MODEL, data, solver, None, time_limit=time_limit)


def read_slack_or_price(
    slack: object, price: object, *, many_cells: bool
) -> tuple[float | None, float | None]:
    """Return (slack in records, price of a record's difference); one is None."""
    if slack is None and price is None:
        return (None, 1.0) if many_cells else (USUAL, None)
    if price is not None:
        model.require_slack_or_price(slack, price)
        return None, float(price)  # type: ignore[arg-type]
    if slack == EXACT:
        return 0.0, None
    if not is_number(slack) or not 0 <= slack < np.inf:  # type: ignore[operator]
        raise JobError(
            f"slack = {slack!r}.",
            fix=f'pass a number of records from 0 up, or "{EXACT}".',
        )
    return float(slack), None  # type: ignore[arg-type]


def require_near(allowed: float | None, *, weighted: bool) -> None:
    """Refuse exact counts (slack 0) for records with unequal weights.

    Raises
    ------
    JobError
        The slack is 0, and records have unequal weights.
    """
    if weighted and allowed == 0:
        raise JobError(
            f'slack = "{EXACT}" is of counts of records: sums of weights that differ '
            "are hardly ever kept to the last digit.",
            fix="allow a slack, in records of mean weight, or name a price.",
        )


def build_frequency_data(
    candidates: Candidates,
    beside: Sequence[I64],
    allowed: float | None,
    price: float | None = None,
) -> model.Data:
    """Return the data of the frequencies model: losses, weights, counts, limits."""
    rows = beside or [np.zeros_like(candidates.original)]
    parts = [candidates.table(row) for row in rows]
    weights, counts = (np.concatenate(part) for part in zip(*parts, strict=True))
    losses = candidates.losses
    if price is not None:
        return model.Data(losses, weights, counts, price=price * candidates.unit)
    short = int((counts < weights.min()).sum() * (allowed == 0))
    if short:
        raise InfeasibleInputError(
            f"{short} of {plural(counts.size, 'level')} "
            f"{agree(short, 'has', 'have')} fewer records than the smallest group, and "
            "cannot be published as often as that.",
            fix="allow a slack of a few records, or name a price.",
        )
    return model.Data(losses, weights, counts, np.full(counts.shape, allowed))
