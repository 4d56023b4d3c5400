r"""Median that keeps the mean: least absolute error among releases with the mean.

One attribute at a time, standardised.

Data
    x       (n,)  original values, standardised: mean 0, variance 1
    labels  (n,)  group j of each record i, 0..m-1
    n_j     (m,)  size of each group
Variables
    c_j     (m,)  published value of group j
    e_i     (n,)  absolute error of record i
Minimise
    sum_i e_i
Subject to
    over:   x_i - c_j <= e_i                                       j = labels_i
    under:  c_j - x_i <= e_i                                       j = labels_i
    mean:   sum_j n_j c_j = 0

Class: LP.

Source: for the tests.
"""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from aggopt.errors import TableError, require_known
from aggopt.models import Model


@dataclass(frozen=True, eq=False)
class Data:
    """What the model needs to be told; see the head of this file."""

    x: Any = field(repr=False)
    labels: Any = field(repr=False)

    def __post_init__(self):
        off = abs(self.x.mean()) + abs(self.x.var() - 1)
        if not off < 1e-9:
            raise TableError("x is not standardised.", fix="pass z-scores.")

    @property
    def sizes(self):
        return np.bincount(self.labels).astype(float)

    @property
    def means(self):
        return np.bincount(self.labels, self.x) / self.sizes


class Point(NamedTuple):
    """A value of every variable: c (m,), e (n,)."""

    c: Any
    e: Any


def build(data, language):
    require_known("modelling language", language, ("cvxpy", "pyomo"))
    return in_cvxpy(data) if language == "cvxpy" else in_pyomo(data)


def in_cvxpy(data):
    import cvxpy as cp

    c = cp.Variable(len(data.sizes), name="c")
    e = cp.Variable(len(data.x), name="e")
    over = data.x - c[data.labels] <= e
    under = c[data.labels] - data.x <= e
    mean = data.sizes @ c == 0
    rows = {"over": over, "under": under, "mean": mean}
    named = [row.set_label(name) for name, row in rows.items()]
    return cp.Problem(cp.Minimize(cp.sum(e)), named)


def in_pyomo(data):
    import pyomo.environ as pyo

    p, records = pyo.ConcreteModel(), range(len(data.x))
    c = p.c = pyo.Var(range(len(data.sizes)))
    e = p.e = pyo.Var(records)
    x, j = data.x.tolist(), data.labels.tolist()
    p.over = pyo.Constraint(records, rule=lambda _, i: x[i] - c[j[i]] <= e[i])
    p.under = pyo.Constraint(records, rule=lambda _, i: c[j[i]] - x[i] <= e[i])
    sizes = enumerate(data.sizes.tolist())
    p.mean = pyo.Constraint(expr=pyo.quicksum(n * c[g] for g, n in sizes) == 0)
    p.cost = pyo.Objective(expr=pyo.quicksum(e[i] for i in records))
    return p


def objective(data, at: Point):
    return float(at.e.sum())


def violations(data, at: Point):
    away = at.c[data.labels] - data.x
    return {
        "over": float(np.max(-away - at.e)),
        "under": float(np.max(away - at.e)),
        "mean": float(abs(data.sizes @ at.c)),
    }


def point(data, centroids):
    return Point(centroids, np.abs(data.x - centroids[data.labels]))


def centroids(problem, data):
    if hasattr(problem, "var_dict"):
        return problem.var_dict["c"].value
    found = [v.value for v in problem.c.values()]
    return None if None in found else np.array(found)


def example():
    x = np.array([-2.0, -1.0, 0.5, -0.5, 2.5, 1.0, 0.25])
    x = (x - x.mean()) / x.std()
    return Data(x, np.array([0, 0, 0, 1, 1, 1, 1]))


MODEL = Model(
    name="median_mean",
    when="least absolute error, with the mean kept",
    kind="LP",
    languages=("cvxpy", "pyomo"),
    data=Data,
    build=build,
    objective=objective,
    violations=violations,
    reader=centroids,
    example=example,
    point=point,
)
