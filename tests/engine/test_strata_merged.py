"""Small strata of a folder are merged as those of the same table in memory are."""

import numpy as np
import pandas as pd
import pytest
from folders import QUASI, ROLES, job, linked, masked, persons, put, read
from refusals import refused

import aggopt
from aggopt.engine.validate import values
from aggopt.errors import InfeasibleInputError

KEYS = ["region", "note"]
WITHIN = {
    "roles": {**ROLES, "stratum": KEYS, "other": []},
    "strata": {"small": "merge"},
}
REGIONS = ["north", "middle", "south", "islands"]
NEAR = {
    "means": {},
    "order": {"region": {"order": REGIONS}},
    "tree": {"region": {"tree": {"main": REGIONS[:3], "sea": REGIONS[3:]}}},
}


def living(n, seed=0):
    """Persons in two large regions, a few in a third and fewer in a fourth."""
    rng = np.random.default_rng(seed)
    region = rng.choice(REGIONS, n, p=[0.5, 0.45, 0.03, 0.02])
    return persons(n, seed).assign(region=region)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two files."""
    return put(tmp_path_factory.mktemp("merged") / "in", living(130), living(90, 1))


@pytest.mark.parametrize("near", NEAR)
def test_small_strata_go_where_they_go_in_memory(folder, tmp_path, near):
    how = {**WITHIN, "attributes": NEAR[near]}
    found = masked(folder, job(**how, engine={"block": 60}), tmp_path / "out")
    once = aggopt.mask(read(folder), aggopt.Job(**how, privacy={"k": 4}))
    assert found.manifest["strata"] == once.manifest()["strata"]
    assert found.manifest["strata"]["changed"] > 0
    written = read(found.path)
    expected = once.table.groupby(KEYS).size()
    pd.testing.assert_series_equal(written.groupby(KEYS).size(), expected)
    (said,) = (note for note in found.notes if "merged with the nearest" in note)
    assert said in once.notes
    sizes = written.groupby([*QUASI, *KEYS]).size()
    assert sizes.min() == found.audit.combination >= 4


def test_weights_and_missing_values_move_no_stratum_elsewhere(tmp_path):
    tables = [living(130, 2), living(90, 102)]
    rng = np.random.default_rng(5)
    for table in tables:  # who weighs most has least
        table["w"] = (1 / table["income"]).clip(0.05, 20)
        table["height"] = table["height"].where(rng.random(len(table)) > 0.3)
        days = pd.to_timedelta(rng.integers(0, 99, len(table)), unit="D")
        table["day"] = (pd.Timestamp(2026, 1, 1) + days).astype(str)
    tables[1]["day"] = pd.Series(pd.NA, tables[1].index, dtype="string")
    how = {
        "roles": {
            **WITHIN["roles"],
            "quasi-identifier": [*QUASI, "day"],
            "weight": ["w"],
        },
        "attributes": {"day": {"kind": "date", "weight": 0.001}},
        "strata": WITHIN["strata"],
        "weights": {"dominance": 1},
        "missing": {"policy": "patterns"},
    }
    folder = put(tmp_path / "in", *tables)
    found = masked(folder, job(**how), tmp_path / "out")
    once = aggopt.mask(read(folder), aggopt.Job(**how, privacy={"k": 4}))
    expected = once.table.groupby(KEYS).size()
    pd.testing.assert_series_equal(read(found.path).groupby(KEYS).size(), expected)


def test_weights_of_categories_move_no_stratum_elsewhere(tmp_path):
    tables = [living(130), living(90, 100)]
    for table in tables:
        table["w"] = np.where(table["ill"] == "flu", 20.0, 0.05)
    quasi = {"quasi-identifier": ["ill", "income"], "confidential": []}
    roles = {**WITHIN["roles"], **quasi, "other": ["age", "height"], "weight": ["w"]}
    how = {**WITHIN, "roles": roles, "weights": {"dominance": 1}}
    folder = put(tmp_path / "in", *tables)
    found = masked(folder, job(**how), tmp_path / "out")
    once = aggopt.mask(read(folder), aggopt.Job(**how, privacy={"k": 4}))
    expected = once.table.groupby(KEYS).size()
    pd.testing.assert_series_equal(read(found.path).groupby(KEYS).size(), expected)


def test_records_of_a_stratum_go_together_and_groups_within_them(folder, tmp_path):
    found = masked(folder, job(**WITHIN), tmp_path / "out")
    before, after = linked(folder, found)
    both = before[KEYS].agg("/".join, axis=1), after[KEYS].agg("/".join, axis=1)
    assert (both[1].groupby(both[0]).nunique() == 1).all()
    assert (both[0] != both[1]).sum() == found.manifest["strata"]["changed"]
    assert (both[1].groupby(before["group"]).nunique() == 1).all()


def test_means_of_too_many_strata_are_refused(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(values, "MOST_CENTRES", 23)
    with refused(InfeasibleInputError, "23", "[strata]"):
        masked(folder, job(**WITHIN), tmp_path / "out")


def test_strata_of_k_records_are_left_as_they_are(tmp_path):
    table = persons(80).assign(region="north")
    folder = put(tmp_path / "in", table)
    found = masked(folder, job(**WITHIN), tmp_path / "out")
    assert found.manifest["strata"]["changed"] == 0
    sizes = [each.groupby(KEYS).size() for each in (table, read(found.path))]
    pd.testing.assert_series_equal(*sizes)
