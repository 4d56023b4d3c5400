"""What the models of all attributes at once share: records, groups, covariance."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from aggopt.core.plural import many
from aggopt.core.validation import Floats, Labels
from aggopt.errors import InfeasibleInputError, TableError
from aggopt.models._orthogonal import aligned, root


@dataclass(frozen=True, eq=False)
class Records:
    """Standardised attributes and the groups that they have in common.

    Attributes
    ----------
    Z : (n, d)
        Original values: each attribute has mean 0, variance 1, no unit.
    labels : (n,)
        Group of each record, 0..m-1; at least one group more than the rank of Z.
    """

    Z: Floats = field(repr=False)
    labels: Labels = field(repr=False)

    def __post_init__(self) -> None:
        mean, square = self.Z.mean(axis=0), np.einsum("ij,ij->j", self.Z, self.Z)
        variance = square / len(self.Z) - mean**2
        if (abs(mean) > 1e-9).any() or (abs(variance - 1) > 1e-9).any():
            raise TableError(
                "Z is not standardised: a mean is not 0 or a variance not 1.",
                fix="pass (X - X.mean(axis=0)) / X.std(axis=0), without constants.",
            )
        m, rank = int(self.labels.max()) + 1, len(self.root)
        if m <= rank:
            raise InfeasibleInputError(
                f"{many(m, 'group')} cannot keep a covariance matrix of rank {rank}: "
                f"{rank + 1} groups or more can.",
                fix='choose a smaller k, fewer attributes, or keep = "variance".',
            )

    @cached_property
    def sizes(self) -> Floats:
        """Number of records in each group, n_j (m,)."""
        return np.bincount(self.labels).astype(np.float64)

    @cached_property
    def means(self) -> Floats:
        """Mean of each group, C_j (m, d)."""
        sums = [np.bincount(self.labels, z) for z in self.Z.T]
        return np.stack(sums, axis=1) / self.sizes[:, None]

    @cached_property
    def root(self) -> Floats:
        """R (r, d) with R'R = S = Z'Z: r rows, as many as Z has rank."""
        return root(self.Z)

    @cached_property
    def covariance(self) -> Floats:
        """What is to be kept, S (d, d): n times the correlations."""
        return np.asarray(self.root.T @ self.root)

    @cached_property
    def renormalised(self) -> Floats:
        """Centroids (m, d) that keep mean and covariance, nearest to the means."""
        weight = np.sqrt(self.sizes)[:, None]
        return nearest(self, weight * self.means) / weight

    @cached_property
    def u(self) -> Floats:
        """sqrt(n_j / n), (m,)."""
        return np.asarray(np.sqrt(self.sizes / self.sizes.sum()))


def nearest(data: Records, A: Floats) -> Floats:
    """Return the matrix nearest to A (m, d) of those with A'A = S and u'A = 0.

    u_j = sqrt(n_j / n).  Any such matrix is Q R with Q'Q = I and u'Q = 0; the nearest
    has the Q that is nearest to A R'.
    """
    return aligned(A @ data.root.T, data.u[:, None]) @ data.root


def mean_and_covariance(data: Records, c: Floats) -> dict[str, float]:
    """Return by how much centroids c (m, d) miss mean and covariance, per record."""
    n = len(data.Z)
    mean = np.abs(data.sizes @ c).max() / n
    away = c.T @ (data.sizes[:, None] * c) - data.covariance
    return {"mean": float(mean), "covariance": float(np.abs(away).max() / n)}


def kept_in_cvxpy(data: Records, c: Any) -> dict[str, Any]:
    """Return the rows of mean and covariance of the expression c (m, d), by name."""
    import cvxpy as cp

    d, S = data.means.shape[1], data.covariance
    mean = data.sizes @ c == 0
    pairs = [(a, b) for a in range(d) for b in range(a, d)]
    covariance = [
        cp.sum(cp.multiply(data.sizes, cp.multiply(c[:, a], c[:, b]))) == S[a, b]
        for a, b in pairs
    ]
    return {"mean": mean, "covariance": covariance}


def keep_in_pyomo(data: Records, problem: Any, c: list[list[Any]]) -> None:
    """Add the rows of mean and covariance of the expressions c (m, d)."""
    import pyomo.environ as pyo

    groups, attributes = range(len(c)), range(len(c[0]))
    size, S = data.sizes.tolist(), data.covariance.tolist()

    def mean(_: Any, a: int) -> Any:
        return pyo.quicksum(size[j] * c[j][a] for j in groups) == 0

    def covariance(_: Any, a: int, b: int) -> Any:
        if a > b:
            return pyo.Constraint.Skip
        return pyo.quicksum(size[j] * c[j][a] * c[j][b] for j in groups) == S[a][b]

    problem.mean = pyo.Constraint(attributes, rule=mean)
    problem.covariance = pyo.Constraint(attributes, attributes, rule=covariance)


def read(problem: Any, name: str, shape: tuple[int, ...]) -> Floats | None:
    """Read a matrix of variables off a solved problem; None where it holds none."""
    if hasattr(problem, "var_dict"):
        found = problem.var_dict[name].value
    else:
        cells = getattr(problem, name)
        found = [cells[place].value for place in np.ndindex(shape)]
        found = None if None in found else np.reshape(found, shape)
    if found is None or not np.isfinite(found).all():
        return None
    return np.asarray(found, dtype=np.float64)


def centroids(problem: Any, data: Records) -> Floats | None:
    """Read the centroids (m, d) off a solved problem; None where it holds none."""
    shift = read(problem, "shift", data.means.shape)
    return None if shift is None else data.means + shift
