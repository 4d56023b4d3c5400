"""Published values within bounds, by every aggregation that moves them."""

from itertools import product

import numpy as np
import pytest
from conftest import require_solver
from drawn import examples
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused

from aggopt.aggregate import mean, p3m, p3m_onesided, satisfaction
from aggopt.errors import InfeasibleInputError, JobError, TableError
from aggopt.pipeline.finish.rounding import round_to_whole_numbers
from aggopt.solvers import Status

SHIFTING = (p3m, p3m_onesided, satisfaction)


def counts(seed: int = 0, n: int = 60) -> np.ndarray:
    """Return counts, most of them 0 and a few large, and an income beside them."""
    rng = np.random.default_rng(seed)
    visits = rng.poisson(1.0, n) * rng.integers(0, 15, n)
    return np.column_stack([visits, rng.gamma(2.0, 1e4, n)]).astype(float)


def labels_of(X: np.ndarray, k: int = 5) -> np.ndarray:
    """Return groups of k records next to each other in the first attribute."""
    order = np.argsort(np.argsort(X[:, 0], kind="stable"), kind="stable")
    return np.minimum(order // k, len(X) // k - 1)


def moments(values: np.ndarray) -> np.ndarray:
    return np.array([values.mean(axis=0), values.std(axis=0)])


@examples(8)
@given(st.integers(0, 10**6), st.sampled_from(SHIFTING), st.floats(0.01, 1.0))
def test_values_stay_within_and_keep_mean_and_variance(seed, combine, delta) -> None:
    X = counts(seed)
    labels = labels_of(X)
    try:
        made = combine(X, labels, delta=delta, lower=0.0)
    except InfeasibleInputError:
        return
    assert made.centroids.min() >= 0.0
    for proof in made.certificates:
        assert proof.status.usable
        assert proof.violation <= 1e-9
        assert proof.bound <= proof.objective
    assert moments(made.values) == pytest.approx(moments(X), rel=1e-9)


def test_a_bound_costs_and_is_proven_of_the_program_that_has_it() -> None:
    X = counts()
    labels = labels_of(X)
    free, within = p3m(X, labels), p3m(X, labels, lower=[0.0, -np.inf])
    assert free.centroids[:, 0].min() < 0 <= within.centroids[:, 0].min()
    assert within.certificates[0].objective > free.certificates[0].objective
    assert within.certificates[0].gap < 1e-6
    assert (within.centroids[:, 1] == free.centroids[:, 1]).all()


def test_bounds_out_of_reach_change_nothing() -> None:
    X = counts()
    labels = labels_of(X)
    for combine, keep in ((p3m, "variance"), (mean, "mean"), (mean, "variance")):
        free = combine(X, labels, keep=keep)
        wide = combine(X, labels, keep=keep, lower=-1e9, upper=[1e9, np.inf])
        assert (free.centroids == wide.centroids).all()


def test_each_attribute_with_groups_of_its_own_has_its_own_bounds() -> None:
    X = counts()
    labels = np.column_stack([labels_of(X), labels_of(X[:, ::-1])])
    for combine in (p3m, mean):
        made = combine(X, labels, keep="variance", lower=[0.0, -np.inf])
        assert np.nanmin(made.centroids[:, 0]) == 0.0
        assert moments(made.values) == pytest.approx(moments(X), rel=1e-9)


def test_stretched_means_that_would_leave_are_the_nearest_within() -> None:
    X = counts()
    labels = labels_of(X)
    free, within = (
        mean(X, labels, keep="variance"),
        mean(X, labels, keep="variance", lower=0.0),
    )
    assert free.centroids[:, 0].min() < 0 <= within.centroids[:, 0].min()
    assert moments(within.values) == pytest.approx(moments(X), rel=1e-9)
    moved, kept = within.certificates
    assert moved.solver == "lagrangian"
    assert moved.status is Status.OPTIMAL
    z = (within.values[:, 0] - X[:, 0]) / X[:, 0].std()
    assert moved.objective == pytest.approx((z**2).sum())
    assert moved.objective > free.certificates[0].objective
    assert kept == free.certificates[1] or kept.objective == pytest.approx(
        free.certificates[1].objective
    )
    assert (within.centroids[:, 1] == free.centroids[:, 1]).all()


def test_a_covariance_is_kept_within_by_a_solver_that_can() -> None:
    require_solver("ipopt")
    X = counts()
    labels = labels_of(X)
    for combine in (mean, p3m):
        made = combine(X, labels, keep="covariance", lower=[0.0, -np.inf])
        (proof,) = made.certificates
        assert made.centroids[:, 0].min() >= 0.0
        assert proof.solver == "ipopt"
        assert 0 < proof.bound <= proof.objective
        assert np.cov(made.values.T) == pytest.approx(np.cov(X.T), rel=1e-6)
    free = mean(X, labels, keep="covariance")
    assert free.centroids[:, 0].min() < 0
    wide = mean(X, labels, keep="covariance", lower=-1e9)
    assert (wide.centroids == free.centroids).all()
    assert wide.certificates[0].solver == "procrustes"


def test_parts_of_a_table_of_keep_have_their_own_bounds() -> None:
    X = np.column_stack([counts(), counts(3)[:, 0]])
    keep = {"variance": [2, 0], "mean": [1]}
    made = mean(X, labels_of(X, 4), keep=keep, lower=[0.0, -np.inf, 0.0])
    assert made.centroids[:, [0, 2]].min() == 0.0
    assert moments(made.values)[:, [0, 2]] == pytest.approx(moments(X)[:, [0, 2]])
    both = {"variance": [2, 0, 1]}
    shifted = p3m(X, labels_of(X, 4), keep=both, lower=[0.0, -np.inf, 0.0])
    assert shifted.centroids[:, [0, 2]].min() >= 0.0


def test_a_regression_is_kept_within_the_bounds() -> None:
    require_solver("ipopt")
    X = counts()
    y = X @ [1.0, 1e-4] + np.random.default_rng(0).normal(size=len(X)) * 40
    keep = {"regression": [0, 1]}
    free = mean(X, labels_of(X), keep=keep, response=y)
    assert free.centroids[:, 0].min() < 0
    made = mean(X, labels_of(X), keep=keep, response=y, lower=[0.0, -np.inf])
    assert made.centroids[:, 0].min() >= 0
    beside = np.cov(np.column_stack([made.values, y]).T)
    assert beside == pytest.approx(np.cov(np.column_stack([X, y]).T), rel=1e-6)


@pytest.mark.parametrize(
    ("ends", "error"),
    [
        ({"lower": 5.0, "upper": 4.0}, JobError),
        ({"lower": [0.0]}, JobError),
        ({"upper": "9"}, JobError),
        ({"upper": [[1], [2, 3]]}, JobError),
        ({"lower": [0, np.nan]}, JobError),
        ({"lower": [1.0, 0.0]}, TableError),
        ({"upper": 30.0}, TableError),
    ],
)
def test_bounds_that_make_no_sense_are_refused(ends, error) -> None:
    X = counts()
    for combine in (p3m, mean):
        with refused(error):
            combine(X, labels_of(X), **ends)


def test_groups_too_few_to_reach_the_variance_are_refused() -> None:
    x = np.array([*[0.0] * 29, 100.0])[:, None]
    with refused(InfeasibleInputError):
        p3m(x, np.repeat([0, 1], 15), lower=0.0)
    with refused(InfeasibleInputError):
        mean(x, np.repeat([0, 1], 15), keep="variance", lower=0.0)
    assert mean(x, np.repeat([0, 1], 15), lower=0.0).centroids.min() == 0


# --- whole numbers


def nearest(c: np.ndarray, sizes: np.ndarray) -> float:
    """Return by how little the weighted sum can be missed by rounding down or up."""
    ends = [sorted({np.floor(v), np.ceil(v)}) for v in c]
    return min(abs(sizes @ (np.array(way) - c)) for way in product(*ends))


@examples(80)
@given(
    st.lists(st.tuples(st.integers(-20, 20), st.integers(1, 6)), min_size=1, max_size=7)
)
def test_whole_numbers_are_next_to_theirs_and_keep_the_sum_near(groups) -> None:
    c = np.array([v / 4 for v, _ in groups])
    sizes = np.array([s for _, s in groups], float)
    whole = round_to_whole_numbers(c, sizes)
    assert (np.abs(whole - c) < 1).all()
    assert (whole == np.rint(whole)).all()
    missed = abs(sizes @ (whole - c))
    assert nearest(c, sizes) - 1e-9 <= missed <= sizes.max() / 2 + 1e-9


def test_exchanges_meet_the_sum_where_sizes_differ() -> None:
    c, sizes = np.array([1.7, 4.5, -0.5]), np.array([5.0, 4.0, 3.0])
    assert round_to_whole_numbers(c, sizes).tolist() == [1.0, 5.0, 0.0]
    assert sizes @ np.array([1.0, 5.0, 0.0]) == sizes @ c
    assert round_to_whole_numbers(np.array([2.0, -3.0]), sizes[:2]).tolist() == [
        2.0,
        -3.0,
    ]
    assert not np.signbit(round_to_whole_numbers(np.array([-0.25]), np.ones(1))).any()
