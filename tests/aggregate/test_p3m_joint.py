"""P3M and its kin that keep the covariance: as users call them, as jobs ask for it."""

from functools import cache

import numpy as np
import pytest
from conftest import require_solver
from refusals import refused
from tables import job, people

import aggopt
from aggopt.aggregate import mean, p3m, p3m_onesided, satisfaction
from aggopt.core.standardise import Scale
from aggopt.errors import InfeasibleInputError, JobError, UnknownNameError
from aggopt.experiments import compare_solvers, sweep
from aggopt.measure import sl
from aggopt.solvers import SOLVERS

rng = np.random.default_rng(2)
X = rng.gamma(2.0, size=(24, 3)) @ rng.normal(size=(3, 3)) * [1.0, 500.0, 1e-3] + 9.0
LABELS = rng.permutation(np.arange(24) // 4)
KIN = [p3m_onesided, satisfaction]
ASKED = {"method": "p3m", "keep": "covariance", "delta": 0.4}


@cache
def kept(combine):
    return combine(X, LABELS, delta=0.4, keep="covariance")


def correlated(values: np.ndarray) -> bool:
    before, after = np.corrcoef(X.T), np.corrcoef(values.T)
    spread = values.std(axis=0) == pytest.approx(X.std(axis=0), rel=1e-6)
    return spread and np.allclose(before, after, atol=1e-6)


def test_correlations_are_kept_and_one_certificate_is_of_all():
    masked = kept(p3m)
    assert correlated(masked.values)
    assert not correlated(p3m(X, LABELS, delta=0.4).values)
    assert masked.together == ((0, 1, 2),)
    (proof,) = masked.certificates
    assert proof.solver == "stiefel"
    assert proof.violation < 1e-9
    assert proof.bound <= proof.objective
    apart = sum(c.bound for c in p3m(X, LABELS, delta=0.4).certificates)
    assert proof.bound >= apart * (1 - 1e-6)


JOINT = [n for n, s in SOLVERS.items() if s.fits("p3m_joint", "NLP")]


@pytest.fixture(scope="module")
def best():
    return p3m(X, LABELS, delta=0.2, keep="covariance").certificates[0]


@pytest.mark.parametrize("solver", [n for n in JOINT if not SOLVERS[n].is_global])
def test_every_local_solver_takes_it(solver, best):
    require_solver(solver)
    masked = p3m(X, LABELS, delta=0.2, keep="covariance", solver=solver)
    assert masked.certificates[0].status.usable
    assert correlated(masked.values)
    assert best.objective <= masked.certificates[0].objective * 1.001
    assert best.bound <= masked.certificates[0].objective


def test_it_sets_out_from_where_it_is_told():
    begun = mean(X, LABELS, keep="covariance").centroids
    how = {"delta": 0.4, "keep": "covariance", "solver": "uno"}
    for start in ("renormalised", "lagrangian", begun):
        assert correlated(p3m(X, LABELS, start=start, **how).values)
    with refused(JobError):
        p3m(X, LABELS, start=begun[1:], **how)
    begun[0, 0] = np.nan
    with refused(JobError, "not finite"):
        p3m(X, LABELS, start=begun, **how)


def test_without_alpha_it_is_the_mean_that_keeps_as_much():
    masked = p3m(X, LABELS, alpha=0, keep="covariance")
    assert masked.values == pytest.approx(mean(X, LABELS, keep="covariance").values)
    assert masked.certificates[0].status.value == "optimal"


def test_constants_stay_and_wishes_go_with_their_attributes():
    wide = np.insert(X, 1, 7.0, axis=1)
    delta = np.array([0.1, 0.7, 0.3, 0.5])
    masked = p3m(wide, LABELS, delta=delta, keep="covariance")
    assert (masked.values[:, 1] == 7.0).all()
    alone = p3m(X, LABELS, delta=delta[[0, 2, 3]], keep="covariance")
    assert masked.values[:, [0, 2, 3]] == pytest.approx(alone.values)
    heard = []
    begun = wide[:6].copy()
    p3m(wide, LABELS, keep="covariance", start=begun, progress=heard.append)
    assert heard == [1.0]


def test_what_cannot_be_kept_is_refused():
    with refused(UnknownNameError, "'covariance'"):
        p3m(X, LABELS, keep="covariances")
    with refused(InfeasibleInputError):
        p3m(X, np.arange(24) // 12, keep="covariance")
    with refused(JobError):
        p3m(X, LABELS, keep="covariance", solver="lagrangian")
    with refused(JobError):
        p3m(X, LABELS, solver="stiefel")
    with refused(JobError, "delta has shape"):
        p3m(X, LABELS, keep="covariance", delta=[0.1, 0.2])


@pytest.mark.parametrize("combine", KIN)
def test_its_kin_keep_correlations_with_a_bound(combine):
    masked = kept(combine)
    assert correlated(masked.values)
    assert masked.together == ((0, 1, 2),)
    (proof,) = masked.certificates
    assert proof.solver == "stiefel"
    assert proof.violation < 1e-9
    assert proof.bound <= proof.objective
    apart = combine(X, LABELS, delta=0.4)
    assert not correlated(apart.values)
    assert proof.bound >= sum(c.bound for c in apart.certificates) - 1e-3


def test_counting_satisfies_more_than_squares_do():
    made = (kept(combine).values for combine in (p3m, p3m_onesided, satisfaction))
    two_sided, one_sided, counted = (sl(X, values, delta=0.4) for values in made)
    assert counted > max(two_sided, one_sided)


@pytest.mark.parametrize("method", ["p3m_onesided", "satisfaction"])
def test_no_wish_of_its_kin_points_at_an_original(method):
    frame = people()
    asked = {**ASKED, "method": method, "importance": 0.9}
    release = aggopt.mask(frame, job(aggregation=asked, output={"digits": "full"}))
    names = ["age", "income"]
    originals = frame[names].to_numpy(float)
    scale = Scale.of(originals)
    Z = scale.standardise(originals)
    published = scale.standardise(release.table[names].to_numpy(float))
    away = abs(published[:, None, :] - Z[None])
    assert abs(away - ASKED["delta"]).min() > 1e-6
    assert any("secret margin" in note for note in release.notes)
    assert release.certificates["age, income"].solver == "stiefel"


def test_a_job_keeps_it_with_secret_margins():
    frame = people()
    release = aggopt.mask(frame, job(aggregation=ASKED, output={"digits": "full"}))
    names = ["age", "income"]
    after = release.table[names].corr().to_numpy()
    assert after == pytest.approx(frame[names].corr().to_numpy(), abs=1e-6)
    assert list(release.certificates) == ["age, income"]
    assert release.certificates["age, income"].solver == "stiefel"
    assert any("secret margin" in note for note in release.notes)
    assert release.job.aggregation.keeps == {"mean", "variance", "covariance"}


def test_solvers_are_compared_on_the_joint_program():
    asked = job(aggregation=ASKED)
    rows = list(compare_solvers.compare(people(), asked, ["stiefel", "uno"]))
    assert [row.solver for row in rows] == ["stiefel", "cvxpy:uno"]
    assert rows[0].objective <= rows[1].objective * 1.001
    assert rows[0].bound <= rows[1].objective
    assert rows[1].bound is None
    assert all(row.holds for row in rows)


def test_a_sweep_keeps_it_at_every_point():
    points = list(
        sweep.sweep(people(), job(aggregation=ASKED), alpha=[0.5], delta=[0.2], jobs=1)
    )
    assert len(points) == 1
    assert points[0].usable
    assert points[0].holds
