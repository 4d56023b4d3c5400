"""More kept of some attributes than of others, and of a regression on them."""

import os

import numpy as np
import pytest
from refusals import refused

from aggopt import datasets
from aggopt.aggregate import mean, p3m, p3m_onesided, satisfaction
from aggopt.errors import InfeasibleInputError, JobError, TableError, UnknownNameError
from aggopt.partition import mdav

rng = np.random.default_rng(6)
X = rng.gamma(2.0, size=(40, 4)) @ rng.normal(size=(4, 4)) * [1.0, 500.0, 1e-3, 1.0]
LABELS = rng.permutation(np.arange(40) // 5)
APART = {"covariance": [2, 0], "variance": [1], "mean": [3]}


def test_each_part_is_what_it_is_alone():
    masked = mean(X, LABELS, keep=APART)
    alone = mean(X[:, [2, 0]], LABELS, keep="covariance")
    assert masked.centroids[:, [2, 0]] == pytest.approx(alone.centroids, rel=1e-12)
    assert masked.centroids[:, [3]] == pytest.approx(mean(X[:, [3]], LABELS).centroids)
    assert masked.values[:, 1].std() == pytest.approx(X[:, 1].std())
    assert masked.together == ((2, 0), (1,), (3,))
    assert masked.certificates[0].solver == "procrustes"
    assert masked.certificates[0].objective == pytest.approx(
        alone.certificates[0].objective
    )


def test_several_blocks_keep_their_own_covariances_alone():
    masked = mean(X, LABELS, keep={"covariance": [[0, 1], [2, 3]]})
    before, after = np.corrcoef(X.T), np.corrcoef(masked.values.T)
    kept = np.abs(after - before) < 1e-9
    assert kept[0, 1]
    assert kept[2, 3]
    assert not kept[0, 2]
    assert masked.together == ((0, 1), (2, 3))


def test_attributes_with_groups_of_their_own_are_kept_apart():
    own = np.column_stack([LABELS, LABELS, np.arange(40) // 8, np.arange(40) // 4])
    masked = mean(X, own, keep={"covariance": [0, 1], "variance": [2, 3]})
    assert masked.centroids.shape == (10, 4)
    assert np.isnan(masked.centroids[8:, :2]).all()
    assert np.corrcoef(masked.values.T)[0, 1] == pytest.approx(np.corrcoef(X.T)[0, 1])
    with refused(JobError):
        mean(X, own, keep={"covariance": [0, 2], "variance": [1, 3]})


def test_p3m_has_a_program_for_each_part():
    delta, heard = np.array([0.2, 0.4, 0.3]), []
    how = {"alpha": 0.4, "keep": {"covariance": [0, 2], "variance": [1]}}
    masked = p3m(X[:, :3], LABELS, delta=delta, progress=heard.append, **how)
    assert heard == [0.5, 1.0]
    assert masked.together == ((0, 2), (1,))
    one = p3m(X[:, [1]], LABELS, delta=0.4, alpha=0.4)
    assert masked.values[:, [1]] == pytest.approx(one.values)
    both = p3m(X[:, [0, 2]], LABELS, delta=[0.2, 0.3], alpha=0.4, keep="covariance")
    assert masked.values[:, [0, 2]] == pytest.approx(both.values)
    assert [c.solver for c in masked.certificates] == ["stiefel", "lagrangian"]
    start = mean(X[:, :3], LABELS, keep=how["keep"]).centroids
    for begun in (start.tolist(), "renormalised"):
        local = p3m(X[:, :3], LABELS, delta=delta, solver="uno", start=begun, **how)
        assert all(c.status.usable for c in local.certificates)
        assert np.corrcoef(local.values[:, [0, 2]].T)[0, 1] == pytest.approx(
            np.corrcoef(X[:, [0, 2]].T)[0, 1], abs=1e-6
        )


@pytest.mark.parametrize("combine", [p3m_onesided, satisfaction])
def test_its_kin_have_a_program_for_each_part_too(combine):
    keep = {"covariance": [0, 2], "variance": [1]}
    masked = combine(X[:, :3], LABELS, delta=[0.2, 0.4, 0.3], keep=keep)
    assert masked.together == ((0, 2), (1,))
    assert [c.solver for c in masked.certificates] == ["stiefel", "lagrangian"]
    one = combine(X[:, [1]], LABELS, delta=0.4)
    assert masked.values[:, [1]] == pytest.approx(one.values)
    after = np.corrcoef(masked.values.T)[0, 2]
    assert after == pytest.approx(np.corrcoef(X.T)[0, 2], abs=1e-9)


@pytest.mark.parametrize(
    "keep",
    [
        {"covariances": [0, 1, 2, 3]},
        {"nothing": [0, 1, 2, 3]},
        {"covariance": [0, 1], "variance": [2]},
        {"covariance": [0, 1, 2], "variance": [2, 3]},
        {"covariance": [[0, 1], [1, 2, 3]]},
        {"variance": [0, 1, 2, 4]},
        {"variance": [0, 1, 2, -1]},
        {"variance": ["a", 1, 2, 3]},
        {},
    ],
)
def test_tables_that_cannot_be_used_are_refused(keep):
    for aggregate in (mean, p3m):
        with refused((JobError, UnknownNameError)):
            aggregate(X, LABELS, keep=keep)


def test_a_start_of_another_shape_is_refused():
    keep = {"covariance": [0, 1], "variance": [2, 3]}
    for start in (np.zeros((8, 3)), np.zeros(4)):
        with refused(JobError, "start has shape"):
            p3m(X, LABELS, keep=keep, solver="uno", start=start)


def test_p3m_keeps_no_mean_alone():
    with refused(JobError, "needs both"):
        p3m(X, LABELS, keep={"mean": [0, 1], "variance": [2, 3]})


def coefficients(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.linalg.lstsq(np.c_[np.ones(len(X)), X], y, rcond=None)[0]


@pytest.mark.skipif(
    "AGGOPT_DATA" not in os.environ,
    reason="no reference data: set AGGOPT_DATA to the folder that holds them",
)
@pytest.mark.parametrize("k", [3, 10])
def test_regressions_on_real_attributes_are_those_of_the_originals(k):
    table = datasets.census().to_numpy(float)
    y, A = table[:, 0], table[:, [2, 5, 7]]
    labels = mdav(A, k).labels
    masked = mean(A, labels, keep={"regression": [0, 1, 2]}, response=y)
    kept, own = coefficients(masked.values, y), coefficients(A, y)
    assert kept == pytest.approx(own, rel=1e-7)
    plain = coefficients(mean(A, labels, keep="covariance").values, y)
    assert plain != pytest.approx(own, rel=1e-3)
    assert masked.certificates[0].status.value == "optimal"
    rows = np.cov(masked.values.T), np.cov(A.T)
    assert rows[0] == pytest.approx(rows[1], rel=1e-9)


def test_regressions_beside_other_parts_and_in_any_units():
    y = 1e6 + 1e3 * rng.normal(size=8)[LABELS] + X[:, 0]
    keep = {"regression": [0, 2], "variance": [1], "mean": [3]}
    masked = mean(X, LABELS, keep=keep, response=y)
    kept = coefficients(masked.values[:, [0, 2]], y)
    assert kept == pytest.approx(coefficients(X[:, [0, 2]], y), rel=1e-6)
    assert masked.together == ((0, 2), (1,), (3,))


@pytest.mark.parametrize("combine", [p3m, p3m_onesided, satisfaction])
def test_wishes_keep_the_regression_of_the_originals(combine):
    y = 1e3 * rng.normal(size=8)[LABELS] + 50 * X[:, 0] / X[:, 0].std()
    delta = np.array([0.4, 0.2, 0.3])
    keep = {"variance": [1], "regression": [0, 2]}
    masked = combine(X[:, :3], LABELS, delta=delta, keep=keep, response=y)
    few = X[:, [0, 2]] / X[:, [0, 2]].std(axis=0)
    kept = coefficients(masked.values[:, [0, 2]] / X[:, [0, 2]].std(axis=0), y)
    assert kept == pytest.approx(coefficients(few, y), rel=1e-9)
    assert masked.together == ((1,), (0, 2))
    assert [c.solver for c in masked.certificates] == ["lagrangian", "stiefel"]
    proof = masked.certificates[1]
    assert proof.violation < 1e-9
    assert proof.bound <= proof.objective
    less = combine(X[:, [0, 2]], LABELS, delta=delta[[0, 2]], keep="covariance")
    assert proof.objective >= less.certificates[0].bound
    plain = coefficients(less.values / X[:, [0, 2]].std(axis=0), y)
    assert plain != pytest.approx(coefficients(few, y), rel=1e-3)


@pytest.mark.parametrize(
    ("keep", "response"),
    [
        ("variance", X[:, 0]),
        ({"regression": [0, 1, 2, 3]}, None),
        ({"variance": [0, 1, 2, 3]}, X[:, 0]),
        ({"regression": [0, 1, 2, 3]}, X[1:, 0]),
        ({"regression": [0, 1, 2, 3]}, np.ones(40)),
    ],
)
def test_responses_that_cannot_be_used_are_refused(keep, response):
    for aggregate in (mean, p3m):
        with refused(JobError):
            aggregate(X, LABELS, keep=keep, response=response)


def test_a_response_with_holes_or_lost_in_groups_is_refused():
    keep = {"regression": [0, 1, 2, 3]}
    with refused(TableError, "response has missing"):
        mean(X, LABELS, keep=keep, response=np.where(LABELS > 0, 1.0, np.nan))
    with refused(InfeasibleInputError, "lie within groups"):
        mean(X, LABELS, keep=keep, response=X @ [1.0, 0.002, 1e3, 1.0])
