"""The category of each group at least loss, categories as often as before."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from aggopt.aggregate._plurality import at_random, categories_in
from aggopt.aggregate._published_categories import PublishedCategories
from aggopt.core.deadline import Deadline
from aggopt.core.plural import many
from aggopt.core.randomness import permutation, seeded
from aggopt.core.types import F64, I64
from aggopt.core.validation import groups as numbered_groups
from aggopt.core.validation import is_number, require_seed
from aggopt.errors import InfeasibleInputError, JobError
from aggopt.models import frequencies as model
from aggopt.solvers import Certificate, Status, choose
from aggopt.solvers._answer import Answer
from aggopt.solvers._ask import answer
from aggopt.solvers._certificate import closed
from aggopt.solvers._options import check_time_limit

EXACT = "exact"
USUAL = 4.0  # records: less than a group of five
FEASIBLE = 1e-6  # records: what adding up may miss


def frequencies(
    column: Any,
    groups: npt.ArrayLike,
    *,
    order: Any = None,
    tree: Any = None,
    slack: float | str | None = None,
    price: float | None = None,
    solver: str = "slots",
    time_limit: float | None = None,
    options: Mapping[str, Any] | None = None,
    seed: int = 0,
) -> PublishedCategories:
    """Return the category of each group at least loss, each as often as before.

    The most frequent category of each group loses less, and makes rare categories
    rarer.  Here the release has each category as often as the originals, within
    `slack`; where several are equally near, that decides.  The model is stated in
    `aggopt.models.frequencies`.

    Parameters
    ----------
    column, groups, order, tree
        As `plurality` takes them.
    slack : float or "exact"
        By how many records the release may differ in each category; 4 without a price.
        That of the largest group always leaves a choice, less may not.
    price : float
        Instead of a slack, what each record of difference costs; two levels are at most
        1 apart.
    solver
        A name of `aggopt.solvers.SOLVERS` that takes the model: "slots", or
        "cvxpy:highs", "pyomo:highs" and others that take integer programs.
    time_limit
        Seconds; 600 when omitted.
    options
        Handed to the solver under its own names.
    seed : int
        Of the choice among groups that are alike.

    Returns
    -------
    PublishedCategories
        `.values` (n,) and `.certificate`: total distance, with a price that of all
        records of difference besides, and what is proven of it; `violation` is the
        number of records beyond the slack.  Where the status is INFEASIBLE, or FAILED
        because no choice was found in time, the values are those of `plurality`.

    Raises
    ------
    InfeasibleInputError
        Of "exact" counts: some level has fewer records than the smallest group.
    JobError, TableError
        As `plurality`; slack and price together; an option that the solver lacks.
    SolverError
        The solver is not installed.

    Notes
    -----
    Each attribute keeps its own frequencies: associations between attributes are not
    kept by that, and may suffer.

    Examples
    --------
    >>> school = ["low", "low", "high", "low", "low", "high", "low", "high", "high"]
    >>> groups = [0, 0, 0, 1, 1, 1, 2, 2, 2]
    >>> found = frequencies(school, groups, slack=1)
    >>> found.values.tolist().count("low"), found.certificate.status.value
    (6, 'optimal')
    """
    clock = Deadline(None)
    require_seed(seed)
    check_time_limit(time_limit)
    how = choose(solver, *model.MODEL.kinds)
    allowed = _allowed(slack, price)
    categories = categories_in(column, order, tree)
    label = numbered_groups(groups, len(categories.codes))
    turn = permutation(seeded(seed), "symmetric groups", int(label.max()) + 1)
    levels = np.flatnonzero(categories.observed)
    costs = categories.costs(label)[turn][:, levels] * categories.domain.unit
    count = categories.counts(label)[turn][:, levels]
    price = None if price is None else price * categories.domain.unit
    data = _stated(costs, count, allowed, price)
    found = answer(model.MODEL, data, how, None, time_limit=time_limit, options=options)
    picked = found.reading
    if picked is None:
        picked = at_random(costs == costs.min(axis=1, keepdims=True), seed)
    choice = np.empty(len(turn), np.int64)
    choice[turn] = levels[picked]
    proof = _certificate(data, picked, found, categories.domain.unit, clock.spent)
    return PublishedCategories(categories.domain.nodes, choice, label, proof, 0)


def _allowed(slack: object, price: object) -> float | None:
    """Return the slack in records; None with a price."""
    if price is not None or slack is None:
        model.require_slack_or_price(USUAL if price is None else slack, price)
        return USUAL if price is None else None
    if slack == EXACT:
        return 0.0
    if not is_number(slack) or not 0 <= slack < np.inf:  # type: ignore[operator]
        raise JobError(
            f"slack = {slack!r}.",
            fix=f'pass a number of records from 0 up, or "{EXACT}".',
        )
    return float(slack)  # type: ignore[arg-type]


def _stated(
    costs: F64, count: I64, allowed: float | None, price: float | None
) -> model.Data:
    """Return the data of the model, distances in units that make them whole."""
    sizes = count.sum(axis=1).astype(np.float64)
    table = count.sum(axis=0).astype(np.float64)[None]
    if allowed is None:
        return model.Data(costs, sizes[None], table, price=price)
    short = int((table + allowed < sizes.min()).sum() * (allowed == 0))
    if short:
        raise InfeasibleInputError(
            f"{many(short, 'level')} of {table.size} have fewer records than the "
            "smallest group, and cannot be published as often as that.",
            fix="allow a slack of a few records, or name a price.",
        )
    return model.Data(costs, sizes[None], table, np.full(table.shape, allowed))


def _certificate(
    data: model.Data, picked: I64, found: Answer, unit: float, seconds: float
) -> Certificate:
    """Return what holds of a choice (groups,), judged by the model."""
    at = model.point(data, picked)
    objective, missed = model.objective(data, at), model.violation(data, at)
    status, bound = found.status, found.bound
    if status.usable and (found.reading is None or missed > FEASIBLE):
        status = Status.FAILED
    near = bound is not None and closed(objective, bound)
    if not status.usable or (bound is not None and bound > objective and not near):
        bound = None
    if status is Status.OPTIMAL and not near:
        status = Status.LIMIT
    proven = None if bound is None else min(bound, objective) / unit
    by = found.solver
    return Certificate(status, objective / unit, proven, missed, by, seconds)
