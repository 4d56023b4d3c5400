r"""Satisfaction: publish as many values as possible at the required distance.

One attribute at a time, standardised.  The aim is that published values keep their
distance; P3M's squares only approximate it.  Here the satisfied wishes are counted,
against a price for moving the centroids.

Data
    x           (n,)  original values, standardised: mean 0, variance 1, no unit
    labels      (n,)  group j of each record i, 0..m-1; at least two groups
    delta       (n,)  least distance of x_i and its published value, >= 0
    importance  (n,)  w_i, worth of satisfying record i's wish, in [0, 1]
    price             of one squared standard deviation of shift, per record, > 0
    lower, upper      bounds of published values, if any: standardised as x is
    v           (n,)  sampling weight of each record, of mean 1; all 1 if left out
    n_j, C_j    (m,)  sum of v and weighted mean of each group: without v its size
    M_i         (n,)  sqrt(n / n_j) + |x_i| + delta_i, a distance no centroid exceeds
Variables
    shift_j     (m,)  published centroid less group mean: c_j = C_j + shift_j
    above_i     (n,)  1 when c_j is delta_i or more above x_i
    below_i     (n,)  1 when c_j is delta_i or more below x_i
Minimise
    price * sum_j n_j shift_j^2 - sum_i w_i (above_i + below_i)
Subject to
    over:      C_j + shift_j - x_i >= delta_i - M_i (1 - above_i),    j = labels_i
    under:     x_i - C_j - shift_j >= delta_i - M_i (1 - below_i),    j = labels_i
    once:      above_i + below_i <= 1
    mean:      sum_j n_j shift_j = 0
    variance:  sum_j n_j (C_j + shift_j)^2 = n
    lower:     C_j + shift_j >= lower
    upper:     C_j + shift_j <= upper
    whole:     above_i and below_i are 0 or 1

Class: MINLP.  The variance is not convex, and the counts are not continuous.

Source: the satisfaction level of Mortazavi and Jalili, Transactions on Data Privacy 10
(2017), made the objective.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from aggopt.core.types import Floats
from aggopt.errors import JobError, UnknownNameError
from aggopt.models._model import Model
from aggopt.models.shared.constraints import labelled, off_whole
from aggopt.models.shared.shift_data import (
    Wishes,
    centroids,
    make_small_example,
    measure_row_errors,
)
from aggopt.models.shared.value_bounds import keep_within_in_pyomo, list_bound_rows

LANGUAGES = ("cvxpy", "pyomo")
TOUCH = 1e-9  # standard deviations by which a distance may fall short and count


@dataclass(frozen=True, eq=False)
class Data(Wishes):
    """Data of the model; see the module's docstring."""

    price: float

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.price < np.inf:
            raise JobError(f"price = {self.price}.", fix="choose a price above 0.")

    @property
    def farthest(self) -> Floats:
        """Upper bound M_i on each record's distance from any centroid (n,)."""
        widest = np.sqrt(len(self.x) / self.sizes)[self.labels]
        return np.asarray(widest + np.abs(self.x) + self.delta)


class Point(NamedTuple):
    """A value of every variable: shift (m,), above and below (n,)."""

    shift: Floats
    above: Floats
    below: Floats


def build(data: Data, language: str, *, start: Floats | None = None) -> Any:
    """Return the mixed-integer program in cvxpy or in Pyomo; nothing is solved here.

    `start` (m,) are the centroids a solver sets out from: the group means when
    omitted.
    """
    first = point(data, data.means if start is None else start)
    if language == "cvxpy":
        return _in_cvxpy(data, first)
    if language == "pyomo":
        return _in_pyomo(data, first)
    raise UnknownNameError("modelling language", language, LANGUAGES)


def _in_cvxpy(data: Data, first: Point) -> Any:
    """Return the program in cvxpy; its variables start from `first`."""
    import cvxpy as cp

    n = len(data.x)
    m = len(data.sizes)
    shift = cp.Variable(m, name="shift", value=first.shift)
    above = cp.Variable(n, name="above", boolean=True, value=first.above)
    below = cp.Variable(n, name="below", boolean=True, value=first.below)

    c = data.means + shift
    lead = c[data.labels] - data.x
    over = lead >= data.delta - cp.multiply(data.farthest, 1 - above)
    under = -lead >= data.delta - cp.multiply(data.farthest, 1 - below)
    once = above + below <= 1
    mean = data.sizes @ shift == 0
    variance = cp.sum(cp.multiply(data.sizes, cp.square(c))) == n
    within = list_bound_rows(c, data.lower, data.upper)

    moved = cp.sum(cp.multiply(data.sizes, cp.square(shift)))
    pleased = data.importance @ (above + below)
    cost = data.price * moved - pleased
    kept_rows = {"mean": mean, "variance": variance, **within}
    rows = labelled(over=over, under=under, once=once, **kept_rows)
    return cp.Problem(cp.Minimize(cost), rows)


def _in_pyomo(data: Data, first: Point) -> Any:
    """Return the program in Pyomo; its variables start from `first`."""
    import pyomo.environ as pyo

    n = len(data.x)
    m = len(data.sizes)
    records = range(n)
    groups = range(m)
    starts = [dict(enumerate(values)) for values in first]
    problem = pyo.ConcreteModel()
    shift = problem.shift = pyo.Var(groups, initialize=starts[0])
    above = problem.above = pyo.Var(records, domain=pyo.Binary, initialize=starts[1])
    below = problem.below = pyo.Var(records, domain=pyo.Binary, initialize=starts[2])

    size = data.sizes.tolist()
    x = data.x.tolist()
    delta = data.delta.tolist()
    far = data.farthest.tolist()
    worth = data.importance.tolist()
    c = [float(data.means[j]) + shift[j] for j in groups]
    lead = [c[data.labels[i]] - x[i] for i in records]

    def over(_: Any, i: int) -> Any:
        return lead[i] >= delta[i] - far[i] * (1 - above[i])

    def under(_: Any, i: int) -> Any:
        return -lead[i] >= delta[i] - far[i] * (1 - below[i])

    def once(_: Any, i: int) -> Any:
        return above[i] + below[i] <= 1

    problem.over = pyo.Constraint(records, rule=over)
    problem.under = pyo.Constraint(records, rule=under)
    problem.once = pyo.Constraint(records, rule=once)
    mean = pyo.quicksum(size[j] * shift[j] for j in groups)
    problem.mean = pyo.Constraint(expr=mean == 0)
    variance = pyo.quicksum(size[j] * c[j] ** 2 for j in groups)
    problem.variance = pyo.Constraint(expr=variance == n)
    keep_within_in_pyomo(problem, c, data.lower, data.upper)
    moved = pyo.quicksum(size[j] * shift[j] ** 2 for j in groups)
    pleased = pyo.quicksum(worth[i] * (above[i] + below[i]) for i in records)
    problem.cost = pyo.Objective(expr=data.price * moved - pleased)
    return problem


def objective(data: Data, at: Point) -> float:
    """Return the objective, which is minimised, at the point `at`."""
    moved = np.sum(data.sizes * at.shift**2)
    pleased = np.sum(data.importance * (at.above + at.below))
    return float(data.price * moved - pleased)


def violations(data: Data, at: Point) -> dict[str, float]:
    """Return how far `at` violates each constraint, by its name; moments per record."""
    c = data.means + at.shift
    lead = c[data.labels] - data.x
    over = data.delta - data.farthest * (1 - at.above) - lead
    under = data.delta - data.farthest * (1 - at.below) + lead
    return {
        "over": float(over.max()),
        "under": float(under.max()),
        "once": float((at.above + at.below - 1).max()),
        "whole": off_whole(at.above, at.below, upper=1),
        **measure_row_errors(data, c),
    }


def point(data: Data, centroids: Floats, *, touch: float = TOUCH) -> Point:
    """Return the variables' values for centroids (m,): which wishes are satisfied."""
    lead = centroids[data.labels] - data.x
    above = lead >= data.delta - touch
    below = (-lead >= data.delta - touch) & ~above
    return Point(centroids - data.means, above.astype(float), below.astype(float))


def example() -> Data:
    """Return small data of this model."""
    return Data(*make_small_example(), price=1.0)


MODEL = Model(
    name="satisfaction",
    when="as many values at the distance asked as pay for the shifts",
    rank=30,
    kind="MINLP",
    languages=LANGUAGES,
    data=Data,
    build=build,
    objective=objective,
    violations=violations,
    reader=centroids,
    example=example,
    point=point,
)
