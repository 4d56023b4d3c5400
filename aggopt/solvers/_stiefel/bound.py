r"""A lower bound of P3M of all attributes at once, from tangents of a square.

For multipliers L = diag(lam) + W of the covariance, W positive semidefinite, mu of the
mean, and any points v_j, c'Wc >= 2 v'Wc - v'Wv gives the bound

    sum_ja min_x [ f_ja(x) + n_j (lam_a x^2 + (mu_a + 2 (W v_j)_a) x) ]
        - sum_j n_j v_j'W v_j - <L, S>

whose inner minima are of quartics in one variable.  With v fixed it is concave in
(lam, mu, W).  W = 0 leaves the dual of P3M of each attribute by itself.
"""

from dataclasses import dataclass, field

import numpy as np

from aggopt.core.deadline import Deadline
from aggopt.core.validation import Floats
from aggopt.models import p3m_joint
from aggopt.solvers._lagrangian.piecewise_quartics import program_of
from aggopt.solvers._lagrangian.program import Separable, implied_box
from aggopt.solvers._stiefel.cost import Cost

EPS = 2.220446049250313e-16  # one unit in the last place of 1
ROUNDINGS = 64.0  # units in the last place of each product that is added up

STEPS = 200


@dataclass(frozen=True, eq=False)
class Tangents:
    """Multipliers and points that prove a bound: lam, mu (d,), W = T T', v (m, d)."""

    lam: Floats = field(repr=False)
    mu: Floats = field(repr=False)
    T: Floats = field(repr=False)
    v: Floats = field(repr=False)

    @property
    def W(self) -> Floats:
        """The positive semidefinite part of the multipliers of the covariance."""
        return np.asarray(self.T @ self.T.T)


@dataclass(frozen=True, eq=False)
class Dual:
    """The bound as a function of multipliers; v fixed."""

    data: p3m_joint.Data = field(repr=False)
    cost: Cost = field(repr=False)
    v: Floats = field(repr=False)

    def __call__(self, flat: Floats) -> tuple[float, Floats]:
        """Return the bound's negative and its gradient by (lam, mu, T)."""
        y = self.unpacked(flat)
        value, x = self.at(y)
        n, S, v = self.data.sizes[:, None], self.data.covariance, self.v
        across = (n * x).T @ v
        by_W = across + across.T - (n * v).T @ v - S
        parts = (np.sum(n * x**2, axis=0) - np.diag(S), np.sum(n * x, axis=0))
        return -value, -np.concatenate([*parts, (2 * by_W @ y.T).ravel()])

    def at(self, y: Tangents) -> tuple[float, Floats]:
        """Return the bound, but for rounding, and where the inner minima are (m, d)."""
        n, W = self.data.sizes[:, None], y.W
        a = self.cost.plus(n * (y.mu + 2 * self.v @ W), n * y.lam)
        least, x = self.cost.lowest(a)
        of_squares = float(y.lam @ np.diag(self.data.covariance))
        return float(least.sum()) + constant(self.data, y) - of_squares, x

    def unpacked(self, flat: Floats) -> Tangents:
        """Return (lam, mu, T) as they are named."""
        d = self.v.shape[1]
        return Tangents(flat[:d], flat[d : 2 * d], flat[2 * d :].reshape(d, d), self.v)


def constant(data: p3m_joint.Data, y: Tangents) -> float:
    """Return what W adds to the bound beside the inner minima."""
    of_points = np.sum(data.sizes[:, None] * (y.v @ y.T) ** 2)
    return -float(of_points + np.sum(y.W * data.covariance))


def raised(
    data: p3m_joint.Data,
    cost: Cost,
    c: Floats,
    multipliers: tuple[Floats, Floats],
    clock: Deadline,
) -> float:
    """Return the bound that ascent from the multipliers (L, mu) of c (m, d) proves."""
    L, mu = multipliers
    apart = L - np.diag(np.diag(L))
    values, vectors = np.linalg.eigh(apart)
    values = values - values[0]
    T = vectors * np.sqrt(values)
    begun = Tangents(np.diag(L) - np.diag(T @ T.T), mu, T, c)
    return proven(data, _ascended(data, cost, begun, clock))


def _ascended(
    data: p3m_joint.Data, cost: Cost, y: Tangents, clock: Deadline
) -> Tangents:
    from scipy.optimize import minimize

    def stop(_: Floats) -> None:
        if clock.over:
            raise StopIteration

    dual = Dual(data, cost, y.v)
    begun = np.concatenate([y.lam, y.mu, y.T.ravel()])
    how = {"jac": True, "method": "L-BFGS-B", "options": {"maxiter": STEPS}}
    return dual.unpacked(minimize(dual, begun, callback=stop, **how).x)


def proven(data: p3m_joint.Data, y: Tangents) -> float:
    """Return the bound, less an allowance for rounding: whoever found y, it holds.

    The inner minima are those of the Lagrangian method, by exhaustion; the squares of
    each attribute, -lam_a S_aa, are in them.
    """
    from aggopt.solvers._lagrangian.bound import bound

    line = 2 * data.sizes[:, None] * (y.v @ y.W)
    least = [
        bound(program, implied_box(program), np.array([-mu, -lam, 0.0]))
        for program, mu, lam in zip(_inner(data, line), y.mu, y.lam, strict=True)
    ]
    S, W = data.covariance, np.linalg.norm(y.W)
    size = (W + np.abs(y.lam).sum()) * np.trace(S)
    size += W * np.sum(data.sizes[:, None] * y.v**2)
    lost = ROUNDINGS * EPS * len(S) * float(size + sum(map(abs, least)))
    return float(sum(least)) + constant(data, y) - lost


def _inner(data: p3m_joint.Data, line: Floats) -> list[Separable]:
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
