"""Shared parts of models of all attributes at once: records, groups, kept moments."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from aggopt.core.plural import plural
from aggopt.core.record_weights import multiply_by_weights
from aggopt.core.types import Floats, Labels
from aggopt.errors import InfeasibleInputError, TableError
from aggopt.models.shared.shift_data import require_mean_one

ROWS = 1 << 16  # records whose triangle is found at once: megabytes
NOISE = 1e-10  # of the largest singular value: rounding of a singular value of 0
MOMENT_NOISE = 1e-10  # of the largest eigenvalue: what rounding of sums leaves of 0
SINGULAR = 1e-14  # of the largest singular value: smaller ones are rounding


def compute_root(Z: Floats) -> Floats:
    """Return a root R (r, d) of Z'Z: R'R = Z'Z, r the rank of Z (n, d).

    R is computed from triangles of Z, not from Z'Z.  So directions with hardly any
    variation keep their digits.
    """
    triangle = np.empty((0, Z.shape[1]))
    for first in range(0, len(Z), ROWS):
        part = np.concatenate([triangle, Z[first : first + ROWS]])
        triangle = np.asarray(np.linalg.qr(part, mode="r"))
    _, values, vectors = np.linalg.svd(triangle, full_matrices=False)
    rank = int((values > NOISE * values.max(initial=0.0)).sum())
    return np.asarray(values[:rank, None] * vectors[:rank])


def align_columns(image: Floats, apart: Floats) -> Floats:
    """Return orthonormal Q (m, r) nearest to `image`, orthogonal to `apart`.

    `apart` (m, q) has orthonormal columns.  Q = U V', from the singular value
    decomposition U s V' of the part of the image orthogonal to them (orthogonal
    Procrustes).  If it leaves directions open, vectors of cosines fill them.
    """
    if not image.size:
        return image
    remainder = image - apart @ (apart.T @ image)
    U, size, Vt = np.linalg.svd(remainder, full_matrices=False)
    rank = int((size > SINGULAR * size[0]).sum()) if size[0] > 0 else 0
    U[:, :rank] = _orthonormalise(U[:, :rank] - apart @ (apart.T @ U[:, :rank]))
    if rank < len(size):
        taken = np.column_stack([apart, U[:, :rank]])
        U[:, rank:] = _extend_orthonormal(taken, len(size) - rank)
    return np.asarray(U @ Vt)


def root_of_moments(S: Floats, noise: float = 0.0) -> Floats:
    """Return a root R (r, d) of S (d, d): R'R = S, without eigenvalues of noise.

    S is a sum over records that no one has at once; `compute_root` is more accurate.
    """
    values, vectors = np.linalg.eigh(S)
    values = np.maximum(values, 0.0)
    is_positive = values >= noise * values.max(initial=0.0)
    return np.asarray((vectors[:, is_positive] * np.sqrt(values[is_positive])).T)


def map_to_nearest(image: Floats, root: Floats) -> Floats | None:
    """Return M (d, d) that maps A to the nearest matrix with R'R kept, or None.

    `image` is A R' for any A (m, d) with this A'A, and `root` is R (r, d).  With
    A R' = U s V', Q = U V' and so M = R' V s^-1 V' R: the optimal transport of one
    normal distribution to another.  None if the image leaves directions open, which no
    M restores.
    """
    _, size, Vt = np.linalg.svd(image, full_matrices=False)
    if len(size) < len(root) or (size**2 <= MOMENT_NOISE * size.max() ** 2).any():
        return None
    half = Vt @ root
    return np.asarray((half.T / size) @ half)


def _orthonormalise(Q: Floats) -> Floats:
    """Return the matrix with orthonormal columns that is nearest to Q (m, r)."""
    if not Q.size:
        return Q
    U, _, Vt = np.linalg.svd(Q, full_matrices=False)
    return np.asarray(U @ Vt)


def _extend_orthonormal(W: Floats, more: int) -> Floats:
    """Return `more` orthonormal columns, orthogonal to W (m, p).

    Among p + more cosines, which are orthonormal, at least `more` are not in the span
    of W.
    """
    m, p = W.shape
    angle = np.pi / m * np.outer(np.arange(m) + 0.5, np.arange(p + more))
    waves, _ = np.linalg.qr(np.cos(angle))
    U, _, _ = np.linalg.svd(waves - W @ (W.T @ waves), full_matrices=False)
    return np.asarray(U[:, :more])


NEARLY = 1e-9  # of a variance: rounding


class Free(NamedTuple):
    """Feasible centroids: sqrt(n_j) c_j = fixed + N root, N'N = I, apart'N = 0.

    fixed (m, d), root (r, d) with orthogonal rows, apart (m, q) with orthonormal
    columns: sqrt(n_j / n), and that of a response, if groups differ in one.
    """

    fixed: Floats
    root: Floats
    apart: Floats


def remove_response(R: Floats, u: Floats, b: Floats, preserved: Floats, n: int) -> Free:
    """Return the part of the centroids that a response leaves free.

    The response is standardised.  b (m,) are its group means times sqrt(n_j),
    `preserved` (d,) its products with the attributes.  With A = sqrt(n_j) c_j = Q R,
    Q'b must be t, R't = preserved.  So Q is v w' and a part apart from v = b / |b|,
    w = t / |b|.  The Gram matrix of that part is I - w w'.  Proof:
    docs/mathematics/joint.md.

    Raises
    ------
    InfeasibleInputError
        The Gram matrix is not positive semidefinite, or there are too few groups.
    """
    _require_groups(len(b), len(R))
    t = R @ preserved / np.sum(R**2, axis=1)
    between = float(b @ b)
    explained = float(t @ t)
    if explained > between + NEARLY * n:
        raise InfeasibleInputError(
            f"{1 - between / n:.1%} of the response's variance lie within groups, of "
            "which the members are published alike: what is left has no room for the "
            f"{explained / n:.1%} that the attributes explain.",
            fix="choose a smaller k, or fewer quasi-identifiers; or leave the "
            "regression out.",
        )
    if between <= NEARLY * n:  # nothing varies between groups, and nothing is to
        return Free(np.zeros((len(b), R.shape[1])), R, u[:, None])
    length = np.sqrt(between)
    v = b / length
    w = t / length
    square = min(float(w @ w), 1.0)
    shrunk = (1 - np.sqrt(1 - square)) / square if square > 0 else 0.0
    left = compute_root(R - shrunk * np.outer(w, w @ R))  # of (I - w w')^(1/2) R
    return Free(np.outer(v, w @ R), left, np.column_stack([u, v]))


def _require_groups(m: int, rank: int) -> None:
    """Raise an InfeasibleInputError unless there are rank + 2 groups or more."""
    if m < rank + 2:
        raise InfeasibleInputError(
            f"{m} groups cannot keep the regression of a response on attributes of "
            f"rank {rank}: {rank + 2} or more can.",
            fix="choose a smaller k, or fewer attributes in the regression.",
        )


@dataclass(frozen=True, eq=False)
class Records:
    """Standardised attributes and their common groups.

    Attributes
    ----------
    Z : (n, d)
        Original values: each attribute has mean 0, variance 1, no unit.
    labels : (n,)
        Group of each record, 0..m-1; at least one group more than the rank of Z.
    y : (n,)
        A response that is published unchanged, standardised, if there is one: its
        covariance with each attribute is then kept, too.
    weights : (n,)
        Sampling weights, of mean 1, for means, covariances and shifts.  All equal
        without weights.
    """

    Z: Floats = field(repr=False)
    labels: Labels = field(repr=False)
    y: Floats | None = field(default=None, repr=False, kw_only=True)
    weights: Floats | None = field(default=None, repr=False, kw_only=True)

    def __post_init__(self) -> None:
        require_mean_one(self.weights)
        _require_standardised("Z", self.Z, self.weights)
        m = int(self.labels.max()) + 1
        rank = len(self.root)
        if m <= rank:
            raise InfeasibleInputError(
                f"{plural(m, 'group')} cannot keep a covariance matrix of rank {rank}: "
                f"{rank + 1} groups or more can.",
                fix='choose a smaller k, fewer attributes, or keep = "variance".',
            )
        if self.y is not None:
            _require_standardised("y", self.y[:, None], self.weights)
        _ = self.free  # refuses a response whose covariances no groups keep

    @cached_property
    def sizes(self) -> Floats:
        """Number of records in each group, or the sum of their weights, n_j (m,)."""
        return np.bincount(self.labels, self.weights).astype(np.float64)

    @cached_property
    def means(self) -> Floats:
        """Mean of each group, C_j (m, d)."""
        Z = multiply_by_weights(self.Z, self.weights)
        sums = [np.bincount(self.labels, z) for z in Z.T]
        return np.stack(sums, axis=1) / self.sizes[:, None]

    @cached_property
    def root(self) -> Floats:
        """Root R (r, d) of the covariance: R'R = S = Z'Z, r the rank of Z.

        With weights w it is of sqrt(w_i) z_i.
        """
        factors = None if self.weights is None else np.sqrt(self.weights)
        return compute_root(multiply_by_weights(self.Z, factors))

    @cached_property
    def covariance(self) -> Floats:
        """The matrix S (d, d) to be kept: n times the correlations."""
        return np.asarray(self.root.T @ self.root)

    @cached_property
    def response(self) -> Floats:
        """Mean response of each group, ybar_j (m,); 0 without a response."""
        if self.y is None:
            return np.zeros(len(self.sizes))
        y = multiply_by_weights(self.y[:, None], self.weights)[:, 0]
        return np.asarray(np.bincount(self.labels, y) / self.sizes)

    @cached_property
    def with_response(self) -> Floats:
        """Required products Z'y of attributes and response (d,); 0 without one."""
        if self.y is None:
            return np.zeros(self.Z.shape[1])
        return np.asarray(multiply_by_weights(self.Z, self.weights).T @ self.y)

    @cached_property
    def free(self) -> Free:
        """Fixed and free parts of the centroids that keep the moments."""
        if self.y is None:
            return Free(np.zeros_like(self.means), self.root, self.u[:, None])
        b = np.sqrt(self.sizes) * self.response
        return remove_response(self.root, self.u, b, self.with_response, len(self.Z))

    @cached_property
    def rows(self) -> Floats:
        """Coefficients of linear constraints (m, q): of mean, and of a response.

        sum_j n_j rows_j c_j is to be `sums`.
        """
        beside = self.free.apart[:, 1:] / self.u[:, None]
        return np.column_stack([np.ones(len(self.u)), beside])

    @cached_property
    def sums(self) -> Floats:
        """Right-hand sides (q, d) of the linear constraints."""
        fixed, _, apart = self.free
        beside = np.sqrt(self.sizes.sum()) * (apart[:, 1:].T @ fixed)
        return np.vstack([np.zeros(fixed.shape[1]), beside])

    @cached_property
    def renormalised(self) -> Floats:
        """Centroids (m, d) nearest to the group means that keep the moments."""
        weight = np.sqrt(self.sizes)[:, None]
        return find_nearest_matrix(self, weight * self.means) / weight

    @cached_property
    def u(self) -> Floats:
        """Square root of each group's share of records, sqrt(n_j / n) (m,)."""
        return np.asarray(np.sqrt(self.sizes / self.sizes.sum()))


def _require_standardised(name: str, table: Floats, weights: Floats | None) -> None:
    """Raise a TableError unless each column has mean 0 and variance 1."""
    weighted = multiply_by_weights(table, weights)
    mean = weighted.mean(axis=0)
    square = np.einsum("ij,ij->j", weighted, table)
    variance = square / len(table) - mean**2
    if not ((abs(mean) <= 1e-9).all() and (abs(variance - 1) <= 1e-9).all()):
        raise TableError(
            f"{name} is not standardised: a mean is not 0 or a variance not 1.",
            fix=f"pass ({name} - {name}.mean(axis=0)) / {name}.std(axis=0), without "
            "constants.",
        )


def find_nearest_matrix(data: Records, A: Floats) -> Floats:
    """Return the matrix nearest to A (m, d) that keeps mean and covariance.

    A'A = S and u'A = 0, u_j = sqrt(n_j / n).  Any matrix with these properties is Q R
    with Q'Q = I and u'Q = 0.  The nearest has the Q that is nearest to A R'.  With a
    response, part of the matrix is fixed (`Free`), and Q and R belong to the free part.
    """
    fixed, root, apart = data.free
    return fixed + align_columns(A @ root.T, apart) @ root


def measure_moment_errors(data: Records, c: Floats) -> dict[str, float]:
    """Return the errors of mean, covariance and response of centroids c, per record."""
    n = len(data.Z)
    mean = np.abs(data.sizes @ c).max() / n
    away = c.T @ (data.sizes[:, None] * c) - data.covariance
    beside = (data.sizes * data.response) @ c - data.with_response
    return {
        "mean": float(mean),
        "covariance": float(np.abs(away).max() / n),
        "response": float(np.abs(beside).max() / n),
    }


def kept_in_cvxpy(data: Records, c: Any) -> dict[str, Any]:
    """Return the constraints that keep the moments of c (m, d), by name, for cvxpy."""
    import cvxpy as cp

    d = data.means.shape[1]
    S = data.covariance
    mean = data.sizes @ c == 0
    pairs = [(a, b) for a in range(d) for b in range(a, d)]
    covariance = [
        cp.sum(cp.multiply(data.sizes, cp.multiply(c[:, a], c[:, b]))) == S[a, b]
        for a, b in pairs
    ]
    if data.y is None:
        return {"mean": mean, "covariance": covariance}
    response = (data.sizes * data.response) @ c == data.with_response
    return {"mean": mean, "covariance": covariance, "response": response}


def keep_moments_in_pyomo(data: Records, problem: Any, c: list[list[Any]]) -> None:
    """Add the constraints that keep the moments of c (m, d) to a problem of Pyomo."""
    import pyomo.environ as pyo

    groups = range(len(c))
    attributes = range(len(c[0]))
    size = data.sizes.tolist()
    S = data.covariance.tolist()
    with_y = (data.sizes * data.response).tolist()
    target = data.with_response.tolist()

    def mean(_: Any, a: int) -> Any:
        return pyo.quicksum(size[j] * c[j][a] for j in groups) == 0

    def covariance(_: Any, a: int, b: int) -> Any:
        if a > b:
            return pyo.Constraint.Skip
        return pyo.quicksum(size[j] * c[j][a] * c[j][b] for j in groups) == S[a][b]

    def response(_: Any, a: int) -> Any:
        return pyo.quicksum(with_y[j] * c[j][a] for j in groups) == target[a]

    problem.mean = pyo.Constraint(attributes, rule=mean)
    problem.covariance = pyo.Constraint(attributes, attributes, rule=covariance)
    if data.y is not None:
        problem.response = pyo.Constraint(attributes, rule=response)


def read_matrix(problem: Any, name: str, shape: tuple[int, ...]) -> Floats | None:
    """Return the variables `name` of a solved problem; None without a solution."""
    if hasattr(problem, "var_dict"):
        values = problem.var_dict[name].value
    else:
        cells = getattr(problem, name)
        values = [cells[place].value for place in np.ndindex(shape)]
        values = None if None in values else np.reshape(values, shape)
    if values is None or not np.isfinite(values).all():
        return None
    return np.asarray(values, dtype=np.float64)


def centroids(problem: Any, data: Records) -> Floats | None:
    """Return the centroids (m, d) of a solved problem; None without a solution."""
    shift = read_matrix(problem, "shift", data.means.shape)
    return None if shift is None else data.means + shift
