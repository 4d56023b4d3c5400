"""Projections: which axis, from which end, and what an outlier does to it."""

import pickle

import numpy as np
import pytest
from partition.test_published import loss, z_scores
from refusals import refused
from tables import job, people

import aggopt
from aggopt import Job
from aggopt.errors import JobError, PrivacyError, UnknownNameError, UntrustedCodeError
from aggopt.partition import blocked, local_search, mdav, projection
from aggopt.partition.path_split import find_best_split

RNG = np.random.default_rng(5)
AXES = "pca", "zsum", "robust_pca"
LONG = RNG.normal(size=(300, 3)) * [9, 1, 1] @ [[2, 1, 0], [1, -2, 0], [0, 0, 1.0]]


def split_along(records, direction, k: int):
    """Groups of the order along a direction, from its end farther from the mean."""
    along = (records - records.mean(axis=0)) @ direction
    along = -along if along.max() > -along.min() else along
    return find_best_split(records, [along.argsort(kind="stable")], k)


def first_right_singular_vector(records):
    centred = records - records.mean(axis=0)
    return np.linalg.svd(centred)[2][0]


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("k", [2, 5])
def test_pca_is_the_direction_of_most_variance(k: int, sign: int) -> None:
    expected = split_along(LONG, sign * first_right_singular_vector(LONG), k)
    assert (projection(LONG, k, scale="none") == expected).all()
    assert (projection(-LONG, k, scale="none") == expected).all()


@pytest.mark.parametrize("k", [2, 5])
def test_zsum_is_the_sum(k: int) -> None:
    Z = (LONG - LONG.mean(axis=0)) / LONG.std(axis=0)
    expected = split_along(Z, np.ones(3), k)
    assert (projection(LONG, k, axis="zsum") == expected).all()


def test_attributes_that_cancel_leave_zsum_nothing() -> None:
    x = RNG.normal(size=200)
    opposed, alike = np.column_stack((x, 3 - 2 * x)), np.column_stack((x, 3 + 2 * x))
    assert loss(opposed, projection(opposed, 3, axis="zsum")) > 10
    assert loss(alike, projection(alike, 3, axis="zsum")) < 1
    assert loss(opposed, projection(opposed, 3, axis="pca")) < 1


@pytest.mark.parametrize("scale", ["z", "none"])
def test_outliers_turn_pca_but_not_robust_pca(scale: str) -> None:
    x = RNG.normal(size=200)
    X = np.column_stack((x, x + RNG.normal(size=200) / 50))
    outliers = [[1e4, -1e4], [-1e4, 1e4], [2e4, -2e4]]
    spoilt = np.vstack((X, outliers))
    pca, robust = (
        projection(spoilt, 3, axis=axis, scale=scale)[:200]
        for axis in ("pca", "robust_pca")
    )
    spread = {
        name: sum(np.ptp(x[g == i]) for i in set(g))
        for name, g in (("pca", pca), ("robust", robust))
    }
    assert spread["robust"] < spread["pca"] / 10


def test_robust_pca_where_most_values_are_the_same() -> None:
    X = np.zeros((90, 3))
    X[:40, 0], X[:, 1] = np.arange(40), 7.0
    labels = projection(X, 3, axis="robust_pca")
    assert len(set(labels[:40]) & set(labels[40:])) <= 1
    assert np.bincount(labels).min() >= 3


@pytest.mark.parametrize("axis", AXES)
def test_groups_are_numbered_from_the_farther_end(axis: str) -> None:
    x = np.array([[5.0], [1.0], [0.0], [90.0], [91.0], [4.0]])
    assert projection(x, 2, axis=axis).tolist() == [1, 2, 2, 0, 0, 1]
    assert projection(-x, 2, axis=axis).tolist() == [1, 2, 2, 0, 0, 1]


@pytest.mark.parametrize("axis", AXES)
def test_first_of_equals_comes_first(axis: str) -> None:
    x = np.array([[9.0], [0.0], [0.0], [9.0], [0.0], [0.0]])
    assert projection(x, 2, axis=axis).tolist() == [0, 1, 1, 0, 2, 2]


@pytest.mark.parametrize("axis", AXES)
def test_one_line_loses_more_than_groups_in_the_whole_space(axis: str) -> None:
    Z = z_scores("census")
    assert loss(Z, projection(Z, 3, axis=axis)) > 3 * loss(Z, mdav(Z, 3))


@pytest.mark.parametrize("option", [{"axis": "pcs"}, {"axis": None}, {"scale": "zz"}])
def test_unknown_names_are_refused(option: dict[str, str]) -> None:
    with refused(UnknownNameError):
        projection([[1.0], [2.0]], 1, **option)


# --- searches set out from groups of the user's, and blocks are partitioned by them


X = np.random.default_rng(0).normal(size=(60, 2))
CODE = """
import numpy as np

def split(X, k):
    return np.minimum(np.argsort(np.argsort(X[:, 0])) // k, len(X) // k - 1)
"""


def split(X, k):
    return np.minimum(np.argsort(np.argsort(X[:, 0])) // k, len(X) // k - 1)


def of_two(X, k):
    return np.arange(len(X)) // 2


def test_a_search_sets_out_from_the_users_groups() -> None:
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    asked = {"k": 3, "effort": "fast"}
    assert np.array_equal(
        local_search(X, initial=split, **asked).labels,
        local_search(X, initial_labels=split(Z, 3), **asked).labels,
    )
    assert np.array_equal(
        local_search(X, initial=mdav, **asked).labels,
        local_search(X, initial="mdav", **asked).labels,
    )
    with refused(PrivacyError, "of_two"):
        local_search(X, initial=of_two, **asked)
    with refused(JobError):
        local_search(X, initial=[0, 1], **asked)


def test_blocks_are_partitioned_by_the_users_method() -> None:
    seen = []

    def watched(X, k):
        seen.append(len(X))
        return split(X, k)

    found = blocked(X, 3, inner=watched, effort="fast", block_size=30)
    assert found.sizes.min() >= 3
    assert sum(seen) == 60
    assert max(seen) <= 30


@pytest.mark.parametrize(
    "section",
    [
        {"method": "local_search", "effort": "fast", "initial": None},
        {"method": "blocked", "effort": "fast", "inner": None},
    ],
)
def test_a_job_names_it_by_its_file(tmp_path, section) -> None:
    code = tmp_path / "mine.py"
    code.write_text(CODE)
    key = next(key for key, value in section.items() if value is None)
    asked = job(partition={**section, key: f"{code}:split"})
    with refused(UntrustedCodeError, "[partition]"):
        aggopt.mask(people(), asked)
    release = aggopt.mask(people(), asked, trust=[code])
    stated = release.manifest()
    assert stated["job"]["partition"][key] == "mine.py:split"
    assert [each["name"] for each in stated["code"]] == ["mine.py:split"]
    assert pickle.loads(pickle.dumps(release.job)) == release.job
    of_object = aggopt.mask(people(), job(partition={**section, key: split}))
    labels = of_object.blocks[0].labels
    assert np.array_equal(labels, release.blocks[0].labels)
    assert of_object.manifest()["code"][0]["where"] == "object"
    with refused(JobError):
        of_object.job.to_toml()
    assert "split" in of_object.job.as_text()
    (tmp_path / "job.toml").write_text(release.job.to_toml())
    assert Job.read(tmp_path / "job.toml") == asked
    files = release.write(tmp_path / "masked.csv")
    again = aggopt.repeat(
        files.manifest, people(), tmp_path / "again.csv", trust=[code]
    )
    assert again.table.read_bytes() == files.table.read_bytes()


@pytest.mark.parametrize("named", ["mdva", "optimal", aggopt.partition.optimal, 3])
def test_what_no_search_sets_out_from_is_refused(named) -> None:
    with refused(JobError):
        job(partition={"method": "local_search", "initial": named})


def test_a_method_of_the_package_is_written_by_its_name() -> None:
    by_function = job(partition={"method": "local_search", "initial": mdav})
    assert by_function == job(partition={"method": "local_search", "initial": "mdav"})
    assert by_function.code == ()
