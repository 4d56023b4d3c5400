r"""Nearest centroids that keep the means and the whole covariance matrix.

All attributes at once, standardised.  The model finds the centroids nearest to the
group means with which the release has the means, variances and correlations of the
originals.  If a response is published unchanged with them, its covariance with each
attribute is kept, too, and so its regression on them.

Data
    Z         (n, d)  original values, standardised: mean 0, variance 1, no unit
    labels    (n,)    group j of each record i, 0..m-1; more groups than Z has rank
    y         (n,)    the response, standardised, if there is one
    n_j, C_j  (m, d)  size and mean of each group, derived from Z and labels
    ybar_j    (m,)    mean response of each group
    S         (d, d)  Z'Z, n times the covariance matrix
Variables
    c_j       (m, d)  published centroid of group j
Minimise
    sum_j n_j |c_j - C_j|^2
Subject to
    mean:        sum_j n_j c_j = 0
    covariance:  sum_j n_j c_j c_j' = S
    response:    sum_j n_j ybar_j c_j = Z'y, if there is one

Class: NLP.  Not convex, and yet in closed form: an orthogonal Procrustes problem.  The
least value is n times the squared Bures-Wasserstein distance of two normal
distributions, which multipliers of the covariance prove.

Source: Schönemann, Psychometrika 31 (1966), for the closed form; the rest is ours.
"""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from aggopt.core.types import Floats
from aggopt.errors import UnknownNameError
from aggopt.models._model import Model
from aggopt.models.shared.constraints import labelled
from aggopt.models.shared.joint import (
    MOMENT_NOISE,
    Free,
    Records,
    keep_moments_in_pyomo,
    kept_in_cvxpy,
    map_to_nearest,
    measure_moment_errors,
    read_matrix,
    root_of_moments,
)

LANGUAGES = ("cvxpy", "pyomo")
EPS = 2.220446049250313e-16  # one unit in the last place of 1
ROUNDINGS = 100.0  # units in the last place: more than any sum of products loses


@dataclass(frozen=True, eq=False)
class Data(Records):
    """Data of the model; see the module's docstring."""

    @cached_property
    def target(self) -> Floats:
        """Matrix B (m, d) of group means, times the square root of sizes."""
        return np.asarray(np.sqrt(self.sizes)[:, None] * self.means)


class Point(NamedTuple):
    """A value of every variable: c (m, d)."""

    c: Floats


@dataclass(frozen=True, eq=False)
class MomentSums:
    """Sums that the closed form and its bound need, for groups that no one has at once.

    Attributes
    ----------
    covariance : (d, d)
        S, n times the covariance of the records.
    between : (d, d)
        G = sum_j n_j C_j C_j'.
    """

    covariance: Floats = field(repr=False)
    between: Floats = field(repr=False)

    @cached_property
    def root(self) -> Floats:
        """Root R (d, d) of the covariance S: R'R = S."""
        return root_of_moments(self.covariance)

    @cached_property
    def target(self) -> Floats:
        """Root B (d, d) of the sums between groups G: B'B = G."""
        return root_of_moments(self.between)

    @cached_property
    def free(self) -> Free:
        """The part of the centroids that is free: all of it, without a response."""
        return Free(
            np.zeros_like(self.target), self.root, np.empty((len(self.root), 0))
        )

    def find_map(self) -> Floats | None:
        """Return M (d, d) that maps group means to the nearest centroids, or None.

        None if some direction of the records is lost in the means: no M keeps S then.
        """
        root = root_of_moments(self.covariance, MOMENT_NOISE)
        return map_to_nearest(self.target @ root.T, root)

    def prove(self) -> float:
        """Return a lower bound on squared shifts that keep the covariance."""
        _, size, p = np.linalg.svd(self.target @ self.root.T)
        return proven(self, (p.T * size) @ p)


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
    """Return the program in cvxpy; its variables start from `first`."""
    import cvxpy as cp

    c = cp.Variable(first.shape, name="c", value=first)
    size = np.repeat(data.sizes[:, None], first.shape[1], axis=1)
    cost = cp.sum(cp.multiply(size, cp.square(c - data.means)))
    return cp.Problem(cp.Minimize(cost), labelled(**kept_in_cvxpy(data, c)))


def _in_pyomo(data: Data, first: Floats) -> Any:
    """Return the program in Pyomo; its variables start from `first`."""
    import pyomo.environ as pyo

    groups = range(first.shape[0])
    attributes = range(first.shape[1])
    size = data.sizes.tolist()
    C = data.means.tolist()
    problem = pyo.ConcreteModel()
    c = problem.c = pyo.Var(
        groups, attributes, initialize=lambda _, j, a: float(first[j, a])
    )
    keep_moments_in_pyomo(
        data, problem, [[c[j, a] for a in attributes] for j in groups]
    )
    problem.cost = pyo.Objective(
        expr=pyo.quicksum(
            size[j] * (c[j, a] - C[j][a]) ** 2 for j in groups for a in attributes
        )
    )
    return problem


def objective(data: Data, at: Point) -> float:
    """Return the objective, which is minimised, at the point `at`."""
    return float(np.sum(data.sizes[:, None] * (at.c - data.means) ** 2))


def violations(data: Data, at: Point) -> dict[str, float]:
    """Return how far `at` violates each constraint, per record, by its name."""
    return measure_moment_errors(data, at.c)


def centroids(problem: Any, data: Data) -> Floats | None:
    """Return the centroids (m, d) of a solved problem; None without a solution."""
    return read_matrix(problem, "c", data.means.shape)


def compute_multipliers(data: Data, c: Floats) -> Floats:
    """Return the covariance's multipliers (r, r) at stationary centroids c (m, d).

    With A = sqrt(n_j) c_j = Q R and B = sqrt(n_j) C_j they are N = Q'B R', made
    symmetric: the multipliers of Q'Q = I.  With a response, Q and R belong to the free
    part.
    """
    fixed, root, _ = data.free
    A = np.sqrt(data.sizes)[:, None] * c
    Q = (A - fixed) @ root.T / np.sum(root**2, axis=1)  # its rows are orthogonal
    N = Q.T @ data.target @ root.T
    return np.asarray((N + N.T) / 2)


def multipliers(problem: Any, data: Data) -> Floats | None:
    """Return the covariance's multipliers (r, r) from a solved problem, or None."""
    c = centroids(problem, data)
    return None if c is None else compute_multipliers(data, c)


def proven(data: Data | MomentSums, multipliers: Floats) -> float:
    """Return the lower bound that multipliers (r, r) of the covariance prove.

    For any positive N, with K = R G R' and G = sum_j n_j C_j C_j',

        tr S + tr G - tr N - tr(N^-1 K)

    is no more than the least value (the Lagrangian of Q'Q = I, minimised over all Q),
    and equal to it if N^2 = K.  N has the eigenvectors p of the multipliers, and the
    best eigenvalues for them: sqrt(p'K p).  With a response, R belongs to the free
    part, B is the part orthogonal to the response, and 2 tr(fixed'B) is subtracted.
    An allowance for rounding is subtracted.
    """
    fixed, root, apart = data.free
    B = data.target - apart @ (apart.T @ data.target)
    _, p = np.linalg.eigh((multipliers + multipliers.T) / 2)
    taken = 2 * np.linalg.norm(B @ root.T @ p, axis=0).sum()
    taken += 2 * np.sum(fixed * data.target)
    total = np.sum(data.root**2) + np.sum(data.target**2)
    return float(total - taken - ROUNDINGS * EPS * (total + abs(taken)))


def point(data: Data, centroids: Floats) -> Point:
    """Return the variables' values: the centroids (m, d)."""
    return Point(centroids)


def example() -> Data:
    """Return small data of twelve records, two attributes and four groups."""
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
    violations=violations,
    reader=centroids,
    example=example,
    point=point,
    multipliers=multipliers,
    proven=proven,
)
