"""Solver `stiefel`: wishes of all attributes at once, a local optimum and a bound."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from aggopt.algorithms.stiefel.bound import (
    fit_multipliers,
    improve_tangents,
    prove_joint_bound,
)
from aggopt.algorithms.stiefel.cost import CellCost, build_cost
from aggopt.algorithms.stiefel.manifold import Manifold, Rooms
from aggopt.core.deadline import Deadline, require_time_limit
from aggopt.core.validation import Floats, is_number, is_whole_number
from aggopt.errors import JobError
from aggopt.models import covariance_mean
from aggopt.models.shared.joint import Records
from aggopt.models.shared.joint_wishes import JointWishes
from aggopt.solvers.certificate import (
    PROVEN,
    Answer,
    Status,
    choose_gap_size,
    is_gap_closed,
)
from aggopt.solvers.registry import choose_solver
from aggopt.solvers.run_solver import run_solver
from aggopt.solvers.solver import Solver

MEMORY = 0.85  # of earlier values in the reference that a step must stay below


ENOUGH = 1e-4  # of the predicted decrease


HALVINGS = 25


PATIENCE = 8  # steps without progress


FIRST_STEP = 1e-3  # length


LEAST_STEP = 1e-10


MOST_STEP = 1e3


class Local(NamedTuple):
    """A point A (m, d) and what its centroids cost."""

    A: Floats
    value: float


CENTROIDS = 40_000  # default of `rounds`: this over their number, within
FEWEST = 1  # local minima tried after the first, at least
MOST = 8  # and at most
PASSES = (150, 1000)  # range of the passes of a round: VISITS over centroids
VISITS = 15_000_000
CLOSE = 1e-3  # default of gap_tol
NODES = 20  # of each attribute's branch and bound
APART = 0.25  # of a time limit, after which single attributes end
PROOF = 0.5  # of a time limit, after which the proof ends


def run(
    data: JointWishes,
    solver: Solver,
    native: Mapping[str, Any],
    start: Floats | None,
) -> Answer:
    """Return the best local optimum of all attributes' wishes, and a lower bound.

    Options are time_limit, rounds, gap_tol and seed.  The separate optima of all
    attributes prove a first bound.  Multipliers of mean and covariance, ascended from
    there, prove a second.  Local minima are searched near `start`, and from centroids
    of either multipliers.  The search takes at most `rounds` rounds, ends once the gap
    is gap_tol or less, and does not begin if nothing can be gained.

    Raises
    ------
    JobError
        An unknown option, or a value out of range.
    """
    options = _read_options(solver, native)
    limit = options.time_limit
    rounds = options.rounds
    clock = Deadline(limit)
    if not data.wished:
        return _solve_without_wishes(data, solver, clock)
    apart = solve_separately(data, limit and APART * limit)
    if any(optimum.status is Status.INFEASIBLE for optimum in apart):
        return Answer(None, Status.INFEASIBLE, None, solver.name, clock.spent)
    cost = build_cost(data)
    c = stack_optima(data, apart)
    half = Deadline(limit and max(PROOF * limit - clock.spent, 0.0))
    tangents, near = improve_tangents(data, cost, c, half)
    guesses = fit_multipliers(data, cost, c).multipliers, tangents.multipliers
    of_apart = sum(-np.inf if a.bound is None else a.bound for a in apart)
    bound = max(of_apart, prove_joint_bound(data, tangents))
    space = Manifold(data)
    search = JointSearch(cost, space, guesses, bound, options.gap_tol, clock)
    begun = [data.means if start is None else start, c]
    tries = min(MOST, max(FEWEST, CENTROIDS // c.size)) if rounds is None else rounds
    best = search.best(begun, near, tries, np.random.default_rng(options.seed))
    if best is None:
        return Answer(None, Status.FAILED, None, solver.name, clock.spent)
    status = Status.LIMIT if clock.over else Status.LOCAL
    is_shown = is_gap_closed(
        best.value, bound, choose_gap_size(best.value, 1.0)
    )  # standardised
    status = Status.OPTIMAL if is_shown else status
    return Answer(best.A / space.weight, status, bound, solver.name, clock.spent)


@dataclass(frozen=True, eq=False)
class JointSearch:
    """Local minima of a cost on a manifold, by guesses of multipliers, in turn."""

    cost: CellCost
    space: Manifold
    guesses: Sequence[tuple[Floats, Floats]]
    bound: float
    gap_tol: float
    clock: Deadline

    def best(
        self,
        begun: Sequence[Floats],
        near: Floats,
        rounds: int,
        rng: np.random.Generator,
    ) -> Local | None:
        """Return the best of several local minima, None if none is feasible."""
        best = _choose_least(map(self.descend, begun))
        passes = int(np.clip(VISITS // near.size, *PASSES))
        for turn in range(rounds):
            if self.clock.over or self.close(best, self.gap_tol if turn else PROVEN):
                break
            multipliers = self.guesses[turn % len(self.guesses)]
            c = search_by_annealing(
                self.cost, self.space, near, multipliers, passes, rng, self.clock
            )
            best = _choose_least([best, self.descend(c)])
        return best

    def close(self, best: Local | None, gap_tol: float) -> bool:
        """Return whether the gap of best value and bound is at most gap_tol."""
        if best is None:
            return False
        return best.value - self.bound <= gap_tol * max(1.0, abs(best.value))

    def descend(self, c: Floats) -> Local | None:
        """Return the local minimum near c (m, d); None if none is feasible.

        If the cost is not smooth, the minimum is in the rooms of c, or else in the
        rooms of the point near c that keeps the covariance.
        """
        weight = self.space.weight
        for start in (c, self.space.nearest(weight * c) / weight):
            space = self._restrict_manifold(start)
            A = space.nearest(weight * start)
            if np.isfinite(A).all():
                return descend_manifold(self.cost, space, A, self.clock)
        return None

    def _restrict_manifold(self, c: Floats) -> Manifold:
        """Return the manifold within intervals around c of smooth cost."""
        low, high = self.cost.rooms(c)
        data = self.space.data
        endless = np.isinf(low).all() and np.isinf(high).all()
        return Manifold(data) if endless else Rooms(data, low, high)


def solve_separately(data: JointWishes, limit: float | None = None) -> list[Answer]:
    """Return the optimum of each attribute by itself, without covariances."""
    way = choose_solver("lagrangian", *data.alone.kinds)
    limit_each = limit and limit / len(data.apart)
    return [
        run_solver(
            data.alone,
            alone,
            way,
            alone.means,
            time_limit=limit_each,
            options={"nodes": NODES},
        )
        for alone in data.apart
    ]


def stack_optima(data: JointWishes, apart: Sequence[Answer]) -> Floats:
    """Return the separate optima as centroids (m, d); group means if one has none."""
    return np.stack(
        [
            one.means if optimum.reading is None else optimum.reading
            for one, optimum in zip(data.apart, apart, strict=True)
        ],
        axis=1,
    )


def _solve_without_wishes(data: JointWishes, solver: Solver, clock: Deadline) -> Answer:
    """Return the centroids nearest to the means that keep the covariance."""
    alone = covariance_mean.Data(data.Z, data.labels, y=data.y, weights=data.weights)
    centroids = alone.renormalised
    multipliers = covariance_mean.compute_multipliers(alone, centroids)
    bound = max(covariance_mean.proven(alone, multipliers), 0.0)
    return Answer(centroids, Status.OPTIMAL, bound, solver.name, clock.spent)


def _choose_least(results: Iterable[Local | None]) -> Local | None:
    """Return the local minimum of least value, None if there is none."""
    return min(filter(None, results), key=lambda local: local.value, default=None)


class _Options(NamedTuple):
    """Options of `run`, with their defaults."""

    time_limit: float | None = None
    rounds: int | None = None
    gap_tol: float = CLOSE
    seed: int = 0


def _read_options(solver: Solver, native: Mapping[str, Any]) -> _Options:
    """Return the solver's options with defaults; raise if one is invalid."""
    if set(native) <= set(_Options._fields):
        chosen = _Options(**native)
        require_time_limit(chosen.time_limit)
        counts = (
            [chosen.seed] if chosen.rounds is None else [chosen.seed, chosen.rounds]
        )
        are_counts = all(is_whole_number(count) and count >= 0 for count in counts)
        if are_counts and is_number(chosen.gap_tol) and 0 <= chosen.gap_tol < 1:
            return chosen
    raise JobError(
        f"{solver.name} refused its options {sorted(native)}.",
        fix="it takes time_limit, a number above 0, rounds and seed, whole numbers "
        "from 0 up, and gap_tol, a number from 0 to below 1.",
    )


def descend_manifold(
    cost: CellCost,
    space: Manifold,
    A: Floats,
    clock: Deadline,
    *,
    steps: int = 500,
    tolerance: float = 1e-7,
) -> Local:
    """Return a local minimum of the cost on a manifold, near the point A."""
    value, slope = _evaluate_point(cost, space, A)
    best = Local(A, value)
    reference = value
    weight = 1.0
    length = FIRST_STEP
    idle = 0
    for turn in range(steps):
        uphill = float(np.sum(slope * slope))
        for _ in range(HALVINGS):
            B = space.nearest(A - length * slope)
            next_value = cost.value(B / space.weight)
            if next_value <= reference - ENOUGH * length * uphill:
                break
            length /= 2
        else:
            break
        _, ahead = _evaluate_point(cost, space, B)
        moved = B - A
        change = ahead - slope
        across = abs(float(np.sum(moved * change)))
        parts = (np.sum(moved**2), across) if turn % 2 else (across, np.sum(change**2))
        length = float(np.clip(parts[0] / max(parts[1], 1e-300), LEAST_STEP, MOST_STEP))
        A = B
        value = next_value
        slope = ahead
        reference = (MEMORY * weight * reference + value) / (MEMORY * weight + 1)
        weight = MEMORY * weight + 1
        enough = best.value - tolerance * max(1.0, abs(best.value))
        idle = 0 if value < enough else idle + 1
        best = min(best, Local(A, value), key=lambda local: local.value)
        if idle > PATIENCE or clock.left <= 0:
            break
    return best


def _evaluate_point(cost: CellCost, space: Manifold, A: Floats) -> tuple[float, Floats]:
    """Return the cost at A, and its tangential gradient."""
    c = A / space.weight
    return cost.value(c), space.tangent(A, cost.slope(c) / space.weight)


FIRST_PENALTY = 3e-3
LAST_PENALTY = 3e3  # penalties, of the median curvature per record, over n


def search_by_annealing(
    cost: CellCost,
    space: Manifold,
    c: Floats,
    multipliers: tuple[Floats, Floats],
    passes: int,
    rng: np.random.Generator,
    clock: Deadline,
) -> Floats:
    """Return centroids (m, d) of low cost that nearly keep mean and covariance.

    From centroids c and multipliers L (d, d) of the covariance, mu (q, d) of linear
    rows: see `Penalty`.
    """
    from aggopt.algorithms.stiefel.kernels import Penalty

    n = space.data.sizes[:, None]
    d = c.shape[1]
    curvature = np.median(np.abs(cost.curvature(c)) / n) or 1.0
    c, S, L, mu = _add_response(space.data, c, *multipliers)
    moved = np.flatnonzero(np.arange(c.size) % c.shape[1] < d)
    for share in np.linspace(0, 1, passes):
        if clock.over:
            break
        rho = (
            FIRST_PENALTY
            * (LAST_PENALTY / FIRST_PENALTY) ** share
            * curvature
            / n.sum()
        )
        off = c.T @ (n * c) - S
        mean = np.sum(n * c, axis=0)
        price = Penalty(off, mean, L, mu, float(rho))
        cost.descend(c, price, rng.permutation(moved))
        L = L + rho * off
        mu = mu + rho * mean
    return c[:, :d].copy()


def _add_response(
    data: Records, c: Floats, L: Floats, mu: Floats
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return centroids, covariance, L and mu with the response as an attribute.

    Its centroids are fixed.  Its covariances are then the preserved ones, and their
    multipliers are the multipliers of its rows.
    """
    y = data.rows[:, 1:]
    squares = y.T @ (data.sizes[:, None] * y)
    S = np.block([[data.covariance, data.sums[1:].T], [data.sums[1:], squares]])
    L = np.block([[L, mu[1:].T / 2], [mu[1:] / 2, np.zeros(squares.shape)]])
    return np.hstack([c, y]), S, L, np.append(mu[0], np.zeros(len(squares)))
