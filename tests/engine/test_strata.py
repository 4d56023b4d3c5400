"""Groups of a folder lie within strata; small strata are refused or left out."""

from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from folders import QUASI, ROLES, job, masked, persons, put, read
from refusals import refused

from aggopt.engine.steps import strata
from aggopt.engine.steps.strata import TableStrata
from aggopt.errors import InfeasibleInputError, TableError
from aggopt.privacy import t_closeness

KEYS = ["region", "sex"]
WITHIN = {**ROLES, "stratum": KEYS}
DROP = {"small": "drop"}


def living(n, seed=0, few=0):
    """Persons of four strata, and some of a fifth."""
    table = persons(n, seed)
    rng = np.random.default_rng(seed)
    region = rng.choice(["n", "s"], n, p=[0.7, 0.3])
    table["region"] = np.where(np.arange(n) < few, "w", region)
    table["sex"] = rng.integers(1, 3, n)
    return table


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Three files, one of records alone that are left out, and some more of them."""
    few = living(3, few=3, seed=2).assign(sex=1)
    more = living(90, few=0, seed=1)
    return put(tmp_path_factory.mktemp("strata") / "in", living(150), few, more)


@pytest.fixture(scope="module")
def release(folder, tmp_path_factory):
    """The release of that folder, in blocks within strata, whose groups are close."""
    asked = job(
        roles=WITHIN,
        strata=DROP,
        privacy={"t": 0.35, "distance": "equal", "repair": "merge"},
        engine={"block": 60},
        output={"digits": "full"},
    )
    return masked(folder, asked, tmp_path_factory.mktemp("within") / "out")


def test_groups_lie_within_strata_and_k_is_of_both(release):
    written = read(release.path)
    sizes = written.groupby([*QUASI, *KEYS]).size()
    groups = read(release.private)["group"]
    assert sizes.min() == release.audit.combination >= 4
    assert len(sizes) == release.audit.groups == groups.nunique()
    assert release.audit.strata == tuple(KEYS)
    assert "within strata of 'region', 'sex'" in repr(release)


def test_means_of_each_stratum_are_kept(folder, release):
    before, after = read(folder), read(release.path)
    of = before[before["region"] != "w"].groupby(KEYS)[QUASI].mean()
    found = after.groupby(KEYS)[QUASI].mean()
    assert found.to_numpy() == pytest.approx(of.to_numpy(), rel=1e-12)


def test_small_strata_are_left_out_and_counted(folder, release):
    assert len(read(release.path)) == len(read(release.private)) == 240
    assert release.manifest["strata"] == {
        "strata": 4,
        "smallest": read(release.path).groupby(KEYS).size().min(),
        "small": 1,
        "records": 3,
        "changed": 0,
        "dropped": 3,
    }
    assert release.manifest["input"]["records"] == len(read(folder)) == 243
    assert (
        "1 stratum had fewer than k records, 3 records in all: they are left out of "
        "the release." in release.notes
    )


def test_t_is_of_the_published_records_and_groups_with_their_strata(release):
    written = read(release.path)
    (check,) = release.audit.promises
    shared = written[[*QUASI, *KEYS]]
    assert check.found == t_closeness(shared, written["ill"], distance="equal") <= 0.35


def test_a_variance_is_kept_over_all_strata(folder, tmp_path):
    asked = job(
        roles=WITHIN,
        strata={"small": "drop", "keep": "overall"},
        aggregation={"method": "mean", "keep": "variance"},
        output={"digits": "full"},
    )
    found = masked(folder, asked, tmp_path / "out")
    before = read(folder)[lambda table: table["region"] != "w"][QUASI]
    after = read(found.path)[QUASI].to_numpy()
    assert after.var(axis=0) == pytest.approx(before.to_numpy().var(axis=0), rel=1e-9)


def test_small_strata_are_refused_in_counts(folder, tmp_path):
    with refused(InfeasibleInputError, "k = 4", "[strata]"):
        masked(folder, job(roles=WITHIN), tmp_path / "out")


def test_a_table_of_small_strata_alone_is_refused(tmp_path):
    folder = put(tmp_path / "in", living(30).assign(sex=np.arange(30)))
    with refused(InfeasibleInputError, "30"):
        masked(folder, job(roles=WITHIN, strata=DROP), tmp_path / "out")


def test_a_missing_stratum_is_refused_and_its_file_named(tmp_path):
    holed = living(30, seed=1)
    holed.loc[:1, "region"] = None
    folder = put(tmp_path / "in", living(30), holed)
    with refused(TableError, "in-1.parquet", "'region'"):
        masked(folder, job(roles=WITHIN), tmp_path / "out")


def test_more_parts_than_files_can_have_are_refused(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(strata, "MOST", 7)
    asked = job(roles=WITHIN, strata=DROP, engine={"block": 120})
    with refused(InfeasibleInputError, "[engine]"):
        masked(folder, asked, tmp_path / "out")


def test_rows_have_the_stratum_of_their_values_whatever_holds_them():
    keys = pa.table({"a": ["x", "y", "x"], "b": [0.0, 1.0, 1.0]})
    known = TableStrata(keys, np.array([5, 6, 7]))
    coded = pa.array(["y", "x", "z", "x"]).dictionary_encode()
    rows = pa.table({"b": [1.0, -0.0, 0.0, 1.0], "a": coded, "c": [1, 2, 3, 4]})
    assert known.of(rows).tolist() == [1, -1, -1, 2]
    assert known.of(rows.slice(0, 0)).tolist() == []
    assert list(known.notes) == []
    assert known.to_dict()["smallest"] == 5


def test_small_blocks_of_several_strata_go_together():
    sizes = np.array([30, 15, 15, 0, 0, 40, 10, 95, 5])
    parts = [(0,), (1, 2), (5,), (6,), (7,), (8,)]
    within = SimpleNamespace(job=job(engine={"block": 100}), strata="there")
    found = strata.assign_parts_to_blocks(parts, sizes, within)
    assert found == [[(0,), (1, 2), (5,)], [(6,)], [(7,), (8,)]]
    whole = SimpleNamespace(strata=None)
    assert strata.assign_parts_to_blocks(parts, sizes, whole) == [
        [part] for part in parts
    ]


def test_groups_of_each_stratum_are_numbered_one_after_the_other():
    of = np.array([1, 0, 1, 1, 0, 0, 1])
    labels = strata.apply_within_strata(of, lambda own: np.arange(len(own)) // 2)
    assert labels.tolist() == [2, 0, 2, 3, 0, 1, 3]
