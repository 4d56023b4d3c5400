"""Releases of several tables of the same people, put together by an identifier."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from refusals import refused
from tables import people

import aggopt
from aggopt.errors import AggoptError
from aggopt.pipeline.review.compare_with_keys import compare_releases
from aggopt.pipeline.waves.linked_tables import LinkedTables

ROLES = {
    "identifier": ["name"],
    "quasi-identifier": ["age", "income"],
    "confidential": ["illness"],
    "other": ["note"],
}


def job(k=4, partition=None, **roles):
    how = partition or {"method": "mdav"}
    return aggopt.Job(roles={**ROLES, **roles}, privacy={"k": k}, partition=how)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two waves of 40 people, three of whom are gone and three new, in other order."""
    folder = tmp_path_factory.mktemp("waves")
    both = people(43)
    both[:40].to_csv(folder / "first.csv", index=False)
    later = both[3:].iloc[::-1].assign(income=lambda t: t["income"] * 1.3)
    later.to_csv(folder / "second.csv", index=False)
    for name in ("first", "second"):
        aggopt.mask(folder / f"{name}.csv", job()).write(folder / f"{name}_masked.csv")
    return folder


def together(folder, person="name", names=("first", "second"), tables=None):
    return compare_releases(
        [folder / f"{name}_masked.csv" for name in names],
        [folder / f"{name}.csv" for name in tables or names],
        [folder / f"{name}_masked.manifest.json" for name in names],
        person=person,
    )


def of_people(folder, name):
    """The group of each person in a wave, by name."""
    table = pd.read_csv(folder / f"{name}.csv")
    key = pd.read_csv(folder / f"{name}_masked.private.csv")
    return pd.Series(key["group"].to_numpy(), table["name"])


def test_groups_of_waves_are_put_together_by_person(folder) -> None:
    found = together(folder)
    one, two = (of_people(folder, name) for name in ("first", "second"))
    both = pd.concat([one, two], axis=1).fillna(-1)
    sizes = both.value_counts()
    assert len(both) == found.together.total == 43
    assert found.together.rarest == sizes.min()
    assert found.together.rare == sizes[sizes < 4].sum()
    assert found.together.unique == (sizes == 1).sum()
    assert found.partly == 6
    inner = both[(both >= 0).all(axis=1)].value_counts()
    assert (found.common.total, found.common.rarest) == (37, inner.min())
    assert not found.holds
    assert [each.file for each in found.figures] == [
        "first_masked.csv",
        "second_masked.csv",
    ]
    assert found.keys == ()


def test_the_groups_of_an_earlier_wave_leave_k_of_who_is_in_both(
    folder, tmp_path
) -> None:
    for path in folder.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    how = {
        "keep_groups": str(folder / "first_masked.private.csv"),
        "earlier": str(folder / "first.csv"),
        "person": "name",
    }
    with refused(AggoptError, "k = 4"):
        aggopt.mask(folder / "second.csv", job(3, how))
    how["changes"] = "hold back"
    made = aggopt.mask(folder / "second.csv", job(4, how))
    made.write(tmp_path / "third_masked.csv")
    (tmp_path / "third.csv").write_bytes((folder / "second.csv").read_bytes())
    found = together(tmp_path, names=("first", "third"))
    assert found.holds
    assert found.together.rarest == found.common.rarest == 4
    assert found.changes[0].changes == made.wave.changes
    assert "Of those that are in all of them, the smallest is of" in found.verdict


def test_a_person_key_over_waves_is_refused(folder, tmp_path) -> None:
    for name in ("first", "second"):
        table = pd.read_csv(folder / f"{name}.csv")
        own = table["name"].str.split().str[1].astype(int)
        table.assign(note=own + 1000).to_csv(tmp_path / f"{name}.csv", index=False)
        made = aggopt.mask(tmp_path / f"{name}.csv", job())
        made.write(tmp_path / f"{name}_masked.csv")
    with refused(AggoptError, "'note'"):
        together(tmp_path)


def test_a_column_that_changes_is_no_person_key(folder, tmp_path) -> None:
    for name in ("first", "second"):
        table = pd.read_csv(folder / f"{name}.csv")
        numbered = table.assign(note=np.arange(len(table)) + 1000)
        numbered.to_csv(tmp_path / f"{name}.csv", index=False)
        made = aggopt.mask(tmp_path / f"{name}.csv", job())
        made.write(tmp_path / f"{name}_masked.csv")
    assert together(tmp_path).together == together(folder).together


def write_as(folder, tmp_path, change):
    """The same files, but for the second table, and its release by the same job."""
    for path in folder.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    change(pd.read_csv(folder / "second.csv")).to_csv(
        tmp_path / "second.csv", index=False
    )
    made = aggopt.mask(tmp_path / "second.csv", job())
    made.write(tmp_path / "second_masked.csv", overwrite=True)


FIX_PERSON = "name an identifier of one record each."
WRONG = {
    "people that stand twice": (
        lambda t: t.assign(name=[*t["name"][:38], t["name"][0], t["name"][0]]),
        "'name' does not tell the records of second.csv apart: 0 have none, and 2 of "
        "40 stand there again.",
        FIX_PERSON,
    ),
    "a record of nobody": (
        lambda t: t.assign(name=[*t["name"][:39], None]),
        "'name' does not tell the records of second.csv apart: 1 have none, and 0 of "
        "40 stand there again.",
        FIX_PERSON,
    ),
    "other people": (
        lambda t: t.assign(name=t["name"] + "x"),
        "No person is in two of the tables, by 'name'.",
        "name the identifier that all of them have; releases of different people need "
        "not be compared.",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_people_that_nobody_can_tell_apart_are_refused(folder, tmp_path, case) -> None:
    change, problem, fix = WRONG[case]
    write_as(folder, tmp_path, change)
    with pytest.raises(AggoptError) as error:
        together(tmp_path)
    assert (error.value.problem, error.value.fix) == (problem, fix)


def test_a_table_without_the_person_is_refused(folder, tmp_path) -> None:
    for path in folder.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    table = pd.read_csv(folder / "second.csv").drop(columns="name")
    table.to_csv(tmp_path / "second.csv", index=False)
    with refused(AggoptError, "second.csv", "'name'"):
        together(tmp_path)


def test_a_person_that_is_published_is_refused(folder) -> None:
    with refused(AggoptError, "'note'", "first.csv"):
        together(folder, "note")


def with_households(folder, tmp_path, names=("first", "second"), column="home"):
    """The same waves; persons of a household are neighbours in the first table."""
    for path in folder.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    for name in ("first", "second"):
        table = pd.read_csv(folder / f"{name}.csv")
        number = table["name"].str.split().str[1].astype(int) // 2
        table.assign(**{column: number}).to_csv(tmp_path / f"{name}.csv", index=False)
        roles = {"unit": [column]} if name in names else {"drop": [column]}
        made = aggopt.mask(tmp_path / f"{name}.csv", job(3, **roles))
        made.write(tmp_path / f"{name}_masked.csv", overwrite=True)


@pytest.mark.parametrize("names", [("first", "second"), ("second",)])
def test_waves_in_which_k_counts_units_are_counted_in_units(
    folder, tmp_path, names
) -> None:
    with_households(folder, tmp_path, names)
    found = together(tmp_path)
    one, two = (of_people(tmp_path, name) for name in ("first", "second"))
    both = pd.concat([one, two], axis=1, keys=["one", "two"]).fillna(-1)
    home = both.index.str.split().str[1].astype(int) // 2
    sizes = both.assign(home=home).groupby(["one", "two"])["home"].nunique()
    assert found.together.what == "unit"
    assert found.together.rarest == sizes.min()
    (pair,) = found.changes
    inner = both.assign(home=home)[(both >= 0).all(axis=1)]
    stayed = inner.groupby(["one", "two"])["home"].nunique()
    assert pair.changes.what == "unit"
    assert pair.changes.common.rarest == stayed.min()
    assert pair.changes.common.few == (stayed < 3).sum()
    came = both.assign(home=home)[both["one"] < 0].groupby("two")["home"].nunique()
    assert pair.changes.new.rarest == came.min()


def test_waves_with_different_units_are_refused(folder, tmp_path) -> None:
    with_households(folder, tmp_path)
    table = pd.read_csv(tmp_path / "second.csv").rename(columns={"home": "house"})
    table.to_csv(tmp_path / "second.csv", index=False)
    made = aggopt.mask(tmp_path / "second.csv", job(3, unit=["house"]))
    made.write(tmp_path / "second_masked.csv", overwrite=True)
    with refused(AggoptError, "'home'", "'house'"):
        together(tmp_path)


def test_a_wave_without_the_units_of_the_other_is_refused(folder, tmp_path) -> None:
    with_households(folder, tmp_path, names=("second",))
    table = pd.read_csv(tmp_path / "first.csv").drop(columns="home")
    table.to_csv(tmp_path / "first.csv", index=False)
    made = aggopt.mask(tmp_path / "first.csv", job(3))
    made.write(tmp_path / "first_masked.csv", overwrite=True)
    with refused(AggoptError, "first.csv", "'home'"):
        together(tmp_path)


@pytest.mark.parametrize(
    ("person", "tables"),
    [
        (None, ["first", "second"]),
        ("name", ["first"]),
        ("name", ["first"] * 3),
        (None, []),
    ],
)
def test_tables_and_person_go_together(folder, person, tables) -> None:
    with refused(AggoptError, "a.csv", "b.csv", "NAME"):
        compare_releases(
            [folder / f"{name}_masked.csv" for name in ("first", "second")],
            [folder / f"{name}.csv" for name in tables],
            [folder / f"{name}_masked.manifest.json" for name in ("first", "second")],
            person=person,
        )


def test_the_table_of_another_release_is_refused(folder) -> None:
    with refused(AggoptError):
        together(folder, tables=("second", "first"))


def test_who_is_not_in_a_table_has_no_group_there() -> None:
    who = SimpleNamespace(at={"x": 0, "y": 1, "z": 2}, people=[["y", "x"], ["z"]])
    found = LinkedTables.united(who, [np.array([5, 6]), np.array([7])])
    assert [labels.tolist() for labels in found] == [[6, 5, -1], [-1, -1, 7]]


@pytest.mark.parametrize(
    ("published", "key"),
    [
        ([["c", "b", "a"], ["b", "c"]], "b"),
        ([["c", "a"], ["b", "c"]], "c"),
        ([["b", "a"], ["a", "c"]], None),
    ],
)
def test_a_key_that_all_waves_publish_is_refused(published, key) -> None:
    jobs = [SimpleNamespace(roles=SimpleNamespace(as_they_are=n)) for n in published]
    waves = SimpleNamespace(_identifies_people=lambda name: name in ("b", "c"))
    if key is None:
        return LinkedTables._require_no_key(waves, jobs)
    with refused(AggoptError):
        LinkedTables._require_no_key(waves, jobs)
