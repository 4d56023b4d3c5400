"""Means that keep a regression: the rows, the closed form beside them, its bound."""

import numpy as np
import pyomo.environ as pyo
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from refusals import refused
from scipy.optimize import minimize

from aggopt.errors import InfeasibleInputError
from aggopt.models import covariance_mean as model
from aggopt.solvers import SOLVERS
from aggopt.solvers.run_solver import run_here

seeds = pytest.mark.parametrize("seed", range(5))


def standardised(X: np.ndarray) -> np.ndarray:
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    return (Z - Z.mean(axis=0)) / Z.std(axis=0)


def instance(seed: int, n: int = 24, d: int = 2, m: int = 7) -> model.Data:
    """Return records, groups, and a response of which these explain a little."""
    rng = np.random.default_rng(seed)
    Z = standardised(rng.normal(size=(n, d)) ** 3)
    labels = np.argsort(np.argsort(Z[:, 0] + rng.normal(size=n))) * m // n
    noise = rng.normal(size=m)[labels] + 0.3 * rng.normal(size=n)
    return model.Data(Z, labels, y=standardised(0.4 * Z[:, 0] + noise))


def solved(data: model.Data) -> tuple[np.ndarray, float]:
    found = run_here(model.MODEL, data, SOLVERS["procrustes"], None, None, None)
    return found.reading, found.bound


def coefficients(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.linalg.lstsq(np.c_[np.ones(len(X)), X], y, rcond=None)[0]


def by_hand(data: model.Data, c: np.ndarray) -> np.ndarray:
    """Return by how much the rows of mean, covariance and response are missed."""
    x = c[data.labels]
    rows = [x.sum(axis=0), (x.T @ x - data.Z.T @ data.Z).ravel()]
    return np.concatenate([*rows, x.T @ data.y - data.Z.T @ data.y])


@seeds
def test_the_regression_is_that_of_the_originals_and_the_bound_is_the_value(seed):
    data = instance(seed)
    c, bound = solved(data)
    published = c[data.labels]
    kept = coefficients(published, data.y)
    assert kept == pytest.approx(coefficients(data.Z, data.y), abs=1e-12)
    assert abs(by_hand(data, c)).max() < 1e-12
    assert model.MODEL.violation(data, model.point(data, c)) < 1e-14
    cost = model.objective(data, model.point(data, c))
    assert bound <= cost
    assert bound == pytest.approx(cost, rel=1e-10)
    without = model.Data(data.Z, data.labels)
    assert cost >= solved(without)[1]
    plain = solved(without)[0]
    missed = abs(by_hand(data, plain)).max() / len(data.Z)
    at = model.point(data, plain)
    assert model.MODEL.violation(data, at) == pytest.approx(missed)


@seeds
def test_no_local_search_finds_less(seed):
    data = instance(seed, n=12, m=5)
    _, bound = solved(data)
    rng, sizes = np.random.default_rng(seed), data.sizes[:, None]

    def cost(flat: np.ndarray) -> float:
        return float((sizes * (flat.reshape(5, 2) - data.means) ** 2).sum())

    def missed(flat: np.ndarray) -> np.ndarray:  # one covariance is there twice
        return np.delete(by_hand(data, flat.reshape(5, 2)), 4)

    rows = {"type": "eq", "fun": missed}
    tried = [
        minimize(cost, rng.normal(size=10), constraints=rows, method="SLSQP")
        for _ in range(6)
    ]
    found = [t.fun for t in tried if t.success]
    assert min(found) == pytest.approx(bound, rel=1e-4)


@seeds
def test_any_multipliers_prove_a_bound(seed):
    data = instance(seed)
    c, bound = solved(data)
    cost = model.objective(data, model.point(data, c))
    rng = np.random.default_rng(seed)
    for _ in range(20):
        assert model.proven(data, rng.normal(size=(2, 2))) <= cost
    assert model.proven(data, model.compute_multipliers(data, c)) == pytest.approx(
        bound
    )


@given(st.integers(0, 10_000))
def test_it_is_refused_where_the_attributes_explain_more_than_groups_have(seed):
    rng = np.random.default_rng(seed)
    Z = standardised(rng.normal(size=(20, 2)))
    labels = rng.permutation(np.arange(20) // 4)
    y = standardised(Z @ rng.normal(size=2) + 3 * rng.normal(size=20))
    share = 1 - (y - Z @ np.linalg.lstsq(Z, y, rcond=None)[0]).var()
    means = np.bincount(labels, y) / 4
    assume(abs(means.var() - share) > 1e-6)
    if share > means.var():
        said = rf"^{1 - means.var():.1%} of the resp.* for the {share:.1%} that the"
        with pytest.raises(InfeasibleInputError, match=said):
            model.Data(Z, labels, y=y)
        return
    data = model.Data(Z, labels, y=y)
    assert abs(by_hand(data, solved(data)[0])).max() < 1e-10


def test_a_response_that_groups_determine_leaves_its_own_attribute_alone():
    rng = np.random.default_rng(3)
    of_groups = np.repeat(rng.normal(size=8), 3)
    Z = standardised(np.column_stack([of_groups, rng.normal(size=24)]))
    labels = np.arange(24) // 3
    data = model.Data(Z, labels, y=Z[:, 0])
    c, bound = solved(data)
    assert c[:, 0] == pytest.approx(data.means[:, 0], abs=1e-7)
    assert abs(by_hand(data, c)).max() < 1e-6
    assert bound == pytest.approx(model.objective(data, model.point(data, c)), rel=1e-6)


def test_a_response_without_differences_between_groups_changes_nothing():
    rng = np.random.default_rng(4)
    Z = standardised(np.repeat(rng.normal(size=(12, 2)), 2, axis=0))
    labels = np.arange(24) // 4
    y = np.tile([1.0, -1.0], 12)
    plain = solved(model.Data(Z, labels))
    found = solved(model.Data(Z, labels, y=y))
    assert found[0] == pytest.approx(plain[0])
    assert found[1] == plain[1]


def test_attributes_that_determine_each_other_count_once():
    data = instance(1)
    twice = standardised(np.column_stack([data.Z, data.Z @ [1, 2]]))
    more = model.Data(twice, data.labels, y=data.y)
    assert len(more.root) == 2
    assert abs(by_hand(more, solved(more)[0])).max() < 1e-11


def test_one_group_more_is_needed_than_without_a_response():
    rng = np.random.default_rng(5)
    Z = standardised(rng.normal(size=(24, 2)))
    y = standardised(np.repeat(rng.normal(size=8), 3) + 0.01 * rng.normal(size=24))
    with refused(InfeasibleInputError):
        model.Data(Z, np.arange(24) // 8, y=y)
    data = model.Data(Z, np.arange(24) // 6, y=y)
    assert abs(by_hand(data, solved(data)[0])).max() < 1e-11


def test_both_languages_have_the_rows():
    data = instance(2)
    c, _ = solved(data)
    problem = model.build(data, "cvxpy", start=c)
    assert max(row.violation().max() for row in problem.constraints) < 1e-10
    plain = model.Data(data.Z, data.labels).renormalised
    problem = model.build(data, "cvxpy", start=plain)
    assert problem.constraints[-1].violation().max() > 1e-3
    problem = model.build(data, "pyomo", start=plain)
    x = plain[data.labels]
    for a in range(2):
        row = problem.response[a]
        assert pyo.value(row.body) == pytest.approx(x[:, a] @ data.y)
        assert pyo.value(row.upper) == pytest.approx(data.Z[:, a] @ data.y)
