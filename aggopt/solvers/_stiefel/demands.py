"""The manifold where some centroids are demanded: restored by Gauss and Newton."""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from aggopt.core.types import I64, Bool
from aggopt.core.validation import Floats
from aggopt.solvers._stiefel.manifold import Manifold

STEPS = 30
FEASIBLE = 1e-11  # per record
FLAT = 1e-12  # of the largest eigenvalue: rows that say the same


@dataclass(frozen=True, eq=False)
class Demands(Manifold):
    """All A (m, d) with A'A = S and u'A = 0 whose entries `held` stay as they are."""

    held: Bool = field(repr=False)

    @cached_property
    def pairs(self) -> tuple[I64, I64]:
        """Attributes a <= b of each row of A'A."""
        return np.triu_indices(self.held.shape[1])

    def nearest(self, A: Floats) -> Floats:
        """Return a point near A, its demanded entries unchanged; nan if none is found.

        Each step is the shortest that satisfies the linearised rows.
        """
        n = float(self.data.sizes.sum())
        for _ in range(STEPS):
            missed = self._missed(A)
            if np.abs(missed).max() <= FEASIBLE * n:
                return A
            rows = self._rows(A)
            A = A - (rows.T @ self._solved(rows, missed)).reshape(A.shape)
        return np.full(A.shape, np.nan)

    def tangent(self, A: Floats, G: Floats) -> tuple[Floats, Floats, Floats]:
        """Return what `Manifold.tangent` does, of the entries that are free."""
        d = A.shape[1]
        rows = self._rows(A)
        y = self._solved(rows, rows @ G.ravel())
        L = np.zeros((d, d))
        L[self.pairs] = y[d:]
        free = np.where(self.held, 0.0, G) - (rows.T @ y).reshape(A.shape)
        return free, L + L.T, y[:d]

    def _missed(self, A: Floats) -> Floats:
        """Return by how much u'A and A'A are missed (p,)."""
        off = A.T @ A - self.data.covariance
        return np.concatenate([self.u @ A, off[self.pairs]])

    def _rows(self, A: Floats) -> Floats:
        """Return the derivatives (p, m d) of what `_missed` returns."""
        m, d = A.shape
        of_mean = np.zeros((d, m, d))
        of_mean[np.arange(d), :, np.arange(d)] = self.u
        a, b = self.pairs
        k = np.arange(len(a))
        rows = np.zeros((len(a), m, d))
        rows[k, :, a] += A.T[b]
        rows[k, :, b] += A.T[a]
        every = np.concatenate([of_mean, rows]) * ~self.held
        return np.asarray(every.reshape(len(every), m * d))

    def _solved(self, rows: Floats, right: Floats) -> Floats:
        """Return the least y with rows rows' y = right."""
        values, vectors = np.linalg.eigh(rows @ rows.T)
        inverse = np.where(values > FLAT * values[-1], 1 / values, 0.0)
        return np.asarray(vectors @ (inverse * (vectors.T @ right)))
