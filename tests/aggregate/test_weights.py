"""Sampling weights in aggregations: as replicated records, of any scale."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from drawn import examples
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused
from shift_instances import MODELS

from aggopt.aggregate import mean, median, p3m, p3m_onesided, satisfaction
from aggopt.algorithms.lagrangian.piecewise_quartics import build_separable_program
from aggopt.algorithms.lagrangian.solve import solve_separable
from aggopt.core.record_weights import check_weights, scale_to_mean_one
from aggopt.core.standardise import Scale
from aggopt.errors import TableError
from aggopt.models import p3m as model
from aggopt.solvers import Status

SHIFTING = (p3m, p3m_onesided, satisfaction)
rng = np.random.default_rng(0)
X = rng.gamma(2.0, size=(40, 2)) * [1.0, 1e4]
LABELS = np.argsort(np.argsort(X[:, 0])) // 4
WEIGHTS = np.exp(rng.normal(size=40))
TIMES = rng.integers(1, 6, 40)  # whole weights: as many records as each stands for

# without a wish P3M has none that counts once where records count often
OF_REPLICATES = {
    "mean": mean,
    "median": median,
    "variance": partial(mean, keep="variance"),
    "within": partial(mean, keep="variance", lower=[0.05, 0.0]),
    "p3m": partial(p3m, alpha=0.0),
    "covariance": partial(mean, keep="covariance"),
    "regression": partial(mean, keep={"regression": [1], "mean": [0]}),
}


def beside(combine, X):
    """Return the response of a regression: the first attribute."""
    keep = getattr(combine, "keywords", {}).get("keep")
    return {"response": X[:, 0]} if isinstance(keep, dict) else {}


@pytest.mark.parametrize("combine", OF_REPLICATES.values(), ids=OF_REPLICATES)
def test_whole_weights_are_replicated_records(combine) -> None:
    one = combine(X, LABELS, weights=TIMES, **beside(combine, X))
    whole = np.repeat(X, TIMES, axis=0)
    many = combine(whole, np.repeat(LABELS, TIMES), **beside(combine, whole))
    assert one.centroids == pytest.approx(many.centroids, rel=1e-7, abs=1e-9)
    for own, other in zip(one.certificates, many.certificates, strict=True):
        assert own.objective * TIMES.mean() == pytest.approx(other.objective, rel=1e-7)


@pytest.mark.parametrize(
    "combine", [*OF_REPLICATES.values(), p3m], ids=[*OF_REPLICATES, "wishes"]
)
def test_the_scale_of_weights_does_not_matter(combine) -> None:
    combine = partial(combine, **beside(combine, X))
    one = combine(X, LABELS, weights=WEIGHTS)
    other = combine(X, LABELS, weights=WEIGHTS * 1024)
    assert (one.centroids == other.centroids).all()
    alike = combine(X, LABELS, weights=np.full(40, 3.0))
    assert (alike.centroids == combine(X, LABELS).centroids).all()


def test_the_order_of_records_does_not_matter() -> None:
    order = rng.permutation(40)
    for combine in (mean, median, partial(mean, keep="variance")):
        one = combine(X, LABELS, weights=WEIGHTS).values[order]
        other = combine(X[order], LABELS[order], weights=WEIGHTS[order]).values
        assert one == pytest.approx(other, rel=1e-12)


@pytest.mark.parametrize("combine", SHIFTING)
def test_weighted_mean_and_variance_are_kept_with_a_bound(combine) -> None:
    made = combine(X, LABELS, delta=0.3, weights=WEIGHTS, lower=0.0)
    for before, after in zip(X.T, made.values.T, strict=True):
        assert np.average(after, weights=WEIGHTS) == pytest.approx(
            np.average(before, weights=WEIGHTS), rel=1e-9
        )
        assert np.cov(after, aweights=WEIGHTS) == pytest.approx(
            np.cov(before, aweights=WEIGHTS), rel=1e-9
        )
    assert made.centroids.min() >= 0
    for proof in made.certificates:
        assert proof.status in (Status.OPTIMAL, Status.LIMIT)
        assert proof.bound <= proof.objective


def test_weighted_means_are_those_by_hand() -> None:
    by_hand = [
        np.average(X[g == LABELS], axis=0, weights=WEIGHTS[g == LABELS])
        for g in range(10)
    ]
    made = mean(X, LABELS, weights=WEIGHTS)
    assert made.centroids == pytest.approx(np.array(by_hand))
    spread = np.sqrt(np.cov(X[:, 0], aweights=WEIGHTS, ddof=0))
    away = (made.values[:, 0] - X[:, 0]) / spread
    lost = np.sum(scale_to_mean_one(WEIGHTS) * away**2)
    assert made.certificates[0].objective == pytest.approx(lost)
    apart = mean(X, np.column_stack([LABELS, LABELS]), weights=WEIGHTS)
    assert apart.centroids == pytest.approx(made.centroids)
    table = mean(X, LABELS, keep={"mean": [1], "variance": [0]}, weights=WEIGHTS)
    assert table.centroids[:, 1] == pytest.approx(made.centroids[:, 1])
    assert table.centroids[:, 0] != pytest.approx(made.centroids[:, 0])


@examples(40)
@given(
    st.lists(st.tuples(st.integers(0, 6), st.integers(1, 4)), min_size=1, max_size=8)
)
def test_a_weighted_median_is_that_of_replicated_records(pairs) -> None:
    x, times = np.array(pairs, float).T
    found = median(x[:, None], np.zeros(len(x), int), weights=times).centroids[0, 0]
    assert found == np.median(np.repeat(x, times.astype(int)))


def instance(kind):
    """Return data of a model: twelve records in three groups, with weights."""
    rng = np.random.default_rng(5)
    weights = scale_to_mean_one(np.exp(rng.normal(size=12)))
    x = rng.normal(size=12)[:, None]
    z = Scale.of(x, weights).standardise(x)[:, 0]
    wishes = rng.uniform(0, 1, 12), rng.uniform(0, 0.9, 12), 0.4
    return kind.Data(z, np.arange(12) // 4, *wishes, weights=weights)


@pytest.mark.parametrize("kind", MODELS, ids=lambda kind: kind.MODEL.name)
def test_the_bound_of_a_weighted_program_is_below_all_its_points(kind) -> None:
    data = instance(kind)
    turn = np.linspace(0, 2 * np.pi, 500)
    root = np.sqrt(data.sizes)
    across = np.linalg.svd(root[None])[2][1:]
    unit = np.column_stack([np.cos(turn), np.sin(turn)])
    points = np.sqrt(12) * (unit @ across) / root
    costs = [kind.objective(data, kind.point(data, c)) for c in points]
    found = solve_separable(build_separable_program(data))
    assert found.bound <= min(costs) + 1e-9
    assert found.objective <= min(costs) + 1e-9
    assert kind.MODEL.violation(data, kind.point(data, found.centroids)) <= 1e-9


def test_shifts_are_weighted_and_wishes_are_not() -> None:
    data = instance(model)
    c = data.means + np.array([0.1, -0.2, 0.3])
    at = model.point(data, c)
    W = np.bincount(data.labels, data.weights)
    by_hand = 0.4 * np.sum(at.gamma**2) + 0.6 * W @ np.array([0.01, 0.04, 0.09])
    assert model.objective(data, at) == pytest.approx(by_hand)


@pytest.mark.parametrize(
    "weights",
    [
        [1.0, 2.0],
        [0.0, *WEIGHTS[1:]],
        [-1.0, 0.0, *WEIGHTS[2:]],
        [np.nan, *WEIGHTS[1:]],
        [np.inf, *WEIGHTS[1:]],
        ["a"] * 40,
    ],
)
def test_weights_that_are_none_are_refused(weights) -> None:
    for combine in (mean, median, p3m):
        with refused(TableError):
            combine(X, LABELS, weights=weights)


@pytest.mark.parametrize("lower", [None, [0.05, 0.0]], ids=["free", "within bounds"])
def test_means_keep_the_weighted_covariance(lower) -> None:
    made = mean(X, LABELS, keep="covariance", weights=WEIGHTS, lower=lower)
    assert moments(made.values) == pytest.approx(moments(X), rel=1e-6)
    (proof,) = made.certificates
    spread = np.sqrt(np.diag(moments(X)[2:]))
    lost = scale_to_mean_one(WEIGHTS) @ ((made.values - X) / spread) ** 2
    assert proof.objective == pytest.approx(lost.sum())
    assert proof.bound <= proof.objective + 1e-9


def moments(X):
    """Return weighted sums and covariances of X (n, 2), one below the other."""
    whole = np.cov(X.T, aweights=WEIGHTS, ddof=0)
    return np.vstack([[WEIGHTS @ X] * 2, whole])


def test_a_weighted_regression_is_kept() -> None:
    y = X[:, 0] + rng.normal(size=40)
    keep = {"regression": [0], "mean": [1]}
    made = mean(X, LABELS, keep=keep, response=y, weights=WEIGHTS)
    one, other = (
        np.polyfit(x, y, 1, w=np.sqrt(WEIGHTS)) for x in (X[:, 0], made.values[:, 0])
    )
    assert other == pytest.approx(one, rel=1e-6)


def test_wishes_together_of_one_attribute_are_those_of_it_by_itself() -> None:
    one = p3m(X[:, :1], LABELS, delta=0.3, weights=WEIGHTS)
    other = p3m(X[:, :1], LABELS, delta=0.3, weights=WEIGHTS, keep="covariance")
    (alone,), (joint,) = one.certificates, other.certificates
    assert joint.bound <= alone.objective + 1e-6
    assert joint.objective == pytest.approx(alone.objective, rel=1e-3)
    whole = p3m(X, LABELS, delta=0.3, weights=WEIGHTS, keep="covariance")
    assert moments(whole.values) == pytest.approx(moments(X), rel=1e-6)
    assert whole.certificates[0].bound <= whole.certificates[0].objective


def test_data_of_a_model_refuse_weights_of_another_mean() -> None:
    data = instance(model)
    for wrong in (2 * data.weights, np.where(data.weights > 1, -1.0, 1.0)):
        with refused(TableError):
            replace(data, weights=wrong)
    assert check_weights(None, 3) is None
