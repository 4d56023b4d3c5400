r"""Joint one-sided P3M: keep centroids away from the originals, and every correlation.

All attributes at once, standardised.  As P3M of all attributes, but only coming too
close to an original costs: a published value farther away than required costs nothing.

Data
    Z           (n, d)  original values, standardised: mean 0, variance 1, no unit
    labels      (n,)    group j of each record i, 0..m-1; more groups than Z has rank
    delta       (n, d)  least distance of z_ia and its published value, >= 0
    importance  (n, d)  w_ia, importance of record i's wish, in [0, 1]; 1 is a hard wish
    alpha               weight of the distances against the shifts, in [0, 1]
    lower, upper        bounds of each attribute's values, if any, standardised as Z is
    n_j, C_j    (m, d)  size and mean of each group, derived from Z and labels
    S           (d, d)  Z'Z, n times the covariance matrix
    y           (n,)    a response that is published unchanged, standardised, if any
    ybar_j      (m,)    its mean in each group
Variables
    shift_j     (m, d)  published centroid less group mean: c_j = C_j + shift_j
    gamma_ia    (n, d)  shortfall of record i's distance, in squared distance
Minimise
    alpha * sum_ia gamma_ia^2 + (1 - alpha) * sum_j n_j |shift_j|^2
Subject to
    distance:    (c_ja - z_ia)^2 >= delta_ia^2 - (1 - w_ia) gamma_ia,    j = labels_i
    mean:        sum_j n_j c_j = 0
    covariance:  sum_j n_j c_j c_j' = S
    response:    sum_j n_j ybar_j c_j = Z'y, if there is one
    lower:       c_ja >= lower_a
    upper:       c_ja <= upper_a
    sign:        gamma_ia >= 0

Class: NLP.  Not convex: a local solver gives a local minimum.  Without the covariances
of different attributes it is one-sided P3M of each, whose bounds add up to one.

Source: after Mortazavi and Jalili, Transactions on Data Privacy 10 (2017), for the
wishes; the program is ours.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from aggopt.core.types import Floats
from aggopt.errors import UnknownNameError
from aggopt.models import p3m_joint, p3m_onesided
from aggopt.models._model import Model
from aggopt.models.shared.constraints import labelled
from aggopt.models.shared.joint import centroids
from aggopt.models.shared.joint_wishes import (
    Demanded,
    Interval,
    SquaredWishes,
    add_rows_in_pyomo,
    measure_joint_errors,
    rows_in_cvxpy,
)

LANGUAGES = ("cvxpy", "pyomo")


@dataclass(frozen=True, eq=False)
class Data(SquaredWishes):
    """Data of the model; see the module's docstring."""

    alone: ClassVar[Model] = p3m_onesided.MODEL

    def demanded(self) -> Demanded:
        """Return the intervals that hard wishes allow, by group and attribute."""
        by_group: dict[int, dict[int, list[Interval]]] = {}
        for a, alone in enumerate(self.apart):
            for j, intervals in p3m_onesided.list_allowed_intervals(alone).items():
                by_group.setdefault(j, {})[a] = intervals
        return by_group


class Point(NamedTuple):
    """A value of every variable: shift (m, d), gamma (n, d)."""

    shift: Floats
    gamma: Floats


def build(data: Data, language: str, *, start: Floats | None = None) -> Any:
    """Return the nonlinear program in cvxpy or in Pyomo; nothing is solved here.

    `start` (m, d) are the centroids a local solver sets out from: the group means
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

    shape = first.shift.shape
    shift = cp.Variable(shape, name="shift", value=first.shift)
    gamma = cp.Variable(data.Z.shape, name="gamma", nonneg=True, value=first.gamma)

    c = data.means + shift
    size = np.repeat(data.sizes[:, None], shape[1], axis=1)
    missed = cp.sum_squares(gamma)
    moved = cp.sum(cp.multiply(size, cp.square(shift)))
    distance = cp.square(c[data.labels] - data.Z) >= (
        data.delta**2 - cp.multiply(1 - data.importance, gamma)
    )
    cost = data.alpha * missed + (1 - data.alpha) * moved
    rows = labelled(distance=distance, **rows_in_cvxpy(data, c))
    return cp.Problem(cp.Minimize(cost), rows)


def _in_pyomo(data: Data, first: Point) -> Any:
    """Return the program in Pyomo; its variables start from `first`."""
    import pyomo.environ as pyo

    records, attributes = map(range, data.Z.shape)
    groups = range(len(data.sizes))
    problem = pyo.ConcreteModel()
    shift = problem.shift = pyo.Var(
        groups, attributes, initialize=lambda _, j, a: float(first.shift[j, a])
    )
    gamma = problem.gamma = pyo.Var(
        records,
        attributes,
        domain=pyo.NonNegativeReals,
        initialize=lambda _, i, a: float(first.gamma[i, a]),
    )

    size = data.sizes.tolist()
    C = data.means.tolist()
    z = data.Z.tolist()
    c = [[C[j][a] + shift[j, a] for a in attributes] for j in groups]
    missed = pyo.quicksum(gamma[i, a] ** 2 for i in records for a in attributes)
    moved = pyo.quicksum(size[j] * shift[j, a] ** 2 for j in groups for a in attributes)

    def distance(_: Any, i: int, a: int) -> Any:
        slack = float(1 - data.importance[i, a]) * gamma[i, a]
        away = (c[data.labels[i]][a] - z[i][a]) ** 2
        return away >= float(data.delta[i, a]) ** 2 - slack

    problem.distance = pyo.Constraint(records, attributes, rule=distance)
    add_rows_in_pyomo(data, problem, c)
    problem.cost = pyo.Objective(expr=data.alpha * missed + (1 - data.alpha) * moved)
    return problem


def objective(data: Data, at: Point) -> float:
    """Return the objective, which is minimised, at the point `at`."""
    missed = np.sum(at.gamma**2)
    moved = np.sum(data.sizes[:, None] * at.shift**2)
    return float(data.alpha * missed + (1 - data.alpha) * moved)


def violations(data: Data, at: Point) -> dict[str, float]:
    """Return how far the point `at` violates each constraint, by its name.

    Mean and covariance are per record, so that the figures do not grow with n.
    """
    c = data.means + at.shift
    required = data.delta**2 - (1 - data.importance) * at.gamma
    distance = (required - (c[data.labels] - data.Z) ** 2).max()
    errors = {"distance": float(distance), "sign": float((-at.gamma).max())}
    return {**errors, **measure_joint_errors(data, c)}


def point(data: Data, centroids: Floats) -> Point:
    """Return the variables' values for centroids (m, d), with the least gamma."""
    near = data.delta**2 - (centroids[data.labels] - data.Z) ** 2
    forgiven = np.where(data.hard, 1.0, 1 - data.importance)
    gamma = np.where(data.hard, 0.0, np.maximum(near, 0.0) / forgiven)
    return Point(centroids - data.means, gamma)


def example() -> Data:
    """Return small data of twelve records, two attributes and four groups."""
    joint_data = p3m_joint.example()
    return Data(
        joint_data.Z,
        joint_data.labels,
        joint_data.delta,
        joint_data.importance,
        joint_data.alpha,
    )


MODEL = Model(
    name="p3m_onesided_joint",
    when="values no nearer to their originals than asked, every correlation kept",
    rank=25,
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
