"""Solver `stiefel` where costs are piecewise: one-sided P3M and satisfaction."""

import numpy as np
import pytest
from conftest import require_solver
from joint_instances import circle, instance, of_model, rotation

from aggopt.algorithms.stiefel.bound import (
    Dual,
    Tangents,
    improve_tangents,
    prove_joint_bound,
)
from aggopt.algorithms.stiefel.cost import PieceCost
from aggopt.algorithms.stiefel.manifold import Manifold
from aggopt.algorithms.stiefel.run import search_by_annealing
from aggopt.core.deadline import Deadline
from aggopt.models import p3m_onesided_joint, satisfaction_joint
from aggopt.solvers import SOLVERS, Status, solve
from aggopt.solvers.run_solver import run_here

KINDS = [p3m_onesided_joint, satisfaction_joint]
kinds = pytest.mark.parametrize("kind", KINDS, ids=["onesided", "satisfaction"])
SLOW = [pytest.param(seed, marks=pytest.mark.slow) for seed in (2, 3)]
seeds = pytest.mark.parametrize("seed", [0, 1, *SLOW])


def solved(kind, data, **options):
    given = kind.MODEL, data, SOLVERS["stiefel"], data.means, None, options
    return run_here(*given)


def cost_of(kind, data, c):
    return kind.objective(data, kind.point(data, c))


@kinds
@seeds
def test_three_groups_get_the_best_of_all_points_and_no_bound_is_above(kind, seed):
    data = of_model(kind, instance(seed, n=12, m=3, alpha=0.7))
    best = min(cost_of(kind, data, c) for c in circle(data, 400))
    found = solved(kind, data, rounds=4)
    assert cost_of(kind, data, found.reading) <= best + 1e-9
    assert found.bound <= best
    assert kind.MODEL.violation(data, kind.point(data, found.reading)) < 1e-9
    rng = np.random.default_rng(seed)
    for size in (0.0, 0.1, 1.0):
        T, p = rng.normal(size=(2, 2)) * size, rng.normal(size=(3, 2))
        y = Tangents(rng.normal(size=2), rng.normal(size=(1, 2)), T, p)
        assert prove_joint_bound(data, y) <= best


@kinds
@seeds
def test_no_bound_is_above_a_point_of_three_attributes(kind, seed):
    data = of_model(kind, instance(seed, n=12, d=3, m=4, alpha=0.8))
    rng = np.random.default_rng(seed)
    best = min(cost_of(kind, data, rotation(data, rng)) for _ in range(200))
    tangents, _ = improve_tangents(data, PieceCost.of(data), data.means, Deadline(None))
    assert prove_joint_bound(data, tangents) <= best


def test_a_global_solver_finds_no_less_and_no_bound_is_above_it():
    require_solver("pyomo:scip")
    data = satisfaction_joint.example()
    problem = satisfaction_joint.build(data, "pyomo", start=data.means)
    other = solve(problem, "pyomo:scip")
    found = solved(satisfaction_joint, data)
    assert found.status is Status.OPTIMAL
    value = cost_of(satisfaction_joint, data, found.reading)
    assert value == pytest.approx(other.bound, abs=1e-5)
    assert found.bound <= value


@kinds
@seeds
def test_pieces_cost_what_the_model_says_and_slope_as_they_rise(kind, seed):
    data = of_model(kind, instance(seed, n=30, d=3, m=6, alpha=0.6))
    cost, c = PieceCost.of(data), rotation(data, np.random.default_rng(seed))
    assert cost.value(c) == pytest.approx(cost_of(kind, data, c))
    for j, a in np.ndindex(c.shape):
        step = np.zeros(c.shape)
        step[j, a] = 1e-6
        up, down = cost.slope(c + step)[j, a], cost.slope(c - step)[j, a]
        rise = (cost.value(c + step) - cost.value(c - step)) / 2e-6
        assert rise == pytest.approx(cost.slope(c)[j, a], rel=1e-4, abs=1e-5)
        assert (up - down) / 2e-6 == pytest.approx(cost.curvature(c)[j, a], rel=1e-3)


@kinds
@seeds
def test_the_bound_rises_along_its_gradient(kind, seed):
    data = of_model(kind, instance(seed, d=2, m=5))
    rng = np.random.default_rng(seed)
    dual = Dual(data, PieceCost.of(data), data.means, 0.1)
    flat = rng.normal(size=2 + 2 + 4 + 10)
    value, slope = dual(flat)
    assert -value <= prove_joint_bound(data, dual.unpack_vector(flat)) + 1e-9 * abs(
        value
    )
    for i in range(len(flat)):
        step = np.zeros(len(flat))
        step[i] = 1e-6
        change = (dual(flat + step)[0] - dual(flat - step)[0]) / 2e-6
        assert change == pytest.approx(slope[i], rel=1e-3, abs=1e-3)


def test_rooms_end_where_a_count_changes_and_where_demands_bar():
    data = of_model(satisfaction_joint, instance(0, n=12, d=2, m=3), 1.0)
    cost, c = PieceCost.of(data), data.renormalised
    low, high = cost.rooms(c)
    assert (low <= c).all()
    assert (c <= high).all()
    for end, out in ((low, -1e-6), (high, 1e-6)):
        for j, a in zip(*np.nonzero(np.isfinite(end)), strict=True):
            there = c.copy()
            there[j, a] = end[j, a] + out
            inside = c.copy()
            inside[j, a] = end[j, a] - out
            shift = 2 * len(data.Z) * abs(out) * 10  # what the way itself costs
            assert cost.value(there) - cost.value(inside) != pytest.approx(0, abs=shift)
    plain = instance(0, n=12, d=2, m=3)
    endless = PieceCost.of(of_model(p3m_onesided_joint, plain)).rooms(c)
    assert np.isinf(endless).all()


@kinds
def test_under_a_growing_penalty_mean_and_covariance_are_all_but_kept(kind):
    data = of_model(kind, instance(2, n=60, d=3, m=12, alpha=0.9))
    cost, space = PieceCost.of(data), Manifold(data)
    rng, none = np.random.default_rng(2), (np.zeros((3, 3)), np.zeros((1, 3)))
    c = search_by_annealing(cost, space, data.means, none, 400, rng, Deadline(None))
    off = c.T @ (data.sizes[:, None] * c) - data.covariance
    assert abs(off).max() < 1e-2 * len(data.Z)
    assert cost.value(c) == pytest.approx(cost_of(kind, data, c))


@seeds
def test_hard_wishes_are_kept_at_least(seed):
    plain = instance(seed, n=40, d=2, m=10)
    importance = plain.importance.copy()
    rng = np.random.default_rng(seed)
    importance[rng.random((40, 2)) < 0.3] = 1.0
    asked = plain.Z, plain.labels, 0.4 * plain.delta, importance, 0.5
    data = p3m_onesided_joint.Data(*asked)
    found = solved(p3m_onesided_joint, data, rounds=2)
    assert found.reading is not None
    point = p3m_onesided_joint.point(data, found.reading)
    assert p3m_onesided_joint.MODEL.violation(data, point) < 1e-8
    away = abs(found.reading[data.labels] - data.Z)
    assert (away >= data.delta - 1e-8)[data.hard].all()
    assert found.bound <= p3m_onesided_joint.objective(data, point)


def test_without_wishes_it_is_the_nearest_to_the_means():
    data = of_model(p3m_onesided_joint, instance(1), 0.0)
    found = solved(p3m_onesided_joint, data)
    assert found.status is Status.OPTIMAL
    assert found.reading == pytest.approx(data.renormalised)
