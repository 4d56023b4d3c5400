"""Reduced P3M: variables for centroids only, without one for each record's wish.

Takes cyipopt, or pounce, which has the same interface: exact gradient, Jacobian and
diagonal Hessian.
"""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np

from aggopt.algorithms.lagrangian.piecewise_quartics import compute_quartics
from aggopt.algorithms.stiefel.cost import Cost
from aggopt.core.deadline import compile_time
from aggopt.core.types import Floats
from aggopt.models import p3m as model
from aggopt.models import p3m_joint
from aggopt.solvers.certificate import Answer, Status
from aggopt.solvers.options import explain_refusal
from aggopt.solvers.solver import Solver
from aggopt.solvers.solver_log import is_logged
from aggopt.solvers.termination import read_iterations


class JointReduced:
    """Objective, constraints and their derivatives, with the methods Ipopt calls."""

    def __init__(self, data: p3m_joint.Data) -> None:
        self._cost = Cost.of(data)
        self._means = data.means
        self._shape = data.means.shape
        self._ends = data.lower - data.means, data.upper - data.means
        self._share = data.sizes / data.sizes.sum()
        self._linear = (self._share[:, None] * data.rows).T
        self.iterations = 0
        self._pairs = np.triu_indices(self._shape[1])
        kept_moments = np.concatenate([data.sums.ravel(), data.covariance[self._pairs]])
        self.target = kept_moments / data.sizes.sum()

    def _compute_centroids(self, t: Floats) -> Floats:
        """Return the centroids (m, d) at the shifts t (m d,)."""
        return self._means + t.reshape(self._shape)

    def objective(self, t: Floats) -> float:
        """Return the cost of the centroids at the shifts t (m d,)."""
        return self._cost.value(self._compute_centroids(t))

    def gradient(self, t: Floats) -> Floats:
        """Return the gradient of the cost (m d,) at the shifts t (m d,)."""
        return self._cost.slope(self._compute_centroids(t)).ravel()

    def constraints(self, t: Floats) -> Floats:
        """Return the kept means and covariances of the centroids, per record."""
        c = self._compute_centroids(t)
        squares = c.T @ (self._share[:, None] * c)
        return np.concatenate([(self._linear @ c).ravel(), squares[self._pairs]])

    def jacobianstructure(self) -> tuple[Any, Any]:
        """Return rows and columns of the Jacobian's non-zero entries."""
        m, d = self._shape
        linear = d * len(self._linear)
        of_group = d * np.arange(m)
        a, b = self._pairs
        pairs = linear + np.arange(len(a))
        rows = [np.repeat(np.arange(linear), m), np.repeat(pairs, 2 * m)]
        columns = [of_group + i % d for i in range(linear)]
        for one, other in zip(a, b, strict=True):
            columns += [of_group + one, of_group + other]
        return np.concatenate(rows), np.concatenate(columns)

    def jacobian(self, t: Floats) -> Floats:
        """Return the entries of the Jacobian, in the order of its structure."""
        weighted = self._share[:, None] * self._compute_centroids(t)
        parts = [row for row in self._linear for _ in range(self._shape[1])]
        for one, other in zip(*self._pairs, strict=True):
            parts += [weighted[:, other], weighted[:, one]]
        return np.concatenate(parts)

    def hessianstructure(self) -> tuple[Any, Any]:
        """Return rows and columns of the Hessian's lower triangle, group by group."""
        m, d = self._shape
        a, b = np.tril_indices(d)
        first = d * np.arange(m)[:, None]
        return (first + a).ravel(), (first + b).ravel()

    def hessian(self, t: Floats, multipliers: Floats, factor: float) -> Floats:
        """Return the entries of the Lagrangian's Hessian, in that order."""
        d = self._shape[1]
        block = np.zeros((d, d))
        block[self._pairs] = multipliers[d * len(self._linear) :]
        block = block + block.T
        a, b = np.tril_indices(d)
        entries = self._share[:, None] * block[a, b]
        entries[:, a == b] += factor * self._cost.curvature(self._compute_centroids(t))
        return np.asarray(entries.ravel())

    def intermediate(self, phase: int, iteration: int, *_: float) -> bool:
        """Record the number of Ipopt's iterations; return True to continue."""
        self.iterations = iteration
        return True

    def multipliers(self, centroids: Floats) -> None:
        """Return None: the constraints here are not those of the model."""

    def bounds(self, start: Floats) -> tuple[Floats, Floats]:
        """Return bounds of shifts (m d,): hard wishes fix the value near `start`."""
        is_demanded = self._cost.demanded
        low, high = self._cost.allowed
        nearer = np.where(np.abs(low - start) <= np.abs(high - start), low, high)
        t = (nearer - self._means).ravel()
        lower, upper = (end.ravel() for end in self._ends)
        demanded_cells = is_demanded.ravel()
        return np.where(demanded_cells, t, lower), np.where(demanded_cells, t, upper)


_MEANING = {
    **{0: Status.LOCAL, 1: Status.UNPROVEN},
    **dict.fromkeys((-1, -4), Status.LIMIT),
}


class Reduced:
    """Objective, constraints and their derivatives, with the methods Ipopt calls."""

    def __init__(self, data: model.Data) -> None:
        self._f = compute_quartics(data)[0].T  # of t = c - C, constant first (5, m)
        self._df = _derive_coefficients(self._f)
        self._ddf = _derive_coefficients(self._df)
        self._n = len(data.x)
        self._sizes = data.sizes
        self._means = data.means
        self._data = data
        self.iterations = 0
        self.target = np.array([0.0, 1.0])

    def objective(self, t: Floats) -> float:
        """Return the cost of the centroids at the shifts t (m,)."""
        return float(_evaluate_quartics(self._f, t).sum())

    def gradient(self, t: Floats) -> Floats:
        """Return the gradient of the cost (m,) at the shifts t (m,)."""
        return _evaluate_quartics(self._df, t)

    def constraints(self, t: Floats) -> Floats:
        """Return the centroids' mean and variance, per record (2,)."""
        c = self._means + t
        return np.array([self._sizes @ t, self._sizes @ c**2]) / self._n

    def jacobian(self, t: Floats) -> Floats:
        """Return the Jacobian of mean and variance, row by row (2 m,)."""
        share = self._sizes / self._n
        return np.concatenate([share, 2 * share * (self._means + t)])

    def hessianstructure(self) -> tuple[Any, Any]:
        """Return rows and columns of the Hessian's diagonal."""
        diagonal = np.arange(len(self._sizes))
        return diagonal, diagonal

    def hessian(self, t: Floats, multipliers: Floats, factor: float) -> Floats:
        """Return the diagonal of the Lagrangian's Hessian (m,) at the shifts t (m,)."""
        bend = 2 * multipliers[1] * self._sizes / self._n
        return np.asarray(factor * _evaluate_quartics(self._ddf, t) + bend)

    def intermediate(self, phase: int, iteration: int, *_: float) -> bool:
        """Record the number of Ipopt's iterations; return True to continue."""
        self.iterations = iteration
        return True

    def multipliers(self, centroids: Floats) -> dict[str, Floats] | None:
        """Return the multipliers of "mean" and "variance", in the model's scale."""
        mean, variance = np.asarray(centroids, np.float64) / self._n
        return {"mean": mean, "variance": variance}

    def bounds(self, start: Floats) -> tuple[Floats, Floats]:
        """Return bounds of the shifts (m,): hard wishes fix the value near `start`."""
        low = self._data.lower - self._means
        high = self._data.upper - self._means
        hard, values = model.list_demanded_values(self._data)
        away = np.abs(values - start[hard, None])
        nearer = np.nanargmin(away, axis=1) if hard.size else hard
        chosen = values[np.arange(len(hard)), nearer]
        low[hard] = high[hard] = chosen - self._means[hard]
        return low, high


def run(
    data: model.Data | p3m_joint.Data,
    solver: Solver,
    native: Mapping[str, Any],
    start: Floats | None,
) -> Answer:
    """Return Ipopt's answer to P3M, from centroids `start`, or from group means."""
    started = compile_time.now()
    start = data.means if start is None else start
    options = {**native, **(solver.loud if is_logged() else {})}
    ipopt = import_module(solver.needs[0])
    reduced = _build_reduced(data)
    low, high = reduced.bounds(start)
    try:
        program = ipopt.Problem(
            n=start.size,
            m=len(reduced.target),
            problem_obj=reduced,
            lb=low,
            ub=high,
            cl=reduced.target,
            cu=reduced.target,
        )
        for option, value in options.items():
            program.add_option(option, value)
        t, info = program.solve(np.clip((start - data.means).ravel(), low, high))
    except (TypeError, ValueError, RuntimeError) as refusal:
        raise explain_refusal(solver, native, refusal) from None
    status = _MEANING.get(int(info["status"]), Status.FAILED)
    seconds = compile_time.now() - started
    c = data.means + np.reshape(t, start.shape)
    return Answer(
        c,
        status,
        None,
        solver.name,
        seconds,
        iterations=read_iterations(reduced.iterations),
        multipliers=reduced.multipliers(info["mult_g"]),
    )


def _build_reduced(data: model.Data | p3m_joint.Data) -> Reduced | JointReduced:
    """Return the reduced program of one attribute, or of several."""
    if isinstance(data, p3m_joint.Data):
        return JointReduced(data)
    return Reduced(data)


def _evaluate_quartics(coefficients: Floats, t: Floats) -> Floats:
    """Return the values at t of polynomials (coefficients by column)."""
    return np.asarray(np.polynomial.polynomial.polyval(t, coefficients, tensor=False))


def _derive_coefficients(coefficients: Floats) -> Floats:
    """Return the coefficients of the polynomials' derivatives."""
    return np.asarray(np.polynomial.polynomial.polyder(coefficients), dtype=np.float64)
