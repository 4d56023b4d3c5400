"""Values in place of missing ones, to group records by."""

import numpy as np
import pytest
from drawn import examples
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused

import aggopt
from aggopt.core.standardise import Scale
from aggopt.errors import JobError, TableError
from aggopt.missing import NEAR, imputed

NAN = float("nan")


def table(n=60, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2)) @ rng.normal(size=(2, d)) + rng.normal(50, 0.1, (n, d))
    return X


def test_a_lone_hole_is_the_mean_of_the_nearest_that_have_a_value():
    X = table()
    X[7, 2] = NAN
    others = np.delete(np.arange(60), 7)
    Z = Scale.of(X[:, [0, 1, 3]]).standardise(X[:, [0, 1, 3]])
    away = ((Z[others] - Z[7]) ** 2).sum(axis=1)
    near = others[np.argsort(away)[:NEAR]]
    found = imputed(X)
    assert found[7, 2] == pytest.approx(X[near, 2].mean())
    np.testing.assert_array_equal(found[others], X[others])


@examples(15)
@given(st.integers(0, 10**6), st.floats(0.5, 100), st.floats(-1e3, 1e3))
def test_units_and_the_order_of_records_and_attributes_do_not_matter(seed, unit, zero):
    X = table(30, 3, seed % 1000)
    rng = np.random.default_rng(seed)
    rows = rng.random(30) < 0.4  # of others no two are alike
    X[rows, rng.integers(0, 3, 30)[rows]] = NAN
    first = imputed(X)
    assert not np.isnan(first).any()
    np.testing.assert_allclose(imputed(X * unit + zero), first * unit + zero, rtol=1e-6)
    order, turned = rng.permutation(30), [2, 0, 1]
    np.testing.assert_allclose(imputed(X[order]), first[order], rtol=1e-6)
    np.testing.assert_allclose(imputed(X[:, turned]), first[:, turned], rtol=1e-6)


def test_a_relation_between_attributes_is_used_better_than_means_do():
    X = table(400, 12)
    holes = np.random.default_rng(1).random(X.shape) < 0.1
    lacking = np.where(holes, NAN, X)
    off = np.abs(imputed(lacking) - X)[holes].mean()
    by_means = np.abs(np.nanmean(lacking, axis=0) - X)[holes].mean()
    assert off < by_means / 2


def test_the_seed_decides_among_records_that_are_equally_near():
    X = np.column_stack([np.zeros(40), np.arange(40.0)])
    X[3, 1] = NAN
    assert imputed(X, seed=1)[3, 1] == imputed(X, seed=1)[3, 1]
    assert len({imputed(X, seed=s)[3, 1] for s in range(5)}) > 1


def test_few_records_and_single_and_constant_attributes():
    assert imputed([[1.0], [3.0], [NAN]]).ravel().tolist() == [1.0, 3.0, 2.0]
    assert imputed([[5.0, 1.0], [5.0, 2.0], [NAN, 3.0]])[2, 0] == 5.0
    assert imputed([[NAN, 1.0], [4.0, NAN]]).tolist() == [[4.0, 1.0], [4.0, 1.0]]
    whole = table(5)
    np.testing.assert_array_equal(imputed(whole), whole)


def test_refused():
    with refused(TableError):
        imputed([[NAN, 1.0], [NAN, 2.0]])
    with refused(JobError, "seed = -1"):
        aggopt.missing.imputed([[1.0]], seed=-1)
