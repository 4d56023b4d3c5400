"""Wishes that keep a regression: all feasible points, the bound, the search."""

import numpy as np
import pytest
from conftest import require_solver
from joint_instances import (
    assert_rises_along_its_gradient,
    beside,
    circle,
    instance,
    of_model,
    rotation,
    rows_missed,
    standardised,
)

from aggopt.algorithms.stiefel.bound import (
    Dual,
    Tangents,
    fit_multipliers,
    improve_tangents,
    prove_joint_bound,
)
from aggopt.algorithms.stiefel.cost import Cost, build_cost
from aggopt.algorithms.stiefel.manifold import Manifold, Rooms
from aggopt.algorithms.stiefel.run import search_by_annealing
from aggopt.core.deadline import Deadline
from aggopt.models import p3m_joint, p3m_onesided_joint, satisfaction_joint
from aggopt.models.shared.joint import find_nearest_matrix
from aggopt.solvers import SOLVERS, Status
from aggopt.solvers.certificate import Answer
from aggopt.solvers.run_solver import run_here

seeds = pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
KINDS = [p3m_joint, p3m_onesided_joint, satisfaction_joint]


def solved(kind, data, name: str = "stiefel", **options) -> Answer:
    return run_here(kind.MODEL, data, SOLVERS[name], data.means, None, options)


def value(kind, data, c: np.ndarray) -> float:
    return kind.objective(data, kind.point(data, c))


@seeds
@pytest.mark.parametrize("kind", KINDS)
def test_four_groups_get_the_best_of_all_points_and_no_bound_is_above(kind, seed):
    data = beside(of_model(kind, instance(seed, n=12, m=4, alpha=0.6)), seed)
    every = list(circle(data, 100))
    assert max(rows_missed(data, c) for c in every[:20]) < 1e-12
    best = min(value(kind, data, c) for c in every)
    found = solved(kind, data)
    assert value(kind, data, found.reading) <= best + 1e-9
    assert found.bound <= best
    assert rows_missed(data, found.reading) < 1e-9
    tangents, _ = improve_tangents(data, build_cost(data), data.means, Deadline(None))
    assert prove_joint_bound(data, tangents) <= best


@seeds
def test_any_tangents_prove_a_bound(seed):
    data = beside(instance(seed, n=12, m=4, alpha=0.6), seed)
    best = min(value(p3m_joint, data, c) for c in circle(data, 200))
    rng = np.random.default_rng(seed)
    for size in (0.0, 0.1, 1.0, 10.0):
        T, p = rng.normal(size=(2, 2)) * size, rng.normal(size=(4, 2))
        y = Tangents(rng.normal(size=2), rng.normal(size=(2, 2)), T, p)
        assert prove_joint_bound(data, y) <= best
        everywhere, *_ = Dual(data, Cost.of(data), data.means, 1e-9).at(y)  # no box
        assert everywhere <= prove_joint_bound(data, y) + 1e-6 * abs(everywhere)


@seeds
def test_multipliers_of_its_rows_prove_more(seed):
    plain = instance(seed, n=60, d=3, m=12, alpha=0.6)
    data, cost = beside(plain, seed), Cost.of(plain)
    none, more = (
        prove_joint_bound(
            own, improve_tangents(own, cost, own.means, Deadline(None))[0]
        )
        for own in (plain, data)
    )
    assert more > none
    assert more <= value(p3m_joint, data, solved(p3m_joint, data, rounds=1).reading)
    begun = fit_multipliers(data, cost, data.means)
    flat = Dual(data, cost, data.means, 0.1).pack_vector(begun)
    assert len(flat) == 3 + 6 + 9 + 36


@seeds
def test_the_bound_rises_along_its_gradient(seed):
    data = beside(instance(seed, m=5), seed)
    rng = np.random.default_rng(seed)
    dual = Dual(data, Cost.of(data), data.means, 0.1)
    flat = rng.normal(size=2 + 4 + 4 + 10)
    assert_rises_along_its_gradient(dual, flat)


@seeds
def test_the_nearest_point_keeps_the_rows_and_tangents_do(seed):
    data = beside(instance(seed, d=3, m=7), seed)
    space, rng = Manifold(data), np.random.default_rng(seed)
    far = rng.normal(size=(7, 3))
    A = space.nearest(far)
    assert rows_missed(data, A / space.weight) < 1e-12
    assert find_nearest_matrix(data, far) == pytest.approx(A, abs=1e-12)
    closest = np.sum((A - far) ** 2)
    for _ in range(50):
        other = space.weight * rotation(data, rng)
        assert np.sum((other - far) ** 2) >= closest
    G = rng.normal(size=(7, 3))
    free, other = (space.tangent(A, own) for own in (G, rng.normal(size=(7, 3))))
    for h in (1e-4, 1e-5):  # a step along a tangent leaves by its square alone
        assert rows_missed(data, (A + h * free) / space.weight) < 20 * h**2
    assert np.sum((G - free) * other) == pytest.approx(0, abs=1e-12)


@seeds
def test_centroids_keep_the_rows_in_their_rooms(seed):
    data = beside(instance(seed, n=40, d=3, m=12), seed)
    rng = np.random.default_rng(seed)
    c = rotation(data, rng)
    below, above = rng.exponential(size=(2, 12, 3))
    space = Rooms(data, c - below, c + above)
    A = space.nearest(space.weight * c + 0.1 * rng.normal(size=(12, 3)))
    assert rows_missed(data, A / space.weight) < 1e-9
    free = space.tangent(A, rng.normal(size=(12, 3)))
    assert A.T @ free + free.T @ A == pytest.approx(np.zeros((3, 3)), abs=1e-9)
    assert data.free.apart.T @ free == pytest.approx(np.zeros((2, 3)), abs=1e-9)


@pytest.mark.parametrize("kind", KINDS[:2])
def test_under_a_growing_penalty_the_rows_are_all_but_kept(kind):
    data = beside(of_model(kind, instance(2, n=60, d=3, m=12, alpha=0.9)), 2)
    none = np.zeros((3, 3)), np.zeros((2, 3))
    rng, clock = np.random.default_rng(2), Deadline(None)
    c = search_by_annealing(
        build_cost(data), Manifold(data), data.means, none, 400, rng, clock
    )
    assert c.shape == data.means.shape
    assert rows_missed(data, c) < 1e-2


@pytest.mark.parametrize("name", ["ipopt", "pounce"])
def test_interior_points_have_the_rows_and_find_no_less(name):
    require_solver(name)
    data = beside(instance(2, n=60, d=3, m=12), 2)
    own, other = solved(p3m_joint, data), solved(p3m_joint, data, name)
    assert other.status is Status.LOCAL
    assert rows_missed(data, other.reading) < 1e-6
    found = value(p3m_joint, data, other.reading)
    assert value(p3m_joint, data, own.reading) <= found * 1.001
    assert own.bound <= found


def test_without_alpha_it_is_the_nearest_to_the_means():
    data = beside(instance(1, m=5, alpha=0.0), 1)
    found = solved(p3m_joint, data)
    assert found.status is Status.OPTIMAL
    assert found.reading == pytest.approx(data.renormalised)
    assert rows_missed(data, found.reading) < 1e-12
    assert found.bound == pytest.approx(value(p3m_joint, data, found.reading))


@pytest.mark.parametrize("kind", KINDS)
def test_a_response_that_determines_an_attribute_leaves_it_where_it_is(kind):
    rng = np.random.default_rng(3)
    of_groups = np.repeat(rng.normal(size=6), 3)
    Z = standardised(np.column_stack([of_groups, rng.normal(size=18)]))
    same = np.full((18, 2), 0.4)
    for d in (1, 2):
        few = Z[:, :d].copy(), np.arange(18) // 3, same[:, :d], same[:, :d]
        data = kind.Data(*few, 0.5, y=Z[:, 0])
        found = solved(kind, data, rounds=1)
        assert found.reading[:, 0] == pytest.approx(data.means[:, 0], abs=1e-6)
        assert rows_missed(data, found.reading) < 1e-7
        assert found.bound <= value(kind, data, found.reading)
