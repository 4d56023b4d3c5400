r"""Joint satisfaction: most values at the required distance, every correlation kept.

All attributes at once, standardised.  The published values that keep the required
distance are counted by importance, against a price for moving the centroids.

Data
    Z           (n, d)  original values, standardised: mean 0, variance 1, no unit
    labels      (n,)    group j of each record i, 0..m-1; more groups than Z has rank
    delta       (n, d)  least distance of z_ia and its published value, >= 0
    importance  (n, d)  w_ia, worth of satisfying record i's wish, in [0, 1]
    price               of one squared standard deviation of shift, per record, > 0
    lower, upper        bounds of each attribute's values, if any, standardised as Z is
    n_j, C_j    (m, d)  size and mean of each group, derived from Z and labels
    S           (d, d)  Z'Z, n times the covariance matrix
    y           (n,)    a response that is published unchanged, standardised, if any
    ybar_j      (m,)    its mean in each group
    M_ia        (n, d)  sqrt(n / n_j) + |z_ia| + delta_ia: no distance exceeds it
Variables
    shift_j     (m, d)  published centroid less group mean: c_j = C_j + shift_j
    above_ia    (n, d)  1 when c_ja is delta_ia or more above z_ia
    below_ia    (n, d)  1 when c_ja is delta_ia or more below z_ia
Minimise
    price * sum_j n_j |shift_j|^2 - sum_ia w_ia (above_ia + below_ia)
Subject to
    over:        c_ja - z_ia >= delta_ia - M_ia (1 - above_ia),    j = labels_i
    under:       z_ia - c_ja >= delta_ia - M_ia (1 - below_ia),    j = labels_i
    once:        above_ia + below_ia <= 1
    mean:        sum_j n_j c_j = 0
    covariance:  sum_j n_j c_j c_j' = S
    response:    sum_j n_j ybar_j c_j = Z'y, if there is one
    lower:       c_ja >= lower_a
    upper:       c_ja <= upper_a
    whole:       above_ia and below_ia are 0 or 1

Class: MINLP.  The covariance is not convex, and the counts are not continuous.

Source: the satisfaction level of Mortazavi and Jalili, Transactions on Data Privacy 10
(2017), made the objective; the program is ours.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from aggopt.core.types import Floats
from aggopt.errors import UnknownNameError
from aggopt.models import satisfaction
from aggopt.models._model import Model
from aggopt.models.satisfaction import TOUCH
from aggopt.models.shared.constraints import labelled, off_whole
from aggopt.models.shared.joint import centroids
from aggopt.models.shared.joint_wishes import (
    JointWishes,
    add_rows_in_pyomo,
    measure_joint_errors,
    rows_in_cvxpy,
)

LANGUAGES = ("cvxpy", "pyomo")


@dataclass(frozen=True, eq=False)
class Data(JointWishes):
    """Data of the model; see the module's docstring."""

    alone: ClassVar[Model] = satisfaction.MODEL
    price: float

    @property
    def weight(self) -> float:
        """Price of the shifts, which weighs them against the wishes."""
        return self.price

    @property
    def wished(self) -> bool:
        """Whether any record has a wish; otherwise only shifts have a cost."""
        return True

    @property
    def farthest(self) -> Floats:
        """Upper bound M_ia on each value's distance from any centroid (n, d)."""
        return np.stack([alone.farthest for alone in self.apart], axis=1)


class Point(NamedTuple):
    """A value of every variable: shift (m, d), above and below (n, d)."""

    shift: Floats
    above: Floats
    below: Floats


def build(data: Data, language: str, *, start: Floats | None = None) -> Any:
    """Return the mixed-integer program in cvxpy or in Pyomo; nothing is solved here.

    `start` (m, d) are the centroids a solver sets out from: the group means when
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

    shape = data.Z.shape
    shift = cp.Variable(first.shift.shape, name="shift", value=first.shift)
    above = cp.Variable(shape, name="above", boolean=True, value=first.above)
    below = cp.Variable(shape, name="below", boolean=True, value=first.below)

    c = data.means + shift
    lead = c[data.labels] - data.Z
    over = lead >= data.delta - cp.multiply(data.farthest, 1 - above)
    under = -lead >= data.delta - cp.multiply(data.farthest, 1 - below)
    once = above + below <= 1

    size = np.repeat(data.sizes[:, None], shape[1], axis=1)
    moved = cp.sum(cp.multiply(size, cp.square(shift)))
    pleased = cp.sum(cp.multiply(data.importance, above + below))
    cost = data.price * moved - pleased
    kept_rows = rows_in_cvxpy(data, c)
    return cp.Problem(
        cp.Minimize(cost), labelled(over=over, under=under, once=once, **kept_rows)
    )


def _in_pyomo(data: Data, first: Point) -> Any:
    """Return the program in Pyomo; its variables start from `first`."""
    import pyomo.environ as pyo

    records, attributes = map(range, data.Z.shape)
    groups = range(len(data.sizes))
    problem = pyo.ConcreteModel()
    shift = problem.shift = pyo.Var(
        groups, attributes, initialize=lambda _, j, a: float(first.shift[j, a])
    )
    above = problem.above = _declare_counts(first.above)
    below = problem.below = _declare_counts(first.below)

    size = data.sizes.tolist()
    C = data.means.tolist()
    z = data.Z.tolist()
    delta = data.delta.tolist()
    far = data.farthest.tolist()
    worth = data.importance.tolist()
    c = [[C[j][a] + shift[j, a] for a in attributes] for j in groups]
    lead = [[c[j][a] - z[i][a] for a in attributes] for i, j in enumerate(data.labels)]

    def over(_: Any, i: int, a: int) -> Any:
        return lead[i][a] >= delta[i][a] - far[i][a] * (1 - above[i, a])

    def under(_: Any, i: int, a: int) -> Any:
        return -lead[i][a] >= delta[i][a] - far[i][a] * (1 - below[i, a])

    def once(_: Any, i: int, a: int) -> Any:
        return above[i, a] + below[i, a] <= 1

    problem.over = pyo.Constraint(records, attributes, rule=over)
    problem.under = pyo.Constraint(records, attributes, rule=under)
    problem.once = pyo.Constraint(records, attributes, rule=once)
    add_rows_in_pyomo(data, problem, c)
    moved = pyo.quicksum(size[j] * shift[j, a] ** 2 for j in groups for a in attributes)
    pleased = pyo.quicksum(
        worth[i][a] * (above[i, a] + below[i, a]) for i in records for a in attributes
    )
    problem.cost = pyo.Objective(expr=data.price * moved - pleased)
    return problem


def _declare_counts(first: Floats) -> Any:
    """Return binary variables of cvxpy of this shape, with initial values `first`."""
    import pyomo.environ as pyo

    return pyo.Var(
        *map(range, first.shape),
        domain=pyo.Binary,
        initialize=lambda _, i, a: float(first[i, a]),
    )


def objective(data: Data, at: Point) -> float:
    """Return the objective, which is minimised, at the point `at`."""
    moved = np.sum(data.sizes[:, None] * at.shift**2)
    pleased = np.sum(data.importance * (at.above + at.below))
    return float(data.price * moved - pleased)


def violations(data: Data, at: Point) -> dict[str, float]:
    """Return how far `at` violates each constraint, by its name; moments per record."""
    c = data.means + at.shift
    lead = c[data.labels] - data.Z
    over = data.delta - data.farthest * (1 - at.above) - lead
    under = data.delta - data.farthest * (1 - at.below) + lead
    return {
        "over": float(over.max()),
        "under": float(under.max()),
        "once": float((at.above + at.below - 1).max()),
        "whole": off_whole(at.above, at.below, upper=1),
        **measure_joint_errors(data, c),
    }


def point(data: Data, centroids: Floats, *, touch: float = TOUCH) -> Point:
    """Return the variables' values for centroids (m, d): which wishes are satisfied."""
    lead = centroids[data.labels] - data.Z
    above = lead >= data.delta - touch
    below = (-lead >= data.delta - touch) & ~above
    return Point(centroids - data.means, above.astype(float), below.astype(float))


def example() -> Data:
    """Return small data of six records, two attributes and three groups."""
    x = np.array([-3.0, -1.0, -2.0, 0.0, 4.0, 2.0])
    Z = np.column_stack([x, x[::-1] ** 2])
    Z = (Z - Z.mean(axis=0)) / Z.std(axis=0)
    return Data(Z, np.arange(6) // 2, np.full(Z.shape, 0.2), np.ones(Z.shape), 1.0)


MODEL = Model(
    name="satisfaction_joint",
    when="as many values at the distance asked as pay, every correlation kept",
    rank=35,
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
