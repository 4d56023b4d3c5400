"""Values that are missing in a folder are treated as those of one table are."""

import numpy as np
import pytest
from folders import (
    QUASI,
    ROLES,
    SECRET,
    digest,
    job,
    linked,
    masked,
    persons,
    put,
    read,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused

import aggopt
from aggopt.engine.state.moments import PartMoments
from aggopt.engine.state.split_tree import PatternBuckets, count_patterns
from aggopt.engine.steps import feasible_blocks as keeping
from aggopt.engine.steps.feasible_blocks import merge_refused
from aggopt.errors import InfeasibleInputError, JobError, TableError
from aggopt.partition import _blocked_search as improve
from aggopt.privacy import distinct_l, entropy_l, p_sensitive, recursive_cl
from aggopt.repair import merge_until_satisfied as merging


def holed(n, seed=0):
    """Persons of whom some values are missing: of few more than one."""
    table = persons(n, seed)
    rng = np.random.default_rng(seed + 7)
    for name, share in (("height", 0.3), ("income", 0.1), ("age", 0.02)):
        table[name] = table[name].where(rng.random(n) > share)
    return table


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two parts; in the second nobody has an income."""
    second = holed(130, seed=1).assign(income=np.nan)
    return put(tmp_path_factory.mktemp("holes") / "in", holed(270), second)


def of(policy, **sections):
    """Return a job with this policy, that publishes all digits."""
    return job(missing={"policy": policy}, output={"digits": "full"}, **sections)


def test_holes_are_published_in_groups_that_miss_the_same(folder, tmp_path):
    found = masked(folder, of("patterns"), tmp_path / "out")
    before, after = linked(folder, found)
    assert found.manifest["blocks"] > 1
    assert after.groupby(QUASI, dropna=False).size().min() >= 4
    missing = after[QUASI].isna()
    assert (missing | ~before[QUASI].isna()).all(axis=None)
    suppressed = int((missing & ~before[QUASI].isna()).sum().sum())
    holes = found.audit.missing
    assert (holes.cells, holes.imputed) == (int(missing.sum().sum()), 0)
    assert holes.suppressed == suppressed
    assert holes.patterns == len(missing[missing.any(axis=1)].drop_duplicates())
    assert suppressed < 0.02 * missing.size
    means = before[QUASI].groupby(read(found.private)["group"].to_numpy())
    expected = means.transform("mean").where(~missing)
    assert after[QUASI].to_numpy() == pytest.approx(expected, nan_ok=True)
    assert any(
        note.startswith(f"{holes.cells} values of quasi") for note in found.notes
    )


@pytest.mark.parametrize("policy", ["patterns", "fill"])
def test_no_border_is_within_a_block(policy, folder, tmp_path, monkeypatch):
    found = [masked(folder, of(policy), tmp_path / "regions as they are")]
    monkeypatch.setattr(improve, "REGION", 20)
    monkeypatch.setattr(improve, "REGIONS", 1000)
    found.append(masked(folder, of(policy), tmp_path / "small regions"))
    assert digest(found[0].path) == digest(found[1].path)


def test_what_groups_publish_stands_in_place_of_holes(folder, tmp_path):
    keep = {"method": "mean", "keep": "variance"}
    found = masked(folder, of("fill", aggregation=keep), tmp_path / "out")
    before, after = linked(folder, found)
    there = before[QUASI].notna()
    assert found.manifest["blocks"] > 1
    assert after[QUASI].notna().all(axis=None)
    group = read(found.private)["group"].to_numpy()
    behind = there.groupby(group).sum()
    assert behind.min(axis=None) == found.audit.missing.least >= 4
    assert found.audit.missing.imputed == int((~there).sum().sum())
    own = after[QUASI].where(there)
    assert own.mean().to_numpy() == pytest.approx(before[QUASI].mean(), rel=1e-9)
    assert own.var().to_numpy() == pytest.approx(before[QUASI].var(), rel=1e-9)
    spread = before[QUASI].std(ddof=0)
    lost = (((own - before[QUASI]) / spread) ** 2).mean().mean()
    assert found.measures["information loss"] == pytest.approx(100 * lost)


@pytest.mark.parametrize("policy", ["patterns", "fill"])
@pytest.mark.parametrize("method", ["plurality", "frequencies"])
def test_one_block_is_the_table(tmp_path, policy, method):
    rng = np.random.default_rng(3)
    names = ["ill", "note", "town"]
    table = persons(200)[["ill", "note"]].assign(town=rng.choice(list("abcd"), 200))
    table = table.where(rng.random(table.shape) > 0.1)
    sections = {
        "roles": {"quasi-identifier": names},
        "missing": {"policy": policy},
        "aggregation": {"method": "mean", "categories": {"method": method}},
    }
    asked = job(**sections, engine={"block": 1000})
    found = masked(put(tmp_path / "in", table), asked, tmp_path / "out")
    plain = aggopt.Job(**sections, privacy={"k": 4}, partition={"method": "blocked"})
    whole = aggopt.mask(table, plain, secret=SECRET)
    ours = found.certificates
    of_groups = whole.blocks[0].certificate.objective
    assert ours["groups"].objective == pytest.approx(of_groups, rel=1e-12)
    for name in names:
        assert ours[name].objective == whole.certificates[name].objective
    holes = whole.audit.missing
    for figure in ("cells", "patterns", "suppressed", "imputed", "least"):
        assert getattr(found.audit.missing, figure) == getattr(holes, figure)


def test_medians_are_of_the_values_that_are_there(folder, tmp_path):
    asked = of("fill", aggregation={"method": "median"})
    found = masked(folder, asked, tmp_path / "out")
    before, after = linked(folder, found)
    group = before[QUASI].groupby(read(found.private)["group"].to_numpy())
    assert after[QUASI].to_numpy() == pytest.approx(group.transform("median"))


def test_a_table_without_holes_is_masked_as_with_any_policy(tmp_path):
    folder = put(tmp_path / "in", persons(60))
    found = [masked(folder, of(p), tmp_path / p) for p in ("patterns", "refuse")]
    assert read(found[0].path).equals(read(found[1].path))
    assert found[0].audit.missing is None


@pytest.mark.parametrize(
    ("column", "values"), [("income", [1.0] * 3), ("income", [])], ids=["few", "none"]
)
def test_too_few_values_are_refused(tmp_path, column, values):
    table = persons(60)
    table[column] = [*values, *[np.nan] * (60 - len(values))]
    folder = put(tmp_path / "in", table)
    with pytest.raises(
        InfeasibleInputError, match=f"'income' has {len(values)} values"
    ):
        masked(folder, of("patterns"), tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


def test_the_covariance_of_numbers_with_holes_is_refused(folder, tmp_path):
    keep = {"method": "mean", "keep": "covariance"}
    with refused(JobError):
        masked(folder, of("fill", aggregation=keep), tmp_path / "out")


def test_an_attribute_that_refuses_holes_does(folder, tmp_path):
    asked = of("fill", attributes={"height": {"missing": "refuse"}})
    with refused(TableError, "in-0.parquet", "'height'"):
        masked(folder, asked, tmp_path / "out")


@settings(max_examples=20)
@given(st.integers(0, 10**6), st.lists(st.integers(1, 9), min_size=1, max_size=4))
def test_moments_of_pieces_are_those_of_the_values_that_are_there(seed, sizes):
    rng = np.random.default_rng(seed)
    parts = [rng.normal(1e3, 1, (size, 2)) for size in sizes]
    parts = [np.where(rng.random(x.shape) < 0.4, np.nan, x) for x in parts]
    found = PartMoments.together([PartMoments.of(x) for x in parts])
    for j, x in enumerate(np.vstack(parts).T):
        own = x[~np.isnan(x)]
        assert found.n[j] == len(own)
        if len(own):
            assert found.mean[j] == pytest.approx(own.mean())
            assert found.variance[j] == pytest.approx(own.var(), abs=1e-9)
            assert (found.low[j], found.high[j]) == (own.min(), own.max())


def test_each_pattern_has_leaves_of_its_own():
    patterns = np.array([[False, False], [True, False], [False, True]])
    buckets = PatternBuckets.of(patterns, np.array([800, 90, 5]), block=100, depth=3)
    assert buckets.count == 8 + 1 + 1 + 1  # the last is of patterns that are not known
    absent = np.repeat(np.vstack([patterns, [[True, True]]]), 8, axis=0)
    leaf = np.tile(np.arange(8), 4)
    found = buckets.bucket(absent, leaf)
    assert sorted(set(found.tolist())) == list(range(11))
    assert [len(set(part.tolist())) for part in np.split(found, 4)] == [8, 1, 1, 1]
    assert found[-1] == 10
    of_all = count_patterns(absent[:24])
    assert of_all["of each"].tolist() == [8, 8, 8]


# --- blocks whose records lack what is promised go together until they have it


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

    monkeypatch.setattr(merging, "prove_promised_loss", never)
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
