"""A job that names no partition method gets the one that suits its table."""

import numpy as np
import pandas as pd
import pytest
from refusals import refused
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
    ("asked", "error"),
    [
        ((0, 2, 1), JobError),
        ((9, 2.5, 1), JobError),
        ((9, 2, 10), InfeasibleInputError),
        ((9, 2, 3, -1), JobError),
        ((9, 2, 3, float("nan")), JobError),
        ((9, 2, 3, True), JobError),
    ],
)
def test_what_cannot_be_recommended_for(asked, error):
    with refused(error):
        recommend(*asked)


@pytest.mark.parametrize("distinct", [0, 10, -1, 2.5, True])
def test_no_more_records_differ_than_there_are(distinct):
    with pytest.raises(JobError, match=f"distinct = {distinct}, of 9 records"):
        recommend(9, 2, 3, distinct=distinct)
    assert recommend(9, 2, 3, distinct=9) == recommend(9, 2, 3)


@pytest.mark.parametrize("n", [600, 60_000])
def test_of_many_copies_the_reason_says_what_mdav_would_do(n):
    plain = recommend(n, 4, 5)
    few, many = (recommend(n, 4, 5, distinct=n // 5 + more) for more in (1, 0))
    assert few == plain
    assert (many.method, many.settings) == (plain.method, plain.settings)
    assert f"Of {n} records only {n // 5} differ: mdav cuts" in many.reason


def copied(n):
    draw = np.random.default_rng(0).choice
    return pd.DataFrame(
        {
            "place": draw(list("abc"), n, p=[0.7, 0.2, 0.1]),
            "work": draw(list("abcd"), n, p=[0.6, 0.25, 0.1, 0.05]),
            "school": draw(list("abc"), n, p=[0.8, 0.15, 0.05]),
        }
    )


def test_a_table_with_many_copies_is_not_cut_by_mdav():
    job = Job(roles={"quasi-identifier": list(copied(1))}, privacy={"k": 5})
    frame = copied(400)
    release = aggopt.mask(frame, job)
    (note,) = [n for n in release.notes if "'local_search' was chosen" in n]
    different = len(frame.drop_duplicates())
    assert f"Of 400 records only {different} differ: mdav cuts" in note
    proof = release.blocks[0].certificate
    cut = aggopt.partition.mdav(aggopt.encode(frame), 5)
    assert proof.objective < cut.loss / 2
    assert proof.objective < 2 * proof.bound


def test_copies_are_counted_in_the_block_in_which_most_records_differ():
    frame = copied(200).assign(age=np.arange(200) // 2)
    job = Job(
        roles={"quasi-identifier": list(frame)},
        privacy={"k": 5, "scope": "blocks"},
        partition={"attributes": [["place", "work", "school"], ["age"]]},
    )
    notes = aggopt.mask(frame, job).notes
    assert not any("mdav cuts" in note for note in notes)
    frame["age"] //= 10
    notes = aggopt.mask(frame, job).notes
    different = len(frame[["place", "work", "school"]].drop_duplicates())
    assert any(f"Of 200 records only {different} differ" in note for note in notes)


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
    with refused(JobError, "ending"):
        Job(roles=ROLES, privacy={"k": 3}, partition={"ending": "3k"})
