"""What anybody can count who has several releases, and no private key."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from refusals import refused
from tables import people

import aggopt
from aggopt.errors import AggoptError
from aggopt.job.roles import Roles
from aggopt.pipeline.review.compare_public import (
    PublicComparison,
    _find_people,
    _join_people,
    _select_joined,
    compare_published,
)
from aggopt.pipeline.review.compare_with_keys import compare_releases

ROLES = {
    "identifier": ["name"],
    "quasi-identifier": ["age", "income"],
    "confidential": ["illness"],
    "other": ["note", "person"],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Releases that a person key puts together; one of d with half of the keys."""
    folder = tmp_path_factory.mktemp("published")
    frame = people(48).assign(person=np.arange(48) + 1000, illness="flu", note="x")
    frame.to_csv(folder / "people.csv", index=False)
    roles = {**ROLES, "quasi-identifier": ["income"], "identifier": ["name", "age"]}
    for name, own in (("a", ROLES), ("b", ROLES), ("c", roles)):
        asked = aggopt.Job(
            roles=own, privacy={"k": 4 - (name == "c")}, partition={"method": "mdav"}
        )
        aggopt.mask(folder / "people.csv", asked).write(folder / f"{name}.csv")
    for path in folder.glob("*.private.csv"):
        path.rename(path.with_suffix(".kept"))
    return folder


def published(folder, *names):
    tables = [folder / f"{name}.csv" for name in names]
    return compare_published(tables, [t.with_suffix(".manifest.json") for t in tables])


def with_keys(folder, tmp_path, *names):
    for path in folder.iterdir():
        name = path.name.replace(".private.kept", ".private.csv")
        (tmp_path / name).write_bytes(path.read_bytes())
    tables = [tmp_path / f"{name}.csv" for name in names]
    beside = [table.with_suffix(".manifest.json") for table in tables]
    return compare_releases(tables, tmp_path / "people.csv", beside)


def test_who_is_told_apart_is_counted_as_with_the_keys(folder, tmp_path) -> None:
    found = published(folder, "a", "c")
    exact = with_keys(folder, tmp_path, "a", "c")
    assert found.together == exact.together
    assert found.complete
    assert not found.holds
    assert (found.joined, found.records, found.k) == (48, (48, 48), 3)
    assert found.by == ("illness", "note", "person")
    assert found.verdict == (
        "Publishing both releases DOES NOT LEAVE k = 3, and anybody can count it: "
        "what they publish as it is puts all their records together. The smallest "
        "group in common is of 1 record."
    )
    assert found.notes == []
    assert found.best["k"] == ["a.csv"]
    assert set(found.to_dict()) == {
        *("releases", "by", "records", "joined", "together", "k", "complete"),
        *("holds", "best", "notes"),
    }
    assert found.to_dict()["together"]["rarest"] == 1
    assert found.to_dict()["by"] == ["illness", "note", "person"]


def test_the_same_groups_leave_k_whoever_counts_them(folder) -> None:
    found = published(folder, "a", "b")
    assert found.holds
    assert found.verdict.startswith("Publishing both releases leaves k = 4, and any")
    assert not replace(found, k=5).holds
    assert [each.pmse_tree for each in found.figures] == [None, None]


@pytest.fixture
def half(folder, tmp_path):
    """The releases a and c, of which half of the records have one key."""
    for name in ("a", "c"):
        table = pd.read_csv(folder / f"{name}.csv")
        table["person"] = table["person"].clip(lower=1024)
        table.to_csv(tmp_path / f"{name}.csv", index=False)
        path = folder / f"{name}.manifest.json"
        (tmp_path / path.name).write_bytes(path.read_bytes())
    return tmp_path


def test_of_others_it_is_not_known(half) -> None:
    found = published(half, "a", "c")
    a, c = (pd.read_csv(half / f"{name}.csv") for name in "ac")
    a, c = (t[t["person"] > 1024].set_index("person").sort_index() for t in (a, c))
    pairs = pd.DataFrame({"a": a["income"], "age": a["age"], "c": c["income"]})
    sizes = pairs.value_counts()
    assert found.joined == found.together.total == len(pairs) == 23
    assert found.together.rarest == sizes.min()
    assert not found.complete
    assert not found.holds
    assert found.verdict == (
        "Without private keys it is NOT KNOWN whether publishing both releases leaves "
        "k = 3: each holds what its own smallest group says, and the groups that they "
        "have in common cannot be counted. By 'illness', 'note', 'person', which all "
        "publish as they are, 23 people of 48 and 48 records can be put together by "
        "anybody."
    )
    assert found.notes == [
        f"Of these, {sizes[sizes < 3].sum()} are in groups in common with fewer than 3 "
        "of them; records that nobody can put together may be there, too."
    ]


def test_without_a_column_in_common_nobody_is_put_together(half) -> None:
    for name in ("a", "c"):
        path = half / f"{name}.csv"
        table = pd.read_csv(path).assign(person=1)
        table.to_csv(path, index=False)
    found = published(half, "a", "c")
    assert (found.joined, found.together, found.notes) == (0, None, [])
    assert not found.holds
    assert "0 people of 48 and 48 records" in found.verdict
    assert replace(found, by=()).verdict.endswith(
        "cannot be counted. 0 people of 48 and 48 records can be put together by "
        "anybody."
    )
    assert found.to_dict()["together"] is None


def test_one_release_is_refused(folder) -> None:
    with refused(AggoptError):
        published(folder, "a")


# --- who is who, of tables in memory

PLAIN = ["region", "sex", "code", "own"]
OF = {"quasi_identifier": ["age", "income"], "stratum": PLAIN[:1]}
ROLE = Roles(**OF, confidential=PLAIN[1:2], other=PLAIN[2:])
JOB = SimpleNamespace(roles=ROLE, combination=["age", "income"])


def test_people_are_told_by_columns_that_all_publish_alike() -> None:
    one = {"sex": [*"fmf"], "region": [1, 2, 1], "code": [1, 2, 3], "age": [1, 2, 3]}
    two = {"region": [2, 1], "code": ["1", "2"], "sex": [*"mm"], "age": [1, 2]}
    three = {"own": [1], "region": [1], "sex": ["f"], "code": [1], "age": [1]}
    frames = [pa.table(each) for each in (one, two, three)]
    by, found = _find_people(frames, [JOB] * 3)
    assert by == ("sex", "region")
    assert [own.tolist() for own in found] == [[0, 1, 0], [1, 2], [0]]


def test_where_none_is_published_alike_all_are_alike() -> None:
    frames = [pa.table({"age": [1] * n, "sex": ["f"] * n}) for n in (3, 2)]
    kept = SimpleNamespace(roles=Roles(**OF))
    by, found = _find_people(frames, [JOB, kept])
    assert by == ()
    assert [own.tolist() for own in found] == [[0] * 3, [0] * 2]
    assert _join_people(found).tolist() == []


def test_who_stands_once_in_each_is_joined() -> None:
    found = _join_people(
        [np.array(own) for own in ([5, 2, 2, 1, 0], [0, 1, 1, 5], [5, 0])]
    )
    assert found.tolist() == [0, 5]


def test_groups_of_those_who_are_joined_are_in_their_order() -> None:
    frame = pa.table({"age": [3, 1, 2, 1, 1], "income": [1, 1, 1, 2, 1]})
    joined, people = np.array([0, 4, 7]), np.array([9, 7, 2, 4, 0])
    assert _select_joined(frame, JOB, people, joined).tolist() == [0, 1, 0]


def test_one_person_is_said_to_be_one() -> None:
    found = PublicComparison((), ("sex",), (3, 2), 1, None, 3)
    assert found.verdict.endswith(
        "cannot be counted. By 'sex', which all publish as they are, 1 person of 3 and "
        "2 records can be put together by anybody."
    )
