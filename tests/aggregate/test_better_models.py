"""One-sided P3M and satisfaction, as a user calls them."""

import numpy as np
import pytest
from conftest import require_solver
from refusals import refused
from tables import job, people

import aggopt
from aggopt.aggregate import p3m, p3m_onesided, satisfaction
from aggopt.errors import JobError
from aggopt.measure import il, sl
from aggopt.solvers import SOLVERS, Status

rng = np.random.default_rng(1)
X = rng.gamma(2.0, size=(60, 3)) * [1, 1e-9, 1e9] + [0, 0, 1e9]
LABELS = np.argsort(np.argsort(X[:, 0])) // 3
LOCAL = [
    name
    for name, s in SOLVERS.items()
    if s.fits("p3m_onesided", "NLP") and not s.is_global
]


@pytest.mark.parametrize("combine", [p3m_onesided, satisfaction])
def test_mean_and_variance_are_kept_and_the_bound_is_close(combine):
    masked = combine(X, LABELS, delta=0.3)
    assert masked.values.mean(axis=0) == pytest.approx(X.mean(axis=0), rel=1e-9)
    assert masked.values.std(axis=0) == pytest.approx(X.std(axis=0), rel=1e-9)
    for certificate in masked.certificates:
        assert certificate.status in (Status.OPTIMAL, Status.LIMIT)
        assert (certificate.status is Status.OPTIMAL) == (certificate.gap <= 1e-6)
        assert 0 <= certificate.gap <= 1e-4
        assert certificate.violation < 1e-12


@pytest.mark.parametrize("solver", LOCAL)
def test_a_local_solver_takes_the_one_sided_model_and_does_no_better(solver):
    require_solver(solver)
    wish = {"delta": 0.3, "alpha": 0.9}
    best = p3m_onesided(X, LABELS, **wish).certificates
    local = p3m_onesided(X, LABELS, solver=solver, **wish).certificates
    for one, other in zip(best, local, strict=True):
        assert other.status.usable
        assert other.bound is None
        assert other.objective >= one.bound - 1e-6 * max(1, abs(one.bound))


def test_being_far_enough_away_costs_nothing():
    near = p3m(X, LABELS, delta=0.01, alpha=0.9).certificates
    far = p3m_onesided(X, LABELS, delta=0.01, alpha=0.9).certificates
    assert all(f.objective < n.objective for f, n in zip(far, near, strict=True))


def test_a_demand_is_kept_as_a_least_distance():
    insists = np.full(X.shape, 0.001)
    insists[3] = 1.0
    masked = p3m_onesided(X, LABELS, delta=0.4, importance=insists)
    moved = np.abs(masked.values[3] - X[3]) / X.std(axis=0)
    assert (moved >= 0.4 - 1e-9).all()


@pytest.mark.parametrize("delta", [5e-324, 1e-14, 4e-13])
def test_a_distance_that_rounding_hides_is_none(delta) -> None:
    X = np.random.default_rng(0).normal(size=(60, 1))
    groups = np.argsort(np.argsort(X[:, 0])) // 5
    none, hidden = (
        satisfaction(X, groups, delta=d, time_limit=600).certificates[0]
        for d in (0.0, delta)
    )
    assert hidden.status is none.status is Status.OPTIMAL
    assert hidden.objective == pytest.approx(none.objective)


def test_satisfaction_satisfies_more_at_no_more_loss():
    plain = p3m(X, LABELS).values
    best = max(
        (satisfaction(X, LABELS, price=price).values for price in (1, 3, 10, 30, 100)),
        key=lambda values: sl(X, values) if il(X, values) <= il(X, plain) else -1.0,
    )
    assert il(X, best) <= il(X, plain)
    assert sl(X, best) > sl(X, plain)


def test_the_objective_counts_the_satisfied():
    masked = satisfaction(X[:, :1], LABELS, delta=0.2, price=2.0)
    z = (X[:, 0] - X[:, 0].mean()) / X[:, 0].std()
    released = (masked.values[:, 0] - X[:, 0].mean()) / X[:, 0].std()
    means = np.bincount(LABELS, z) / 3
    moved = ((released - means[LABELS]) ** 2).sum()
    satisfied = (np.abs(released - z) >= 0.2 - 1e-9).sum()
    objective = masked.certificates[0].objective
    assert objective == pytest.approx(2.0 * moved - satisfied)


def test_a_dear_price_leaves_the_renormalised_means():
    masked = satisfaction(X, LABELS, price=1e9)
    stretched = p3m(X, LABELS, alpha=0).values
    assert masked.values == pytest.approx(stretched, rel=1e-4)


@pytest.mark.parametrize("price", [0, -1, float("nan"), float("inf")])
def test_a_price_must_be_positive(price):
    with refused(JobError, "price ="):
        satisfaction(X, LABELS, price=price)


def test_a_local_solver_that_cannot_count_is_refused():
    with refused(JobError, "MINLP"):
        satisfaction(X, LABELS, solver="uno")


@pytest.mark.parametrize(
    "aggregation",
    [
        {"method": "p3m_onesided", "delta": 0.2, "alpha": 0.9},
        {"method": "satisfaction", "delta": 0.2, "price": 5.0},
    ],
)
def test_a_job_names_them(aggregation):
    exact = {"aggregation": {**aggregation, "margin": 0}, "output": {"digits": "full"}}
    release = aggopt.mask(people(), job(**exact))
    assert release.audit.holds
    assert {c.solver for c in release.certificates.values()} == {"lagrangian"}
    frame = people()[["age", "income"]].to_numpy(float)
    masked = getattr(aggopt.aggregate, aggregation["method"])(
        frame,
        aggopt.partition.mdav(frame, 3),
        **{k: v for k, v in aggregation.items() if k != "method"},
    )
    assert (release.masked.matrix() == masked.values).all()
