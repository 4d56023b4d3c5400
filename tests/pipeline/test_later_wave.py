"""A wave in the groups of an earlier one: held back, placed, counted, or refused."""

import json
from shutil import copytree

import numpy as np
import pandas as pd
import pytest
from households import OF_RECORDS, members, of
from pipeline.two_files import groups_in_common
from refusals import refused
from tables import people

import aggopt
from aggopt.errors import AggoptError, PrivacyError
from aggopt.inspection.check import check_table
from aggopt.pipeline.review.compare_with_keys import compare_releases
from aggopt.pipeline.review.repeat import repeat
from aggopt.pipeline.review.review_release import assess_release

ROLES = {
    "identifier": ["name"],
    "quasi-identifier": ["age", "income"],
    "confidential": ["illness"],
    "other": ["note"],
}


def job(partition=None, k=5, **sections):
    how = partition or {"method": "mdav"}
    roles = sections.pop("roles", ROLES)
    return aggopt.Job(roles=roles, privacy={"k": k}, partition=how, **sections)


def kept(folder, changes="refuse", **more):
    return {
        "keep_groups": str(folder / "a.private.csv"),
        "earlier": str(folder / "one.csv"),
        "person": "name",
        "changes": changes,
        **more,
    }


@pytest.fixture(scope="module")
def first_wave(tmp_path_factory):
    """A folder with the table of the first wave, and its release."""
    folder = tmp_path_factory.mktemp("first")
    people(60).to_csv(folder / "one.csv", index=False)
    aggopt.mask(folder / "one.csv", job()).write(folder / "a.csv")
    return folder


@pytest.fixture
def folder(first_wave, tmp_path):
    """A copy of these files."""
    return copytree(first_wave, tmp_path, dirs_exist_ok=True)


def later(gone=4, new=13, changed=3):
    """The people of the first wave but some, new ones, and some other incomes."""
    table = people(60)
    table.loc[20 : 19 + changed, "income"] *= 1.1
    more = people(new, seed=7).assign(name=[f"New {i}" for i in range(new)])
    table = pd.concat([table.iloc[gone:], more], ignore_index=True)
    return table.sample(frac=1.0, random_state=0)


@pytest.mark.parametrize("changes", ["hold back", "merge"])
def test_held_back_records_are_in_the_key_and_no_file_else(folder, changes) -> None:
    later(changed=9).to_csv(folder / "two.csv", index=False)
    asked = job(kept(folder, changes))
    release = aggopt.mask(folder / "two.csv", asked)
    release.write(folder / "b.csv")
    key = pd.read_csv(folder / "b.private.csv")
    there = key["released_record"].notna()
    assert len(key) == 69
    assert there.sum() == len(pd.read_csv(folder / "b.csv")) == len(release.labels)
    assert release.wave.held == (~there).sum() > 0
    assert np.array_equal(release.kept, there)
    names = pd.read_csv(folder / "two.csv")["name"]
    second = pd.Series(key["group"][there].to_numpy(), names[there])
    first = pd.Series(
        pd.read_csv(folder / "a.private.csv")["group"].to_numpy(),
        pd.read_csv(folder / "one.csv")["name"],
    )
    assert groups_in_common(first, second).min() >= 5
    new = second[second.index.str.startswith("New")]
    assert len(new) == (13 if changes == "merge" else 0)
    stated = json.loads((folder / "b.manifest.json").read_text())["wave"]
    assert stated["held_back"] == release.wave.held
    assert stated["changes"]["holds"]
    assert any("are held back" in note for note in release.notes[: release.urgent])
    found = assess_release(folder / "two.csv", folder / "b.csv", asked)
    assert found.audit.holds
    assert found.measures.il == pytest.approx(release.measures.il)
    again = repeat(folder / "b.manifest.json", folder / "two.csv", folder / "c.csv")
    assert again.table.read_bytes() == (folder / "b.csv").read_bytes()
    both = compare_releases(
        [folder / "a.csv", folder / "b.csv"],
        [folder / "one.csv", folder / "two.csv"],
        [folder / "a.manifest.json", folder / "b.manifest.json"],
        person="name",
    )
    assert both.holds
    assert both.changes[0].changes == release.wave.changes


def test_new_records_and_few_changes_are_placed_alike_by_each_solver(folder) -> None:
    table, objectives = later(gone=0, changed=7), []
    for solver in (None, "highs", "pyomo:highs"):
        asked = job(kept(folder, "merge", solver=solver, time_limit=30.0))
        release = aggopt.mask(table, asked)
        assert len(release.labels) == len(table)
        proof = release.proofs["places of changes"]
        objectives.append(proof.objective)
        assert proof.violation == 0
        assert proof.bound <= proof.objective
        assert proof.gap < 1e-6
        counted = release.wave.changes
        assert counted.new.total == 13
        assert counted.new.rarest >= 5
        assert counted.changed["income"].rarest >= 5
    assert objectives == pytest.approx([objectives[0]] * 3, rel=1e-6)


def test_nothing_is_placed_where_all_holds(folder) -> None:
    release = aggopt.mask(later(0, 0, 0), job(kept(folder, "merge")))
    assert "places of changes" not in release.proofs
    assert release.wave.held == 0
    assert release.kept is None


def test_fewer_than_k_new_ones_and_changes_are_held_back_by_merge(folder) -> None:
    release = aggopt.mask(later(0, 4, 3), job(kept(folder, "merge")))
    assert release.wave.changes.new.total == 0
    assert release.wave.changes.changed["income"].total == 0
    assert 4 < release.wave.held <= 4 + 3 * 9


def test_the_k_of_the_first_wave_counts(folder) -> None:
    table = later(0, 4, 0)
    with refused(PrivacyError, "k = 5"):
        aggopt.mask(table, job(kept(folder), k=2))
    (folder / "a.manifest.json").unlink()  # then that of the smallest group counts
    with refused(PrivacyError, "k = 5"):
        aggopt.mask(table, job(kept(folder), k=2))


def test_the_manifest_of_another_key_is_refused(folder) -> None:
    aggopt.mask(folder / "one.csv", job(k=4)).write(folder / "c.csv")
    (folder / "c.manifest.json").replace(folder / "a.manifest.json")
    with refused(AggoptError):
        aggopt.mask(later(), job(kept(folder)))


def test_columns_that_one_wave_does_not_publish_do_not_count(folder) -> None:
    table = later(0, 0, 3)
    roles = {**ROLES, "quasi-identifier": ["age"], "drop": ["income"]}
    release = aggopt.mask(table, job(kept(folder), roles=roles))
    assert set(release.wave.changes.changed) == {"age", "illness", "note"}
    table.loc[7, "illness"] = "another"
    with refused(PrivacyError, "'illness'"):
        aggopt.mask(table, job(kept(folder), roles=roles))


@pytest.mark.parametrize(
    "spell",
    [
        lambda t: t.assign(age=t["age"].astype(float)),
        lambda t: t.assign(illness=t["illness"].astype("category")),
        lambda t: t.assign(note=t["note"].replace("1.10", "1.1")),
    ],
)
def test_another_spelling_of_a_value_is_no_change(folder, spell) -> None:
    counted = aggopt.mask(spell(people(60)), job(kept(folder))).wave.changes.changed
    assert sum(few.total for few in counted.values()) == 0


def test_the_least_change_of_a_number_or_code_is_one(folder) -> None:
    table = people(60).assign(age=lambda t: t["age"] + 1e-9)
    release = aggopt.mask(table, job(kept(folder)))
    assert release.wave.changes.changed["age"].total == 60
    table = people(60).assign(note=lambda t: t["note"].replace("007", "7"))
    with refused(PrivacyError, "'note'"):
        aggopt.mask(table, job(kept(folder)))


def test_who_was_held_back_is_new_in_the_next_wave(folder) -> None:
    later(gone=1, new=0, changed=0).to_csv(folder / "two.csv", index=False)
    aggopt.mask(folder / "two.csv", job(kept(folder, "hold back"))).write(
        folder / "b.csv"
    )
    how = {"keep_groups": str(folder / "b.private.csv")}
    how |= {"earlier": str(folder / "two.csv"), "person": "name"}
    third = pd.concat([later(1, 0, 0), later(0, 6, 0).tail(0)])
    with refused(AggoptError, "private.csv", "keep_groups"):
        aggopt.mask(third, job(how))
    for name, files in {"keep_groups": "ab", "earlier": ("one", "two")}.items():
        ending = ".private.csv" if name == "keep_groups" else ".csv"
        how[name] = [str(folder / f"{file}{ending}") for file in files]
    with refused(AggoptError):
        aggopt.mask(third, job(how))
    release = aggopt.mask(third, job({**how, "changes": "hold back"}))
    assert release.wave.changes.new.total == 0
    assert release.wave.changes.gone.total == 0
    assert release.wave.held == 4
    assert set(release.wave.changes.others) == {"a", "all earlier releases together"}


def test_units_are_counted_in_units(tmp_path) -> None:
    frame = members().assign(id=np.arange(len(members())))
    frame.to_csv(tmp_path / "one.csv", index=False)
    plain = of(OF_RECORDS)
    roles = plain.roles.model_copy(update={"identifier": ("id",)})
    plain = plain.model_copy(update={"roles": roles})
    aggopt.mask(tmp_path / "one.csv", plain).write(tmp_path / "a.csv")
    how = of(OF_RECORDS, partition={**kept(tmp_path), "person": "id"}).partition
    asked = plain.model_copy(update={"partition": how})
    release = aggopt.mask(frame, asked)
    assert release.wave.changes.what == "unit"
    assert release.wave.changes.common.rarest >= 3
    with refused(PrivacyError):
        aggopt.mask(frame.iloc[1:], asked)
    held = how.model_copy(update={"changes": "hold back"})
    release = aggopt.mask(frame.iloc[1:], plain.model_copy(update={"partition": held}))
    assert release.wave.changes.what == "unit"
    assert release.wave.changes.gone.rarest >= 3
    merged = how.model_copy(update={"changes": "merge"})
    release = aggopt.mask(
        frame.iloc[1:], plain.model_copy(update={"partition": merged})
    )
    assert release.wave.changes.holds
    frame.drop(columns="household").to_csv(tmp_path / "one.csv", index=False)
    (tmp_path / "a.manifest.json").unlink()  # which knows the table
    with refused(AggoptError, "'household'"):
        aggopt.mask(frame, asked)


def test_waves_within_strata_are_held_back_or_refused(tmp_path) -> None:
    roles = {**ROLES, "stratum": ["note"], "other": []}
    table = people(80).assign(note=["x", "y"] * 40)
    table.to_csv(tmp_path / "one.csv", index=False)
    aggopt.mask(tmp_path / "one.csv", job(roles=roles)).write(tmp_path / "a.csv")
    wave = table.iloc[2:]
    release = aggopt.mask(wave, job(kept(tmp_path, "hold back"), roles=roles))
    assert release.wave.changes.holds
    assert release.wave.held >= 4
    moved = table.copy()
    moved.loc[0, "note"] = "y"
    with refused(PrivacyError, "'note'"):
        aggopt.mask(moved, job(kept(tmp_path), roles=roles))
    moved = table.assign(note=["y", "x"] * 4 + ["x", "y"] * 36)
    with refused(PrivacyError):
        aggopt.mask(moved, job(kept(tmp_path), k=2, roles=roles))


def test_a_wave_of_which_all_would_be_held_back_is_refused(folder) -> None:
    groups = pd.read_csv(folder / "a.private.csv")["group"]
    first = groups.drop_duplicates().index
    with refused(PrivacyError, "48"):
        aggopt.mask(people(60).drop(index=first), job(kept(folder, "hold back")))


@pytest.mark.parametrize(
    "how",
    [
        {"changes": "merge", "person": None},
        {"changes": "hold back", "solver": "highs"},
        {"changes": "refuse", "time_limit": 3.0},
        {"changes": "merge", "solver": "clarabel"},
        {"changes": "mend"},
        {"keep_groups": ["a", "b"]},
        {"keep_groups": ["a", "b"], "earlier": None},
        {"keep_groups": []},
    ],
)
def test_settings_that_do_not_go_together_are_refused(folder, how) -> None:
    with refused(AggoptError):
        job({**kept(folder), **how})


def test_changes_are_not_counted_without_the_earlier_table(folder) -> None:
    how = {"keep_groups": str(folder / "a.private.csv")}
    release = aggopt.mask(later(0, 0, 3).sort_index(), job(how))
    assert release.wave is None
    (note,) = (each for each in release.notes if "was not counted" in each)
    assert note in release.notes[: release.urgent]


def test_the_same_records_in_the_same_order_need_no_person(folder) -> None:
    how = kept(folder)
    del how["person"]
    changed = later(0, 0, 1).sort_index()
    with refused(PrivacyError, "'income'"):
        aggopt.mask(changed, job(how))
    assert aggopt.mask(people(60), job(how)).wave.changes.holds
    with refused(AggoptError, "60", "59"):
        aggopt.mask(people(59), job(how))


def test_dates_in_a_format_of_their_own_are_compared_as_dates(tmp_path) -> None:
    born = pd.Timestamp("1950-01-01") + pd.to_timedelta(np.arange(60) * 97, "D")
    table = people(60).assign(age=pd.Series(born).dt.strftime("%d.%m.%Y"))
    table.to_csv(tmp_path / "one.csv", index=False)
    types = {"age": {"kind": "date", "format": "%d.%m.%Y"}}
    aggopt.mask(tmp_path / "one.csv", job(attributes=types)).write(tmp_path / "a.csv")
    asked = job(kept(tmp_path), attributes=types)
    release = aggopt.mask(tmp_path / "one.csv", asked)
    assert release.wave.changes.changed["age"].total == 0
    table.loc[5, "age"] = "01.02.1999"
    with refused(PrivacyError, "'age'"):
        aggopt.mask(table, asked)


@pytest.mark.parametrize("published", ["drop", "group mean"])
def test_a_weight_that_one_person_changed_shows_in_the_means(tmp_path, published):
    """Means by weight move by one factor, so a changed weight gives a person away."""
    first = people(60).assign(w=np.linspace(1, 2, 60).round(2))
    second = first.copy()
    second.loc[7, "w"] *= 1.1
    first.to_csv(tmp_path / "one.csv", index=False)
    second.to_csv(tmp_path / "two.csv", index=False)
    weighed = {"roles": {**ROLES, "weight": "w"}, "weights": {"published": published}}
    aggopt.mask(tmp_path / "one.csv", job(**weighed)).write(tmp_path / "a.csv")
    with refused(PrivacyError, "'w'"):
        aggopt.mask(tmp_path / "two.csv", job(kept(tmp_path), **weighed))
    release = aggopt.mask(
        tmp_path / "two.csv", job(kept(tmp_path, "hold back"), **weighed)
    )
    assert release.wave.held > 0


def test_a_comparison_counts_weights_that_are_not_published(tmp_path):
    first = people(60).assign(w=np.linspace(1, 2, 60).round(2))
    second = first.assign(w=first["w"].where(first.index != 7, 2.5))
    weighed = {"roles": {**ROLES, "weight": "w"}, "weights": {"published": "drop"}}
    tables = [tmp_path / "one.csv", tmp_path / "two.csv"]
    releases = [tmp_path / "a.csv", tmp_path / "b.csv"]
    for table, path, to in zip((first, second), tables, releases, strict=True):
        table.to_csv(path, index=False)
        aggopt.mask(path, job(**weighed)).write(to)
    manifests = [to.with_suffix(".manifest.json") for to in releases]
    (pair,) = compare_releases(releases, tables, manifests, person="name").changes
    assert "'w'" in str(pair.changes)


WAVES = {
    "one value of a few": lambda: later(0, 0, 1),
    "gone": lambda: later(1, 0, 0),
    "new": lambda: later(0, 1, 0),
    "all three": lambda: later(4, 13, 3),
    "of the same": lambda: later(0, 0, 0),
}


@pytest.mark.parametrize("changes", ["refuse", "hold back", "merge"])
@pytest.mark.parametrize("what", WAVES)
def test_check_refuses_a_wave_as_mask_does(folder, what, changes) -> None:
    WAVES[what]().to_csv(folder / "two.csv", index=False)
    asked = job(kept(folder, changes))
    (folder / "two.toml").write_text(asked.to_toml())
    found = check_table(folder / "two.csv", folder / "two.toml")
    if changes != "refuse" or what == "of the same":
        aggopt.mask(folder / "two.csv", asked)
        assert (found.code, found.obstacles) == (0, ())
        return
    with pytest.raises(PrivacyError) as error:
        aggopt.mask(folder / "two.csv", asked)
    (only,) = found.obstacles
    assert (only.problem, only.fix) == (error.value.problem, error.value.fix)
    assert found.code == error.value.exit_code == 1


def test_the_refusal_of_a_wave_counts_who_came_went_and_changed(folder) -> None:
    with refused(PrivacyError, "56", "13", "'income'"):
        aggopt.mask(later(4, 13, 3), job(kept(folder)))


def test_a_way_out_of_a_wave_is_offered_only_if_it_holds(folder) -> None:
    first = pd.read_csv(folder / "a.private.csv")["group"].drop_duplicates().index
    table = people(60).drop(index=first)  # one of each group is gone
    with refused(PrivacyError, "keep_groups") as error:
        aggopt.mask(table, job(kept(folder)))
    assert "changes =" not in error.value.fix
    aggopt.mask(table, job())
    how = kept(folder)
    del how["person"]
    with refused(PrivacyError, "NAME", "[partition]") as error:
        aggopt.mask(later(0, 0, 1).sort_index(), job(how))
