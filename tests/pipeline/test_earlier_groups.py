"""The groups of an earlier release, kept in a later one."""

import numpy as np
import pandas as pd
import pytest
from households import OF_RECORDS, OF_UNITS, members, of
from refusals import refused
from surveys import QUASI, heavy, largest_share, masked, sample
from tables import people

import aggopt
from aggopt.data.table import Table
from aggopt.errors import AggoptError, TableError
from aggopt.partition.kept_groups import keep_groups
from aggopt.pipeline.review.compare_with_keys import compare_releases
from aggopt.pipeline.waves.earlier_groups import add_earlier_groups

ROLES = {
    "identifier": ["name"],
    "quasi-identifier": ["age", "income"],
    "confidential": ["illness"],
    "other": ["note"],
}


def job(k=4, partition=None, **sections):
    how = partition or {"method": "mdav"}
    return aggopt.Job(roles=ROLES, privacy={"k": k}, partition=how, **sections)


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    """A release of 40 people in ten groups of 4."""
    folder = tmp_path_factory.mktemp("first")
    people().to_csv(folder / "people.csv", index=False)
    aggopt.mask(folder / "people.csv", job()).write(folder / "first.csv")
    return folder


def kept(folder, k=4, **more):
    how = {"keep_groups": str(folder / "first.private.csv"), **more}
    return job(k, how)


def groups(folder):
    return pd.read_csv(folder / "first.private.csv")["group"].to_numpy()


def same(one, other):
    """Whether two labellings are of the same groups."""
    pairs = set(zip(one, other, strict=True))
    return len(pairs) == len(set(one)) == len(set(other))


def test_the_same_people_stay_in_their_groups(first) -> None:
    later = people().assign(income=lambda t: t["income"] * 1.5)
    release = aggopt.mask(later, kept(first))
    assert same(release.labels, groups(first))
    assert release.audit.holds
    assert release.blocks[0].certificate.solver == "keep_groups"
    assert release.job.partition.method == "keep_groups"
    assert aggopt.Job(**release.manifest()["job"]) == kept(first)


def test_two_releases_in_the_same_groups_leave_k_together(first, tmp_path) -> None:
    for name in ("people.csv", "first.csv", "first.manifest.json", "first.private.csv"):
        (tmp_path / name).write_bytes((first / name).read_bytes())
    later = {**ROLES, "quasi-identifier": ["income"], "other": ["note", "age"]}
    asked = aggopt.Job(
        roles=later, privacy={"k": 4}, partition=kept(tmp_path).partition
    )
    aggopt.mask(tmp_path / "people.csv", asked).write(tmp_path / "second.csv")
    found = compare_releases(
        [tmp_path / "first.csv", tmp_path / "second.csv"],
        tmp_path / "people.csv",
        [tmp_path / "first.manifest.json", tmp_path / "second.manifest.json"],
    )
    assert found.holds
    assert found.together.rarest == 4


def test_a_later_wave_finds_its_people_by_an_identifier(first) -> None:
    later = people()
    later["age"], later["income"] = later["age"] + 1.0, later["income"] * 1.1
    old = groups(first)
    later = later[old != old[0]].iloc[::-1]
    how = kept(first, k=3, earlier=str(first / "people.csv"), person="name")
    release = aggopt.mask(later, how)
    places = [int(name.split()[1]) for name in later["name"]]
    assert same(release.labels, [old[place] for place in places])
    assert release.wave.changes.gone.total == 4
    assert release.wave.changes.changed["income"].total == 36


def test_one_record_of_the_first_group_may_be_all_that_is_left(first) -> None:
    how = kept(first, earlier=str(first / "people.csv"), person="name")
    stays = int(np.flatnonzero(groups(first) == 0)[0])
    later = people().assign(name=[f"Other {i}" for i in range(40)])
    later.loc[7, "name"] = f"Person {stays}"
    found = add_earlier_groups(how, Table.of(later, how.roles)).partition
    assert found.settings["labels"].tolist() == [-1] * 7 + [0] + [-1] * 32


def test_groups_of_fewer_than_k_are_merged_with_the_nearest() -> None:
    X = np.array([[0.0], [1], [10], [11], [12], [30], [31], [32]])
    labels = np.array([5, 5, 3, 3, 3, 9, 9, 9])
    assert keep_groups(X, 3, labels=labels).tolist() == [0] * 5 + [1] * 3
    assert keep_groups(X, 2, labels=labels).tolist() == [1, 1, 0, 0, 0, 2, 2, 2]
    assert keep_groups(X, 4, labels=labels).tolist() == [0] * 8
    seen = []
    keep_groups(X, 2, labels=labels, progress=seen.append)
    assert seen == [1.0]
    assert labels.tolist() == [5, 5, 3, 3, 3, 9, 9, 9]


def test_new_records_join_the_nearest_group_of_the_old_ones() -> None:
    X = np.array([[0.0, 0], [2, 0], [10, 1], [12, 1], [3, 0], [9, 1]])
    labels = np.array([1, 1, 0, 0, -1, -1])
    assert keep_groups(X, 2, labels=labels).tolist() == [1, 1, 0, 0, 1, 0]


def test_the_bound_of_kept_groups_is_that_of_any_groups() -> None:
    X = np.random.default_rng(0).normal(size=(12, 2))
    labels = np.repeat([0, 1, 2], 4)
    found = keep_groups(X, 4, labels=labels).certificate
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    lost = sum(
        ((Z[labels == g] - Z[labels == g].mean(axis=0)) ** 2).sum() for g in range(3)
    )
    assert found.objective == pytest.approx(lost)
    assert 0 < found.bound <= found.objective


def test_paths_are_seen_from_the_job_file(first) -> None:
    (first / "later.toml").write_text(
        '[roles]\nidentifier = ["name"]\nquasi-identifier = ["age", "income"]\n'
        'confidential = ["illness"]\nother = ["note"]\n[privacy]\nk = 4\n'
        '[partition]\nkeep_groups = "first.private.csv"\nearlier = "people.csv"\n'
        'person = "name"\n'
    )
    read = aggopt.Job.read(first / "later.toml").partition
    assert read.keep_groups == str(first / "first.private.csv")
    assert read.earlier == str(first / "people.csv")
    assert same(aggopt.mask(people(), first / "later.toml").labels, groups(first))


def test_a_job_that_makes_its_groups_is_as_it_was() -> None:
    asked = job()
    assert add_earlier_groups(asked, None) is asked


def kept_but_for(folder, last, **more):
    """The groups of a release that left the last records out."""
    lines = (folder / "first.private.csv").read_text().splitlines()
    lines[-last:] = ["," * lines[0].count(",")] * last
    (folder / "second.private.csv").write_text("\n".join(lines) + "\n")
    how = {"keep_groups": str(folder / "second.private.csv"), **more}
    return job(4, how)


def test_who_was_left_out_before_may_be_left_out_again(first) -> None:
    how = kept_but_for(first, 2, earlier=str(first / "people.csv"), person="name")
    release = aggopt.mask(people().iloc[:38], how)
    assert len(release.labels) == 38
    assert release.audit.holds


FIX_TABLE = "name the table that the earlier release was made from."
FIX_LEFT_OUT = (
    'set changes = "hold back" or "merge" under [partition], with the earlier table '
    'and an identifier: earlier = "FILE" and person = "NAME"; or take these records '
    'out of this table, too; or make the earlier release with small = "merge" under '
    "[strata]."
)
REFUSED = {
    "other records": (
        lambda first: (people(39), kept(first)),
        "first.private.csv is of 40 records, and the table has 39.",
        "bring the same records in the same order; or name the earlier table and an "
        'identifier: earlier = "FILE" and person = "NAME" under [partition].',
    ),
    "a repair that exchanges records": (
        lambda first: (
            people(),
            aggopt.Job(
                roles=ROLES,
                privacy={"k": 4, "l": 2, "repair": "search"},
                partition=kept(first).partition,
            ),
        ),
        "The repair 'search' takes records out of the groups that [partition] "
        "keep_groups is to keep.",
        'set repair = "merge" under [privacy], which keeps them together.',
    ),
    "a person that is published": (
        lambda first: (
            people(),
            kept(first, earlier=str(first / "people.csv"), person="note"),
        ),
        "[partition] person names 'note', which is no identifier: the release "
        "would publish it, and anybody could link the waves.",
        "list it as identifier, which drops it from the release.",
    ),
    "an earlier table of other records": (
        lambda first: (
            people(),
            kept(first, earlier=str(first / "short.csv"), person="name"),
        ),
        "short.csv has 39 records and a column 'name', and its key is of 40.",
        FIX_TABLE,
    ),
    "an earlier table without the person": (
        lambda first: (
            people(),
            kept(first, earlier=str(first / "nameless.csv"), person="name"),
        ),
        "nameless.csv has 40 records and no column 'name', and its key is of 40.",
        FIX_TABLE,
    ),
    "persons that stand twice": (
        lambda first: (
            people().assign(name=["A", "B"] * 20),
            kept(first, earlier=str(first / "people.csv"), person="name"),
        ),
        "'name' does not differ in every record: 38 of 40 and 40 stand there again.",
        "name an identifier of one record each.",
    ),
    "records that the earlier release left out": (
        lambda first: (people(), kept_but_for(first, 3)),
        "second.private.csv has no group for 3 records of the table, which the earlier "
        "release left out: in dropped strata, or held back.",
        FIX_LEFT_OUT,
    ),
    "a person whom the earlier release left out": (
        lambda first: (
            people().iloc[:39],
            kept_but_for(first, 2, earlier=str(first / "people.csv"), person="name"),
        ),
        "second.private.csv has no group for 1 record of the table, which the earlier "
        "release left out: in dropped strata, or held back.",
        FIX_LEFT_OUT,
    ),
    "persons of another table": (
        lambda first: (
            people().assign(name=[f"Other {i}" for i in range(40)]),
            kept(first, earlier=str(first / "people.csv"), person="name"),
        ),
        "No record of people.csv is in the table, by 'name'.",
        FIX_TABLE,
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_it_is_refused_before_any_work(first, case, monkeypatch) -> None:
    people(39).to_csv(first / "short.csv", index=False)
    people().drop(columns="name").to_csv(first / "nameless.csv", index=False)
    make, problem, fix = REFUSED[case]
    monkeypatch.setattr(
        "aggopt.pipeline.partition.partition_table.partition_blocks", None
    )
    data, asked = make(first)
    with pytest.raises(AggoptError) as error:
        aggopt.mask(data, asked)
    assert (error.value.problem, error.value.fix) == (problem, fix)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "group_1,group_2,released_record\n0,0,0\n",
        "group\n0\n",
        "group,released_record\n-1,0\n",
        "group,released_record\nx,0\n",
        "group,released_record\n,0\n",
        "group,released_record\n" + "0.5,0\n" * 40,
        "group,released_record\n" + "1.0,0\n" * 40,
    ],
)
def test_what_is_no_key_is_refused(tmp_path, text) -> None:
    path = tmp_path / "first.private.csv"
    path.write_text(text)
    with refused(AggoptError) as error:
        aggopt.mask(people(), kept(tmp_path))
    assert error.value.problem == (
        f"{path} is no private key with one group for each record, or cannot be read."
    )
    path.unlink()
    with refused(AggoptError, "cannot be read"):
        aggopt.mask(people(), kept(tmp_path))


@pytest.mark.parametrize(
    "how", [{"person": "name"}, {"attributes": "one by one"}, {"method": "mdav"}]
)
def test_settings_that_do_not_go_together_are_refused(how) -> None:
    with refused(AggoptError):
        job(partition={"keep_groups": "first.private.csv", **how})


def within(folder, privacy=4, **more):
    """A job that keeps groups within strata that the column note says."""
    roles = {**ROLES, "stratum": ["note"], "other": []}
    how = {"keep_groups": str(folder / "within.private.csv"), **more}
    return aggopt.Job(roles=roles, privacy={"k": privacy}, partition=how)


@pytest.fixture(scope="module")
def strata(first):
    """A release of the same people within two strata of 20."""
    table = people().assign(note=["x", "y"] * 20)
    roles = {**ROLES, "stratum": ["note"], "other": []}
    how = {"roles": roles, "privacy": {"k": 4}, "partition": {"method": "mdav"}}
    aggopt.mask(table, aggopt.Job(**how)).write(first / "within.csv")
    table.to_csv(first / "strata.csv", index=False)
    return table


def test_groups_within_strata_are_kept(first, strata) -> None:
    later = strata.assign(income=lambda t: t["income"] * 1.5)
    release = aggopt.mask(later, within(first))
    assert same(release.labels, pd.read_csv(first / "within.private.csv")["group"])
    assert release.audit.strata == ("note",)
    assert not any("several strata" in note for note in release.notes)


def test_groups_that_moving_parts_are_kept_in_each_stratum_and_counted(
    first, strata
) -> None:
    old = pd.read_csv(first / "within.private.csv")["group"].to_numpy()
    moved = strata.copy()
    moved.loc[0, "note"] = "y"
    release = aggopt.mask(moved, within(first, 3))
    assert moved.groupby(release.labels)["note"].nunique().max() == 1
    stayed = np.arange(40) > 0
    assert same(release.labels[stayed], old[stayed])
    assert (
        "1 earlier group has records of several strata, and each stratum keeps its "
        "part: aggopt compare counts what both releases leave."
    ) in release.notes
    moved.loc[1, "note"] = "x"
    notes = aggopt.mask(moved, within(first, 3)).notes
    assert any(note.startswith("2 earlier groups have records") for note in notes)


def test_a_stratum_of_new_people_is_grouped_anew(first, strata) -> None:
    more = people(50, seed=1)[40:].assign(note="z")
    later = pd.concat([strata, more], ignore_index=True)
    how = {"earlier": str(first / "strata.csv"), "person": "name"}
    release = aggopt.mask(later, within(first, **how))
    old = pd.read_csv(first / "within.private.csv")["group"]
    assert same(release.labels[:40], old)
    assert len(set(release.labels[40:])) == 2
    assert not any("several strata" in note for note in release.notes)


def test_records_of_dropped_strata_are_left_out_again(first, strata) -> None:
    fewer = strata.copy()
    fewer.loc[:1, "note"] = "z"
    asked = within(first, 3)
    drop = aggopt.Job(**{**dict(asked), "strata": {"small": "drop"}})
    release = aggopt.mask(fewer, drop)
    assert len(release.labels) == 38
    old = pd.read_csv(first / "within.private.csv")["group"][2:]
    assert same(release.labels, old)


@pytest.mark.parametrize("policy", ["patterns", "fill"])
def test_groups_are_kept_where_values_are_missing(first, policy) -> None:
    old = groups(first)
    later = people().astype({"age": float})
    later.loc[old == old[0], "age"] = np.nan
    asked = job(4, kept(first).partition, missing={"policy": policy})
    release = aggopt.mask(later, asked)
    if policy == "patterns":
        assert same(release.labels, old)
    else:
        merged = release.labels[old != old[0]]
        assert len(set(release.labels)) == 9
        assert same(merged, old[old != old[0]])


# --- earlier groups where k counts units, and where records have sampling weights


def released(folder, frame, job):
    frame.to_csv(folder / "first.csv", index=False)
    aggopt.mask(folder / "first.csv", job).write(folder / "made.csv")
    path = folder / "made.private.csv"
    return {"keep_groups": str(path)}, pd.read_csv(path)["group"].to_numpy()


@pytest.fixture
def of_units(tmp_path):
    return released(tmp_path, members(), of(OF_UNITS))


def test_units_keep_the_group_that_their_records_had(of_units):
    kept, groups = of_units
    later = members().assign(income=lambda table: 1.5 * table["income"])
    made = aggopt.mask(later, of(OF_UNITS, partition=kept))
    assert same(made.labels, groups)
    assert made.audit.smallest >= 3
    assert made.table.groupby(members()["household"])["income"].nunique().max() == 1


def test_units_that_are_new_join_the_nearest_group(of_units, tmp_path):
    kept, groups = of_units
    more = {"earlier": str(tmp_path / "first.csv"), "person": "id"}
    frame = members().assign(id=np.arange(len(members())))
    frame.to_csv(tmp_path / "first.csv", index=False)
    (tmp_path / "made.manifest.json").write_text('{"job": {"privacy": {"k": 3}}}')
    wave = pd.concat([frame, frame.assign(id=-1 - frame["id"]).head(4)])
    wave = wave.assign(household=[*frame["household"], 900, 900, 901, 902])
    wave.loc[wave["household"] >= 900, OF_UNITS] = [2e4, 4]
    job = of(OF_UNITS, partition={**kept, **more})
    roles = job.roles.model_copy(update={"identifier": ("id",)})
    made = aggopt.mask(wave, job.model_copy(update={"roles": roles}))
    assert same(made.labels[: len(frame)], groups)
    assert len(set(made.labels)) == len(set(groups))


def test_records_of_units_stay_together_and_have_k_units(tmp_path):
    kept, groups = released(tmp_path, members(), of(OF_RECORDS))
    made = aggopt.mask(members(), of(OF_RECORDS, partition=kept))
    assert same(made.labels, groups)
    strict = aggopt.mask(members(), of(OF_RECORDS, k=6, partition=kept))
    behind = members()["household"].groupby(strict.labels).nunique()
    assert behind.min() == strict.audit.smallest >= 6
    pairs = set(zip(groups, strict.labels, strict=True))
    assert len(pairs) == len(set(groups))  # merged, and none is parted
    said = [note for note in strict.notes if note.startswith("k counts units")]
    assert said == [
        "k counts units: groups are merged until each has records of k units, by "
        'repair = "merge".'
    ]


def test_a_unit_whose_records_were_in_several_groups_is_refused(tmp_path):
    frame = members()
    parted, _ = released(tmp_path, frame, of(OF_RECORDS))
    labels = pd.read_csv(tmp_path / "made.private.csv")["group"]
    several = int((labels.groupby(frame["household"]).nunique() > 1).sum())
    with refused(TableError, "keep_groups") as error:
        aggopt.mask(frame, of(OF_UNITS, partition=parted))
    assert error.value.problem == (
        f"made.private.csv has records of {several} units of 24 in several groups."
    )


def test_a_key_of_units_that_are_others_is_counted_in_records(of_units):
    kept, groups = of_units
    with pytest.raises(TableError, match=f"is of {len(groups)} records, and the table"):
        aggopt.mask(members().head(20), of(OF_UNITS, partition=kept))


# --- sampling weights


def test_earlier_groups_publish_weighted_means(tmp_path):
    frame = heavy()
    frame.to_csv(tmp_path / "first.csv", index=False)
    masked(tmp_path / "first.csv", weights={"dominance": 1.0}).write(
        tmp_path / "made.csv"
    )
    groups = pd.read_csv(tmp_path / "made.private.csv")["group"].to_numpy()
    kept = {"keep_groups": str(tmp_path / "made.private.csv")}
    free = masked(frame, partition=kept, weights={"dominance": 1.0})
    assert same(free.labels, groups)
    w = frame["w"].to_numpy()
    for group in set(free.labels):
        rows = free.labels == group
        mean = np.average(frame["income"][rows], weights=w[rows])
        assert free.table["income"][rows].to_numpy() == pytest.approx(mean)
    bound = masked(frame, partition=kept)
    assert largest_share(bound.labels, w) <= 0.6 < largest_share(groups, w)
    pairs = set(zip(groups, bound.labels, strict=True))
    assert len(pairs) == len(set(groups))


def test_weights_of_persons_whose_households_are_counted():
    hid = np.repeat(np.arange(16), 3)
    frame = sample(hid=hid, w=np.where(np.arange(48) % 6 == 0, 20.0, 1.0))
    roles = {"quasi-identifier": QUASI, "unit": ["hid"], "weight": "w"}
    made = masked(frame, roles={**roles, "other": ["note"]})
    w = frame["w"].to_numpy()
    assert largest_share(made.labels, w) <= 0.6
    assert pd.Series(hid).groupby(made.labels).nunique().min() >= 3
    for group in set(made.labels):
        rows = made.labels == group
        mean = np.average(frame["age"][rows], weights=w[rows])
        assert made.table["age"][rows].to_numpy() == pytest.approx(mean)
    assert [each.promise for each in made.audit.promises] == ["dominance"]
