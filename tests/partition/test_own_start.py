"""Searches set out from groups of the user's, and blocks are partitioned by them."""

import pickle

import numpy as np
import pytest
from refusals import refused
from tables import job, people

import aggopt
from aggopt import Job
from aggopt.errors import JobError, PrivacyError, UntrustedCodeError
from aggopt.partition import blocked, local_search, mdav

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


@pytest.mark.parametrize(
    "named",
    [
        "mdva",
        "optimal",
        aggopt.partition.optimal,
        3,
    ],
)
def test_what_no_search_sets_out_from_is_refused(named) -> None:
    with refused(JobError):
        job(partition={"method": "local_search", "initial": named})


def test_a_method_of_the_package_is_written_by_its_name() -> None:
    by_function = job(partition={"method": "local_search", "initial": mdav})
    assert by_function == job(partition={"method": "local_search", "initial": "mdav"})
    assert by_function.code == ()
