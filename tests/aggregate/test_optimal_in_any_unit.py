"""Optimal is optimal: no unit and no constant of an objective makes a point so."""

from collections.abc import Callable
from dataclasses import dataclass

import cvxpy as cp
import numpy as np
import pytest

from aggopt.aggregate import by_model, p3m_onesided
from aggopt.solvers import Status

MOST = 1e-6  # of what can be won
LOOSE = {"tol_gap_rel": 1e-2, "tol_gap_abs": 1e-2, "tol_feas": 1e-2}
SOLVERS = (
    ("clarabel", {}),
    ("clarabel", LOOSE),
    ("highs", {}),
    ("highs", {"dual_feasibility_tolerance": 1e-2}),
    ("cvxpy:OSQP", {"eps_abs": 1e-2, "eps_rel": 1e-2}),
)


@dataclass(frozen=True)
class Kind:
    """What a program minimises, in cvxpy and in NumPy, and the best centroids."""

    cost: Callable
    value: Callable
    best: Callable
    ceiling: float | None = None


def of_groups(statistic):
    def best(x, labels):
        return np.array([statistic(x[labels == j]) for j in range(labels.max() + 1)])

    return best


def squares(off):
    return float(np.sum(off**2))


KINDS = (
    Kind(cp.sum_squares, squares, of_groups(np.mean)),
    Kind(
        lambda off: cp.norm1(off), lambda off: np.abs(off).sum(), of_groups(np.median)
    ),
    Kind(
        lambda off: cp.norm_inf(off),
        lambda off: np.abs(off).max(),
        of_groups(lambda x: (x.min() + x.max()) / 2),
    ),
    Kind(
        cp.sum_squares,
        squares,
        lambda x, labels: np.minimum(of_groups(np.mean)(x, labels), 0.5),
        ceiling=0.5,
    ),
)


def share_lost(number: int) -> tuple[Status, float]:
    """Return how a random program ends, and its loss beyond the least, of the most."""
    rng = np.random.default_rng(number)
    kind = KINDS[rng.integers(len(KINDS))]
    solver, options = SOLVERS[rng.integers(len(SOLVERS))]
    scale = 10.0 ** rng.uniform(-12, 12)
    shift = rng.choice([0.0, -1.0, 1.0]) * 10.0 ** rng.uniform(0, 9)
    x = np.sort(rng.gamma(2, size=24))
    x, labels = (x - x.mean()) / x.std(), np.arange(24) // 4

    def declared(x, labels, sizes):
        c = cp.Variable(len(sizes), name="c")
        rows = [] if kind.ceiling is None else [c <= kind.ceiling]
        return cp.Problem(cp.Minimize(scale * kind.cost(c[labels] - x) + shift), rows)

    made = by_model(x[:, None], labels, declared, solver=solver, options=options)
    c, best = made.centroids[:, 0], kind.best(x, labels)
    found, least, most = (kind.value(v[labels] - x) for v in (c, best, np.zeros(6)))
    return made.certificates[0].status, (found - least) / (most - least)


def lost_of_optima(numbers):
    ended = map(share_lost, numbers)
    return np.array([lost for status, lost in ended if status is Status.OPTIMAL])


@pytest.mark.parametrize(
    "count", [60, pytest.param(300, marks=pytest.mark.slow)], ids=["few", "all"]
)
def test_no_program_is_called_optimal_above_a_millionth_of_what_can_be_won(count):
    lost = lost_of_optima(range(count))
    assert len(lost) > count / 20  # some optima are shown
    assert lost.max() <= MOST


def squared(scale, shift):
    def declared(x, labels, sizes):
        c = cp.Variable(len(sizes), name="c")
        off = c[labels] - x
        cost = scale * cp.sum_squares(off) + shift
        return cp.Problem(cp.Minimize(cost), [cp.abs(off) <= 9])

    return declared


X = np.sort(np.random.default_rng(0).normal(size=(30, 1)), axis=0)
LABELS = np.arange(30) // 5


@pytest.mark.parametrize(
    ("scale", "shift"), [(1, 0), (1e-9, 0), (1, 1e9), (1e-9, 1e9), (1, -3.0)]
)
def test_a_loose_bound_of_squares_is_no_proof_in_any_unit(scale, shift):
    loose = {"tol_gap_rel": 0.5, "tol_gap_abs": 10.0, "tol_feas": 0.5}
    asked = {"solver": "clarabel", "options": loose}
    found = by_model(X, LABELS, squared(scale, shift), **asked).certificates[0]
    assert found.bound < found.objective
    assert found.status is Status.UNPROVEN
    assert found.gap > 0.5


@pytest.mark.parametrize(("scale", "shift"), [(1, 0), (1, 1e6), (1, 1e9), (1e6, -3.0)])
def test_a_true_optimum_is_called_so_with_a_constant(scale, shift):
    found = by_model(X, LABELS, squared(scale, shift), solver="clarabel")
    assert found.certificates[0].status is Status.OPTIMAL


def test_weights_of_an_objective_hide_no_gap():
    X = np.random.default_rng(0).normal(size=(9, 1))
    wish = {"delta": 0.0, "importance": 0.5, "alpha": 1 - 1e-9}
    loose = p3m_onesided(X, np.arange(9) // 3, options={"gap_tol": 0.3}, **wish)
    (found,) = loose.certificates
    assert found.bound == 0 < found.objective < 1e-8
    assert found.status is Status.UNPROVEN
    assert found.gap == pytest.approx(1.0)
