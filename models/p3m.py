r"""P3M: shift group centroids away from the originals, keeping mean and variance.

One attribute at a time, standardised.  A record may wish that its published value keeps
a distance from its own value (`delta`), with an `importance`.  With importance near 1
the wish is nearly hard, with 0 a miss costs its square.

Data
    x           (n,)  original values, standardised: mean 0, variance 1, no unit
    labels      (n,)  group j of each record i, 0..m-1; at least two groups
    delta       (n,)  required distance of x_i and its published value, >= 0
    importance  (n,)  w_i, importance of record i's wish, in [0, 1]; 1 is a hard wish:
                      the distance is then exact, and c_j one of two values
    alpha             weight of the distances against the shifts, in [0, 1]
    lower, upper      bounds of published values, if any: standardised as x is
    v           (n,)  sampling weight of each record, of mean 1; all 1 if left out
    n_j, C_j    (m,)  sum of v and weighted mean of each group: without v its size
Variables
    shift_j     (m,)  published centroid less group mean: c_j = C_j + shift_j
    gamma_i     (n,)  miss of record i's wish, in squared distance
Minimise
    alpha * sum_i gamma_i^2 + (1 - alpha) * sum_j n_j shift_j^2
Subject to
    distance:  (C_j + shift_j - x_i)^2 = delta_i^2 - (1 - w_i) gamma_i,  j = labels_i
    mean:      sum_j n_j shift_j = 0
    variance:  sum_j n_j (C_j + shift_j)^2 = n
    lower:     C_j + shift_j >= lower
    upper:     C_j + shift_j <= upper

Class: NLP.  Not convex: a local solver gives a local minimum.

Source: Mortazavi and Jalili, Transactions on Data Privacy 10 (2017).
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from aggopt.core.plural import plural
from aggopt.core.types import Floats, Labels
from aggopt.errors import InfeasibleInputError, UnknownNameError
from aggopt.models._model import Model
from aggopt.models.shared.constraints import labelled
from aggopt.models.shared.shift_data import (
    Wishes,
    centroids,
    make_small_example,
    measure_row_errors,
    require_weight,
)
from aggopt.models.shared.value_bounds import (
    keep_within_in_pyomo,
    list_bound_rows,
    move_to_bounds,
)

LANGUAGES = ("cvxpy", "pyomo")
AGREE = 1e-9  # standard deviations by which two hard wishes may differ


@dataclass(frozen=True, eq=False)
class Data(Wishes):
    """Data of the model; see the module's docstring."""

    alpha: float

    def __post_init__(self) -> None:
        super().__post_init__()
        require_weight(self.alpha)
        _require_agreement(self)


class Point(NamedTuple):
    """A value of every variable: shift (m,), gamma (n,)."""

    shift: Floats
    gamma: Floats


def build(data: Data, language: str, *, start: Floats | None = None) -> Any:
    """Return the nonlinear program in cvxpy or in Pyomo; nothing is solved here.

    `start` (m,) are the centroids a local solver sets out from: the group means
    when omitted.
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
    gamma = cp.Variable(n, name="gamma", value=first.gamma)

    c = data.means + shift
    missed = cp.sum_squares(gamma)
    moved = cp.sum(cp.multiply(data.sizes, cp.square(shift)))
    distance = cp.square(c[data.labels] - data.x) == (
        data.delta**2 - cp.multiply(1 - data.importance, gamma)
    )
    mean = data.sizes @ shift == 0
    variance = cp.sum(cp.multiply(data.sizes, cp.square(c))) == n
    within = list_bound_rows(c, data.lower, data.upper)

    cost = data.alpha * missed + (1 - data.alpha) * moved
    rows = labelled(distance=distance, mean=mean, variance=variance, **within)
    return cp.Problem(cp.Minimize(cost), rows)


def _in_pyomo(data: Data, first: Point) -> Any:
    """Return the program in Pyomo; its variables start from `first`."""
    import pyomo.environ as pyo

    n = len(data.x)
    m = len(data.sizes)
    records = range(n)
    groups = range(m)
    problem = pyo.ConcreteModel()
    shift = problem.shift = pyo.Var(groups, initialize=dict(enumerate(first.shift)))
    gamma = problem.gamma = pyo.Var(records, initialize=dict(enumerate(first.gamma)))

    size = data.sizes.tolist()
    x = data.x.tolist()
    c = [float(data.means[j]) + shift[j] for j in groups]
    missed = pyo.quicksum(gamma[i] ** 2 for i in records)
    moved = pyo.quicksum(size[j] * shift[j] ** 2 for j in groups)

    def distance(_: Any, i: int) -> Any:
        slack = float(1 - data.importance[i]) * gamma[i]
        return (c[data.labels[i]] - x[i]) ** 2 == float(data.delta[i]) ** 2 - slack

    problem.distance = pyo.Constraint(records, rule=distance)
    problem.mean = pyo.Constraint(
        expr=pyo.quicksum(size[j] * shift[j] for j in groups) == 0
    )
    problem.variance = pyo.Constraint(
        expr=pyo.quicksum(size[j] * c[j] ** 2 for j in groups) == n
    )
    keep_within_in_pyomo(problem, c, data.lower, data.upper)
    problem.cost = pyo.Objective(expr=data.alpha * missed + (1 - data.alpha) * moved)
    return problem


def objective(data: Data, at: Point) -> float:
    """Return the objective, which is minimised, at the point `at`."""
    missed = np.sum(at.gamma**2)
    moved = np.sum(data.sizes * at.shift**2)
    return float(data.alpha * missed + (1 - data.alpha) * moved)


def violations(data: Data, at: Point) -> dict[str, float]:
    """Return how far the point `at` violates each constraint, by its name.

    Mean and variance are per record, so that the figures do not grow with n.
    """
    c = data.means + at.shift
    required = data.delta**2 - (1 - data.importance) * at.gamma
    away = np.abs(c[data.labels] - data.x)
    soft = np.abs(away**2 - required)
    # a demand is missed by a distance: near 0 its square would hide it
    distance = np.where(data.hard, np.abs(away - data.delta), soft).max()
    return {"distance": float(distance), **measure_row_errors(data, c)}


def point(data: Data, centroids: Floats) -> Point:
    """Return the variables' values for centroids (m,); distances determine gamma."""
    missed = data.delta**2 - (centroids[data.labels] - data.x) ** 2
    forgiven = np.where(data.hard, 1.0, 1 - data.importance)
    return Point(centroids - data.means, np.where(data.hard, 0.0, missed / forgiven))


def list_demanded_values(data: Data) -> tuple[Labels, Floats]:
    """Return the groups with hard wishes (g,), and two possible centroids (g, 2).

    A centroid that one of the group's records cannot accept, or that is beyond a bound,
    is nan.
    """
    rows = np.flatnonzero(data.hard)
    groups, first, where = np.unique(
        data.labels[rows], return_index=True, return_inverse=True
    )
    x = data.x[rows]
    delta = data.delta[rows]
    values = np.stack([x[first] - delta[first], x[first] + delta[first]], axis=1)
    off = np.abs(np.abs(values[where] - x[:, None]) - delta[:, None])
    worst = np.zeros_like(values)
    np.maximum.at(worst, where, off)
    agreed = worst <= AGREE * (1 + np.abs(values))
    values = move_to_bounds(values, data.lower, data.upper, AGREE)
    within = (data.lower <= values) & (values <= data.upper)
    return groups, np.where(agreed & within, values, np.nan)


def _require_agreement(data: Data) -> None:
    """Raise an InfeasibleInputError if hard wishes in a group contradict each other."""
    groups, values = list_demanded_values(data)
    apart = groups[np.isnan(values).all(axis=1)]
    if apart.size:
        shown = ", ".join(map(str, apart[:10].tolist()))
        leave = " or leave no value within the bounds" if data.bounded else ""
        raise InfeasibleInputError(
            f"The hard wishes (importance 1) within {plural(apart.size, 'group')} "
            f"contradict each other{leave}; the first are groups {shown}.",
            fix="lower the importance of some of their records below 1, or group "
            "those with the same demands together.",
        )


def example() -> Data:
    """Return small data of this model."""
    return Data(*make_small_example(), alpha=0.5)


MODEL = Model(
    name="p3m",
    when="values moved away from their originals by the distance asked, in squares",
    rank=10,
    kind="NLP",
    languages=LANGUAGES,
    data=Data,
    build=build,
    objective=objective,
    violations=violations,
    reader=centroids,
    example=example,
    point=point,
)
