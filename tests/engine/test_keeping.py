"""Blocks whose records lack what is promised go together until they have it."""

import numpy as np
import pytest
from folders import QUASI, ROLES, job, masked, persons, put, read
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused

from aggopt.engine.steps import feasible_blocks as keeping
from aggopt.engine.steps.feasible_blocks import merge_refused
from aggopt.errors import InfeasibleInputError
from aggopt.privacy import distinct_l, entropy_l, p_sensitive, recursive_cl
from aggopt.repair import merge_until_satisfied as merging

MERGED = {"repair": "merge"}
RECURSIVE = {"l": 2, "diversity": "recursive", "c": 2.0}
PROMISES = {
    "distinct l": ({"l": 2}, distinct_l),
    "entropy l": ({"l": 2, "diversity": "entropy"}, entropy_l),
    "recursive l": (RECURSIVE, lambda *of: recursive_cl(*of, c=2.0)),
    "p": ({"p": 2}, p_sensitive),
}


def in_line(n=160):
    """Persons that differ in their income alone, and the place of each in that."""
    table = persons(n).assign(height=0.0, age=3)
    return table, np.argsort(np.argsort(table["income"].to_numpy()))


def near_alike():
    """Persons of whom the poorest 60 have one illness, and all others four."""
    table, place = in_line()
    return table.assign(ill=np.where(place < 60, 0, place % 4))


@pytest.mark.parametrize("what", PROMISES)
def test_what_a_block_lacks_its_neighbour_has(what, tmp_path):
    asked, counted = PROMISES[what]
    folder = put(tmp_path / "in", near_alike())
    how = job(privacy=asked | MERGED, engine={"block": 40})
    found = masked(folder, how, tmp_path / "out")
    written = read(found.path)
    (check,) = found.audit.promises
    assert check.found == counted(written[QUASI], written["ill"]) >= 2
    assert check.groups == written.groupby(QUASI).ngroups > 1
    assert found.manifest["blocks"] < 4


def test_the_weight_of_a_block_has_others_beside_it(tmp_path):
    table, place = in_line()
    table["w"] = np.where(place == 159, 100.0, 1.0)
    how = job(
        roles={**ROLES, "weight": ["w"]},
        weights={"dominance": 0.6},
        engine={"block": 40},
    )
    found = masked(put(tmp_path / "in", table), how, tmp_path / "out")
    (check,) = found.audit.promises
    assert check.found <= 0.6
    assert found.manifest["blocks"] < 4
    assert read(found.path)["w"].max() <= 167 / 68  # 67 others weigh .4 of all


def test_blocks_that_keep_it_stay_as_they_are(tmp_path):
    folder = put(tmp_path / "in", persons(200))
    found = masked(folder, job(privacy={"l": 2} | MERGED), tmp_path / "out")
    plain = masked(folder, job(), tmp_path / "plain")
    assert found.manifest["blocks"] == plain.manifest["blocks"] == 2


def test_what_all_records_lack_is_refused_as_in_memory(tmp_path):
    folder = put(tmp_path / "in", in_line()[0].assign(ill="flu"))
    how = job(privacy={"l": 2} | MERGED, engine={"block": 40})
    with refused(InfeasibleInputError, "l = 2", "'ill'", "160"):
        masked(folder, how, tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


def test_what_a_stratum_lacks_is_refused(tmp_path):
    table = persons(160)
    table["note"] = np.where(np.arange(160) < 30, "a", "b")
    table.loc[:29, "ill"] = "flu"
    how = job(
        roles={**ROLES, "stratum": ["note"], "other": []},
        privacy={"p": 2} | MERGED,
        engine={"block": 40},
    )
    with refused(InfeasibleInputError, "30"):
        masked(put(tmp_path / "in", table), how, tmp_path / "out")


def test_parts_of_strata_go_together_within_them(tmp_path):
    table = near_alike()
    table["note"] = np.where(np.arange(160) % 3, "a", "b")
    how = job(
        roles={**ROLES, "stratum": ["note"], "other": []},
        privacy={"l": 3} | MERGED,
        engine={"block": 20},
    )
    found = masked(put(tmp_path / "in", table), how, tmp_path / "out")
    written = read(found.path)
    assert written.groupby([*QUASI, "note"])["ill"].nunique().min() >= 3


def test_blocks_that_would_be_too_large_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(keeping, "WIDEST", 2)
    table, place = in_line()
    folder = put(tmp_path / "in", table.assign(ill=place // 120))
    how = job(privacy={"l": 2} | MERGED, engine={"block": 20})
    with refused(InfeasibleInputError, "[engine]", "block = 20"):
        masked(folder, how, tmp_path / "out")


def test_no_bound_is_worked_out_for_groups_of_a_block(tmp_path, monkeypatch):
    def never(*args, **how):
        raise AssertionError

    monkeypatch.setattr(merging, "compute_loss_bound", never)
    folder = put(tmp_path / "in", near_alike())
    how = job(privacy={"l": 2} | MERGED, engine={"block": 40})
    assert masked(folder, how, tmp_path / "out").audit.groups > 1


def test_a_part_that_is_refused_goes_with_its_neighbour():
    parts = [(0,), (1, 2), (3,)]
    assert merge_refused(parts, []) == parts
    assert merge_refused(parts, [(0,)]) == [(0, 1, 2), (3,)]
    assert merge_refused(parts, [(1, 2)]) == [(0,), (1, 2, 3)]
    assert merge_refused(parts, [(3,)]) == [(0,), (1, 2, 3)]
    assert merge_refused(parts, [(0,), (3,)]) == [(0, 1, 2, 3)]
    assert merge_refused(parts, parts) == [(0, 1, 2, 3)]
    assert merge_refused(parts[:1], parts) == [(0,)]


@given(st.lists(st.booleans(), min_size=2, max_size=9))
def test_parts_keep_their_order_and_none_that_is_refused_stays_alone(refused):
    parts = [(place,) for place in range(len(refused))]
    wrong = [part for part, no in zip(parts, refused, strict=True) if no]
    found = merge_refused(parts, wrong)
    assert sum(found, ()) == tuple(range(len(parts)))
    assert not set(found) & set(wrong)
    assert len(found) >= len(parts) - len(wrong)
