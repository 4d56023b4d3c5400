"""What a recount says beside the originals: counts and names, never a value."""

import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from refusals import refused
from tables import job, people

import aggopt
from aggopt.errors import JobError
from aggopt.job import Output, Privacy
from aggopt.job.roles import Roles
from aggopt.pipeline.finish.evaluate import compare_originals
from aggopt.pipeline.review.review_release import assess_release
from aggopt.release.audit.audit import audit_release
from aggopt.release.audit.originals import GRID, Originals, count_dominated

DATA = Path(os.environ.get("AGGOPT_DATA", "missing"))
PAIR = Roles(**{"quasi-identifier": ["a", "b"]})

reference = pytest.mark.skipif(
    not DATA.exists(), reason="set AGGOPT_DATA to the folder of the reference tables"
)


def audited(before, after, k=2, blocks=None, output=None, **privacy):
    """The audit of values (n, 2), or (n, 1), published for others."""
    before, after = (np.asarray(values, dtype=float) for values in (before, after))
    names = ["a", "b"][: before.shape[1]]
    table = pd.DataFrame(after, columns=names)
    roles = Roles(**{"quasi-identifier": names})
    asked = Privacy(k=k, **privacy)
    both = compare_originals(before, after, output or Output())
    return audit_release(table, roles, asked, blocks, originals=both)


def column(*values):
    return np.array(values, dtype=float)[:, None]


def masked(frame, k=5, **sections):
    plain = {"partition": {"method": "mdav"}, "privacy": {"k": k}}
    roles = {"quasi-identifier": list(frame)}
    return aggopt.mask(frame, aggopt.Job(**{"roles": roles, **plain, **sections}))


# --- published unchanged

BEFORE = [[1, 5], [1, 5], [2, 6], [3, 6], [7, 7], [7, 7]]
AFTER = [[1, 5], [1, 5], [2.5, 6], [2.5, 6], [7, 7], [7, 7]]


def test_cells_and_records_of_identical_groups_are_unchanged():
    found = audited(BEFORE, AFTER)
    assert found.unchanged.cells == {"a": 4, "b": 6}
    assert found.unchanged.records == 4
    assert found.verdict == (
        "k = 2 holds: 6 records, 3 published combinations, the rarest in 2 records. "
        "4 of 6 records are published unchanged; 4 of 6 records are in identical "
        "groups, whose originals are equal in every quasi-identifier."
    )
    assert found.disclosures == (
        "Values published unchanged, of 6 in each column: 'a' 4, 'b' 6.",
        "Values in identical groups, whose records have the same original, of 6 in "
        "each column: 'a' 4, 'b' 6.",
    )
    stated = json.loads(json.dumps(found.to_dict()))["unchanged"]
    assert stated == {
        "records": 4,
        "cells": {"a": 4, "b": 6},
        "identical": 4,
        "identical_cells": {"a": 4, "b": 6},
        "moved": {"a": 0, "b": 0},
        "differing": {"a": 1, "b": 0},
        "own": {"a": 0, "b": 0},
    }
    assert found.holds


def test_without_the_originals_nothing_is_said_of_them():
    found = audit_release(pd.DataFrame(AFTER, columns=["a", "b"]), PAIR, Privacy(k=2))
    assert (found.unchanged, found.notes) == (None, ())
    assert "unchanged" not in found.verdict


def test_one_record_is_said_as_one():
    found = audited(column(1, 2, 2), column(1, 2, 2))
    assert found.unchanged.records == 3
    said = found.unchanged.__class__(1, {"a": 1}).describe(3)
    assert said == "1 of 3 records is published unchanged."
    assert found.unchanged.__class__(0, {"a": 0}).describe(3) is None
    assert not list(found.unchanged.__class__(0, {"a": 0}).disclosures(3))


def test_a_mean_that_meets_a_members_value_is_no_identical_group():
    found = audited(column(1, 2, 3, 8, 9), column(2, 2, 2, 8.5, 8.5))
    assert found.unchanged.cells == {"a": 1}
    assert found.disclosures == (
        "Values published unchanged, of 5 in each column: 'a' 1.",
    )
    assert found.unchanged.identical == 0
    assert found.verdict.endswith("1 of 5 records is published unchanged.")


def test_an_attribute_of_one_value_is_unchanged():
    assert audited(column(5, 5, 5), column(5, 5, 5)).unchanged.cells == {"a": 3}


def test_an_identical_group_that_is_published_elsewhere_is_changed():
    found = audited(column(1, 1, 9, 9), column(1.5, 1.5, 9, 9))
    assert found.unchanged.cells == {"a": 2}


@pytest.mark.parametrize(("moved", "count"), [(0.0, 4), (0.99, 4), (1.01, 2)])
def test_rounding_up_to_the_grid_is_no_change(moved, count):
    x = column(0, 0, 2, 2)  # standard deviation 1
    y = x + column(0, 0, 1, 1) * moved * GRID
    assert audited(x, y).unchanged.records == count


@pytest.mark.parametrize(
    ("output", "half"),
    [
        ({"digits": 3}, 0.005),  # a standard deviation of 1 has two decimals
        ({"decimals": 1}, 0.05),
        ({"decimals": 9}, GRID),
        ({"digits": "full"}, GRID),
    ],
)
def test_half_of_the_grid_of_a_job_is_no_change(output, half):
    x = column(0, 0, 2, 2)
    for share, count in ((0.99, 4), (1.01, 2)):
        y = x + column(0, 0, half, half) * share
        found = audited(x, y, output=Output(**output))
        assert found.unchanged.records == count


def test_rounding_does_not_hide_what_is_unchanged():
    frame = pd.DataFrame({"a": np.repeat(np.arange(9) * 1.2345678, 5)})
    for output in ({}, {"digits": 2}, {"decimals": 1}, {"digits": "full"}):
        assert masked(frame, output=output).audit.unchanged.cells == {"a": 45}


def test_blocks_have_groups_of_their_own():
    before = [[1, 5], [1, 6], [2, 5], [2, 6]]
    found = audited(before, before, blocks=[["b"], ["a"]], scope="blocks")
    assert found.unchanged.cells == {"a": 4, "b": 4}
    mixed = [[1, 5.5], [1, 5.5], [2, 5.5], [2, 5.5]]
    found = audited(before, mixed, blocks=[["b"], ["a"]], scope="blocks")
    assert found.unchanged.cells == {"a": 4, "b": 0}
    assert found.unchanged.records == 0


def test_a_release_counts_it_and_so_does_a_second_look(tmp_path):
    twice = pd.concat([people(12)] * 4, ignore_index=True)
    twice.to_csv(tmp_path / "people.csv", index=False)
    release = aggopt.mask(tmp_path / "people.csv", job(k=4))
    assert release.audit.unchanged.records == 48
    assert "48 of 48 records are published unchanged" in str(release.audit)
    files = release.write(tmp_path / "masked.csv")
    again = assess_release(tmp_path / "people.csv", files.table, job(k=4))
    assert again.audit == release.audit
    stated = json.loads(files.manifest.read_text())
    assert stated["audit"]["unchanged"]["cells"] == {"age": 48, "income": 48}
    assert stated["output"]["recounted"]["unchanged"] is None


@reference
def test_household_attributes_on_person_records_are_published_unchanged():
    table = pd.read_csv(DATA / "testdata.csv")[:1000]
    names = ["expend", "income", "savings"]
    table[names] = table.groupby("ori_hid")[names].transform("first")
    release = masked(table[names], partition={"method": "local_search"})
    assert release.audit.unchanged.records == 626
    assert "626 of 1000 records are published unchanged" in release.audit.verdict


# --- groups that are identical, whatever is published for them


@pytest.mark.parametrize(
    ("after", "unchanged"),
    [((1.4, 1.4, 5, 5, 9.2, 9.2), 0), ((1, 1, 5, 5, 9.2, 9.2), 2)],
)
def test_records_of_identical_groups_are_counted_however_moved(after, unchanged):
    found = audited(column(1, 1, 4, 6, 9, 9), column(*after))
    assert found.unchanged.identical == 4
    assert found.unchanged.identical_cells == {"a": 4}
    assert (found.unchanged.records, found.unchanged.cells["a"]) == (unchanged,) * 2
    assert found.unchanged.moved == {"a": 4 - unchanged}
    assert found.verdict.endswith(
        f"{unchanged} of 6 records are published unchanged; 4 of 6 records are in "
        "identical groups, whose originals are equal in every quasi-identifier."
    )
    assert (
        "Values in identical groups, whose records have the same original, of 6 in "
        f"each column: 'a' 4. Published with another value: 'a' {4 - unchanged}; the "
        "possible value nearest to it may be the original."
    ) in found.disclosures


def test_a_group_that_publishes_nothing_gives_no_identical_values_away():
    found = audited(column(1, 1, None, 6, 9, 9), column(None, None, None, 6, 8, 8))
    assert found.unchanged.identical_cells == {"a": 3}
    assert found.unchanged.cells == {"a": 1}
    assert any("with another value: 'a' 2; the" in note for note in found.disclosures)


def test_a_record_of_which_all_is_missing_is_not_among_the_unchanged():
    before = [[1, 5], [1, 5], [None, None], [None, None], [2, 6], [3, 7]]
    found = audited(before, [*before[:4], [2.5, 6.5], [2.5, 6.5]]).unchanged
    assert (found.records, found.identical) == (2, 2)


def test_own_values_are_looked_for_behind_an_attribute_of_two_values():
    before = [[0, 1], [1, 3], [0, 4], [1, 8]]
    found = audited(before, [[0, 3], [0, 3], [1, 6], [1, 6]]).unchanged
    assert (found.differing, found.own) == ({"b": 2}, {"b": 1})


def test_one_record_of_an_identical_group_is_said_as_one():
    one = audited(column(1, 2), column(1, 2)).unchanged.__class__
    assert one(0, {"a": 0}, 1).describe(9) == (
        "0 of 9 records are published unchanged; 1 of 9 records is in identical "
        "groups, whose originals are equal in every quasi-identifier."
    )
    assert "2 of 9 records are in identical groups" in one(1, {"a": 1}, 2).describe(9)
    assert one(1, {"a": 1}, 2).describe(9).startswith("1 of 9 records is published ")


@pytest.mark.parametrize(
    "aggregation",
    [
        {"method": "mean", "keep": "variance"},
        {"method": "p3m"},
        {"method": "p3m_onesided"},
        {"method": "satisfaction", "delta": 0.3},
    ],
)
def test_no_method_hides_that_groups_are_identical(aggregation, tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        np.repeat(np.c_[rng.integers(1, 9, 20), rng.integers(10, 90, 20)], 5, axis=0),
        columns=["size", "income"],
    )
    others = pd.DataFrame({"size": 1, "income": 95 + 3 * np.arange(10) ** 2})
    frame = pd.concat([frame, others], ignore_index=True)  # so that means lose variance
    release = masked(frame, aggregation=aggregation)
    assert 90 <= release.audit.unchanged.identical <= 100
    assert release.audit.unchanged.records < 10
    assert "records are in identical groups" in str(release.audit)
    files = release.write(tmp_path / "masked.csv")
    stated = json.loads(files.manifest.read_text())["audit"]["unchanged"]
    assert stated["identical"] == release.audit.unchanged.identical


# --- members' own values


def test_groups_that_publish_a_members_own_value_are_counted():
    before = column(1, 2, 3, 8, 9, 12, 7, 7, 7)
    after = column(2, 2, 2, 9, 9, 9, 7, 7, 7)
    found = audited(before, after)
    assert found.unchanged.differing == {"a": 2}
    assert found.unchanged.own == {"a": 2}
    assert found.notes[2] == (
        "'a': in 2 of 2 groups of differing originals the published value is a "
        "member's own: medians are, and whole or rounded numbers can be by chance."
    )
    after[3:6] = 9.5  # half of the groups is not more
    found = audited(before, after)
    assert found.unchanged.own == {"a": 1}
    assert not any("member's own" in note for note in found.notes)


def test_medians_are_members_own_values_and_that_is_said():
    x = np.exp(np.random.default_rng(0).normal(size=100)).round(4)
    frame = pd.DataFrame({"a": x, "b": x**2 + np.arange(100)})
    note = "'a': in 20 of 20 groups of differing originals the published value is a "
    for method, is_said in (("median", True), ("mean", False)):
        notes = masked(frame, aggregation={"method": method}).notes
        assert any(n.startswith(note) for n in notes) == is_said


def test_one_of_two_values_is_always_a_members_own():
    found = audited(column(0, 1, 1, 1), column(1, 1, 1, 1))
    assert (found.unchanged.own, found.unchanged.differing) == ({}, {})


# --- dominance


def test_groups_in_which_one_record_dominates_are_counted():
    labels = np.array([0, 0, 0, 1, 1, 2, 2, 3, 3])
    x = np.array([7.0, 2, 1, 71, 29, -8, 2, 0, 0])
    y = (np.bincount(labels, x) / np.bincount(labels))[labels]
    assert count_dominated(x, y, labels, 0.7) == 2  # exactly 70 % is not more
    assert count_dominated(x, y, labels, 0.69) == 3
    assert count_dominated(x, y, labels, 0.8) == 0
    assert count_dominated(x, y, labels, 1.0) == 0
    zero = np.array([0, 0])
    assert count_dominated(np.array([5.0, 0.0]), np.array([2.5, 2.5]), zero, 1.0) == 0
    two = np.array([4.0, 1.0])  # 2 * 4 is 100 % above 4, and that is still within it
    assert count_dominated(two, np.array([4.0, 4.0]), zero, 0.5) == 1
    assert count_dominated(two, np.array([4.5, 4.5]), zero, 0.5) == 0


def test_a_value_that_is_published_tells_what_dominates_or_it_is_not_counted():
    x, labels = np.array([1.0, 2, 3, 4, 90]), np.zeros(5, dtype=int)
    for y, count in ((20.0, 1), (3.0, 0), (-20.0, 0), (25.0, 1), (25.8, 0), (10.2, 0)):
        assert count_dominated(x, np.full(5, y), labels, 0.7) == count
    assert count_dominated(x, np.full(5, 25.8), labels, 0.7, step=0.1) == 1
    assert count_dominated(-x, np.full(5, -20.0), labels, 0.7) == 1
    assert count_dominated(-x, np.full(5, 20.0), labels, 0.7) == 0
    before, after = column(1, 2, 3, 4, 90), column(3, 3, 3, 3, 3)
    assert not any("makes up more" in n for n in audited(before, after).notes)
    after = column(20, 20, 20, 20, 20)
    assert any("makes up more" in n for n in audited(before, after).notes)


def test_weights_hide_no_value_that_dominates_a_plain_sum():
    x, labels = np.array([999.0, 50, 60, 55, 69]), np.zeros(5, dtype=int)
    for w in (0.01, 0.5, 1.0, 3.0):  # of the age of 999
        weights = np.array([w, 1, 2, 1, 2])
        mean = np.full(5, np.average(x, weights=weights))
        assert count_dominated(x, mean, labels, 0.8, weights=weights) == 1
        assert count_dominated(x, mean, labels, 0.8, weights=7 * weights) == 1
        assert count_dominated(x, 2 * mean, labels, 0.8, weights=weights) == 0
    even = np.array([20.0, 30, 25, 25, 30])  # which one weight makes uneven
    weights = np.array([1.0, 1, 1, 1, 30])
    mean = np.full(5, np.average(even, weights=weights))
    assert count_dominated(even, mean, labels, 0.8, weights=weights) == 1
    assert count_dominated(even, mean, labels, 0.8) == 0
    rng = np.random.default_rng(3)
    y, groups = rng.normal(size=60), np.arange(60) % 20
    means = (np.bincount(groups, y) / 3)[groups]
    for share in (0.5, 0.6, 0.7):
        plain = count_dominated(y, means, groups, share)
        assert 0 < plain == count_dominated(y, means, groups, share, 0, np.full(60, 4))


def test_a_weighted_release_and_its_review_note_an_age_of_999(tmp_path):
    ages = [999.0, 50, 60, 55, 69, 30, 35, 32, 38, 33]
    frame = pd.DataFrame({"age": ages, "w": [1.0, 9, 9, 9, 9, 1, 1, 1, 1, 1]})
    roles = {"quasi-identifier": ["age"], "weight": ["w"]}
    frame.to_csv(tmp_path / "people.csv", index=False)
    asked = job(k=5, roles=roles)
    release = aggopt.mask(tmp_path / "people.csv", asked)
    files = release.write(tmp_path / "masked.csv")
    review = assess_release(tmp_path / "people.csv", files.table, asked)
    for notes in (release.notes, review.audit.notes):
        (note,) = (note for note in notes if "makes up more" in note)
        assert "'age' in 1 of 2 groups" in note
        assert "nearly gives away" not in note  # 37 times the mean is far from 999


def test_the_note_names_the_attribute_and_counts_groups():
    before = column(7.1, 2.9, 3, 4, 5, 6)
    after = column(5, 5, 3.5, 3.5, 5.5, 5.5)
    assert audited(before, after).notes == (
        "One record makes up more than 70 % of the sum of absolute values of a group, "
        "and the published value nearly gives away that of the record: 'a' in 1 of 3 "
        "groups. Cap the largest values before masking, drop those records, or promise "
        "a larger k.",
    )
    assert audited(before, after, dominance=0.71).notes == ()


def test_one_note_names_all_attributes_that_are_dominated():
    before = column(7.1, 2.9, 3, 4, 5, 6)
    after = column(5, 5, 3.5, 3.5, 5.5, 5.5)
    twice = audited(np.hstack([before, 2 * before]), np.hstack([after, 2 * after]))
    (note,) = twice.notes
    assert "of the record: 'a' in 1, 'b' in 1 of 3 groups. " in note
    assert audited(before, after, dominance=1).notes == ()
    (note,) = audited(before, after, dominance=0.545).notes
    assert note.startswith("One record makes up more than 54.5 %")
    assert "'a' in 3 of 3 groups" in note


def test_a_value_that_is_small_in_its_column_is_not_dominant():
    ages = np.append(np.tile([20.0, 30, 40, 50, 60], 3), [0, 0, 0, 0, 1])
    labels = np.append(np.arange(15) // 5, [3] * 5)
    for oldest, count in ((1.0, 0), (10.0, 0), (60.0, 1)):
        ages[-1] = oldest
        means = (np.bincount(labels, ages) / 5)[labels]
        assert count_dominated(ages, means, labels, 0.7) == count
        assert count_dominated(ages, means, labels, 0.7, 0, np.ones(20)) == count
        doubled = 2 * ages, 2 * means, labels, 0.7
        assert count_dominated(*doubled) == count


def test_a_share_of_ones_has_no_size_to_give_away():
    found = audited(column(0, 1, 0.25, 0.25), column(0.5, 0.5, 0.25, 0.25))
    assert any("more than 70 %" in note for note in found.notes)
    found = audited(column(0, 1, 0, 0), column(0.5, 0.5, 0, 0))
    assert not any("more than 70 %" in note for note in found.notes)


def test_a_firm_far_above_the_rest_is_noted():
    incomes = np.random.default_rng(0).gamma(2.0, 2000.0, 400).round(2)
    incomes[7] = 5e6
    frame = pd.DataFrame({"age": np.arange(400) % 60 + 18, "income": incomes})
    notes = masked(frame).notes
    assert any("of the record: 'income' in 1 of 80 groups." in note for note in notes)
    quiet = masked(frame, privacy={"k": 5, "dominance": 1.0}).notes
    assert not any("makes up more" in note for note in quiet)


@pytest.mark.parametrize("wrong", [0, -0.1, 1.01, "0.7", True, float("nan")])
def test_a_share_that_is_none_is_refused(wrong):
    with refused(JobError, "privacy.dominance"):
        job(privacy={"k": 3, "dominance": wrong})


# --- whole numbers that are averaged to none of them


def test_published_values_that_are_no_original_are_counted():
    before = column(1, 2, 4, 4, 1, 4, 4)
    after = column(1.5, 1.5, 4, 4, 3, 3, 3)
    notes = audited(before, after).notes
    assert notes[-1] == (
        "Columns of whole numbers have published values that no record has, as 1.7; of "
        "7 in each column: 'a' 5. If a column holds codes, as region or sex, its means "
        'say nothing: write kind = "nominal" under [attributes.NAME]. If it counts '
        "something, round_integers = true under [output] publishes whole numbers."
    )


def test_one_note_names_all_columns_of_whole_numbers():
    before = np.hstack([column(1, 2, 4, 4), column(1, 2, 4, 4)])
    after = np.hstack([column(1.5, 1.5, 4, 4), column(3, 3, 3, 3)])
    (note,) = (n for n in audited(before, after).notes if "whole numbers" in n)
    assert "of 4 in each column: 'a' 2, 'b' 4." in note


@pytest.mark.parametrize(
    ("what", "said"),
    [({}, (1, 1)), ({"durations": (0,)}, (1, 0)), ({"dates": (0,)}, (0, 0))],
)
def test_durations_are_no_codes_and_dates_have_no_size_either(what, said):
    before = column(1, 100, 2, 100, 1, 1, 1, 1)
    after = column(50.5, 50.5, 51, 51, 1, 1, 1, 1)
    labels = np.array([0, 0, 1, 1, 2, 2, 2, 2])
    both = Originals(before, after, np.zeros(1), (0,), **what)
    dominated, impossible = both.notes(["a"], [([0], labels)], 0.7)
    notes = [*dominated, *impossible]
    words = "more than 70 % of the sum", "whole numbers"
    assert tuple(sum(word in note for note in notes) for word in words) == said


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ((1, 1, 4, 4), (1, 1, 4, 4)),
        ((5, 5, 5, 5), (5, 5, 5, 5)),
        ((1, 1, 4, 4), (1 + 1e-6, 1 + 1e-6, 4 - 1e-6, 4 - 1e-6)),
        ((0.5, 1, 4, 4), (0.75, 0.75, 4, 4)),
    ],
)
def test_values_that_are_originals_or_no_whole_numbers_are_no_codes(before, after):
    notes = audited(column(*before), column(*after)).notes
    assert not any("whole numbers" in note for note in notes)


@pytest.mark.parametrize("outside", [0.0, 9.0])
def test_values_beyond_the_originals_are_none_of_them(outside):
    notes = audited(column(1, 2, 4, 4), column(outside, outside, 4, 4)).notes
    assert "of 4 in each column: 'a' 2." in notes[-1]


def test_numbers_of_many_values_are_no_codes():
    x = np.arange(44.0) + 100
    before, after = column(*x), column(*(x // 2 * 2 + 0.5))
    assert audited(before, after).notes == ()
    x = np.minimum(x, 119)  # twenty values
    before, after = column(*x), column(*np.where(x < 118, x // 2 * 2 + 0.5, x))
    assert "of 44 in each column: 'a' 18." in audited(before, after).notes[-1]
    x = np.append(x, 120)
    many = audited(column(*x), column(*x + 0.5)).notes
    assert not any("whole numbers" in note for note in many)


def test_rounded_whole_numbers_need_no_note():
    frame = people(30)[["age"]].assign(married=[1] + [0] * 29)
    notes = masked(frame).notes
    assert any("whole numbers" in n and "'married' " in n for n in notes)
    notes = masked(frame, output={"round_integers": True}).notes
    assert not any("whole numbers" in n for n in notes)


@reference
def test_codes_of_regions_are_averaged_to_no_code():
    table = pd.read_csv(DATA / "free1.csv")[["REGION", "AGE", "INCOME"]][:1000]
    (note,) = (n for n in masked(table).notes if "whole numbers" in n)
    assert "of 1000 in each column: 'REGION' 790" in note


def test_notes_and_verdict_hold_no_value_of_a_record():
    frame = pd.DataFrame({"a": [987654321, 1, 2, 123456789, 5, 6], "b": 424242})
    release = masked(frame, k=3)
    said = "\n".join([str(release.audit), *release.notes, repr(release)])
    for value in ("987654321", "123456789", "424242"):
        assert value not in said
