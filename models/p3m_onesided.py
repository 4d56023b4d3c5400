r"""One-sided P3M: only coming too close to an original costs anything.

One attribute at a time, standardised.  P3M requires a record's published value to be at
the distance `delta`, and a larger distance costs, too.  Here `delta` is a least
distance: a value that is far enough away costs nothing.

Data
    x           (n,)  original values, standardised: mean 0, variance 1, no unit
    labels      (n,)  group j of each record i, 0..m-1; at least two groups
    delta       (n,)  required distance of x_i and its published value, >= 0
    importance  (n,)  w_i, importance of record i's wish, in [0, 1]; 1 is a hard wish:
                      the distance must then be kept
    alpha             weight of the distances against the shifts, in [0, 1]
    lower, upper      bounds of published values, if any: standardised as x is
    v           (n,)  sampling weight of each record, of mean 1; all 1 if left out
    n_j, C_j    (m,)  sum of v and weighted mean of each group: without v its size
Variables
    shift_j     (m,)  published centroid less group mean: c_j = C_j + shift_j
    gamma_i     (n,)  shortfall of record i's distance, in squared distance
Minimise
    alpha * sum_i gamma_i^2 + (1 - alpha) * sum_j n_j shift_j^2
Subject to
    distance:  (C_j + shift_j - x_i)^2 >= delta_i^2 - (1 - w_i) gamma_i,  j = labels_i
    mean:      sum_j n_j shift_j = 0
    variance:  sum_j n_j (C_j + shift_j)^2 = n
    lower:     C_j + shift_j >= lower
    upper:     C_j + shift_j <= upper
    sign:      gamma_i >= 0

Class: NLP.  Not convex: a local solver gives a local minimum.

Source: after Mortazavi and Jalili, Transactions on Data Privacy 10 (2017): P3M has
equality in `distance` and gamma of any sign.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from aggopt.core.plural import plural
from aggopt.core.types import Floats
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
from aggopt.models.shared.value_bounds import keep_within_in_pyomo, list_bound_rows

LANGUAGES = ("cvxpy", "pyomo")
TOUCH = 1e-9  # standard deviations by which intervals barred by hard wishes may overlap


@dataclass(frozen=True, eq=False)
class Data(Wishes):
    """Data of the model; see the module's docstring."""

    alpha: float

    def __post_init__(self) -> None:
        super().__post_init__()
        require_weight(self.alpha)
        _require_values(self)


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
    gamma = cp.Variable(n, name="gamma", nonneg=True, value=first.gamma)

    c = data.means + shift
    missed = cp.sum_squares(gamma)
    moved = cp.sum(cp.multiply(data.sizes, cp.square(shift)))
    distance = cp.square(c[data.labels] - data.x) >= (
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
    gamma = problem.gamma = pyo.Var(
        records, domain=pyo.NonNegativeReals, initialize=dict(enumerate(first.gamma))
    )

    size = data.sizes.tolist()
    x = data.x.tolist()
    c = [float(data.means[j]) + shift[j] for j in groups]
    missed = pyo.quicksum(gamma[i] ** 2 for i in records)
    moved = pyo.quicksum(size[j] * shift[j] ** 2 for j in groups)

    def distance(_: Any, i: int) -> Any:
        slack = float(1 - data.importance[i]) * gamma[i]
        return (c[data.labels[i]] - x[i]) ** 2 >= float(data.delta[i]) ** 2 - slack

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
    distance = (required - (c[data.labels] - data.x) ** 2).max()
    errors = {"distance": float(distance), "sign": float((-at.gamma).max())}
    return {**errors, **measure_row_errors(data, c)}


def point(data: Data, centroids: Floats) -> Point:
    """Return the variables' values for centroids (m,), with the least gamma."""
    near = data.delta**2 - (centroids[data.labels] - data.x) ** 2
    forgiven = np.where(data.hard, 1.0, 1 - data.importance)
    gamma = np.where(data.hard, 0.0, np.maximum(near, 0.0) / forgiven)
    return Point(centroids - data.means, gamma)


def list_allowed_intervals(data: Data) -> dict[int, list[tuple[float, float]]]:
    """Return the intervals that hard wishes allow a centroid, by group with any.

    They are within the bounds.  A group without an allowed value has no interval.
    """
    rows = np.flatnonzero(data.hard & (data.delta > 0))
    intervals: dict[int, list[tuple[float, float]]] = {}
    for i in rows[np.lexsort((data.x[rows] - data.delta[rows], data.labels[rows]))]:
        left = intervals.setdefault(int(data.labels[i]), [(data.lower, data.upper)])
        start = data.x[i] - data.delta[i]
        stop = data.x[i] + data.delta[i]
        low, high = left[-1]
        if start >= low - TOUCH:
            left[-1:] = [(low, max(low, float(start))), (float(stop), high)]
        else:
            left[-1] = max(low, float(stop)), high
    end = data.upper
    return {
        j: [(min(low, end), min(high, end)) for low, high in left if low <= end + TOUCH]
        for j, left in intervals.items()
    }


def _require_values(data: Data) -> None:
    """Raise an InfeasibleInputError if hard wishes and bounds leave no centroid."""
    if not data.bounded:
        return
    without = [
        j for j, intervals in list_allowed_intervals(data).items() if not intervals
    ]
    if without:
        shown = ", ".join(map(str, without[:10]))
        raise InfeasibleInputError(
            f"The hard wishes (importance 1) within {plural(len(without), 'group')} "
            f"leave no value within the bounds; the first are groups {shown}.",
            fix="lower the importance of some of their records below 1, or ask for "
            "less.",
        )


def example() -> Data:
    """Return small data of this model."""
    return Data(*make_small_example(), alpha=0.5)


MODEL = Model(
    name="p3m_onesided",
    when="values moved away from their originals by the distance asked, at least",
    rank=20,
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
