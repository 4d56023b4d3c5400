"""What the models of all attributes at once share: records, groups, covariance."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from aggopt.core.plural import many
from aggopt.core.validation import Floats, Labels
from aggopt.errors import InfeasibleInputError, TableError

ROWS = 1 << 16  # records whose triangle is found at once: megabytes
NOISE = 1e-10  # of the largest singular value: what rounding leaves of none
SINGULAR = 1e-14  # the same: below, what is left is rounding


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


def root(Z: Floats) -> Floats:
    """Return R (r, d) with R'R = Z'Z, r the rank of Z (n, d).

    Worked out of triangles of Z, not of Z'Z: so directions in which the attributes
    hardly vary keep their digits.
    """
    triangle = np.empty((0, Z.shape[1]))
    for first in range(0, len(Z), ROWS):
        part = np.concatenate([triangle, Z[first : first + ROWS]])
        triangle = np.asarray(np.linalg.qr(part, mode="r"))
    _, values, vectors = np.linalg.svd(triangle, full_matrices=False)
    rank = int((values > NOISE * values.max(initial=0.0)).sum())
    return np.asarray(values[:rank, None] * vectors[:rank])


def nearest(data: Records, A: Floats) -> Floats:
    """Return the matrix nearest to A (m, d) of those with A'A = S and u'A = 0.

    u_j = sqrt(n_j / n).  Any such matrix is Q R with Q'Q = I and u'Q = 0; the nearest
    has the Q that is nearest to A R'.
    """
    return aligned(A @ data.root.T, data.u[:, None]) @ data.root


def aligned(image: Floats, apart: Floats) -> Floats:
    """Return the Q (m, r) of largest tr(Q' image) with Q'Q = I and apart' Q = 0.

    `apart` (m, q) has orthonormal columns.  Q = U V', from the singular value
    decomposition U s V' of what of the image is orthogonal to them (orthogonal
    Procrustes).  Where it leaves directions open, vectors of cosines fill them.
    """
    own = image - apart @ (apart.T @ image)
    U, size, Vt = np.linalg.svd(own, full_matrices=False)
    known = int((size > SINGULAR * size[0]).sum()) if size[0] > 0 else 0
    U[:, :known] = _polar(U[:, :known] - apart @ (apart.T @ U[:, :known]))
    if known < len(size):
        taken = np.column_stack([apart, U[:, :known]])
        U[:, known:] = _completion(taken, len(size) - known)
    return np.asarray(U @ Vt)


def _polar(Q: Floats) -> Floats:
    """Return the matrix with orthonormal columns that is nearest to Q (m, r)."""
    if not Q.size:
        return Q
    U, _, Vt = np.linalg.svd(Q, full_matrices=False)
    return np.asarray(U @ Vt)


def _completion(W: Floats, more: int) -> Floats:
    """Return so many more orthonormal columns, orthogonal to W (m, p).

    Of p + more cosines, which are orthonormal, at least so many lie apart from W.
    """
    m, p = W.shape
    angle = np.pi / m * np.outer(np.arange(m) + 0.5, np.arange(p + more))
    waves, _ = np.linalg.qr(np.cos(angle))
    U, _, _ = np.linalg.svd(waves - W @ (W.T @ waves), full_matrices=False)
    return np.asarray(U[:, :more])


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
