r"""Category wishes: categories away from the records' own, frequencies kept.

A record may wish that the category published for it keeps a distance from its own, and
give this wish an importance: the categorical P3M.  Each group publishes one category.
The release has each category as often as the originals, within a slack, and loses no
more than a budget.

Data
    loss       D_jc  (m, C)  loss when group j publishes category c; inf: it may not
    weights    W_rj  (R, m)  records that group j adds to row r, as in `frequencies`
    counts     N_rc  (R, C)  required counts of the release: the table of the originals
    slack      s_rc  (R, C)  number of records by which the release may differ
    unmet      U_jc  (m, C)  importance of the records of group j that are nearer to c
                             than required: sum_i w_i [d(x_i, c) < delta_i]
    budget     B             largest loss
    shares                   "whole": a group has one category; "any": shares of them
    n_t, ...                 of symmetry class t: groups with equal D, U and W
Variables
    y_tc                     number of groups of class t that publish c, if D_tc < inf
Minimise
    sum_tc U_tc y_tc
Subject to
    one:     sum_c y_tc = n_t
    above:   sum_t W_rt y_tc <= N_rc + s_rc
    below:   sum_t W_rt y_tc >= N_rc - s_rc
    budget:  sum_tc D_tc y_tc <= B
    sign:    y_tc >= 0
    whole:   y_tc is a whole number, unless shares = "any"

Class: MILP.  With any shares it is an LP.  By duality any multipliers l_rc, and b >= 0,
prove the bound

    sum_t n_t min_c (U_tc + b D_tc + sum_r l_rc W_rt)
        - sum_rc (l_rc N_rc + s_rc |l_rc|) - b B.

Without an order or a tree, and with equal importances, each met wish is a loss: the
program then only finds how much of the budget can be spent.

Source: ours, after Mortazavi and Jalili, Transactions on Data Privacy 10 (2017).
"""

from dataclasses import dataclass, field
from math import fsum
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

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

    slack: Floats = field(repr=False)
    unmet: Floats = field(repr=False)
    budget: float
    shares: str = "whole"

    def __post_init__(self) -> None:
        super().__post_init__()
        require_known("kind of share", self.shares, SHARES)
        require_table("slack", self.slack, self.counts.shape)
        require_table("unmet", self.unmet, self.loss.shape)
        if not is_number(self.budget) or not 0 <= self.budget < np.inf:
            raise JobError(
                f"budget = {self.budget!r}.",
                fix="pass a number from 0 up, in the unit of the losses.",
            )

    @property
    def key(self) -> Floats:
        """Rows of data by group (m, 2 C + R); symmetric groups have equal rows."""
        return np.hstack([super().key, self.unmet])


def compute_unmet(
    labels: Labels, distances: Floats, delta: npt.ArrayLike, importance: npt.ArrayLike
) -> Floats:
    """Return the unmet importance of each group's wishes, by category (m, C).

    `distances` (n, C) are the distances of each record's own category from every
    category.  `delta` and `importance` are those of its wish: numbers, or (n,).

    >>> labels, distances = np.array([0, 0, 1]), 1.0 - np.eye(2)[[0, 1, 1]]
    >>> compute_unmet(labels, distances, 0.5, [1.0, 0.2, 1.0])
    array([[1. , 0.2],
           [0. , 1. ]])
    """
    n, width = distances.shape
    wanted, importances = (
        np.broadcast_to(np.asarray(v), n) for v in (delta, importance)
    )
    missed = importances[:, None] * (distances < wanted[:, None])
    unmet_importance = np.zeros((int(labels.max()) + 1, width))
    np.add.at(unmet_importance, labels, missed)
    return unmet_importance


class Point(NamedTuple):
    """A value of every variable: y (q,)."""

    y: Floats


def build(data: Data, language: str) -> Any:
    """Return the program in cvxpy or in Pyomo; nothing is solved here."""
    require_known("modelling language", language, LANGUAGES)
    return _in_cvxpy(data) if language == "cvxpy" else _in_pyomo(data)


def _in_cvxpy(data: Data) -> Any:
    """Return the program in cvxpy, unsolved."""
    import cvxpy as cp

    y = cp.Variable(len(data.costs), name="y", integer=data.shares == "whole")

    kept_rows = keep_in_cvxpy(data, y, data.slack)
    budget = data.costs @ y <= data.budget

    cost = cp.Minimize(data.of_pairs(data.unmet) @ y)
    return cp.Problem(cost, labelled(**kept_rows, budget=budget, sign=y >= 0))


def _in_pyomo(data: Data) -> Any:
    """Return the program in Pyomo, unsolved."""
    import pyomo.environ as pyo

    problem = pyo.ConcreteModel()
    domain = pyo.Integers if data.shares == "whole" else pyo.Reals
    pairs = range(len(data.costs))
    y = problem.y = pyo.Var(pairs, domain=domain)
    keep_counts_in_pyomo(problem, data, data.slack)

    def added(entries: Floats) -> Any:
        return pyo.quicksum(entry * y[i] for i, entry in enumerate(entries.tolist()))

    problem.budget = pyo.Constraint(expr=added(data.costs) <= float(data.budget))
    problem.sign = pyo.Constraint(pairs, rule=lambda _, i: y[i] >= 0)
    problem.cost = pyo.Objective(expr=added(data.of_pairs(data.unmet)))
    return problem


def objective(data: Data, at: Point) -> float:
    """Return the objective, which is minimised, at the point `at`."""
    return fsum(data.of_pairs(data.unmet) * at.y)


def violations(data: Data, at: Point) -> dict[str, float]:
    """Return how far the point `at` violates each constraint, by its name."""
    away = count_released(data, at.y) - data.counts
    return amounts(
        one=np.abs(data.each @ at.y - data.classes[2]),
        above=away - data.slack,
        below=-away - data.slack,
        budget=fsum(data.costs * at.y) - data.budget,
        sign=-at.y,
        whole=off_whole(at.y) if data.shares == "whole" else 0.0,
    )


def point(data: Data, categories: Labels) -> Point:
    """Return the variables' values if each group publishes its category (m,)."""
    return Point(count_choices(data, categories))


def multipliers(problem: Any, data: Data) -> Floats | None:
    """Return the multipliers (R C + 1,) of a solved problem; None of whole shares."""
    if data.shares == "whole":
        return None  # solvers of integer programs leave none
    if hasattr(problem, "var_dict"):
        duals = [c.dual_value for c in problem.constraints[1:4]]
        if duals[0] is None:
            return None
    else:
        suffix = getattr(problem, "dual", None)
        if suffix is None or problem.one[0] not in suffix:
            return None
        rows = [list(row.values()) for row in (problem.above, problem.below)]
        duals = [
            [suffix.get(c, 0.0) for c in row_group]
            for row_group in (*rows, [problem.budget])
        ]
    above, below, budget = (np.abs(np.ravel(np.asarray(v, float))) for v in duals)
    return np.append(above - below, budget)


def proven(data: Data, multipliers: Floats) -> float:
    """Return the lower bound on the objective that multipliers (R C + 1,) prove.

    >>> proven(example(), np.zeros(4))
    0.0
    """
    t, _ = data.pairs
    finite = np.where(np.isfinite(multipliers), multipliers, 0.0)
    prices = finite[:-1]
    spent = max(float(finite[-1]), 0.0)
    met = data.of_pairs(data.unmet)
    added, size = (data.table.T @ p for p in (prices, np.abs(prices)))
    size = met + spent * data.costs + size
    cost = met + spent * data.costs + added - EPS * (len(data.counts) + 4) * size
    lowest = np.full(len(data.classes[2]), np.inf)
    np.minimum.at(lowest, t, cost)
    kept_terms = prices * data.counts.ravel() + np.abs(prices) * data.slack.ravel()
    terms = [*(data.classes[2] * lowest), *-kept_terms, -spent * data.budget]
    return max(0.0, fsum(terms) - EPS * fsum(map(abs, terms)))


def example() -> Data:
    """Return small data of five groups and three categories."""
    count = np.array([[2, 0, 0], [2, 1, 0], [2, 1, 0], [2, 0, 0], [0, 0, 3]], float)
    sizes = count.sum(axis=1)
    insist = np.array([0.1, 1.0, 0.1])  # only the second category has hard wishes
    table = count.sum(axis=0)[None]
    slack = np.full((1, 3), 3.0)
    return Data(sizes[:, None] - count, sizes[None], table, slack, count * insist, 6.0)


MODEL = Model(
    name="category_wish",
    when="a category for each group, away from those of its records that ask for it",
    rank=100,
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
