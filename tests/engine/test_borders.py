"""Groups near a border are looked at once more, with those beyond it."""

import numpy as np
import pandas as pd
import pytest
from folders import QUASI, ROLES, digest, job, linked, masked, persons, put, read

from aggopt.engine import run
from aggopt.partition._blocked import improve

WITHIN = {"roles": {**ROLES, "stratum": ["note"], "other": []}}
CLOSE = {"t": 0.3, "distance": "equal", "repair": "merge"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two parts, of four blocks."""
    tables = persons(230), persons(170, seed=1)
    return put(tmp_path_factory.mktemp("borders") / "in", *tables)


@pytest.fixture(scope="module")
def release(folder, tmp_path_factory):
    """The release of that folder, borders looked at."""
    asked = job(engine={"borders": True})
    return masked(folder, asked, tmp_path_factory.mktemp("released") / "out")


def test_a_second_look_loses_less_and_keeps_k(folder, release, tmp_path):
    once = masked(folder, job(), tmp_path / "once")
    lost = [found.certificates["groups"].objective for found in (release, once)]
    assert lost[0] < lost[1]
    assert release.audit.combination >= 4
    assert release.audit.records == 400
    sizes = read(release.path).groupby(QUASI).size()
    assert len(sizes) == read(release.private)["group"].nunique()


def test_the_loss_is_that_of_the_groups_of_the_key(folder, release):
    key = read(release.private)
    table = pd.concat(
        pd.read_parquet(path).assign(
            input_file=path.name, input_record=lambda rows: np.arange(len(rows))
        )
        for path in sorted(folder.glob("*.parquet"))
    )
    at = key.astype({"input_file": str})
    rows = at.merge(table, on=["input_file", "input_record"], validate="1:1")
    assert len(rows) == 400
    Z = (rows[QUASI] - rows[QUASI].mean()) / rows[QUASI].std(ddof=0)
    lost = Z - Z.groupby(rows["group"]).transform("mean")
    expected = float((lost**2).to_numpy().sum())
    assert release.certificates["groups"].objective == pytest.approx(expected)


def test_the_manifest_says_that_borders_were_looked_at(release):
    assert release.notes[-1] == (
        "Groups were made in 4 blocks of about 100 records, and those near their "
        "borders once more in 1 block across them."
    )
    assert release.manifest["blocks"] == 4
    assert release.manifest["job"]["engine"]["borders"] is True


def test_groups_go_whole_and_those_far_from_a_cut_stay(folder, tmp_path, monkeypatch):
    each, seen = run._Run.each, {}

    def noted(self, step, count, config):
        found = each(self, step, count, config)
        seen[step] = np.array(found)
        return found

    monkeypatch.setattr(run._Run, "each", noted)
    asked = job(engine={"borders": True})
    masked(folder, asked, tmp_path / "out")
    parted = seen["part"]
    assert parted.shape == (4, 2)
    assert parted.sum() == 400
    assert (parted[:, 0] > 0).all()
    assert (parted[:, 1:].sum(axis=0) >= 8).all()
    assert ((parted == 0) | (parted >= 4)).all()


def test_one_block_has_no_border(tmp_path):
    folder = put(tmp_path / "in", persons(60))
    with_borders = masked(folder, job(engine={"borders": True}), tmp_path / "a")
    without = masked(folder, job(), tmp_path / "b")
    assert digest(with_borders.path) == digest(without.path)
    assert with_borders.notes[-1].endswith("1 block of about 60 records.")


@pytest.mark.parametrize("borders", [False, True], ids=["one look", "two looks"])
def test_no_border_is_within_a_block(folder, borders, tmp_path, monkeypatch):
    asked = job(engine={"borders": borders})
    found = [masked(folder, asked, tmp_path / "regions as they are")]
    monkeypatch.setattr(improve, "REGION", 20)
    monkeypatch.setattr(improve, "REGIONS", 1000)
    found.append(masked(folder, asked, tmp_path / "small regions"))
    assert digest(found[0].path) == digest(found[1].path)


def test_l_is_kept_by_merging_after_the_second_look(folder, tmp_path):
    asked = job(engine={"borders": True}, privacy={"l": 2, "repair": "merge"})
    found = masked(folder, asked, tmp_path / "out")
    assert read(found.path).groupby(QUASI)["ill"].nunique().min() >= 2


def test_t_is_kept_though_the_second_look_takes_records_away(folder, tmp_path):
    asked = job(engine={"borders": True}, privacy=CLOSE)
    found = masked(folder, asked, tmp_path / "out")
    (check,) = found.audit.promises
    assert check.found <= 0.3


def test_within_strata_groups_meet_those_of_theirs_alone(folder, tmp_path):
    asked = job(**WITHIN, engine={"borders": True, "block": 50})
    found = masked(folder, asked, tmp_path / "out")
    once = masked(folder, job(**WITHIN, engine={"block": 50}), tmp_path / "once")
    lost = [each.certificates["groups"].objective for each in (found, once)]
    assert lost[0] < lost[1]
    before, after = linked(folder, found)
    assert (before["note"] == after["note"]).all()
    assert (before.groupby("group")["note"].nunique() == 1).all()
    sizes = after.groupby([*QUASI, "note"]).size()
    assert sizes.min() == found.audit.combination >= 4
    assert len(sizes) == before["group"].nunique()


def test_a_stratum_that_no_cut_divides_is_grouped_once(tmp_path):
    few = persons(30).assign(note="few")
    folder = put(tmp_path / "in", few, persons(370, seed=1).assign(note="many"))
    asked = [job(**WITHIN, engine={"borders": b, "block": 200}) for b in (True, False)]
    names = "again", "once"
    both = zip(asked, names, strict=True)
    found = [masked(folder, how, tmp_path / name) for how, name in both]
    few, again = (read(each.path).query("note == 'few'") for each in found)
    values = [
        each.sort_values([*QUASI, "ill"])[QUASI].to_numpy() for each in (few, again)
    ]
    assert (values[0] == values[1]).all()


def test_within_strata_promises_are_kept_after_a_second_look(folder, tmp_path):
    privacy = {"l": 2, "repair": "merge"}
    asked = job(**WITHIN, engine={"borders": True, "block": 50}, privacy=privacy)
    written = read(masked(folder, asked, tmp_path / "out").path)
    assert written.groupby([*QUASI, "note"])["ill"].nunique().min() >= 2
