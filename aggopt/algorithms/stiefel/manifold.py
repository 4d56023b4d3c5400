"""The centroids that keep mean and covariance: a Stiefel manifold, its tangents.

With A = sqrt(n_j) c_j they are A = F + N R, N'N = I and P'N = 0.  Without a response F
is 0, P is u_j = sqrt(n_j / n), and S = R'R; with one, see
`aggopt.models.shared.response`.
In the coordinates of the singular directions V of R, V'R'R V is diagonal.
"""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from aggopt.core.validation import Floats
from aggopt.models.shared.joint import Records, nearest

PLAIN = 1e-13  # least eigenvalue, of the largest, of a Gram matrix that is trusted
STEPS = 3  # of Newton and Schulz: an error of 2e-3, eps / PLAIN, is then none


@dataclass(frozen=True, eq=False)
class Manifold:
    """All A (m, d) that keep mean, covariance and that with a response."""

    data: Records = field(repr=False)

    @cached_property
    def weight(self) -> Floats:
        """sqrt(n_j), as a column (m, 1)."""
        return np.asarray(np.sqrt(self.data.sizes)[:, None])

    @cached_property
    def squares(self) -> Floats:
        """The eigenvalues of R'R that are not 0 (r,)."""
        return np.asarray(np.sum(self.data.free.root**2, axis=1))

    @cached_property
    def directions(self) -> Floats:
        """Their eigenvectors V (d, r)."""
        return np.asarray((self.data.free.root / np.sqrt(self.squares)[:, None]).T)

    def nearest(self, A: Floats) -> Floats:
        """Return the point nearest to A (m, d): by Gram matrices, where these do."""
        fixed, root, apart = self.data.free
        image = A @ root.T
        image -= apart @ (apart.T @ image)
        values, vectors = np.linalg.eigh(image.T @ image)
        if not (values.size and values[0] > PLAIN * values[-1]):
            return nearest(self.data, A)
        Q = image @ (vectors / np.sqrt(values)) @ vectors.T
        for _ in range(STEPS):
            Q = Q @ (1.5 * np.eye(len(values)) - 0.5 * (Q.T @ Q))
        return np.asarray(fixed + Q @ root)

    def tangent(self, A: Floats, G: Floats) -> Floats:
        """Return the part of a gradient G (m, d) that is tangent to A.

        The rest is (A - F) L and P M, of some symmetric L (d, d) and some M (q, d).
        """
        V, (fixed, _, apart) = self.directions, self.data.free
        slope, own = G @ V, (A - fixed) @ V
        inner = own.T @ slope
        L = (inner + inner.T) / (self.squares[:, None] + self.squares)
        free = slope - own @ L - apart @ (apart.T @ slope)
        return np.asarray(free @ V.T)
