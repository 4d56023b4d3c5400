r"""A lower bound of wishes of all attributes at once, from tangents of a square.

For multipliers L = diag(lam) + W of the covariance, W = T T', mu of linear rows h_j
(of the mean 1, of a response its means), sum_j n_j h_j c_j' = H, and any points p_j,
|T'c - p|^2 >= 0, so that c'Wc >= 2 p'T'c - |p|^2 gives the bound

    sum_ja min_x [ f_ja(x) + n_j (lam_a x^2 + (h_j'mu_a + 2 (T p_j)_a) x) ]
        - sum_j n_j |p_j|^2 - <L, S> - <mu, H>

whose inner minima are of (piecewise) quartics in one variable.  It is concave in
(lam, mu, W) and T p_j together.  W = 0 leaves the separate dual of each attribute.
"""

from dataclasses import dataclass, field

import numpy as np

from aggopt.algorithms.lagrangian.piecewise_quartics import program_of
from aggopt.algorithms.lagrangian.program import Separable, implied_box
from aggopt.core.validation import Floats
from aggopt.models.shared.joint_wishes import JointWishes

EPS = 2.220446049250313e-16  # one unit in the last place of 1
ROUNDINGS = 64.0  # units in the last place of each product that is added up


@dataclass(frozen=True, eq=False)
class Tangents:
    """Multipliers and points that prove a bound.

    lam (d,), mu (q, d), T (d, r), p (m, r).
    """

    lam: Floats = field(repr=False)
    mu: Floats = field(repr=False)
    T: Floats = field(repr=False)
    p: Floats = field(repr=False)

    @property
    def multipliers(self) -> tuple[Floats, Floats]:
        """Those of the covariance, L (d, d), and of linear rows, mu (q, d)."""
        return np.diag(self.lam) + self.T @ self.T.T, self.mu


def constant(data: JointWishes, y: Tangents) -> float:
    """Return the terms of the bound in T, p and mu, without the inner minima."""
    of_points = np.sum(data.sizes[:, None] * y.p**2)
    of_rows = np.sum(y.mu * data.sums)
    return -float(of_points + np.sum(y.T * (data.covariance @ y.T)) + of_rows)


def proven(data: JointWishes, y: Tangents) -> float:
    """Return the bound, less an allowance for rounding; it holds for any y.

    The inner minima are computed as in the Lagrangian method, by exhaustion.  They
    include the squares of each attribute, -lam_a S_aa.
    """
    from aggopt.algorithms.lagrangian.bound import bound

    beside = data.rows[:, 1:] @ y.mu[1:]
    line = data.sizes[:, None] * (beside + 2 * (y.p @ y.T.T))
    least = [
        bound(program, implied_box(program), np.array([-mu, -lam, 0.0]))
        for program, mu, lam in zip(_inner(data, line), y.mu[0], y.lam, strict=True)
    ]
    S = data.covariance
    size = (np.sum(y.T**2) + np.abs(y.lam).sum()) * np.trace(S)
    size += np.sum(data.sizes[:, None] * y.p**2) + np.sum(np.abs(y.mu * data.sums))
    lost = ROUNDINGS * EPS * len(S) * float(size + sum(map(abs, least)))
    return float(sum(least)) + constant(data, y) - lost


def _inner(data: JointWishes, line: Floats) -> list[Separable]:
    """Return the program of each attribute with line_ja c_ja added to its costs."""
    found = []
    for alone, slope in zip(data.apart, line.T, strict=True):
        program = program_of(alone)
        owner = np.repeat(np.arange(len(slope)), np.diff(program.first))
        quartic = program.quartic.copy()
        quartic[:, 0] += (slope * program.centres)[owner]
        quartic[:, 1] += slope[owner]
        box = implied_box(program)
        far = np.maximum(np.abs(box.low), np.abs(box.high))
        terms = program.terms + np.abs(slope) * (np.abs(program.centres) + far)
        found.append(program._replace(quartic=quartic, terms=terms))
    return found
