"""The category of each group at least loss, categories as often as before."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt
from pydantic import BeforeValidator, Field, StrictInt, model_validator

from aggopt.aggregate.categories._candidates import Candidates, categories_in
from aggopt.aggregate.categories._published import PublishedCategories
from aggopt.aggregate.categories._registry import CategoryAggregator, CategorySection
from aggopt.aggregate.categories._solved import certified
from aggopt.aggregate.categories._ties import at_random
from aggopt.core.deadline import Deadline
from aggopt.core.plural import many
from aggopt.core.randomness import permutation, seeded
from aggopt.core.section import Solved, whole
from aggopt.core.validation import groups as numbered_groups
from aggopt.core.validation import is_number, require_seed
from aggopt.errors import InfeasibleInputError, JobError
from aggopt.models import frequencies as model
from aggopt.solvers import choose
from aggopt.solvers._ask import answer
from aggopt.solvers._options import check_time_limit

EXACT = "exact"
Slack = Annotated[StrictInt, Field(ge=0), BeforeValidator(whole)]
USUAL = 4.0  # records: less than a group of five


def frequencies(
    column: Any,
    groups: npt.ArrayLike,
    *,
    order: Any = None,
    tree: Any = None,
    slack: float | str | None = None,
    price: float | None = None,
    solver: str | None = None,
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
        A name of `aggopt.solvers.SOLVERS` that takes the model: "slots", the default,
        or "cvxpy:highs", "pyomo:highs" and others that take integer programs.
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
    candidates = Candidates.observed([categories], turn[label])
    data = _stated(candidates, allowed, price)
    found = answer(model.MODEL, data, how, None, time_limit=time_limit, options=options)
    picked = found.reading
    if picked is None:
        losses = candidates.losses
        picked = at_random(losses == losses.min(axis=1, keepdims=True), seed)
    proof = certified(model.MODEL, data, picked, found, candidates.unit, clock.spent)
    choice = candidates.nodes[picked[turn], 0]
    return PublishedCategories(categories.domain.nodes, choice, label, proof)


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
    candidates: Candidates, allowed: float | None, price: float | None
) -> model.Data:
    """Return the data of the model, distances in units that make them whole."""
    weights, counts = candidates.table(np.zeros_like(candidates.own))
    losses = candidates.losses
    if price is not None:
        return model.Data(losses, weights, counts, price=price * candidates.unit)
    short = int((counts < weights.min()).sum() * (allowed == 0))
    if short:
        raise InfeasibleInputError(
            f"{many(short, 'level')} of {counts.size} have fewer records than the "
            "smallest group, and cannot be published as often as that.",
            fix="allow a slack of a few records, or name a price.",
        )
    return model.Data(losses, weights, counts, np.full(counts.shape, allowed))


class Frequencies(Solved, CategorySection):
    """Settings of `aggopt.aggregate.frequencies`."""

    method: Literal["frequencies"]
    slack: Slack | Literal["exact"] | None = Field(
        default=None,
        description='write by how many records counts may differ, or "exact".',
    )
    price: float | None = Field(default=None, gt=0, allow_inf_nan=False, strict=True)

    @model_validator(mode="after")
    def _check(self) -> "Frequencies":
        if self.slack is not None and self.price is not None:
            raise JobError(
                "[aggregation.categories] has both slack and price.",
                fix="leave one of them out: by how many records counts may differ, or "
                "what each record of difference costs.",
            )
        return self


AGGREGATOR = CategoryAggregator(
    name="frequencies",
    when="each category as often as before, at least loss",
    rank=20,
    function=frequencies,
    settings=Frequencies,
    certificate="total distance, with a price what differences cost besides, and what "
    "the solver proves of it",
    model=model.MODEL,
    template="""\
# slack = 4              # frequencies: records by which a count may differ; "exact";
#                          or price = 1.0, what each record of difference costs
# solver = "slots"       # or "cvxpy:highs", ...
# time_limit = 60        # seconds per attribute; left out, 600
""",
)
