"""Solver `stiefel`: against all feasible points, IPOPT, and by its own parts."""

import sys

import numpy as np
import pytest
from conftest import require_solver
from joint_instances import (
    assert_rises_along_its_gradient,
    circle,
    instance,
    rotation,
    standardised,
)
from refusals import refused

from aggopt.algorithms.stiefel.bound import (
    Dual,
    Tangents,
    fit_multipliers,
    improve_tangents,
    prove_joint_bound,
)
from aggopt.algorithms.stiefel.cost import Cost
from aggopt.algorithms.stiefel.manifold import Manifold, Rooms
from aggopt.algorithms.stiefel.run import (
    JointSearch,
    descend_manifold,
    search_by_annealing,
    solve_separately,
    stack_optima,
)
from aggopt.core.deadline import Deadline
from aggopt.errors import JobError
from aggopt.models import covariance_mean
from aggopt.models import p3m_joint as model
from aggopt.models.shared.joint import find_nearest_matrix
from aggopt.solvers import SOLVERS, Status
from aggopt.solvers.certificate import Answer
from aggopt.solvers.run_solver import run_here

seeds = pytest.mark.parametrize("seed", range(5))
few_seeds = pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))]
)


def solved(data: model.Data, name: str = "stiefel", **options) -> Answer:
    return run_here(model.MODEL, data, SOLVERS[name], data.means, None, options)


def cost_of(data: model.Data, c: np.ndarray) -> float:
    return model.objective(data, model.point(data, c))


@few_seeds
@pytest.mark.parametrize("alpha", [0.2, 0.9])
def test_three_groups_get_the_best_of_all_points_and_no_bound_is_above(seed, alpha):
    data = instance(seed, n=12, m=3, alpha=alpha)
    best = min(cost_of(data, c) for c in circle(data, 400))
    found = solved(data)
    assert cost_of(data, found.reading) <= best
    assert found.bound <= best
    assert model.MODEL.violation(data, model.point(data, found.reading)) < 1e-12


@seeds
def test_any_tangents_prove_a_bound(seed):
    data = instance(seed, n=12, m=3, alpha=0.6)
    best = min(cost_of(data, c) for c in circle(data, 400))
    rng = np.random.default_rng(seed)
    for size in (0.0, 0.1, 1.0, 10.0):
        T, p = rng.normal(size=(2, 2)) * size, rng.normal(size=(3, 2))
        y = Tangents(rng.normal(size=2), rng.normal(size=(1, 2)), T, p)
        assert prove_joint_bound(data, y) <= best
        everywhere, *_ = Dual(data, Cost.of(data), data.means, 1e-9).at(y)  # no box
        assert everywhere <= prove_joint_bound(data, y) + 1e-6 * abs(everywhere)


@pytest.mark.parametrize("alpha", [0.3, 0.9])
@few_seeds
def test_no_bound_is_above_a_point_of_three_attributes(seed, alpha):
    data = instance(seed, n=12, d=3, m=4, alpha=alpha)
    found = solved(data)
    rng = np.random.default_rng(seed)
    best = min(cost_of(data, rotation(data, rng)) for _ in range(300))
    assert found.bound <= cost_of(data, found.reading) <= best
    tangents, _ = improve_tangents(data, Cost.of(data), data.means, Deadline(None))
    assert prove_joint_bound(data, tangents) <= best


@seeds
def test_multipliers_are_ascended_from_those_of_the_attributes_apart(seed):
    data = instance(seed, n=60, d=3, m=12, alpha=0.6)
    apart, cost = solve_separately(data), Cost.of(data)
    c = stack_optima(data, apart)
    begun = prove_joint_bound(data, fit_multipliers(data, cost, c))
    ascent, _ = improve_tangents(data, cost, c, Deadline(None))
    assert (
        begun
        < sum(found.bound for found in apart)
        < 1.001 * prove_joint_bound(data, ascent)
    )


@seeds
def test_the_bound_rises_along_its_gradient(seed):
    data = instance(seed, d=3, m=6)
    rng = np.random.default_rng(seed)
    dual = Dual(data, Cost.of(data), data.means, 0.1)
    flat = rng.normal(size=3 + 3 + 9 + 18)
    assert_rises_along_its_gradient(dual, flat)


@seeds
def test_under_a_growing_penalty_mean_and_covariance_are_all_but_kept(seed):
    data = instance(seed, n=60, d=3, m=12, alpha=0.9)
    cost, space = Cost.of(data), Manifold(data)
    none = np.zeros((3, 3)), np.zeros((1, 3))
    rng, clock = np.random.default_rng(seed), Deadline(None)
    c = search_by_annealing(cost, space, data.means, none, 400, rng, clock)
    off = c.T @ (data.sizes[:, None] * c) - data.covariance
    assert abs(off).max() < 1e-2 * len(data.Z)
    assert none[0].max() == 0  # what is given stays as it is


@seeds
def test_the_quick_projection_is_the_careful_one(seed):
    data = instance(seed, d=3, m=6)
    A = np.random.default_rng(seed).normal(size=(6, 3))
    assert Manifold(data).nearest(A) == pytest.approx(
        find_nearest_matrix(data, A), abs=1e-12
    )


@seeds
def test_the_quick_projection_keeps_what_hardly_varies(seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(60, 1)) + 1e-3 * rng.normal(size=(60, 2))
    plain = instance(seed, n=60, d=2, m=12)
    data = model.Data(standardised(x), plain.labels, plain.delta, plain.importance, 0.5)
    space = Manifold(data)
    A = space.nearest(space.weight * data.means + rng.normal(size=(12, 2)))
    kept = np.linalg.norm(A @ space.directions, axis=0) ** 2
    assert kept == pytest.approx(space.squares, rel=1e-9)
    assert abs(data.u @ A).max() < 1e-12


@seeds
def test_tangents_stay_on_the_manifold_and_the_rest_is_across(seed):
    data = instance(seed, d=3, m=6)
    space, rng = Manifold(data), np.random.default_rng(seed)
    A, G = space.nearest(rng.normal(size=(6, 3))), rng.normal(size=(6, 3))
    free, other = (space.tangent(A, own) for own in (G, rng.normal(size=(6, 3))))
    assert A.T @ free + free.T @ A == pytest.approx(np.zeros((3, 3)), abs=1e-12)
    assert data.u @ free == pytest.approx(np.zeros(3), abs=1e-12)
    assert abs(free).max() > 0.1
    assert np.sum((G - free) * other) == pytest.approx(0, abs=1e-12)


@seeds
def test_centroids_stay_in_their_rooms(seed):
    data = instance(seed, n=40, d=3, m=10)
    rng = np.random.default_rng(seed)
    begun = Manifold(data).nearest(rng.normal(size=(10, 3)))
    c = begun / Manifold(data).weight
    below, above = rng.exponential(size=(2, 10, 3)) * (rng.random((2, 10, 3)) < 0.7)
    space = Rooms(data, c - below, c + above)
    A = space.nearest(begun + 0.1 * rng.normal(size=(10, 3)))
    assert pytest.approx(data.covariance, abs=1e-8) == A.T @ A
    assert (space.ends[0] <= A).all()
    assert (space.ends[1] >= A).all()
    free = space.tangent(A, rng.normal(size=(10, 3)))
    assert A.T @ free + free.T @ A == pytest.approx(np.zeros((3, 3)), abs=1e-9)
    assert (free[space.ends[0] == A] <= 0).all()  # a step of a descent is -free
    assert (free[space.ends[1] == A] >= 0).all()
    nowhere = Rooms(data, np.full((10, 3), 9.0), np.full((10, 3), 9.5))
    assert np.isnan(nowhere.nearest(begun)).all()


@seeds
def test_demands_hold_where_others_move(seed):
    data = instance(seed, n=40, d=3, m=10)
    rng = np.random.default_rng(seed)
    held = rng.random((10, 3)) < 0.2
    begun = Manifold(data).nearest(rng.normal(size=(10, 3)))
    c = begun / Manifold(data).weight
    ends = np.where(held, c, -np.inf), np.where(held, c, np.inf)
    space = Rooms(data, *ends)
    A = space.nearest(begun + 0.05 * rng.normal(size=(10, 3)))
    assert A[held] == pytest.approx(begun[held], rel=1e-15)
    assert pytest.approx(data.covariance, abs=1e-8) == A.T @ A
    free = space.tangent(A, rng.normal(size=(10, 3)))
    assert (free[held] == 0).all()
    assert A.T @ free + free.T @ A == pytest.approx(np.zeros((3, 3)), abs=1e-9)


def test_hard_wishes_are_met():
    plain = instance(3, n=40, d=2, m=10)
    importance = plain.importance.copy()
    importance[[1, 9], [0, 1]] = 1.0
    data = model.Data(plain.Z, plain.labels, 0.3 * plain.delta, importance, plain.alpha)
    found = solved(data)
    point = model.point(data, found.reading)
    assert model.MODEL.violation(data, point) < 1e-6
    assert found.bound <= model.objective(data, point)


def test_demands_that_one_attribute_cannot_keep_are_infeasible():
    plain = instance(3, n=40, d=2, m=10)
    one = np.unique(plain.labels, return_index=True)[1]
    importance, delta = np.zeros((40, 2)), np.full((40, 2), 0.1)
    importance[one, 1], delta[one, 1] = 1.0, abs(plain.Z[one, 1])  # 0, or twice
    delta[one, 1] = np.where(plain.Z[one, 1] > 0, delta[one, 1], 0.0)
    data = model.Data(plain.Z, plain.labels, delta, importance, 0.5)
    found = solved(data)
    assert found.status is Status.INFEASIBLE
    assert found.reading is None


@seeds
def test_a_local_optimum_is_stationary(seed):
    data = instance(seed, n=60, d=3, m=12)
    cost, space = Cost.of(data), Manifold(data)
    A = space.nearest(space.weight * data.means)
    best = descend_manifold(cost, space, A, Deadline(None))
    assert best.value <= cost.value(A / space.weight)
    c = best.A / space.weight
    free = space.tangent(best.A, cost.slope(c) / space.weight)
    assert abs(free).max() < 1e-2 * abs(cost.slope(c)).max()


def test_without_alpha_it_is_the_nearest_to_the_means():
    data = instance(1, alpha=0.0)
    found = solved(data)
    assert found.status is Status.OPTIMAL
    alone = covariance_mean.Data(data.Z, data.labels)
    assert found.reading == pytest.approx(alone.renormalised)
    assert found.bound == pytest.approx(cost_of(data, found.reading))


@pytest.mark.parametrize("name", ["ipopt", "pounce"])
def test_interior_points_find_no_less(name):
    require_solver(name)
    data = instance(2, n=60, d=3, m=12)
    own, other = solved(data), solved(data, name)
    assert other.status is Status.LOCAL
    assert model.MODEL.violation(data, model.point(data, other.reading)) < 1e-6
    assert cost_of(data, own.reading) <= cost_of(data, other.reading) * 1.001
    assert own.bound <= cost_of(data, other.reading)


def test_interior_points_keep_hard_wishes():
    require_solver("ipopt")
    plain = instance(3, n=40, d=2, m=10)
    importance = plain.importance.copy()
    importance[1, 0] = 1.0
    data = model.Data(plain.Z, plain.labels, 0.3 * plain.delta, importance, 0.4)
    found = solved(data, "ipopt")
    assert model.MODEL.violation(data, model.point(data, found.reading)) < 1e-6


def test_the_same_seed_finds_the_same_and_rounds_find_no_worse():
    data = instance(4, n=60, d=3, m=12, alpha=0.9)
    one, again = (solved(data, seed=3, rounds=4) for _ in range(2))
    assert (one.reading == again.reading).all()
    none = solved(data, rounds=0)
    assert cost_of(data, one.reading) <= cost_of(data, none.reading)


def test_no_round_runs_once_the_gap_is_closed(monkeypatch):
    data = instance(4, n=60, d=3, m=12, alpha=0.9)
    none, turns = (np.zeros((3, 3)), np.zeros((1, 3))), []

    def counted(*given):
        turns.append(given)
        return search_by_annealing(*given)

    def found(bound: float, gap_tol: float, rounds: int = 3) -> tuple[float, int]:
        turns.clear()
        own = Cost.of(data), Manifold(data), [none], bound, gap_tol, Deadline(None)
        rng = np.random.default_rng(0)
        best = JointSearch(*own).best([data.means], data.means, rounds, rng)
        return best.value, len(turns)

    monkeypatch.setattr(
        sys.modules[JointSearch.__module__], "search_by_annealing", counted
    )
    first, _ = found(0.0, 0.0, rounds=0)
    after_one, _ = found(0.0, 0.0, rounds=1)
    assert after_one < first
    assert found(after_one, 0.0) == (after_one, 1)
    assert found(first, 0.0) == (first, 0)
    assert found(first * (1 - 2e-6), 0.1) == (after_one, 1)
    assert found(0.9 * after_one, 0.1 + 1e-9) == (after_one, 1)
    assert found(0.9 * after_one, 0.1 - 1e-9)[1] > 1
    content, one = solved(data, gap_tol=0.99), solved(data, rounds=1)
    assert (content.reading == one.reading).all()


def test_a_limit_of_time_is_kept():
    data = instance(4, n=300, d=3, m=60, alpha=0.9)
    found = run_here(
        model.MODEL,
        data,
        SOLVERS["stiefel"],
        data.means,
        0.2,
        {"rounds": 10**6, "gap_tol": 0},  # for hours without the limit
    )
    assert found.status is Status.LIMIT
    assert found.bound <= cost_of(data, found.reading)


@pytest.mark.parametrize(
    "options",
    [
        {"round": 3},
        {"rounds": -1},
        {"rounds": 2.5},
        {"seed": True},
        {"seed": None},
        {"gap_tol": -1e-9},
        {"gap_tol": 1},
        {"gap_tol": "no"},
        {"gap_tol": np.nan},
    ],
)
def test_options_that_it_does_not_take_are_refused(options):
    with refused(JobError):
        solved(instance(0), **options)
