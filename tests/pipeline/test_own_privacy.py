"""A privacy model of the user's in a job: trusted, kept, audited, refused, repeated."""

import json
from hashlib import sha256

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import pytest
from refusals import refused
from tables import people

import aggopt
from aggopt import Job
from aggopt.data.context.confidential import read_confidential_attributes
from aggopt.errors import (
    InfeasibleInputError,
    JobError,
    PrivacyError,
    TableError,
    UnknownNameError,
    UntrustedCodeError,
)
from aggopt.job.user_code import rename_user_code
from aggopt.release.audit.audit import audit_release

CODE = """
def several(values, *, least=2):
    return len(set(values)) >= least
"""
space: dict = {}
exec(CODE, space)
several = space["several"]
ROLES = {"quasi-identifier": ["age", "income"], "confidential": ["illness"]}
TOML = """
[roles]
quasi-identifier = ["age", "income"]
confidential = ["illness"]
other = ["name", "note"]
[privacy]
k = 3
repair = "merge"
[[privacy.own]]
method = "lib/mine.py:several"
least = 3
[partition]
method = "mdav"
"""


def job(*, partition="mdav", roles=ROLES, **privacy):
    roles = {"other": ["name", "note"], **roles}
    privacy = {"k": 3, **privacy}
    return Job(roles=roles, privacy=privacy, partition={"method": partition})


def fewest(release):
    """The fewest illnesses that a published combination has."""
    table = pd.DataFrame(release.table)
    return table.groupby(["age", "income"])["illness"].nunique().min()


@pytest.fixture
def file(tmp_path):
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "mine.py").write_text(CODE)
    path = tmp_path / "job.toml"
    path.write_text(TOML)
    return path


def test_a_trusted_file_is_kept_by_merging_audited_and_repeated(file, tmp_path) -> None:
    code = file.parent / "lib" / "mine.py"
    assert Job.read(file).privacy.own[0].method == f"{code}:several"  # none is run
    with refused(UntrustedCodeError, "[privacy]", "mine.py"):
        aggopt.mask(people(), file)
    assert fewest(aggopt.mask(people(), job())) < 3
    release = aggopt.mask(people(), file, trust=[code])
    assert fewest(release) == 3
    (check,) = release.audit.promises
    digest = sha256(code.read_bytes()).hexdigest()
    assert (check.promise, check.holds) == ("mine.py:several", True)
    said = f"mine.py:several holds for 'illness', by mine.py, sha256 {digest}."
    assert said in release.audit.verdict
    files = release.write(tmp_path / "masked.csv")
    stated = json.loads(files.manifest.read_text())
    assert [(c["kind"], c["sha256"]) for c in stated["code"]] == [
        ("privacy_models", digest)
    ]
    own = {"method": "mine.py:several", "attributes": None, "least": 3}
    assert stated["job"]["privacy"]["own"] == [own]
    assert stated["audit"]["promises"][0]["counted_by"] == f"mine.py, sha256 {digest}"
    again = aggopt.repeat(files.manifest, people(), tmp_path / "2.csv", trust=[code])
    assert again.table.read_bytes() == files.table.read_bytes()
    with pytest.raises(UntrustedCodeError):
        aggopt.repeat(files.manifest, people(), tmp_path / "3.csv")


def test_in_python_it_is_the_function_itself() -> None:
    release = aggopt.mask(people(), job(own=several, repair="merge"))
    assert fewest(release) >= 2
    (section,) = release.job.privacy.own
    assert section.arguments == {"least": 2}
    assert release.manifest()["code"][0]["where"] == "object"
    both = job(own=[several, {"method": several, "least": 3}], repair="merge", l=2)
    found = aggopt.mask(people(), both)
    assert [check.promise for check in found.audit.promises] == [
        "distinct l",
        "several",
        "several",
    ]
    assert fewest(found) == 3
    assert "own" not in job().model_dump()["privacy"]
    assert both != job(own=several, repair="merge", l=2)
    assert len({both, both.load_code()}) == 1


def test_without_a_repair_it_is_refused_before_any_work() -> None:
    with refused(JobError):
        aggopt.mask(people(), job(own=several))
    with refused(JobError, "l = 2", "t = 0.5"):
        aggopt.mask(people(), job(own=several, l=2, t=0.5, repair="swap"))


def halves(X, k):
    return np.arange(len(X)) // (len(X) // 2)


def pairs(X, k):
    return np.argsort(np.argsort(X[:, 1])) // k


def test_groups_of_a_partition_of_the_users_are_left_to_the_audit() -> None:
    table = people(36)
    assert aggopt.mask(table, job(own=several, partition=halves)).audit.holds
    strict = {"method": several, "least": 3}
    with refused(PrivacyError, "DOES", "NOT", "HOLD"):
        aggopt.mask(table, job(own=strict, partition=pairs))
    with refused(JobError):
        aggopt.mask(table, job(own=several, l=2, partition=halves))


def test_a_search_merges_for_it_of_its_own_accord() -> None:
    release = aggopt.mask(people(24), job(own=several, partition="local_search"))
    assert fewest(release) >= 2
    assert "several is promised, and no repair is named" in str(release.notes)


def test_merging_that_ends_with_one_group_says_so() -> None:
    asked = {"method": several, "least": 4}
    with refused(InfeasibleInputError, "DOES", "NOT"):
        aggopt.mask(people(), job(own=asked, repair="merge"))


def test_it_is_of_the_attributes_that_it_names() -> None:
    table = people().assign(pay=np.arange(40) % 2)
    roles = {**ROLES, "confidential": ["illness", "pay"]}
    named = {"method": several, "attributes": ["pay"]}
    release = aggopt.mask(table, job(own=named, repair="merge", roles=roles))
    assert [check.attribute for check in release.audit.promises] == ["pay"]
    every = aggopt.mask(table, job(own=several, repair="merge", roles=roles))
    assert [c.attribute for c in every.audit.promises] == ["illness", "pay"]
    wrong = {"method": several, "attributes": ["pey"]}
    with refused(UnknownNameError, "'pey'"):
        aggopt.mask(table, job(own=wrong, repair="merge", roles=roles))


@pytest.mark.parametrize(
    "own",
    [
        "l",
        "sevral",
        3,
        {"least": 3},
        {"method": several, "leest": 3},
        {"method": several, "attributes": []},
        lambda labels, *, method: True,
    ],
)
def test_what_names_none_is_refused_when_it_is_read(own) -> None:
    with refused(JobError):
        job(own=own, repair="merge")


def test_it_is_of_the_combination_and_makes_a_repair_act() -> None:
    with refused(JobError):
        job(own=several, scope="blocks")
    with refused(JobError):
        job(repair="merge")


def of_column(values, **treatment):
    """The values that a privacy model of the user's sees of a column."""
    seen = []

    def look(values):
        seen.append(values)
        return True

    asked = job(own=look, repair="merge", confidential={"illness": treatment})
    table = nw.from_native(pd.DataFrame({"illness": values}))
    (held,) = read_confidential_attributes(table, asked.roles, asked.privacy, ".")
    held.requirements[0].find_broken(np.arange(len(values)), np.array([0, len(values)]))
    return seen[0]


def test_values_are_numbers_where_all_of_them_are() -> None:
    whole = of_column([3, 1, 3])
    assert (whole.dtype, whole.tolist()) == (np.int64, [3, 1, 3])
    assert of_column(["3", "1"]).dtype == np.int64  # as a file has them
    mixed = of_column(["3", "1.5"])
    assert (mixed.dtype, mixed.tolist()) == (np.float64, [3.0, 1.5])
    text = of_column(["3", "flu"])
    assert (text.dtype, text.tolist()) == (object, [3, "flu"])
    large = of_column([str(2**70), "1"])
    assert (large.dtype, large.tolist()) == (object, [2**70, 1])
    beyond = of_column(["1" + "0" * 400, "1.5"])
    assert (beyond.dtype, beyond.tolist()) == (object, [10**400, 1.5])
    missing = of_column(["3", None], missing="own value")
    assert (missing.dtype, missing.tolist()) == (object, [3, None])
    with refused(TableError):
        of_column(["3", None])
    with refused(TableError):
        of_column(pd.to_datetime(["2020-01-01", "2020-01-02"]))


def test_a_release_that_was_written_is_counted_again() -> None:
    asked = job(own={"method": several, "least": 3})
    table = people().assign(age=1, income=2)
    assert audit_release(table, asked.roles, asked.privacy).holds
    broken = table.assign(age=np.arange(40) // 4)
    found = audit_release(broken, asked.roles, asked.privacy)
    assert not found.promises[0].holds


def test_an_audit_does_not_do_without_what_is_not_loaded(file) -> None:
    asked = Job.read(file)
    with pytest.raises(UntrustedCodeError):
        audit_release(people(), asked.roles, asked.privacy)


def test_names_are_changed_within_lists_of_sections_too() -> None:
    sections = {
        "privacy": {"own": ["a.py", {"method": "b.py", "least": 3}], "k": [1]},
        "output": {"digits": ["c.py"]},
    }
    assert rename_user_code(sections, lambda kind, name: f"{kind}/{name}") == {
        "privacy": {
            "own": [
                "privacy_models/a.py",
                {"method": "privacy_models/b.py", "least": 3},
            ],
            "k": [1],
        },
        "output": {"digits": ["c.py"]},
    }
