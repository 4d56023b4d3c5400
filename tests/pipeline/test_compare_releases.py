"""Releases of one table together: the groups that they have in common."""

import json
from dataclasses import replace
from functools import cache
from pathlib import Path

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from refusals import refused
from tables import people

import aggopt
from aggopt.core.plural import plural
from aggopt.errors import AggoptError
from aggopt.pipeline.review.compare_with_keys import (
    _count_groups,
    _find_released,
    _read_groups,
    compare_releases,
)
from aggopt.pipeline.review.comparison import ReleaseComparison, ReleaseFigures
from aggopt.release.audit.counts import Count
from aggopt.release.files.output_paths import ReleaseFiles

ROLES = {
    "identifier": ["name"],
    "quasi-identifier": ["age", "income"],
    "confidential": ["illness"],
    "other": ["note", "person"],
}


def job(k=4, **sections):
    return aggopt.Job(
        roles=ROLES, privacy={"k": k}, partition={"method": "mdav"}, **sections
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Three releases of one table: a and b alike, c in other groups."""
    folder = tmp_path_factory.mktemp("together")
    frame = people(48).assign(person=np.arange(48) + 1000)
    path = folder / "people.csv"
    frame.to_csv(path, index=False)
    aggopt.mask(path, job()).write(folder / "a.csv")
    aggopt.mask(path, job()).write(folder / "b.csv")
    roles = {**ROLES, "quasi-identifier": ["income"], "identifier": ["name", "age"]}
    alone = aggopt.Job(roles=roles, privacy={"k": 3}, partition={"method": "mdav"})
    aggopt.mask(path, alone).write(folder / "c.csv")
    return folder


@cache
def of_first(folder, *names):
    """What is together in the folder of the first releases, found once."""
    return together(folder, *names)


def together(folder, *names, manifests=None):
    tables = [folder / f"{name}.csv" for name in names]
    beside = [folder / f"{name}.manifest.json" for name in manifests or names]
    return compare_releases(tables, folder / "people.csv", beside)


def labels(folder, name):
    return pd.read_csv(folder / f"{name}.private.csv")["group"]


def test_releases_in_the_same_groups_leave_k(folder) -> None:
    found = of_first(folder, "a", "b")
    assert found.holds
    assert (found.k, found.together.rarest, found.together.unique) == (4, 4, 0)
    assert found.together.attributes == ("age", "income")
    assert found.verdict == (
        "Publishing both releases leaves k = 4: the smallest group that they have in "
        "common is of 4 records."
    )
    assert found.best == {}


def test_releases_in_other_groups_break_the_smaller_k(folder) -> None:
    found = of_first(folder, "a", "c")
    sizes = pd.crosstab(labels(folder, "a"), labels(folder, "c")).to_numpy().ravel()
    sizes = sizes[sizes > 0]
    assert not found.holds
    assert found.k == 3
    assert found.together == Count(
        ("age", "income"),
        len(sizes),
        sizes.min(),
        sizes[sizes < 3].sum(),
        (sizes == 1).sum(),
    )
    rare, alone = found.together.rare, found.together.unique
    assert found.verdict == (
        "Publishing both releases DOES NOT LEAVE k = 3: the smallest group that they "
        f"have in common is of 1 record; {alone} of {sizes.sum()} records are unique; "
        f"all {rare} are in groups smaller than 3."
    )


def test_three_releases_are_together_what_two_of_them_are(folder) -> None:
    assert (
        of_first(folder, "a", "b", "c").together == of_first(folder, "a", "c").together
    )


def test_figures_are_those_of_the_manifests_and_of_the_files(folder) -> None:
    found = of_first(folder, "a", "c")
    for each, name in zip(found.figures, ("a", "c"), strict=True):
        stated = json.loads((folder / f"{name}.manifest.json").read_text())
        assert each.file == f"{name}.csv"
        assert each.k == stated["job"]["privacy"]["k"]
        assert each.smallest == stated["audit"]["smallest"]
        assert each.il == stated["measures"]["il"]
        assert each.linkage == stated["measures"]["linkage"]
        gaps = [c["gap"] for c in stated["certificates"].values()]
        gaps += [part["certificate"]["gap"] for part in stated["partition"]]
        assert each.gap == max(gaps)
        names = list(stated["certificates"])
        one, other = (
            pd.read_csv(folder / file)[names] for file in ("people.csv", f"{name}.csv")
        )
        assert each.pmse_tree == aggopt.measure.utility.pmse_tree(one, other)
    assert found.figures[0].pmse_ratio is None  # five terms of 48 records
    assert found.figures[1].pmse_ratio is not None
    assert found.to_dict()["releases"][1]["file"] == "c.csv"
    assert found.to_dict()["together"]["rarest"] == 1
    assert set(found.to_dict()) == {
        *("releases", "together", "k", "partly", "common", "holds", "best", "notes"),
        "changes",
    }


def test_a_person_key_that_all_publish_is_named(folder) -> None:
    found = of_first(folder, "a", "c")
    assert found.keys == ("person",)
    assert found.notes == [
        "'person' differs in every record of all releases: it says which records are "
        "of one person."
    ]


def test_of_each_figure_the_better_is_marked() -> None:
    one = ReleaseFigures("a.csv", 3, 3, 0.1, 0.2, 0.5, 0.2, None)
    two = ReleaseFigures("b.csv", 5, 5, 0.3, 0.2, None, 0.1, 0.01)
    count = Count(("x",), 2, 5, 0, 0)
    found = ReleaseComparison((one, two), count, 3, ())
    assert found.best == {"k": ["b.csv"], "il": ["a.csv"], "pmse_tree": ["b.csv"]}
    three = replace(one, file="c.csv", gap=0.02)
    near = replace(two, il=one.il * (1 + 1e-12), pmse_tree=one.pmse_tree)
    assert set(ReleaseComparison((one, near), count, 3, ()).best) == {"k"}
    more = ReleaseComparison((one, two, three), count, 3, ())
    assert more.best["il"] == ["a.csv", "c.csv"]
    assert more.best["gap"] == ["b.csv"]
    assert more.holds
    assert not ReleaseComparison((one, two), replace(count, rarest=2), 3, ()).holds
    assert ReleaseComparison((one, two), replace(count, rarest=3), 3, ()).holds


def test_one_table_and_one_release_too_few_are_refused(folder) -> None:
    for names, manifests in ((["a"], ["a"]), (["a", "b"], ["a"])):
        with refused(AggoptError, "a.csv", "b.csv", "people.csv") as error:
            together(folder, *names, manifests=manifests)
        assert error.value.problem == (
            f"{plural(len(names), 'release')} and 1 manifest are named."
        )


@pytest.fixture
def copied(folder, tmp_path):
    for path in folder.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    return tmp_path


def edit(path, change):
    stated = json.loads(path.read_text())
    change(stated)
    path.write_text(json.dumps(stated))


def test_releases_of_different_tables_are_refused(copied) -> None:
    manifest = copied / "b.manifest.json"
    for change in ({"sha256": "0" * 64}, {"records": 47}):
        edit(manifest, lambda stated, change=change: stated["input"].update(change))
        with refused(AggoptError, "a.csv", "b.csv", "NAME"):
            together(copied, "a", "b")


def test_another_original_is_refused(copied) -> None:
    (copied / "people.csv").write_text("name\nA\n")
    with refused(AggoptError, "people.csv"):
        together(copied, "a", "b")


def test_manifests_in_another_order_are_refused(copied) -> None:
    with refused(AggoptError):
        together(copied, "a", "c", manifests=["c", "a"])


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", "3", '{"job": {}, "input": {}, "audit": {}, "certificates": {}}'],
)
def test_what_is_no_manifest_is_refused(copied, text) -> None:
    path = copied / "b.manifest.json"
    path.write_text(text)
    with refused(AggoptError, "NAME", "manifest.json") as error:
        together(copied, "a", "b")
    assert error.value.problem == (
        f"{path} is not the manifest of a release, or cannot be read."
    )
    path.unlink()
    with refused(AggoptError):
        together(copied, "a", "b")


@pytest.mark.parametrize("with_manifest", [True, False])
def test_a_release_that_is_not_there_is_named(copied, with_manifest) -> None:
    path = copied / "b.csv"
    path.unlink()
    if not with_manifest:
        (copied / "b.manifest.json").unlink()
    with refused(AggoptError) as error:
        together(copied, "a", "b")
    assert error.value.problem == f"{path} is not there."


def test_a_release_without_its_key_is_refused(copied) -> None:
    (copied / "b.private.csv").unlink()
    with refused(AggoptError, "private.csv"):
        together(copied, "a", "b")


def test_records_that_a_release_leaves_out_are_counted_by_difference(tmp_path) -> None:
    frame = people(48).assign(note=["north"] * 23 + ["east"] * 2 + ["south"] * 23)
    frame.to_csv(tmp_path / "people.csv", index=False)
    roles = {**ROLES, "other": []}
    for name, small in (("a", "drop"), ("b", "merge")):
        asked = aggopt.Job(
            roles={**roles, "stratum": ["note"]},
            privacy={"k": 4},
            partition={"method": "mdav"},
            strata={"small": small},
        )
        aggopt.mask(tmp_path / "people.csv", asked).write(tmp_path / f"{name}.csv")
    both = together(tmp_path, "a", "b")
    found = both.together
    one, other = (labels(tmp_path, name) for name in ("a", "b"))
    sizes = pd.crosstab(one.fillna(-1), other.fillna(-1)).to_numpy().ravel()
    assert found.combinations == (sizes > 0).sum()
    assert found.rarest == sizes[sizes > 0].min() <= 2
    assert found.total == 48
    assert found.attributes == ("age", "income", "note")
    assert both.partly == both.to_dict()["partly"] == 2
    assert not both.holds
    assert both.verdict.endswith(
        f" groups smaller than {both.k}. 2 records are left out of some of them: what "
        "the others say tells who is left in a group, and is counted. Of those that "
        "are in all of them, the "
        f"smallest is of {both.common.rarest} record{'s' * (both.common.rarest > 1)}."
    )
    assert both.common.total == 46
    assert (
        both.common.rarest
        == pd.crosstab(
            *(labels(tmp_path, name)[~(other.isna() | one.isna())] for name in "ab")
        )
        .replace(0, 99)
        .to_numpy()
        .min()
    )
    assert both.to_dict()["common"]["rarest"] == both.common.rarest
    assert "1 record is left out" in replace(both, partly=1).verdict


def counted_of(groups, k):
    """What is counted of groups of records that any of the releases has."""
    return _count_groups(groups, _find_released(groups), [job(k)], [None])


def test_a_record_that_some_of_three_leave_out_counts_in_the_others() -> None:
    one = np.array([0, 0, 0, -1, -1, -1, -1, 3])
    two = np.array([4, 4, 4, 1, 1, 2, 2, -1])
    three = np.array([2, 2, 2, 0, 1, 0, -1, -1])
    found = counted_of([one, two, three], 3)
    assert (found.combinations, found.rarest, found.unique) == (6, 1, 5)
    assert found.total == 8


def test_groups_of_which_records_are_left_out_are_numbered_anew() -> None:
    one = np.array([0, 5, 5, 5, 5, 5, -1])  # as many records as numbers of groups
    two = np.array([0, 0, 0, 0, 1, 1, 2])
    found = counted_of([one, two], 3)
    assert (found.combinations, found.rarest, found.total) == (4, 1, 7)
    assert (found.rare, found.unique) == (4, 2)


def test_units_are_counted_where_a_release_counts_them(tmp_path) -> None:
    home = np.arange(9)
    one, two = 100 * (home // 3) + home % 3, 100 * (home % 3) + home // 3
    wide = pd.DataFrame({"home": home, "one": one, "two": two})
    wide.loc[wide.index.repeat(3)].to_csv(tmp_path / "people.csv", index=False)
    kinds = {"a": ("one", "two", "pseudonym"), "b": ("two", "one", "drop")}
    for name, (masked, dropped, published) in kinds.items():
        roles = {
            "unit": ["home"],
            "quasi-identifier": [masked],
            "identifier": [dropped],
        }
        asked = aggopt.Job(
            roles=roles,
            privacy={"k": 3},
            units={"attributes": [masked], "published": published},
            partition={"method": "mdav"},
        )
        aggopt.mask(tmp_path / "people.csv", asked).write(tmp_path / f"{name}.csv")
    found = together(tmp_path, "a", "b")
    assert not found.holds
    assert (found.together.rarest, found.together.what) == (1, "unit")
    assert "is of 1 unit; 9 of 9 units are unique." in found.verdict
    roles = {"quasi-identifier": ["one"], "identifier": ["two", "home"]}
    alone = aggopt.Job(roles=roles, privacy={"k": 3}, partition={"method": "mdav"})
    aggopt.mask(tmp_path / "people.csv", alone).write(tmp_path / "c.csv")
    for names in (("c", "a"), ("a", "c")):  # the units are fewer than the records
        both = together(tmp_path, *names).together
        assert (both.rarest, both.what) == (1, "unit")


def test_each_unit_is_counted_once_however_many_groups_it_is_in(tmp_path) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(120, 2)).round(3), columns=["one", "two"])
    frame["home"] = np.sort(rng.integers(0, 40, 120))
    frame.to_csv(tmp_path / "people.csv", index=False)
    groups = []
    for name, k in (("a", 3), ("b", 4)):
        asked = aggopt.Job(
            roles={"unit": ["home"], "quasi-identifier": ["one", "two"]},
            privacy={"k": k},
            partition={"method": "mdav"},
        )
        release = aggopt.mask(tmp_path / "people.csv", asked)
        release.write(tmp_path / f"{name}.csv")
        groups.append(release.labels)
    pairs = pd.DataFrame({"home": frame["home"], "a": groups[0], "b": groups[1]})
    size = pairs.groupby(["a", "b"])["home"].transform("nunique")
    found = together(tmp_path, "a", "b").together
    assert found.total == pairs["home"].nunique()
    assert found.rare == pairs["home"][size < 3].nunique()
    assert found.unique == pairs["home"][size == 1].nunique()
    assert found.rarest == size.min()
    assert found.unique < len(pairs[size == 1].drop_duplicates())


def test_who_is_in_one_release_alone_is_alone_by_difference() -> None:
    one, two = np.zeros(6, int), np.array([0, 0, 0, 0, 0, -1])
    found = counted_of([one, two], 5)
    assert (found.combinations, found.rarest, found.rare) == (2, 1, 1)


def test_in_releases_of_different_records_the_groups_of_each_count() -> None:
    one, two = np.array([0, 0, 0, -1, -1, -1]), np.array([-1, -1, -1, 0, 0, -1])
    found = counted_of([one, two], 2)
    assert (found.combinations, found.rarest, found.total) == (2, 2, 5)


def test_a_release_that_lacks_a_column_is_refused(copied) -> None:
    pd.read_csv(copied / "b.csv").drop(columns="age").to_csv(
        copied / "b.csv", index=False
    )
    with refused(AggoptError, "b.csv", "'age'"):
        together(copied, "a", "b")


def test_all_columns_that_a_release_lacks_are_named() -> None:
    frame, files = (
        nw.from_native(pa.table({"x": [1]})),
        ReleaseFiles.of_table(Path("b.csv")),
    )
    with refused(AggoptError, "b.csv", "'age'", "'income'"):
        _read_groups(frame, job(), Path("people.csv"), files)


def test_a_release_that_kept_nothing_measured_has_no_figures(copied) -> None:
    def change(stated):
        stated["measures"] = None
        stated["certificates"]["age"]["gap"] = None

    edit(copied / "b.manifest.json", change)
    found = together(copied, "a", "b").figures[1]
    assert (found.il, found.linkage, found.gap) == (None, None, None)


def test_two_releases_of_the_demo_leave_some_alone(tmp_path) -> None:
    from aggopt.command.demo import load_patients

    names = ["age", "sex", "bmi", "bp"]
    load_patients()[names].to_csv(tmp_path / "people.csv", index=False)
    for name, method in (("a", "local_search"), ("b", "mdav")):
        asked = aggopt.Job(
            roles={"quasi-identifier": names},
            privacy={"k": 5},
            partition={"method": method},
        )
        aggopt.mask(tmp_path / "people.csv", asked).write(tmp_path / f"{name}.csv")
    found = together(tmp_path, "a", "b").together
    assert (found.rarest, found.rare, found.unique) == (1, 357, 95)
