"""An aggregation of the user's: checked, judged by its squared error, in a job too."""

import numpy as np
import pytest
from refusals import refused
from tables import job, people

import aggopt
from aggopt.aggregate import AGGREGATORS, mean, median
from aggopt.errors import JobError, UnknownNameError
from aggopt.solvers import Claim, Status

X = np.array([[0.0, 5.0], [1.0, 3.0], [5.0, 0.0], [6.0, 2.0], [10.0, 1.0], [11.0, 9.0]])
LABELS = np.array([0, 0, 0, 1, 1, 1])


def middles(X, labels, *, share=0.5):
    m = labels.max() + 1
    low = np.array([X[labels == g].min(axis=0) for g in range(m)])
    high = np.array([X[labels == g].max(axis=0) for g in range(m)])
    return low + share * (high - low)


def adopted(function):
    return AGGREGATORS.adopt(function).function


def test_its_centroids_are_published_with_their_squared_error() -> None:
    found = adopted(middles)(X, LABELS, share=0.25)
    assert np.array_equal(found.centroids, middles(X, LABELS, share=0.25))
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    away = (found.values - X.mean(axis=0)) / X.std(axis=0)
    least = mean(X, LABELS)
    for j, certificate in enumerate(found.certificates):
        error = ((Z - away)[:, j] ** 2).sum()
        assert certificate.objective == pytest.approx(error)
        assert certificate.bound == pytest.approx(least.certificates[j].objective)
        assert certificate.status is Status.HEURISTIC
        assert certificate.solver == "middles"
        assert certificate.claimed is None


def test_the_means_are_known_to_be_the_least() -> None:
    found = adopted(lambda X, labels: mean(X, labels).centroids)(X, LABELS)
    assert {c.status for c in found.certificates} == {Status.OPTIMAL}
    assert all(c.bound <= c.objective for c in found.certificates)


def test_bounds_of_an_aggregation_are_claimed() -> None:
    def medians(X, labels):
        return median(X, labels)

    found = adopted(medians)(X, LABELS)
    theirs = median(X, LABELS).certificates
    for own, said in zip(found.certificates, theirs, strict=True):
        assert own.claimed == Claim(said.bound, "object medians")
        assert own.bound != said.bound


def test_attributes_with_groups_of_their_own_come_by_themselves() -> None:
    labels = np.stack([LABELS, LABELS[::-1]], axis=1)
    found = adopted(middles)(X, labels)
    for j in range(2):
        alone = middles(X[:, [j]], labels[:, j])
        assert np.array_equal(found.centroids[:, [j]], alone)


def spoils(X, labels):
    found = middles(X, labels)
    X[:], labels[:] = 0.0, 0
    return found


def test_it_gets_copies() -> None:
    before = X.copy(), LABELS.copy()
    found = adopted(spoils)(X, LABELS)
    assert np.array_equal(X, before[0])
    assert np.array_equal(LABELS, before[1])
    assert np.array_equal(found.values, middles(X, LABELS)[LABELS])


@pytest.mark.parametrize(
    "function",
    [
        lambda X, labels: X,
        lambda X, labels: X[:2] * np.nan,
        lambda X, labels: "4711",
        lambda X, labels: None,
    ],
)
def test_what_are_no_centroids_is_refused(function) -> None:
    with refused(JobError) as error:
        adopted(function)(X, LABELS)
    assert "4711" not in str(error.value)


def test_a_job_takes_it_with_its_settings() -> None:
    asked = job(aggregation={"method": middles, "share": 0.25})
    release = aggopt.mask(people(), asked)
    assert release.job.aggregation.settings == {"share": 0.25}
    assert release.certificates["age"].solver == "middles"
    assert release.manifest()["code"][0]["kind"] == "aggregators"
    assert job(aggregation={"method": mean}) == job(aggregation={"method": "mean"})
    with refused(UnknownNameError, "'sh'"):
        job(aggregation={"method": middles, "sh": 1})
    with refused(UnknownNameError, "aggregation method"):
        job(aggregation={"method": "maen"})
