"""Strata of a table: values, never joined text; small ones refused, merged, dropped."""

from itertools import combinations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from refusals import refused
from stratified import KEYS, ROLES, residents, within

import aggopt
from aggopt import Job
from aggopt.data.context.strata import stratify
from aggopt.data.table import Table
from aggopt.errors import AggoptError

TREE = {"north": ["n", "m"], "south": ["s"]}


def strata(frame, job):
    table, found = stratify(Table.of(frame, job.roles, job.attributes), job)
    return table.frame.to_pandas(), found


def merging(**of_region):
    more = {"attributes": {"region": of_region}} if of_region else {}
    return within(strata={"small": "merge"}, **more)


def expect_refusal(frame, job):
    with refused(AggoptError) as error:
        strata(frame, job)
    return error.value.problem, error.value.fix


def test_a_table_without_the_role_has_no_strata():
    roles = {**ROLES, "stratum": [], "other": KEYS}
    assert strata(residents(), within(roles=roles))[1] is None


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.from_pandas, pa.Table.from_pandas])
def test_records_are_in_one_stratum_if_all_their_values_are_the_same(kind):
    frame = residents()
    _, found = strata(kind(frame), within())
    own = frame.groupby(KEYS).ngroup().to_numpy()
    assert found.labels.tolist() == own.tolist()
    assert found.sizes.tolist() == [8, 10, 13, 9]
    assert [rows.tolist() for rows in found.members] == [
        np.flatnonzero(own == s).tolist() for s in range(4)
    ]
    assert (list(found.notes), found.is_released) == ([], None)
    assert found.to_dict() == {
        **{"strata": 4, "smallest": 8, "small": 0, "records": 0},
        **{"changed": 0, "dropped": 0},
    }


def test_a_key_is_its_values_and_never_a_joined_text():
    # sdcMicro joins keys by "-", and takes these two strata for one
    frame = residents()
    frame["region"] = np.where(frame["sex"] == "f", "a-b", "a")
    frame["sex"] = np.where(frame["sex"] == "f", "c", "b-c")
    assert (frame["region"] + "-" + frame["sex"]).nunique() == 1
    assert strata(frame, within())[1].sizes.tolist() == [19, 21]


def test_numbers_truth_values_and_categories_are_values_too():
    frame = residents().assign(region=lambda f: (f["region"] == "n").astype(int))
    frame["sex"] = frame["sex"] == "f"
    assert strata(frame, within())[1].sizes.tolist() == [9, 13, 10, 8]
    frame["region"] = frame["region"].map({0: "b", 1: "a"}).astype("category")
    assert sorted(strata(frame, within())[1].sizes) == [8, 9, 10, 13]


@pytest.mark.parametrize("count", [1, 3])
def test_missing_values_of_strata_are_refused(count):
    frame = residents()
    frame.loc[: count - 1, "sex"] = None
    expect_refusal(frame, within())


@pytest.mark.parametrize("more", [{"m_f": 2}, {"m_f": 2, "m_m": 1}])
def test_small_strata_are_refused_in_counts(more):
    expect_refusal(residents(**more), within())


def test_records_of_small_strata_are_dropped_and_counted():
    frame, job = residents(m_f=2, m_m=3), within(strata={"small": "drop"})
    left, found = strata(frame, job)
    gone = (frame["region"] == "m") & (frame["sex"] == "f")
    pd.testing.assert_frame_equal(left, frame[~gone])
    assert found.is_released.tolist() == (~gone).tolist()
    assert found.sizes.tolist() == [3, 8, 10, 13, 9]
    assert found.to_dict()["dropped"] == 2
    assert list(found.notes) == [
        "1 stratum had fewer than k records, 2 records in all: they are left out of "
        "the release."
    ]


def test_dropped_records_take_their_categories_with_them():
    frame = residents(m_f=2).assign(kind=lambda f: f["region"] + "1")
    roles = {**ROLES, "quasi-identifier": ["age", "income", "kind"]}
    job = within(roles=roles, strata={"small": "drop"})
    table, _ = stratify(Table.of(frame, job.roles), job)
    assert table.domains["kind"].levels == ("n1", "s1")


def test_a_table_of_small_strata_alone_is_not_dropped():
    expect_refusal(residents(), within(k=14, strata={"small": "drop"}))


def test_a_small_stratum_goes_with_the_nearest_and_is_published_as_it():
    frame = residents(m_f=2)
    m = frame["region"] == "m"
    near = frame[(frame["region"] == "s") & (frame["sex"] == "m")]
    frame.loc[m, ["age", "income"]] = near[["age", "income"]].mean().to_numpy()
    made, found = strata(frame, merging())
    assert made.loc[m, KEYS].to_numpy().tolist() == [["s", "m"]] * 2
    pd.testing.assert_frame_equal(made[~m], frame[~m])
    assert (found.small, found.records, found.changed) == (1, 2, 2)
    assert list(found.notes) == [
        "1 stratum had fewer than k records, 2 records in all: merged with the "
        "nearest, so that 2 records are published with values of another stratum, or "
        "of a node above both."
    ]


def test_one_record_is_merged_alone():
    assert "1 record is published" in next(strata(residents(m_f=1), merging())[1].notes)


def test_by_an_order_the_nearest_value_comes_first():
    frame = residents(m_f=2)
    far = frame["region"] == "m"
    frame.loc[far, ["age", "income"]] = [1e6, 1e9]  # by their means nearest to none
    made, _ = strata(frame, merging(order=["m", "n", "s"]))
    assert made.loc[far, KEYS].to_numpy().tolist() == [["n", "f"]] * 2
    made, _ = strata(frame, merging(order=["n", "s", "m"]))
    assert made.loc[far, KEYS].to_numpy().tolist() == [["s", "f"]] * 2


def test_by_a_tree_the_lowest_node_above_both_is_published():
    frame = residents(m_f=2)
    made, found = strata(frame, merging(tree=TREE))
    north = (frame["region"] != "s") & (frame["sex"] == "f")
    assert (made.loc[north, "region"] == "north").all()
    assert found.changed == north.sum() == 10
    pd.testing.assert_frame_equal(made[~north], frame[~north])


def test_what_is_not_in_the_order_is_refused():
    expect_refusal(residents(m_f=2), merging(order=["n", "s"]))


def test_merged_strata_have_k_records_whatever_the_order_of_the_table():
    frame = residents(**{f"{region}_f": 1 + i % 3 for i, region in enumerate("abcde")})
    made, found = strata(frame, within(k=4, strata={"small": "merge"}))
    assert found.sizes.min() >= 4
    keys = made.groupby(KEYS).ngroup()
    assert keys.nunique() == len(found.sizes)
    for one, other in combinations(range(0, len(frame), 7), 2):
        same = keys[one] == keys[other]
        assert same == (found.labels[one] == found.labels[other])
    shuffled = frame.sample(frac=1, random_state=5)
    again, _ = strata(shuffled, within(k=4, strata={"small": "merge"}))
    pd.testing.assert_frame_equal(again.sort_index(), made)


ZEROS = {
    "float64": pd.Series([0.0, -0.0, 1.0] * 20),
    "float32": pd.Series([0.0, -0.0, 1.0] * 20, dtype="float32"),
    "nullable": pd.Series([0.0, -0.0, 1.0] * 20, dtype="Float64"),
    "arrow": pd.Series([0.0, -0.0, 1.0] * 20, dtype="double[pyarrow]"),
}


@pytest.mark.parametrize(
    "library", [pd.DataFrame, pl.from_pandas, pa.Table.from_pandas]
)
@pytest.mark.parametrize("kind", ZEROS)
def test_both_zeros_are_one_stratum(kind, library):
    frame = pd.DataFrame({"x": np.arange(60.0), "half": ZEROS[kind]})
    roles = {"quasi-identifier": ["x"], "stratum": ["half"]}
    release = aggopt.mask(library(frame), Job(roles=roles, privacy={"k": 3}))
    assert release.audit.holds
    published = release.table["half"]
    assert set(map(str, np.asarray(published, np.float64))) == {"0.0", "1.0"}
    assert type(release.table) is type(library(frame))
    assert str(pa.table(release.table)["half"].type) == str(
        pa.table(library(frame))["half"].type
    )
