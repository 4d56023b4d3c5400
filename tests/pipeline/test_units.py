"""k counts units: households, whose records are masked once or grouped apart."""

import json

import numpy as np
import pandas as pd
import pytest
from households import OF_RECORDS, OF_UNITS, members, of
from refusals import refused

import aggopt
from aggopt.data.readers.read import read_as_text
from aggopt.errors import AggoptError
from aggopt.inspection.collect_errors import find_obstacles, find_refusal
from aggopt.pipeline.aggregate.aggregate_table import AggregatedTable
from aggopt.pipeline.aggregate.units_and_records import copy_to_records
from aggopt.pipeline.partition.partition_table import partition_table
from aggopt.pipeline.review.review_release import assess_release


def units_behind(table, frame, names):
    """How many units stand behind the rarest combination, counted by sets."""
    behind = {}
    rows = zip(*(table[name] for name in names), frame["household"], strict=True)
    for *key, unit in rows:
        behind.setdefault(tuple(key), set()).add(unit)
    return min(map(len, behind.values()))


@pytest.fixture(scope="module")
def household():
    return aggopt.mask(members(), of(OF_UNITS))


@pytest.fixture(scope="module")
def person():
    return aggopt.mask(members(), of(OF_RECORDS))


def test_attributes_of_units_are_masked_once_and_copied_back(household):
    frame = members()
    assert units_behind(household.table, frame, OF_UNITS) >= 3
    assert household.audit.smallest == units_behind(household.table, frame, OF_UNITS)
    made = household.table.groupby(frame["household"])[OF_UNITS].nunique()
    assert (made == 1).all(axis=None)
    assert "household" not in household.table
    assert household.table["age"].tolist() == frame["age"].tolist()
    once = frame.drop_duplicates("household")
    alone = aggopt.mask(once, of(OF_UNITS))
    assert alone.certificates["income"].objective == pytest.approx(
        household.certificates["income"].objective
    )
    again = alone.table.set_axis(once["household"])[OF_UNITS]
    expected = again.loc[frame["household"]].to_numpy()
    np.testing.assert_array_equal(household.table[OF_UNITS].to_numpy(), expected)


def test_groups_of_records_hold_records_of_k_units(person):
    frame = members()
    assert units_behind(person.table, frame, OF_RECORDS) >= 3
    assert person.audit.smallest == units_behind(person.table, frame, OF_RECORDS)
    own = aggopt.mask(frame, of(OF_RECORDS, unit=False))
    assert units_behind(own.table, frame, OF_RECORDS) < 3  # k of records is no k
    assert (
        "k counts units: groups are merged until each has records of k units, then "
        'searched further, by repair = "search".'
    ) in person.notes
    proof = person.blocks[0].certificate
    assert 0 < proof.bound <= proof.objective


def test_what_k_units_cost_is_compared_with_k_records():
    frame = members()
    search = {"method": "local_search"}
    units = aggopt.mask(frame, of(OF_RECORDS, 5, partition=search))
    records = aggopt.mask(frame, of(OF_RECORDS, 5, partition=search, unit=False))
    kept, free = (r.blocks[0].certificate.objective for r in (units, records))
    (note,) = (note for note in units.notes if "the groups before the repair" in note)
    assert note.startswith("Groups with units >= 5: ")
    assert f" cost {np.floor(1000 * (kept / free - 1)) / 10:.1f} % more here" in note


@pytest.mark.parametrize("quasi", [OF_UNITS, OF_RECORDS])
def test_a_written_release_is_counted_in_units_again(quasi, tmp_path):
    members().to_csv(tmp_path / "people.csv", index=False)
    job = of(quasi, output={"shuffle": True})
    release = aggopt.mask(tmp_path / "people.csv", job)
    files = release.write(tmp_path / "masked.csv")
    again = assess_release(tmp_path / "people.csv", files.table, job)
    assert again.audit == release.audit
    assert again.measures.highest_risk == 1 / release.audit.smallest
    assert again.measures.average_risk == release.measures.average_risk
    key = pd.read_csv(files.private)
    assert key["risk"].max() == 1 / release.audit.smallest
    aggopt.repeat(files.manifest, tmp_path / "people.csv", tmp_path / "again.csv")
    assert (tmp_path / "again.csv").read_bytes() == files.table.read_bytes()


def test_a_written_release_that_has_fewer_units_is_seen(household, tmp_path):
    members().to_csv(tmp_path / "people.csv", index=False)
    files = household.write(tmp_path / "masked.csv")
    files.manifest.unlink()
    table = pd.read_csv(files.table)
    one = members()["household"] == 103  # all four records of a household
    table.loc[one, OF_UNITS] = 1e9
    table.to_csv(files.table, index=False)
    found = assess_release(tmp_path / "people.csv", files.table, of(OF_UNITS)).audit
    assert (found.smallest, found.holds) == (1, False)


def test_the_verdict_counts_units(household):
    assert "the rarest in 3 units" in household.audit.verdict
    assert household.audit.whole.what == "unit"
    assert household.audit.whole.total == 24
    assert household.audit.records == 60


def test_unit_numbers_are_named_if_a_release_has_them(household):
    from aggopt.release.audit.audit import audit_release

    job, frame = of(OF_UNITS), members()
    table = household.table.assign(household=frame["household"])
    assert audit_release(table, job.roles, job.privacy).identifiers == ("household",)


def test_units_lie_within_strata():
    frame = members()
    for quasi in (OF_UNITS, OF_RECORDS):
        release = aggopt.mask(frame, of(quasi, stratum=["region"]))
        assert units_behind(release.table, frame, [*quasi, "region"]) >= 3
        assert release.table["region"].tolist() == frame["region"].tolist()


def test_values_of_units_areas_they_ask():
    frame = members()
    how = {"method": "p3m", "delta": 0.3}
    release = aggopt.mask(frame, of(OF_UNITS, aggregation=how))
    once = frame.drop_duplicates("household").index
    before, after = (f.loc[once, "income"] for f in (frame, release.table))
    assert after.std() == pytest.approx(before.std())
    assert release.certificates["income"].gap <= 1e-6


def test_holes_of_units_are_holes_of_their_records():
    frame = members()
    frame.loc[frame["household"] < 106, "rooms"] = np.nan
    release = aggopt.mask(frame, of(OF_UNITS, missing={"policy": "patterns"}))
    assert (release.table["rooms"].isna() >= frame["rooms"].isna()).all()
    assert release.audit.smallest >= 3


def test_l_and_k_units_are_kept_together():
    privacy = {"k": 3, "l": 2, "repair": "merge"}
    release = aggopt.mask(members(), of(OF_RECORDS, privacy=privacy))
    assert units_behind(release.table, members(), OF_RECORDS) >= 3
    assert release.audit.promises[0].holds
    assert not any("searched further" in note for note in release.notes)


# --- refused


def expect_refusal(frame=None, /, quasi=OF_RECORDS, **sections):
    with refused(AggoptError) as error:
        aggopt.mask(members() if frame is None else frame, of(quasi, **sections))
    return error.value.problem, error.value.fix


def test_attributes_of_units_that_vary_are_refused_by_name_and_count():
    frame = members()
    rows = frame.index[frame["household"].isin([101, 102])]
    frame.loc[rows[0], "rooms"] = 99
    frame.loc[frame[frame["household"] == 103].index[0], "region"] = "m"
    expect_refusal(frame, OF_UNITS, stratum=["region"])


def test_what_records_have_is_not_asked_of_units():
    privacy = {"k": 3, "l": 2, "repair": "merge"}
    expect_refusal(quasi=OF_UNITS, privacy=privacy)


def test_a_record_without_a_unit_is_refused():
    frame = members().astype({"household": object})
    frame.loc[3, "household"] = None
    expect_refusal(frame)
    frame.loc[4, "household"] = None
    expect_refusal(frame)


def test_fewer_units_than_k_are_refused():
    few = pd.concat([members(2, seed) for seed in range(3)], ignore_index=True)
    expect_refusal(few)


def test_as_many_units_as_k_are_one_group():
    release = aggopt.mask(members(3), of(OF_RECORDS))
    assert release.audit.smallest == 3


def test_blocks_of_records_are_refused():
    how = {"method": "mdav", "attributes": "one by one"}
    privacy = {"k": 3, "scope": "blocks"}
    expect_refusal(partition=how, privacy=privacy)
    frame = members()
    release = aggopt.mask(frame, of(OF_UNITS, partition=how, privacy=privacy))
    for name in OF_UNITS:
        assert units_behind(release.table, frame, [name]) >= 3


def units_with_a_value(released, frame, name, quasi):
    """Return how many units of the group with fewest have a value of an attribute."""
    there = frame[name].notna()
    rows = released[quasi].assign(unit=frame["household"])[there]
    behind = rows.groupby(quasi, dropna=False)["unit"].nunique()
    groups = released.groupby(quasi, dropna=False).ngroups
    return int(behind.min()) if len(behind) == groups else 0


def test_holes_are_filled_with_values_of_k_units():
    frame = members()
    frame["age"] = frame["age"].where(frame["household"].rank() % 3 > 0)
    release = aggopt.mask(frame, of(OF_RECORDS, missing={"policy": "fill"}))
    assert release.table["age"].notna().all()
    assert units_with_a_value(release.table, frame, "age", OF_RECORDS) >= 3
    assert units_behind(release.table, frame, OF_RECORDS) >= 3
    assert release.audit.missing.least >= 3


def test_one_household_that_answers_fills_no_holes():
    frame = members()
    frame["age"] = frame["age"].where(frame["household"] == frame["household"][0])
    expect_refusal(frame, missing={"policy": "fill"})


def test_repairs_that_keep_other_requirements_are_refused():
    privacy = {"k": 3, "t": 0.5, "repair": "swap"}
    frame = members().assign(ill=lambda f: np.arange(len(f)) % 7)
    expect_refusal(frame, privacy=privacy)


@pytest.mark.parametrize("small", ["merge", "drop"])
def test_small_strata_of_units_are_neither_merged_nor_dropped(small):
    expect_refusal(stratum=["region"], strata={"small": small})


@pytest.mark.parametrize("few", [["a"], ["a", "b"]])
def test_strata_of_fewer_than_k_units_are_refused(few):
    frame = members()
    for place, region in enumerate(few):
        own = frame["household"].isin([103 + 4 * place, 123 - 8 * place])
        frame.loc[own, "region"] = region
    frame.loc[frame["household"].isin([105, 109, 113]), "region"] = "of k units"
    expect_refusal(frame, stratum=["region"])


def test_strata_of_units_are_those_of_their_records():
    frame = members()
    table = partition_table(frame, of(OF_UNITS, stratum=["region"]), None)
    records, _ = copy_to_records(table, AggregatedTable(table.X, {}, ()))
    codes = pd.factorize(records.strata.labels)[0]
    assert codes.tolist() == pd.factorize(frame["region"])[0].tolist()


# --- units that nobody named


def test_a_column_that_numbers_units_is_refused_where_k_would_count_records():
    # of 4580 persons of testdata 2434 were published unchanged, and the audit held
    _, fix = expect_refusal(quasi=OF_UNITS, unit=False)
    assert fix == (
        'let k count units, with unit = ["household"] under [roles] and attributes = '
        f"{json.dumps(OF_UNITS)} under [units]; or list the column as drop."
    )


def test_a_column_of_words_is_to_be_dropped_or_a_stratum_before_it_is_a_unit():
    frame = members()
    frame["household"] = [f"House of {chr(65 + h % 24)}" for h in frame["household"]]
    _, fix = expect_refusal(frame, OF_UNITS, unit=False)
    assert fix == (
        "list the column as drop; as stratum, if it is to be published, as a region; "
        "or, if each entry is one household or firm, let k count these, with unit = "
        f'["household"] under [roles] and attributes = {json.dumps(OF_UNITS)} under '
        "[units]."
    )
    privacy = {"k": 3}
    for role in ("drop", "stratum", "unit"):  # each way leads to a release
        roles = {"quasi-identifier": OF_UNITS, role: ["household"]}
        roles["drop"] = [
            name for name in frame if name not in (*OF_UNITS, *roles.get(role, ()))
        ] + (["household"] if role == "drop" else [])
        units = {"units": {"attributes": OF_UNITS}} if role == "unit" else {}
        strata = {"strata": {"small": "drop"}} if role == "stratum" else {}
        job = aggopt.Job(roles=roles, privacy=privacy, **units, **strata)
        assert aggopt.mask(frame, job).audit.holds


@pytest.mark.parametrize(
    ("quasi", "units", "k"),
    [(OF_RECORDS, 24, 3), (OF_UNITS, 24, 13), ([*OF_UNITS, "age"], 24, 3)],
)
def test_other_columns_number_no_units(quasi, units, k):
    assert aggopt.mask(members(units), of(quasi, k, unit=False)).audit.holds


def test_few_records_that_share_a_number_are_no_units():
    frame = members()
    once = frame.drop_duplicates("household")
    few = pd.concat([once, once.iloc[:11]], ignore_index=True)  # 22 of 35
    expect_refusal(few, OF_UNITS, unit=False)
    fewer = pd.concat([once, once.iloc[:7]], ignore_index=True)  # 14 of 31
    assert aggopt.mask(fewer, of(OF_UNITS, unit=False)).audit.holds


@pytest.mark.parametrize("strange", [[["a"]] * 60, [None] + [1] * 59])
def test_columns_that_number_nothing_are_no_units(strange):
    frame = members().assign(household=strange)
    with refused(AggoptError, "k = 3"):
        aggopt.mask(frame.assign(household=0), of(OF_RECORDS))
    assert aggopt.mask(frame, of(OF_UNITS, unit=False)).audit.holds


def test_a_table_that_is_there_twice_has_no_units():
    once = members().drop_duplicates("household")
    assert aggopt.mask(pd.concat([once] * 2), of(OF_UNITS, unit=False)).audit.holds


# --- attributes of units and of records in one job


QUASI = ["age", "income", "height", "rooms"]  # of both kinds, mixed
BOTH = {"units": {"attributes": OF_UNITS}, "privacy": {"k": 3, "scope": "blocks"}}
HOUSEHOLD = "household"


def both(quasi=QUASI, **sections):
    return of(quasi, **{**BOTH, **sections})


@pytest.fixture(scope="module")
def release():
    return aggopt.mask(members(), both(), secret="0" * 32)


def test_each_kind_is_masked_as_in_a_job_of_its_own(release):
    frame = members()
    for names, place in ((OF_UNITS, 0), (OF_RECORDS, 1)):
        alone = aggopt.mask(frame, of(names))
        pd.testing.assert_frame_equal(release.table[names], alone.table[names])
        assert (release.blocks[place].labels == alone.blocks[0].labels).all()
        proof = alone.blocks[0].certificate
        assert release.blocks[place].certificate.bound == proof.bound
        assert release.blocks[place].columns == tuple(map(QUASI.index, names))
        for name in names:
            own = alone.certificates[name].objective
            assert release.certificates[name].objective == own
    assert list(release.certificates) == QUASI


def test_k_counts_units_in_each_kind(release, tmp_path):
    frame = members()
    units = release.table.assign(household=frame[HOUSEHOLD])
    counts = [units.groupby(names)[HOUSEHOLD].nunique() for names in OF_BOTH]
    assert release.audit.smallest == min(count.min() for count in counts) >= 3
    assert [count.what for count in release.audit.blocks] == ["unit", "unit"]
    assert HOUSEHOLD not in release.table
    files = release.write(tmp_path / "masked.csv")
    key = pd.read_csv(files.private)
    assert {"group_1", "group_2"} <= set(key.columns)
    frame.to_csv(tmp_path / "in.csv", index=False)
    again = assess_release(tmp_path / "in.csv", files.table, both())
    assert again.audit.holds
    assert again.audit.smallest == release.audit.smallest
    assert [each.attributes for each in again.audit.blocks] == [
        ("income", "rooms"),
        ("age", "height"),
    ]


OF_BOTH = (OF_UNITS, OF_RECORDS)


def test_margins_of_the_kinds_are_drawn_apart(release):
    how = {"method": "p3m", "delta": 0.3, "alpha": 0.9}
    frame = members()
    frame["age"], frame["height"] = frame["income"], frame["rooms"]
    one, two = (
        aggopt.mask(frame, both(aggregation=how), secret=secret * 32)
        for secret in ("a", "b")
    )
    assert not np.allclose(one.table["age"], two.table["age"], rtol=1e-9)
    again = aggopt.mask(frame, both(aggregation=how), secret="a" * 32)
    pd.testing.assert_frame_equal(again.table, one.table)
    assert "secret margin" in " ".join(one.notes)
    assert one.secret == "a" * 32


def test_categories_of_one_kind_alone_are_masked():
    for quasi, attributes in (
        (["region", "age"], ["region"]),
        (["income", "ill"], ["income"]),
    ):
        roles = {
            "quasi-identifier": quasi,
            "unit": [HOUSEHOLD],
            "other": [n for n in members(4) if n not in (*quasi, HOUSEHOLD)],
        }
        made = aggopt.mask(
            members(),
            of(quasi, roles=roles, **{**BOTH, "units": {"attributes": attributes}}),
        )
        assert made.audit.holds
        assert list(made.certificates) == quasi


def test_holes_of_one_kind_leave_the_other_as_it_is():
    frame = members()
    frame.loc[frame.index[:8], "age"] = np.nan
    made = aggopt.mask(frame, both(missing={"policy": "patterns"}))
    assert made.table[OF_UNITS].notna().all().all()
    assert made.table["age"].isna().sum() >= 8
    assert made.audit.holds


def test_a_release_of_both_is_repeated(release, tmp_path):
    frame = members()
    files = release.write(tmp_path / "masked.csv")
    again = aggopt.repeat(files.manifest, frame, tmp_path / "again.csv")
    assert again.table.read_bytes() == files.table.read_bytes()


def varying():
    frame = members()
    frame.loc[0, "income"] += 1
    frame.loc[frame[HOUSEHOLD] == frame.loc[0, HOUSEHOLD], "rooms"] = 3
    return frame


REFUSED = {
    "k of the combination": (
        lambda: (members(), both(privacy={"k": 3})),
        "[units] attributes names 2 of 4 quasi-identifiers: those of units and those "
        "of records are masked each by themselves. k = 3 then holds of each kind, and "
        "not for the combination of all of them, which the job promises.",
        'promise less, with scope = "blocks" under [privacy]; or name every '
        "quasi-identifier, if all are the same within a unit; or leave the section "
        "out: groups then hold records of k units.",
    ),
    "what is asked of single attributes": (
        lambda: (
            members(),
            both(
                aggregation={
                    "method": "p3m",
                    "delta": {"attributes": dict.fromkeys(QUASI, 0.1)},
                }
            ),
        ),
        "delta of the job is said of single attributes, and some of these are of "
        "units, others of records: each kind is masked by itself.",
        "say the same of all attributes; or mask those of one kind in a job of their "
        "own, and drop the others there.",
    ),
    "blocks of attributes, and a distance relative to each value": (
        lambda: (
            members(),
            both(
                partition={"method": "mdav", "attributes": [OF_UNITS, OF_RECORDS]},
                aggregation={"method": "p3m", "delta": {"relative": 0.1}},
            ),
        ),
        "delta and attributes of the job are said of single attributes, and some of "
        "these are of units, others of records: each kind is masked by itself.",
        "say the same of all attributes; or mask those of one kind in a job of their "
        "own, and drop the others there.",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_not_of_each_kind_is_refused(case):
    make, problem, fix = REFUSED[case]
    with pytest.raises(AggoptError) as error:
        aggopt.mask(*make())
    assert (error.value.problem, error.value.fix) == (problem, fix)


def test_what_varies_within_a_unit_is_refused_and_checked(tmp_path):
    with refused(AggoptError, "'income'") as error:
        aggopt.mask(varying(), both())
    assert "'age'" not in error.value.problem
    path = tmp_path / "in.csv"
    members().to_csv(path, index=False)
    assert find_refusal(path, read_as_text(path, both().input), both()) is None
    varying().to_csv(path, index=False)
    assert (
        find_refusal(path, read_as_text(path, both().input), both()).problem
        == error.value.problem
    )
    found = find_obstacles(path, read_as_text(path, both().input), both())
    assert error.value.problem in [each.problem for each in found]


def test_other_commands_refuse_such_a_job():
    with refused(AggoptError):
        aggopt.declare(members(), both(aggregation={"method": "p3m"}), "age")
