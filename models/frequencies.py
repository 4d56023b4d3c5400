r"""Frequencies: the category of each group at least loss, frequencies kept.

Each group publishes one category.  The most frequent one of each group loses least, but
distorts the frequencies of categories in the release.  Here the frequencies are kept,
within a slack or for a price.  Groups with equal losses and equal weights are
symmetric, and counted by one whole number.

Data
    loss       D_jc  (m, C)  loss when group j publishes category c; inf: it may not
    weights    W_rj  (R, m)  records that group j adds to row r: its size; or, for the
                             table with a published attribute, its records of value r
    counts     N_rc  (R, C)  required counts of the release: the table of the originals
    slack      s_rc  (R, C)  number of records by which the release may differ; None
                             with a price
    price      p             cost of each record of difference; None with a slack
    shares                   "whole": a group has one category; "any": shares of them
    n_t, D_tc, W_rt          number of groups of symmetry class t, and their common loss
                             and weight, derived from loss and weights
Variables
    y_tc                     number of groups of class t that publish c, if D_tc < inf
    over_rc, under_rc        records of difference, with a price only
Minimise
    sum_tc D_tc y_tc + p sum_rc (over_rc + under_rc)
Subject to
    one:    sum_c y_tc = n_t
    above:  sum_t W_rt y_tc - over_rc <= N_rc + s_rc
    below:  sum_t W_rt y_tc + under_rc >= N_rc - s_rc
    sign:   y_tc, over_rc, under_rc >= 0
    most:   over_rc <= sum_j W_rj,  under_rc <= N_rc        implied; it helps solvers
    whole:  y_tc is a whole number, unless shares = "any"
where s_rc = 0 with a price, and over_rc = under_rc = 0 with a slack.

Class: MILP.  With any shares it is an LP.  By duality any multipliers l_rc, with a
price |l_rc| <= p, prove the bound

    sum_t n_t min_c (D_tc + sum_r l_rc W_rt) - sum_rc (l_rc N_rc + s_rc |l_rc|).

Source: ours; a generalised assignment problem, as in Shmoys and Tardos, Mathematical
Programming 62, 1993.
"""

from dataclasses import dataclass, field
from math import fsum
from typing import Any, NamedTuple

import numpy as np

from aggopt.core.types import Floats, Labels
from aggopt.core.validation import is_number
from aggopt.errors import JobError, require_known
from aggopt.models._model import Model
from aggopt.models.shared.category_choice import (
    Choice,
    count_choices,
    count_released,
    keep_counts_in_pyomo,
    keep_in_cvxpy,
    require_table,
)
from aggopt.models.shared.category_choice import categories as categories
from aggopt.models.shared.constraints import amounts, labelled, off_whole

LANGUAGES = ("cvxpy", "pyomo")
SHARES = ("whole", "any")
EPS = 4 * float(np.finfo(float).eps)  # rounding of each number that is added


@dataclass(frozen=True, eq=False)
class Data(Choice):
    """Data of the model; see the module's docstring."""

    slack: Floats | None = field(default=None, repr=False)
    price: float | None = None
    shares: str = "whole"

    def __post_init__(self) -> None:
        super().__post_init__()
        require_known("kind of share", self.shares, SHARES)
        require_slack_or_price(self.slack, self.price)
        if self.slack is not None:
            require_table("slack", self.slack, self.counts.shape)

    @property
    def largest(self) -> Floats:
        """Upper bound on each count: the sum of all weights (R C,)."""
        return np.repeat(self.weights.sum(axis=1), self.counts.shape[1])

    @property
    def allowed(self) -> Floats:
        """Allowed differences of counts s_rc (R, C); 0 if differences have a price."""
        return np.zeros_like(self.counts) if self.slack is None else self.slack


def require_slack_or_price(slack: object, price: object) -> None:
    """Raise a JobError unless one of slack and price is set, and is valid."""
    if (slack is None) == (price is None):
        raise JobError(
            "Neither slack nor price is given."
            if slack is None
            else "Both slack and price are given.",
            fix="pass one: by how many records counts may differ, or what each costs.",
        )
    if price is not None and not (is_number(price) and 0 < price < np.inf):  # type: ignore[operator]
        raise JobError(
            f"price = {price!r}.",
            fix="pass a number above 0: the loss that a record of difference is worth.",
        )


class Point(NamedTuple):
    """A value of every variable: y (q,), over and under (R, C)."""

    y: Floats
    over: Floats
    under: Floats


def build(data: Data, language: str) -> Any:
    """Return the program in cvxpy or in Pyomo; nothing is solved here."""
    require_known("modelling language", language, LANGUAGES)
    return _in_cvxpy(data) if language == "cvxpy" else _in_pyomo(data)


def _in_cvxpy(data: Data) -> Any:
    """Return the program in cvxpy, unsolved."""
    import cvxpy as cp

    y = cp.Variable(len(data.costs), name="y", integer=data.shares == "whole")
    off = [cp.Variable(data.counts.size, name=name) for name in ("over", "under")]
    over, under = off if data.price else (0.0, 0.0)

    kept_rows = keep_in_cvxpy(data, y, data.allowed, over, under)
    sign = [y >= 0]
    upper_rows = []
    cost = data.costs @ y
    if data.price:
        sign += [over >= 0, under >= 0]
        upper_rows += [over <= data.largest, under <= data.counts.ravel()]
        cost += data.price * cp.sum(over + under)
    return cp.Problem(
        cp.Minimize(cost), labelled(**kept_rows, sign=sign, most=upper_rows)
    )


def _in_pyomo(data: Data) -> Any:
    """Return the program in Pyomo, unsolved."""
    import pyomo.environ as pyo

    problem = pyo.ConcreteModel()
    domain = pyo.Integers if data.shares == "whole" else pyo.Reals
    cells = range(data.counts.size)
    costs = data.costs.tolist()
    y = problem.y = pyo.Var(range(len(costs)), domain=domain)
    over = problem.over = pyo.Var(cells if data.price else [])
    under = problem.under = pyo.Var(cells if data.price else [])
    keep_counts_in_pyomo(problem, data, data.allowed, over, under)
    signed = [v[i] for v in (y, over, under) for i in v]
    problem.sign = pyo.Constraint(range(len(signed)), rule=lambda _, i: signed[i] >= 0)
    tops = [over[cell] <= data.largest[cell] for cell in over]
    tops += [under[cell] <= data.counts.ravel()[cell] for cell in under]
    problem.most = pyo.Constraint(range(len(tops)), rule=lambda _, i: tops[i])
    lost = pyo.quicksum(cost * y[i] for i, cost in enumerate(costs))
    off = pyo.quicksum(over[cell] + under[cell] for cell in over)
    problem.cost = pyo.Objective(expr=lost + (data.price or 0.0) * off)
    return problem


def objective(data: Data, at: Point) -> float:
    """Return the objective, which is minimised, at the point `at`."""
    off = fsum(at.over.ravel()) + fsum(at.under.ravel())
    return fsum(data.costs * at.y) + (data.price or 0.0) * off


def violations(data: Data, at: Point) -> dict[str, float]:
    """Return how far the point `at` violates each constraint, by its name.

    With a slack, over and under count as none.
    """
    more, less = (at.over, at.under) if data.price else (0.0, 0.0)
    away = count_released(data, at.y) - data.counts
    signed = (at.y, at.over.ravel(), at.under.ravel())
    return amounts(
        one=np.abs(data.each @ at.y - data.classes[2]),
        above=away - more - data.allowed,
        below=-away - less - data.allowed,
        sign=-np.concatenate(signed),
        most=np.append(more - data.largest.reshape(away.shape), less - data.counts),
        whole=off_whole(at.y) if data.shares == "whole" else 0.0,
    )


def point(data: Data, categories: Labels) -> Point:
    """Return the variables' values if each group publishes its category (m,)."""
    y = count_choices(data, categories)
    away = count_released(data, y) - data.counts if data.price else 0 * data.counts
    return Point(y, np.maximum(away, 0.0), np.maximum(-away, 0.0))


def multipliers(problem: Any, data: Data) -> Floats | None:
    """Return the multipliers of the counts (R, C) from a solved problem, or None."""
    if data.shares == "whole":
        return None  # solvers of integer programs leave none
    if hasattr(problem, "var_dict"):
        _, above, below, *_ = (c.dual_value for c in problem.constraints)
        if above is None:
            return None
    else:
        suffix = getattr(problem, "dual", None)
        if suffix is None or problem.one[0] not in suffix:
            return None
        rows = problem.above, problem.below
        above, below = ([suffix.get(row[k], 0.0) for k in row] for row in rows)
    duals = np.abs(np.asarray(above, float)) - np.abs(np.asarray(below, float))
    return np.asarray(duals.reshape(data.counts.shape))


def proven(data: Data, multipliers: Floats) -> float:
    """Return the lower bound on the objective that multipliers (R, C) prove.

    >>> proven(example(), np.zeros((1, 3)))
    2.0
    """
    return max(0.0, round_bound_up(data, compute_dual_bound(data, multipliers)[0]))


def compute_dual_bound(data: Data, multipliers: Floats) -> tuple[float, Floats]:
    """Return the lower bound, and by how much each pair (q,) of the data raises it."""
    t, _ = data.pairs
    prices = np.where(np.isfinite(multipliers), multipliers, 0.0)
    if data.price is not None:
        prices = np.clip(prices, -data.price, data.price)
    added, size = (data.table.T @ p.ravel() for p in (prices, np.abs(prices)))
    cost = data.costs + added - EPS * (len(prices) + 2) * (data.costs + size)
    lowest = np.full(len(data.classes[2]), np.inf)
    np.minimum.at(lowest, t, cost)
    kept_terms = prices * data.counts + np.abs(prices) * data.allowed
    terms = [*(data.classes[2] * lowest), *-kept_terms.ravel()]
    bound = fsum(terms) - EPS * fsum(map(abs, terms))
    return bound, cost - lowest[t]


def round_bound_up(data: Data, bound: float) -> float:
    """Return a lower bound, rounded up if the objective is always a whole number."""
    numbers = [data.costs]
    if data.price is not None:
        numbers += [data.weights, data.counts, np.array([data.price])]
    is_whole = data.shares == "whole" and all((x == np.rint(x)).all() for x in numbers)
    return float(np.ceil(bound)) if is_whole else bound


def example() -> Data:
    """Return small data of five groups and three categories."""
    count = np.array([[2, 0, 0], [2, 1, 0], [2, 1, 0], [2, 0, 0], [0, 0, 3]], float)
    sizes = count.sum(axis=1)
    slack = np.ones((1, 3))
    return Data(sizes[:, None] - count, sizes[None], count.sum(axis=0)[None], slack)


MODEL = Model(
    name="frequencies",
    when="a category for each group, so that the release has them as often as before",
    rank=90,
    kind="MILP",
    languages=LANGUAGES,
    data=Data,
    build=build,
    objective=objective,
    violations=violations,
    reader=categories,
    example=example,
    point=point,
    multipliers=multipliers,
    proven=proven,
)
