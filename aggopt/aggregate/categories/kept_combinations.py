"""Combinations of categories chosen by the model of frequencies."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from aggopt.aggregate.categories._candidates import Candidates
from aggopt.aggregate.categories._solved import certified
from aggopt.aggregate.categories._ties import at_random
from aggopt.aggregate.categories.cross_table_values import values_of
from aggopt.aggregate.categories.published import PublishedCategories
from aggopt.core.deadline import Deadline
from aggopt.core.plural import plural
from aggopt.core.randomness import draw_permutation, secret_from_seed
from aggopt.core.record_weights import check_weights, scale_to_mean_one
from aggopt.core.types import I64
from aggopt.core.validation import check_groups as numbered_groups
from aggopt.core.validation import is_number, require_seed
from aggopt.encoding import Categories
from aggopt.errors import InfeasibleInputError, JobError
from aggopt.models import frequencies as model
from aggopt.solvers import choose
from aggopt.solvers.answer import Answer
from aggopt.solvers.options import check_time_limit
from aggopt.solvers.run_solver import answer

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


def kept(
    of: Sequence[Categories], groups: npt.ArrayLike, how: KeepingOptions
) -> tuple[PublishedCategories, ...]:
    """Return the categories of each attribute, chosen together."""
    clock = Deadline(None)
    require_seed(how.seed)
    check_time_limit(how.time_limit)
    solver = choose(how.solver, *model.MODEL.kinds)
    label = numbered_groups(groups, len(of[0].codes))
    known = scale_to_mean_one(check_weights(how.weights, len(label)))
    beside = values_of(how.with_, len(label))
    many_cells = len(of) > 1 or how.with_ is not None
    allowed, price = allowed_or_price(how.slack, how.price, many_cells=many_cells)
    require_near(allowed, weighted=known is not None)
    turn = draw_permutation(
        secret_from_seed(how.seed), "symmetric groups", int(label.max()) + 1
    )
    candidates = Candidates.observed(of, turn[label], known)
    data = stated(candidates, beside, allowed, price)
    limits: Any = {"time_limit": how.time_limit, "options": how.options}
    found = answer(model.MODEL, data, solver, None, **limits)
    if found.bound is not None:  # of losses that are whole numbers
        found = replace(found, bound=model.rounded_up(data, found.bound))
    picked = found.reading
    if picked is None:
        losses = candidates.losses
        picked = at_random(losses == losses.min(axis=1, keepdims=True), how.seed)
    proof = certified(model.MODEL, data, picked, found, candidates.unit, clock.spent)
    return candidates.published(picked[turn], label, proof)


def best(data: model.Data, time_limit: float | None) -> Answer:
    """Return the choice at least loss, by the first solver that is installed."""
    solver = choose(None, *model.MODEL.kinds)
    return answer(model.MODEL, data, solver, None, time_limit=time_limit)


def allowed_or_price(
    slack: object, price: object, *, many_cells: bool
) -> tuple[float | None, float | None]:
    """Return the slack in records, or the price."""
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
    """Refuse to keep sums of weights to the last digit.

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


def stated(
    candidates: Candidates,
    beside: Sequence[I64],
    allowed: float | None,
    price: float | None = None,
) -> model.Data:
    """Return the data of the model, distances in units that make them whole."""
    rows = beside or [np.zeros_like(candidates.own)]
    parts = [candidates.table(row) for row in rows]
    weights, counts = (np.concatenate(part) for part in zip(*parts, strict=True))
    losses = candidates.losses
    if price is not None:
        return model.Data(losses, weights, counts, price=price * candidates.unit)
    short = int((counts < weights.min()).sum() * (allowed == 0))
    if short:
        raise InfeasibleInputError(
            f"{plural(short, 'level')} of {counts.size} have fewer records than the "
            "smallest group, and cannot be published as often as that.",
            fix="allow a slack of a few records, or name a price.",
        )
    return model.Data(losses, weights, counts, np.full(counts.shape, allowed))
