"""The centroids that keep mean and covariance: a Stiefel manifold, its tangents.

With A = sqrt(n_j) c_j they are A = F + N R, N'N = I and P'N = 0.  Without a response F
is 0, P is u_j = sqrt(n_j / n), and S = R'R; with one, see
`aggopt.models.shared.joint`.
In the coordinates of the singular directions V of R, V'R'R V is diagonal.
"""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from aggopt.core.types import I64, Bool, Floats
from aggopt.models.shared.joint import Records, find_nearest_matrix

PLAIN = 1e-13  # least eigenvalue, of the largest, of a Gram matrix that is trusted
NEWTON_SCHULZ_STEPS = (
    3  # of Newton and Schulz: an error of 2e-3, eps / PLAIN, is then none
)


@dataclass(frozen=True, eq=False)
class Manifold:
    """All A (m, d) that keep mean, covariance and that with a response."""

    data: Records = field(repr=False)

    @cached_property
    def weight(self) -> Floats:
        """Square root of each group's size, as a column (m, 1)."""
        return np.asarray(np.sqrt(self.data.sizes)[:, None])

    @cached_property
    def squares(self) -> Floats:
        """Positive eigenvalues of the free covariance R'R (r,)."""
        return np.asarray(np.sum(self.data.free.root**2, axis=1))

    @cached_property
    def directions(self) -> Floats:
        """Eigenvectors of the free covariance R'R, V (d, r)."""
        return np.asarray((self.data.free.root / np.sqrt(self.squares)[:, None]).T)

    def nearest(self, A: Floats) -> Floats:
        """Return the point of the manifold nearest to A (m, d)."""
        fixed, root, apart = self.data.free
        image = A @ root.T
        image -= apart @ (apart.T @ image)
        values, vectors = np.linalg.eigh(image.T @ image)
        if not (values.size and values[0] > PLAIN * values[-1]):
            return find_nearest_matrix(self.data, A)
        Q = image @ (vectors / np.sqrt(values)) @ vectors.T
        for _ in range(NEWTON_SCHULZ_STEPS):
            Q = Q @ (1.5 * np.eye(len(values)) - 0.5 * (Q.T @ Q))
        return np.asarray(fixed + Q @ root)

    def tangent(self, A: Floats, G: Floats) -> Floats:
        """Return the projection of a gradient G (m, d) on the tangent space at A.

        The rest is (A - F) L and P M, of some symmetric L (d, d) and some M (q, d).
        """
        V = self.directions
        fixed, _, apart = self.data.free
        slope = G @ V
        free_part = (A - fixed) @ V
        inner = free_part.T @ slope
        L = (inner + inner.T) / (self.squares[:, None] + self.squares)
        free = slope - free_part @ L - apart @ (apart.T @ slope)
        return np.asarray(free @ V.T)


GAUSS_NEWTON_STEPS = 30
FEASIBLE = 1e-11  # per record
FLAT = 1e-12  # of the largest eigenvalue: rows that are dependent
AT_END = 1e-12  # standard deviations from an end that count as at it


@dataclass(frozen=True, eq=False)
class Rooms(Manifold):
    """All A (m, d) of the manifold whose centroids are in low..high (m, d).

    A centroid with low = high is fixed.
    """

    low: Floats = field(repr=False)
    high: Floats = field(repr=False)

    @cached_property
    def ends(self) -> tuple[Floats, Floats]:
        """Lower and upper bounds of A (m, d)."""
        return self.weight * self.low, self.weight * self.high

    @cached_property
    def pairs(self) -> tuple[I64, I64]:
        """Pairs of attributes a <= b, one for each constraint on A'A."""
        return np.triu_indices(self.low.shape[1])

    @cached_property
    def places(self) -> I64:
        """Number of the constraint of attributes a and b (d, d)."""
        d = self.low.shape[1]
        place = np.zeros((d, d), np.int64)
        place[self.pairs] = np.arange(len(self.pairs[0]))
        return np.maximum(place, place.T)

    def nearest(self, A: Floats) -> Floats:
        """Return a point of the manifold near A within bounds; nan if none is found.

        Each step is the shortest that satisfies the linearised rows.  A centroid that
        would leave its room stays at the room's end.
        """
        n = float(self.data.sizes.sum())
        low, high = self.ends
        A = np.clip(A, low, high)
        free = low < high
        for _ in range(GAUSS_NEWTON_STEPS):
            missed = self._compute_errors(A)
            if np.abs(missed).max() <= FEASIBLE * n:
                return A
            y = self._solve_gram(self._build_gram(A, free), missed)
            to = A - np.where(free, self._derive_gradient(A, y), 0.0)
            A = np.clip(to, low, high)
            free &= to == A
        return np.full(A.shape, np.nan)

    def tangent(self, A: Floats, G: Floats) -> Floats:
        """Return the tangent part of G (m, d), 0 for entries at their bounds."""
        low, high = self.ends
        free = low < high
        at_low = A - low <= AT_END * self.weight
        at_high = high - A <= AT_END * self.weight
        for _ in range(GAUSS_NEWTON_STEPS):
            free_gradient = np.where(free, G, 0.0)
            y = self._solve_gram(
                self._build_gram(A, free), self._derive_along(A, free_gradient)
            )
            slope = np.where(free, free_gradient - self._derive_gradient(A, y), 0.0)
            out = (at_low & (slope > 0)) | (at_high & (slope < 0))
            if not out.any():
                break
            free &= ~out
        return np.where(free, slope, 0.0)

    def _compute_errors(self, A: Floats) -> Floats:
        """Return the errors of A in the constraints on P'A and A'A (p,)."""
        fixed, _, apart = self.data.free
        off = A.T @ A - self.data.covariance
        return np.concatenate([(apart.T @ (A - fixed)).ravel(), off[self.pairs]])

    def _derive_along(self, A: Floats, G: Floats) -> Floats:
        """Return derivatives of the constraints' errors (p,) along G (m, d)."""
        inner = A.T @ G
        rows = self.data.free.apart.T @ G
        return np.concatenate([rows.ravel(), (inner + inner.T)[self.pairs]])

    def _derive_gradient(self, A: Floats, y: Floats) -> Floats:
        """Return the gradient (m, d) of the errors weighted by y (p,)."""
        d = A.shape[1]
        apart = self.data.free.apart
        L = np.zeros((d, d))
        rows, L[self.pairs] = np.split(y, [d * apart.shape[1]])
        return apart @ rows.reshape(-1, d) + A @ (L + L.T)

    def _build_gram(self, A: Floats, free: Bool) -> Floats:
        """Return inner products (p, p) of constraints' gradients at free entries.

        A row of a and b has A_jb at c_ja and A_ja at c_jb, twice if a = b.
        """
        d = A.shape[1]
        apart = self.data.free.apart
        rows = np.arange(d * apart.shape[1])
        gram = np.zeros((len(rows) + len(self.pairs[0]),) * 2)
        for a in range(d):
            twice = np.where(np.arange(d) == a, 2.0, 1.0)
            columns = np.column_stack([apart, A * twice]) * free[:, [a]]
            place = np.concatenate([rows[a::d], len(rows) + self.places[a]])
            gram[np.ix_(place, place)] += columns.T @ columns
        return gram

    def _solve_gram(self, gram: Floats, right: Floats) -> Floats:
        """Return the least-norm solution y of gram y = right."""
        values, vectors = np.linalg.eigh(gram)
        some = values > FLAT * values[-1]
        V = vectors[:, some]
        return np.asarray(V @ ((V.T @ right) / values[some]))
