"""A job that names no partition method gets the one that suits its table."""

import numpy as np
import pytest
from tables import ROLES, people, smallest, wide, wide_job

import aggopt
from aggopt import Job
from aggopt.errors import InfeasibleInputError, JobError
from aggopt.partition import recommend


@pytest.mark.parametrize(
    ("n", "d", "k", "seconds", "method"),
    [
        (1080, 13, 3, None, "local_search"),
        (1080, 13, 3, 59, "local_search"),
        (1080, 13, 3, 60, "optimal"),
        (1080, 13, 6, 600, "local_search"),
        (5001, 13, 3, 600, "local_search"),
        (20_000, 4, 10, None, "local_search"),
        (20_001, 4, 10, None, "blocked"),
        (1_000_000, 10, 3, 60, "blocked"),
        (1_000_000, 1, 3, None, "univariate"),
    ],
)
def test_what_is_recommended(n, d, k, seconds, method):
    found = recommend(n, d, k, seconds)
    assert found.method == method
    assert found.reason.endswith(".")
    timed = seconds is not None and method != "univariate"
    assert found.settings == ({"time_limit": float(seconds)} if timed else {})
    assert hasattr(aggopt.partition, method)


@pytest.mark.parametrize(
    ("asked", "error", "said"),
    [
        ((0, 2, 1), JobError, "n = 0"),
        ((9, 2.5, 1), JobError, "d = 2.5"),
        ((9, 2, 10), InfeasibleInputError, "only 9 records"),
        ((9, 2, 3, -1), JobError, "time_limit = -1"),
        ((9, 2, 3, float("nan")), JobError, "time_limit = nan"),
        ((9, 2, 3, True), JobError, "time_limit = True"),
    ],
)
def test_what_cannot_be_recommended_for(asked, error, said):
    with pytest.raises(error, match=said):
        recommend(*asked)


@pytest.mark.parametrize("section", [{}, {"partition": {}}])
def test_a_job_that_names_no_method(section):
    job = Job(roles=ROLES, privacy={"k": 3}, **section)
    release = aggopt.mask(people(), job)
    assert smallest(release.table) >= 3
    assert release.job.partition.method == "local_search"
    assert any("'local_search' was chosen: n = 40 is small" in n for n in release.notes)
    X = release.job.roles.quasi_identifier
    expected = aggopt.partition.local_search(people()[list(X)].to_numpy(float), 3)
    assert (release.labels == expected).all()
    stated = release.manifest()
    assert stated["job"]["partition"]["method"] == "local_search"
    proof = stated["partition"][0]["certificate"]
    assert 0 < proof["bound"] <= proof["objective"]


def test_seconds_reach_the_method_that_is_chosen():
    job = Job(roles=ROLES, privacy={"k": 3}, partition={"time_limit": 0})
    release = aggopt.mask(people(), job)
    assert release.job.partition.time_limit == 0
    X = people()[["age", "income"]].to_numpy(float)
    mdav = aggopt.partition.mdav(X, 3)
    assert len(np.unique(np.stack([mdav, release.labels]), axis=1).T) == mdav.max() + 1


def test_one_attribute_at_a_time_is_partitioned_optimally():
    how = {"attributes": "one by one"}
    release = aggopt.mask(wide(), wide_job(partition=how))
    assert release.job.partition.method == "univariate"
    stated = release.manifest()["partition"]
    assert [part["certificate"]["status"] for part in stated] == ["optimal"] * 5


def test_a_time_limit_that_the_chosen_method_does_not_need_are_mentioned():
    how = {"attributes": "one by one", "time_limit": 1}
    release = aggopt.mask(wide(), wide_job(partition=how))
    assert sum("[partition] time_limit is not needed" in n for n in release.notes) == 1


def test_what_the_chosen_method_does_not_know_is_refused():
    with pytest.raises(JobError, match="ending"):
        Job(roles=ROLES, privacy={"k": 3}, partition={"ending": "3k"})
