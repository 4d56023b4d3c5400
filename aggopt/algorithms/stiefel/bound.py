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
from functools import cached_property

import numpy as np

from aggopt.algorithms.lagrangian.piecewise_quartics import build_separable_program
from aggopt.algorithms.lagrangian.program import Separable, compute_implied_box
from aggopt.algorithms.stiefel.cost import CellCost
from aggopt.algorithms.stiefel.manifold import AT_END
from aggopt.core.deadline import Deadline
from aggopt.core.types import Floats
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
        """Multipliers of the covariance, L (d, d), and of linear rows, mu (q, d)."""
        return np.diag(self.lam) + self.T @ self.T.T, self.mu


def sum_constant_terms(data: JointWishes, y: Tangents) -> float:
    """Return the lower bound's terms in T, p and mu, without the inner minima."""
    of_points = np.sum(data.sizes[:, None] * y.p**2)
    of_rows = np.sum(y.mu * data.sums)
    return -float(of_points + np.sum(y.T * (data.covariance @ y.T)) + of_rows)


def prove_joint_bound(data: JointWishes, y: Tangents) -> float:
    """Return a lower bound on the cost, valid for any tangents y.

    The inner minima are computed as in the Lagrangian method, by exhaustion.  They
    include the squares of each attribute, -lam_a S_aa.
    """
    from aggopt.algorithms.lagrangian.dual_function import bound_dual

    beside = data.rows[:, 1:] @ y.mu[1:]
    line = data.sizes[:, None] * (beside + 2 * (y.p @ y.T.T))
    inner_minima = [
        bound_dual(program, compute_implied_box(program), np.array([-mu, -lam, 0.0]))
        for program, mu, lam in zip(
            _build_inner_programs(data, line), y.mu[0], y.lam, strict=True
        )
    ]
    S = data.covariance
    size = (np.sum(y.T**2) + np.abs(y.lam).sum()) * np.trace(S)
    size += np.sum(data.sizes[:, None] * y.p**2) + np.sum(np.abs(y.mu * data.sums))
    lost = ROUNDINGS * EPS * len(S) * float(size + sum(map(abs, inner_minima)))
    return float(sum(inner_minima)) + sum_constant_terms(data, y) - lost


def _build_inner_programs(data: JointWishes, line: Floats) -> list[Separable]:
    """Return each attribute's separable program, with linear costs `line` added."""
    programs = []
    for alone, slope in zip(data.apart, line.T, strict=True):
        program = build_separable_program(alone)
        owner = np.repeat(np.arange(len(slope)), np.diff(program.first))
        quartic = program.quartic.copy()
        quartic[:, 0] += (slope * program.centres)[owner]
        quartic[:, 1] += slope[owner]
        box = compute_implied_box(program)
        far = np.maximum(np.abs(box.low), np.abs(box.high))
        terms = program.terms + np.abs(slope) * (np.abs(program.centres) + far)
        programs.append(program._replace(quartic=quartic, terms=terms))
    return programs


SOFT = (
    1e-2,
    1e-3,
)  # of the mean cost of a centroid: the second sets out from the first
STEPS = 300
MEMORY = 20
PROGRESS = 1e-9  # relative: below, it has converged
SQUARE = 1e-3  # of the median curvature per record: W at first
LEAST = 1e-2  # eigenvalue of S / n below which directions are scaled alike


@dataclass(frozen=True, eq=False)
class Dual:
    """The smoothed bound as a function of scaled multipliers and tangents.

    About centroids c (m, d) variables are scaled so that the curvature by each is
    about 1: lam and mu by the response of c, T in the directions of S, p by sizes.
    """

    data: JointWishes = field(repr=False)
    cost: CellCost = field(repr=False)
    c: Floats = field(repr=False)
    soft: float

    @cached_property
    def scales(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Units of lam (d,), mu (q, d), a basis of T (d, d), and units of p (m, 1)."""
        n = self.data.sizes[:, None]
        S = self.data.covariance
        share = n**2 / self.stiffness
        squares, V = np.linalg.eigh(S / n.sum())
        basis = V / np.sqrt(2 * n.sum() * np.maximum(squares, LEAST))
        of_lam = 1 / np.sqrt(np.sum(4 * share * self.c**2, axis=0))
        of_mu = 1 / np.sqrt((self.data.rows**2).T @ share)
        return of_lam, of_mu, basis, 1 / np.sqrt(2 * n)

    @cached_property
    def stiffness(self) -> Floats:
        """Absolute curvature of each centroid's cost (m, d), above 0."""
        curvature = np.abs(self.cost.curvature(self.c))
        return np.asarray(np.maximum(curvature, 1e-9 * curvature.max() + 1e-300))

    def __call__(self, flat: Floats) -> tuple[float, Floats]:
        """Return the smoothed bound's negative, and its gradient."""
        y = self.unpack_vector(flat)
        value, mean, square = self.at(y)
        n = self.data.sizes[:, None]
        S = self.data.covariance
        of_lam, of_mu, basis, of_p = self.scales
        by_lam = np.sum(n * square, axis=0) - np.diag(S)
        by_mu = self.data.rows.T @ (n * mean) - self.data.sums
        by_T = 2 * (n * mean).T @ y.p - 2 * S @ y.T
        by_p = 2 * n * (mean @ y.T - y.p)
        parts = (of_lam * by_lam, of_mu * by_mu, basis.T @ by_T)
        return -value, -np.concatenate([*map(np.ravel, parts), (of_p * by_p).ravel()])

    def at(self, y: Tangents) -> tuple[float, Floats, Floats]:
        """Return the smoothed bound at y, and the means of c and c^2 there."""
        mean = np.empty_like(self.c)
        square = np.empty_like(self.c)
        line = self.data.rows @ y.mu + 2 * y.p @ y.T.T
        total = self.cost.smooth(line, y.lam, self.soft, mean, square)
        of_squares = float(y.lam @ np.diag(self.data.covariance))
        return total + sum_constant_terms(self.data, y) - of_squares, mean, square

    def pack_vector(self, y: Tangents) -> Floats:
        """Return tangents y as one vector, in scaled units."""
        of_lam, of_mu, basis, of_p = self.scales
        T = np.linalg.solve(basis, y.T)
        parts = y.lam / of_lam, y.mu / of_mu, T, y.p / of_p
        return np.concatenate(list(map(np.ravel, parts)))

    def unpack_vector(self, flat: Floats) -> Tangents:
        """Return the tangents of a vector in scaled units."""
        of_lam, of_mu, basis, of_p = self.scales
        m, d = self.c.shape
        lam, mu, T, p = np.split(flat, np.cumsum([d, of_mu.size, d * d]))
        mu = mu.reshape(-1, d) * of_mu
        T = basis @ T.reshape(d, d)
        return Tangents(lam * of_lam, mu, T, p.reshape(m, d) * of_p)


def improve_tangents(
    data: JointWishes, cost: CellCost, c: Floats, clock: Deadline
) -> tuple[Tangents, Floats]:
    """Return tangents of a high lower bound, and the mean centroids at them.

    It sets out from c (m, d), the optima of all attributes by themselves.
    """
    from scipy.optimize import minimize

    def stop(_: Floats) -> None:
        if clock.over:
            raise StopIteration

    y = fit_multipliers(data, cost, c)
    value = abs(cost.value(c))
    cost_per_cell = max(value if value < np.inf else 1.0, 1e-9 * len(data.Z)) / c.size
    for soft in SOFT:
        dual = Dual(data, cost, c, soft * cost_per_cell)
        options = {"maxiter": STEPS, "maxcor": MEMORY, "ftol": PROGRESS, "gtol": 0.0}
        optimum = minimize(
            dual,
            dual.pack_vector(y),
            jac=True,
            method="L-BFGS-B",
            callback=stop,
            options=options,
        )
        y = dual.unpack_vector(optimum.x)
    return y, Dual(data, cost, c, SOFT[0] * cost_per_cell).at(y)[1]


def fit_multipliers(data: JointWishes, cost: CellCost, c: Floats) -> Tangents:
    """Return tangents with the multipliers that fit centroids c best."""
    n = data.sizes
    d = c.shape[1]
    stiff = Dual(data, cost, c, 1.0).stiffness
    low, high = cost.rooms(c)
    inside = np.minimum(c - low, high - c) > AT_END
    weight = np.where(inside, 1 / np.sqrt(stiff), 0.0)
    slope = -weight * cost.slope(c)
    rows = n[:, None] * data.rows
    fits = [
        np.linalg.lstsq(np.c_[2 * n * x, rows] * w[:, None], g, rcond=None)[0]
        for x, w, g in zip(c.T, weight.T, slope.T, strict=True)
    ]
    lam, *mu = np.transpose(fits)
    T = np.sqrt(SQUARE * np.median(stiff / n[:, None])) * np.eye(d)
    return Tangents(lam, np.array(mu), T, c @ T)
