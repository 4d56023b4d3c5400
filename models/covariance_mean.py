r"""Nearest centroids that keep the means and the whole covariance matrix.

All attributes at once, standardised.  Of all centroids with which the released
attributes have the means, variances and correlations of the originals, those nearest
to the group means.

Data
    Z         (n, d)  original values, standardised: mean 0, variance 1, no unit
    labels    (n,)    group j of each record i, 0..m-1; more groups than Z has rank
    n_j, C_j  (m, d)  size and mean of each group, derived from Z and labels
    S         (d, d)  Z'Z, n times the covariance matrix
Variables
    c_j       (m, d)  published centroid of group j
Minimise
    sum_j n_j |c_j - C_j|^2
Subject to
    mean:        sum_j n_j c_j = 0
    covariance:  sum_j n_j c_j c_j' = S

Class: NLP.  Not convex, and yet in closed form: an orthogonal Procrustes problem.  The
least value is n times the squared Bures-Wasserstein distance of two normal
distributions, which multipliers of the covariance prove.

Source: Schönemann, Psychometrika 31 (1966), for the closed form; the rest is ours.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from aggopt.core.validation import Floats
from aggopt.errors import UnknownNameError
from aggopt.models._joint import (
    Records,
    keep_in_pyomo,
    kept_in_cvxpy,
    mean_and_covariance,
    read,
)
from aggopt.models._model import Model

LANGUAGES = ("cvxpy", "pyomo")
EPS = 2.220446049250313e-16  # one unit in the last place of 1
ROUNDINGS = 100.0  # units in the last place: more than any sum of products loses


@dataclass(frozen=True, eq=False)
class Data(Records):
    """Data of the model; see the module's docstring."""


class Point(NamedTuple):
    """A value of every variable: c (m, d)."""

    c: Floats


def build(data: Data, language: str, *, start: Floats | None = None) -> Any:
    """Return the nonlinear program in cvxpy or in Pyomo; nothing is solved here.

    `start` (m, d) are the centroids a local solver sets out from: the group means
    when omitted.
    """
    first = data.means if start is None else start
    if language == "cvxpy":
        return _in_cvxpy(data, first)
    if language == "pyomo":
        return _in_pyomo(data, first)
    raise UnknownNameError("modelling language", language, LANGUAGES)


def _in_cvxpy(data: Data, first: Floats) -> Any:
    import cvxpy as cp

    c = cp.Variable(first.shape, name="c", value=first)
    size = np.repeat(data.sizes[:, None], first.shape[1], axis=1)
    cost = cp.sum(cp.multiply(size, cp.square(c - data.means)))
    return cp.Problem(cp.Minimize(cost), kept_in_cvxpy(data, c))


def _in_pyomo(data: Data, first: Floats) -> Any:
    import pyomo.environ as pyo

    groups, attributes = range(first.shape[0]), range(first.shape[1])
    size, C = data.sizes.tolist(), data.means.tolist()
    problem = pyo.ConcreteModel()
    c = problem.c = pyo.Var(
        groups, attributes, initialize=lambda _, j, a: float(first[j, a])
    )
    keep_in_pyomo(data, problem, [[c[j, a] for a in attributes] for j in groups])
    problem.cost = pyo.Objective(
        expr=pyo.quicksum(
            size[j] * (c[j, a] - C[j][a]) ** 2 for j in groups for a in attributes
        )
    )
    return problem


def objective(data: Data, at: Point) -> float:
    """Return what the model minimises, whichever solver found the point."""
    return float(np.sum(data.sizes[:, None] * (at.c - data.means) ** 2))


def violation(data: Data, at: Point) -> float:
    """Return the largest violation, of the mean or the covariance, per record."""
    return max(mean_and_covariance(data, at.c))


def centroids(problem: Any, data: Data) -> Floats | None:
    """Read the centroids (m, d) off a solved problem; None where it holds none."""
    return read(problem, "c", data.means.shape)


def multipliers_at(data: Data, c: Floats) -> Floats:
    """Return the multipliers of the covariance (r, r) that stationary centroids have.

    With A = sqrt(n_j) c_j = Q R and B = sqrt(n_j) C_j they are N = Q'B R', made
    symmetric: those of Q'Q = I.
    """
    weight = np.sqrt(data.sizes)[:, None]
    Q = np.linalg.lstsq(data.root.T, (weight * c).T, rcond=None)[0]
    N = Q @ (weight * data.means) @ data.root.T
    return np.asarray((N + N.T) / 2)


def multipliers(problem: Any, data: Data) -> Floats | None:
    """Return the multipliers (r, r) of a solved problem's centroids."""
    c = centroids(problem, data)
    return None if c is None else multipliers_at(data, c)


def proven(data: Data, multipliers: Floats) -> float:
    """Return the bound that multipliers (r, r) of the covariance prove.

    For any positive N, with K = R G R' and G = sum_j n_j C_j C_j',

        tr S + tr G - tr N - tr(N^-1 K)

    is no more than the least value (the Lagrangian of Q'Q = I, minimised over all Q),
    and equal to it where N^2 = K.  N has the eigenvectors p of the multipliers, and the
    eigenvalues that are best for these: sqrt(p'K p).  Rounding is taken off.
    """
    B = np.sqrt(data.sizes)[:, None] * data.means
    _, p = np.linalg.eigh((multipliers + multipliers.T) / 2)
    taken = 2 * np.linalg.norm(B @ data.root.T @ p, axis=0).sum()
    whole = np.sum(data.root**2) + np.sum(B**2)
    return float(whole - taken - ROUNDINGS * EPS * (whole + taken))


def point(data: Data, centroids: Floats) -> Point:
    """Return the point with these centroids (m, d)."""
    return Point(centroids)


def example() -> Data:
    """Return twelve records of two attributes in four groups."""
    x = np.array([-3.0, -1.0, -2.0, 0.0, 1.0, -1.0, 2.0, 0.0, 1.0, 2.0, 3.0, 1.0])
    Z = np.column_stack([x, x[::-1] ** 2])
    return Data((Z - Z.mean(axis=0)) / Z.std(axis=0), np.arange(12) // 3)


MODEL = Model(
    name="covariance_mean",
    when="least squared error of all centroids that keep every correlation",
    rank=5,
    kind="NLP",
    languages=LANGUAGES,
    data=Data,
    build=build,
    objective=objective,
    violation=violation,
    reader=centroids,
    example=example,
    point=point,
    multipliers=multipliers,
    proven=proven,
)
