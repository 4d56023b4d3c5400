"""Means that keep the covariance: the formula, its closed form, its bound."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused
from scipy.optimize import minimize

from aggopt.errors import InfeasibleInputError, TableError
from aggopt.models import covariance_mean as model
from aggopt.models.shared.joint import compute_root, find_nearest_matrix
from aggopt.solvers import SOLVERS
from aggopt.solvers.run_solver import run_here

seeds = pytest.mark.parametrize("seed", range(6))


def standardised(X: np.ndarray) -> np.ndarray:
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    return (Z - Z.mean(axis=0)) / Z.std(axis=0)


def instance(seed: int, n: int = 24, d: int = 3, m: int = 7) -> model.Data:
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.r_[np.arange(m), rng.integers(m, size=n - m)])
    return model.Data(standardised(rng.normal(size=(n, d)) ** 3), labels)


def solved(data: model.Data) -> tuple[np.ndarray, float]:
    found = run_here(model.MODEL, data, SOLVERS["procrustes"], None, None, None)
    return found.reading, found.bound


def by_hand(data: model.Data, c: np.ndarray) -> tuple[float, float]:
    """Objective and largest violation, read off the head of the model's file."""
    n, d = data.Z.shape
    cost, mean, kept = 0.0, np.zeros(d), np.zeros((d, d))
    for j in range(max(data.labels) + 1):
        members = data.Z[data.labels == j]
        cost += len(members) * ((c[j] - members.mean(axis=0)) ** 2).sum()
        mean += len(members) * c[j]
        kept += len(members) * np.outer(c[j], c[j])
    return cost, max(abs(mean).max(), abs(kept - data.Z.T @ data.Z).max()) / n


@seeds
def test_objective_and_violation_say_what_the_docstring_says(seed):
    data = instance(seed)
    c = np.random.default_rng(seed).normal(size=(7, 3))
    cost, worst = by_hand(data, c)
    assert model.objective(data, model.point(data, c)) == pytest.approx(cost)
    assert model.MODEL.violation(data, model.point(data, c)) == pytest.approx(worst)


@seeds
def test_the_closed_form_is_feasible_and_its_bound_is_its_value(seed):
    data = instance(seed)
    c, bound = solved(data)
    cost, worst = by_hand(data, c)
    assert worst < 1e-14
    assert bound <= cost
    assert bound == pytest.approx(cost, rel=1e-10)


@seeds
def test_the_bound_is_the_distance_of_bures_and_wasserstein(seed):
    data = instance(seed)
    values, turned = np.linalg.eigh(data.Z.T @ data.Z)
    half = turned * np.sqrt(values) @ turned.T
    B = np.sqrt(data.sizes)[:, None] * data.means
    inner = np.linalg.eigvalsh(half @ B.T @ B @ half)
    known = values.sum() + (B**2).sum() - 2 * np.sqrt(inner).sum()
    assert solved(data)[1] == pytest.approx(known)


@seeds
def test_no_local_search_finds_less(seed):
    data = instance(seed, n=12, d=2, m=4)
    _, bound = solved(data)
    rng = np.random.default_rng(seed)
    weight = np.sqrt(data.sizes)[:, None]

    def cost(flat: np.ndarray) -> float:
        c = find_nearest_matrix(data, flat.reshape(4, 2)) / weight
        return model.objective(data, model.point(data, c))

    found = [minimize(cost, rng.normal(size=8)).fun for _ in range(5)]
    assert min(found) >= bound - 1e-9
    assert min(found) == pytest.approx(bound, rel=1e-4)


@seeds
def test_any_multipliers_prove_a_bound(seed):
    data = instance(seed)
    c, bound = solved(data)
    cost = model.objective(data, model.point(data, c))
    rng = np.random.default_rng(seed)
    for _ in range(20):
        assert model.proven(data, rng.normal(size=(3, 3))) <= cost
    assert model.proven(data, model.compute_multipliers(data, c)) == pytest.approx(
        bound
    )


def test_one_attribute_is_stretched():
    data = instance(0, d=1)
    c, _ = solved(data)
    away = data.means - data.sizes @ data.means / 24
    spread = np.sqrt(np.average(away[:, 0] ** 2, weights=data.sizes))
    assert c == pytest.approx(away / spread, abs=1e-14)


def test_an_attribute_that_others_determine_stays_determined():
    Z = instance(1).Z
    twice = standardised(np.column_stack([Z, Z[:, 0] + 2 * Z[:, 1]]))
    data = model.Data(twice, instance(1).labels)
    assert data.root.shape == (3, 4)
    c, bound = solved(data)
    assert by_hand(data, c)[1] < 1e-14
    assert c[:, 3] == pytest.approx((c[:, 0] + 2 * c[:, 1]) / Z.dot([1, 2, 0]).std())
    assert bound == pytest.approx(by_hand(data, c)[0], rel=1e-9)


@pytest.mark.parametrize("m", [3, 4, 7])
def test_group_means_that_leave_directions_open_are_completed(m):
    rng = np.random.default_rng(m)
    mirrored = rng.normal(size=(3 * m, 2))
    Z = standardised(np.vstack([mirrored, -mirrored]))
    Z = standardised(np.column_stack([Z, np.repeat([1.0, 2.0, 9.0], 2 * m)]))
    equal = np.tile(np.arange(3 * m) // 3, 2)  # a record and its mirror: means of 0
    if m == 3:  # no more groups than they need to be
        with refused(InfeasibleInputError, "3 group"):
            model.Data(Z, equal)
        return
    data = model.Data(Z[:, :2], equal)
    assert abs(data.means).max() < 1e-12
    c, bound = solved(data)
    cost, worst = by_hand(data, c)
    assert worst < 1e-14
    assert bound == pytest.approx(cost)
    assert cost == pytest.approx(2 * len(Z))


@given(st.integers(0, 10_000), st.sampled_from([1.0, 1e3, 1e6]))
def test_attributes_that_hardly_differ_keep_their_differences(seed, condition):
    rng = np.random.default_rng(seed)
    turned = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    flat = np.linalg.qr(rng.normal(size=(60, 4)))[0] * np.geomspace(1, 1 / condition, 4)
    data = model.Data(standardised(flat @ turned), np.arange(60) // 5)
    c, bound = solved(data)
    _, size, along = np.linalg.svd(data.Z, full_matrices=False)
    A = np.sqrt(data.sizes)[:, None] * c
    assert np.linalg.norm(A @ along.T, axis=0) == pytest.approx(size, rel=1e-9)
    assert bound == pytest.approx(by_hand(data, c)[0], rel=1e-8)


def test_the_root_is_that_of_all_records_whatever_their_number(monkeypatch):
    Z = instance(2, n=500).Z
    whole = compute_root(Z)
    monkeypatch.setattr("aggopt.models.shared.joint.ROWS", 64)
    assert compute_root(Z).T @ compute_root(Z) == pytest.approx(
        whole.T @ whole, abs=1e-9
    )


def test_too_few_groups_and_raw_values_are_refused():
    Z = instance(0).Z
    with refused(InfeasibleInputError):
        model.Data(Z, np.arange(24) // 8)
    with refused(TableError, "not standardised"):
        model.Data(2 * Z, np.arange(24) // 4)
    with refused(TableError, "not standardised"):
        model.Data(Z + 1, np.arange(24) // 4)


def test_a_problem_starts_at_the_means_and_is_read_back():
    data = instance(3)
    for language in model.LANGUAGES:
        problem = model.build(data, language)
        assert model.centroids(problem, data) == pytest.approx(data.means)
    problem.c[0, 0].value = None
    assert model.centroids(problem, data) is None
    assert model.multipliers(problem, data) is None


@seeds
def test_sums_have_the_map_and_the_bound_of_all_records(seed):
    data = instance(seed)
    c, bound = solved(data)
    between = data.means.T @ (data.sizes[:, None] * data.means)
    moments = model.MomentSums(data.covariance, between)
    assert data.means @ moments.find_map() == pytest.approx(c, abs=1e-12)
    assert moments.prove() == pytest.approx(bound, rel=1e-9)
    cost = model.objective(data, model.point(data, c))
    assert moments.prove() <= cost


def test_sums_of_attributes_that_others_determine_have_a_map_too():
    Z = instance(1).Z
    twice = standardised(np.column_stack([Z, Z[:, 0] + 2 * Z[:, 1]]))
    data = model.Data(twice, instance(1).labels)
    c, bound = solved(data)
    between = data.means.T @ (data.sizes[:, None] * data.means)
    moments = model.MomentSums(twice.T @ twice, between)
    assert data.means @ moments.find_map() == pytest.approx(c, abs=1e-9)
    assert moments.prove() == pytest.approx(bound, rel=1e-9)


def test_means_that_lose_a_direction_have_no_map():
    moments = model.MomentSums(np.diag([4.0, 4.0]), np.diag([3.0, 0.0]))
    assert moments.find_map() is None
    assert moments.prove() == pytest.approx(8 + 3 - 2 * np.sqrt(12))
