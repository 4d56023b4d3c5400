"""Joint P3M reduced to its m d centroids, for interior-point solvers.

Rows are the d means, the d covariances with a response, if there is one, and the d (d +
1) / 2 covariances, per record.  The Hessian of the Lagrangian is one block of d x d for
each group.
"""

from typing import Any

import numpy as np

from aggopt.algorithms.stiefel.cost import Cost
from aggopt.core.validation import Floats
from aggopt.models import p3m_joint


class JointReduced:
    """Objective, constraints and their derivatives, with the methods Ipopt calls."""

    def __init__(self, data: p3m_joint.Data) -> None:
        self._cost = Cost.of(data)
        self._means, self._shape = data.means, data.means.shape
        self._ends = data.lower - data.means, data.upper - data.means
        self._share = data.sizes / data.sizes.sum()
        self._linear = (self._share[:, None] * data.rows).T
        self.iterations = 0
        self._pairs = np.triu_indices(self._shape[1])
        kept = np.concatenate([data.sums.ravel(), data.covariance[self._pairs]])
        self.target = kept / data.sizes.sum()

    def _c(self, t: Floats) -> Floats:
        return self._means + t.reshape(self._shape)

    def objective(self, t: Floats) -> float:
        """Return the cost of the centroids."""
        return self._cost.value(self._c(t))

    def gradient(self, t: Floats) -> Floats:
        """Return its gradient (m d,)."""
        return self._cost.slope(self._c(t)).ravel()

    def constraints(self, t: Floats) -> Floats:
        """Return the linear rows and the covariances, per record."""
        c = self._c(t)
        squares = c.T @ (self._share[:, None] * c)
        return np.concatenate([(self._linear @ c).ravel(), squares[self._pairs]])

    def jacobianstructure(self) -> tuple[Any, Any]:
        """Return rows and columns: of each linear row m, of each pair 2 m."""
        m, d = self._shape
        linear, of_group = d * len(self._linear), d * np.arange(m)
        a, b = self._pairs
        pairs = linear + np.arange(len(a))
        rows = [np.repeat(np.arange(linear), m), np.repeat(pairs, 2 * m)]
        columns = [of_group + i % d for i in range(linear)]
        for one, other in zip(a, b, strict=True):
            columns += [of_group + one, of_group + other]
        return np.concatenate(rows), np.concatenate(columns)

    def jacobian(self, t: Floats) -> Floats:
        """Return the entries in that order; a pair of one attribute has them twice."""
        weighted = self._share[:, None] * self._c(t)
        parts = [row for row in self._linear for _ in range(self._shape[1])]
        for one, other in zip(*self._pairs, strict=True):
            parts += [weighted[:, other], weighted[:, one]]
        return np.concatenate(parts)

    def hessianstructure(self) -> tuple[Any, Any]:
        """Return rows and columns of the lower triangle, block by block."""
        m, d = self._shape
        a, b = np.tril_indices(d)
        first = d * np.arange(m)[:, None]
        return (first + a).ravel(), (first + b).ravel()

    def hessian(self, t: Floats, multipliers: Floats, factor: float) -> Floats:
        """Return the entries of the Hessian of the Lagrangian in that order."""
        d = self._shape[1]
        block = np.zeros((d, d))
        block[self._pairs] = multipliers[d * len(self._linear) :]
        block = block + block.T
        a, b = np.tril_indices(d)
        entries = self._share[:, None] * block[a, b]
        entries[:, a == b] += factor * self._cost.curvature(self._c(t))
        return np.asarray(entries.ravel())

    def intermediate(self, phase: int, iteration: int, *_: float) -> bool:
        """Record the number of iterations, and continue."""
        self.iterations = iteration
        return True

    def multipliers(self, found: Floats) -> None:
        """Return None: the rows here are not the model's rows."""

    def bounds(self, start: Floats) -> tuple[Floats, Floats]:
        """Return bounds of t (m d,): a hard wish leaves the nearer of two values."""
        held = self._cost.demanded
        low, high = self._cost.allowed
        nearer = np.where(np.abs(low - start) <= np.abs(high - start), low, high)
        t = (nearer - self._means).ravel()
        least, most = (end.ravel() for end in self._ends)
        there = held.ravel()
        return np.where(there, t, least), np.where(there, t, most)
