"""What a folder publishes of groups is what memory publishes of the same groups."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from folders import (
    QUASI,
    SECRET,
    digest,
    job,
    linked,
    masked,
    of_same_groups,
    persons,
    put,
    read,
)
from refusals import refused

import aggopt
from aggopt.engine import run
from aggopt.engine.run import set_block_partition
from aggopt.engine.state.split_tree import merge_leaves
from aggopt.engine.steps import global_confidential as whole
from aggopt.engine.steps.weights import append_weights, remove_weights
from aggopt.engine.validate.supported_settings import require_supported_job
from aggopt.errors import InfeasibleInputError, PrivacyError
from aggopt.privacy import distinct_l, t_closeness
from aggopt.privacy.value_levels import assign_levels

NUMBERS = ["age", "height", "income"]
NAMES = ["ill", "town"]
WEIGHED = {
    "identifier": ["name"],
    "quasi-identifier": NUMBERS,
    "other": ["ill", "town", "note"],
    "weight": ["w"],
}
TYPED = {
    **WEIGHED,
    "quasi-identifier": ["age", *NAMES],
    "other": ["height", "income", "note"],
}
WITHIN = {**WEIGHED, "other": ["ill", "town"], "stratum": ["note"]}
KEPT = {
    "aggregation": {"method": "mean", "keep": "variance"},
    "attributes": {"age": {"lower": 18, "upper": 90}},
}
FREQUENT = {"method": "mean", "categories": {"method": "frequencies"}}
P3M = {"method": "p3m", "margin": 0.0, "delta": 0.1, "importance": 0.2}
CASES = {
    "categories, weights": ("refuse", TYPED, {}),
    "frequencies, filled, weights": ("fill", TYPED, {"aggregation": FREQUENT}),
    "medians, filled, weights, strata": (
        "fill",
        WITHIN,
        {"aggregation": {"method": "median"}},
    ),
    "variances and bounds, patterns, weights": ("patterns", WEIGHED, KEPT),
    "p3m and bounds, patterns, weights, strata": (
        "patterns",
        WITHIN,
        {**KEPT, "aggregation": P3M, "strata": {"keep": "overall"}},
    ),
}


def surveyed(n, seed=0, holes=True):
    """Persons with weights and towns, of whom some values are missing.

    No group mean leaves room beyond their ages.
    """
    rng = np.random.default_rng(seed + 7)
    table = persons(n, seed).assign(w=1 + rng.gamma(2.0, 10.0, n).round(3))
    table["town"] = rng.choice(list("abcd"), n)
    table["age"] = rng.choice([18, 50, 90], n, p=[0.4, 0.2, 0.4])
    shares = {"height": 0.3, "income": 0.1, "age": 0.03, "ill": 0.2, "town": 0.1}
    for name, share in shares.items() if holes else ():
        table[name] = table[name].where(rng.random(n) > share)
    return table


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Folders of two files, with holes and without."""
    to = tmp_path_factory.mktemp("surveyed")
    return {
        holes: put(
            to / str(holes), surveyed(110, holes=holes), surveyed(70, 1, holes=holes)
        )
        for holes in (True, False)
    }


@pytest.mark.parametrize("case", CASES)
def test_values_and_certificates_are_those_of_memory(folders, tmp_path, case):
    policy, roles, sections = CASES[case]
    asked = job(
        roles=roles,
        missing={"policy": policy},
        output={"digits": "full"},
        engine={"block": 60},
        **sections,
    )
    folder, names = folders[policy != "refuse"], roles["quasi-identifier"]
    found = masked(folder, asked, tmp_path / "out")
    before, after = linked(folder, found)
    there = (before[names].notna() & after[names].notna()).to_numpy()
    whole = of_same_groups(found, before, asked, None if there.all() else there)
    expected = whole.masked.frame.to_pandas()
    assert found.manifest["blocks"] > 1
    for name in names:
        ours, theirs = found.certificates[name], whole.certificates[name]
        assert ours.objective == pytest.approx(theirs.objective, rel=1e-8)
        assert ours.bound == pytest.approx(theirs.bound, rel=1e-5)
        assert ours.status == theirs.status
        assert ours.violation < 1e-9
        if name not in NAMES:
            own = expected[name].to_numpy(float)
            assert after[name].to_numpy() == pytest.approx(own, rel=1e-6, nan_ok=True)
    if "attributes" in sections:
        assert found.certificates["age"].solver == "lagrangian"
        assert after["age"].dropna().between(18, 90).all()
    if roles["weight"]:
        assert after["w"].to_numpy() == pytest.approx(expected["w"].to_numpy())
    if policy == "refuse":
        il = whole.measures.il
        assert found.measures["information loss"] == pytest.approx(100 * il, rel=1e-9)
    else:
        _require_same_holes(found.audit.missing, whole.audit.missing)
    if policy == "patterns":
        assert found.audit.missing.suppressed > 0


def test_ties_are_said_in_weighted_counts(tmp_path):
    table = surveyed(120, holes=False)
    folder = put(tmp_path / "in", table.assign(w=1.0 + (table["note"] == "a")))
    roles = {**TYPED, "quasi-identifier": [*NUMBERS, "town"], "other": ["ill", "note"]}
    light = {"town": {"weight": 0.01}}
    found = masked(folder, job(roles=roles, attributes=light), tmp_path / "out")
    before, after = linked(folder, found)
    (said,) = (note for note in found.notes if note.startswith("'town': in "))
    w = before["w"] / before["w"].mean()
    sums = [w.groupby(table["town"].to_numpy()).sum() for table in (before, after)]
    differ = sums[0].sub(sums[1], fill_value=0).abs().sum()
    assert "change the weighted counts of categories least, block by block" in said
    assert said.endswith(f": by {differ:g} records in all.")


def _require_same_holes(ours, theirs):
    for figure in ("cells", "patterns", "suppressed", "imputed", "least"):
        assert getattr(ours, figure) == getattr(theirs, figure)


def test_groups_lie_within_strata_and_nobody_dominates_them(folders, tmp_path):
    asked = job(
        roles=WITHIN,
        missing={"policy": "fill"},
        engine={"block": 60},
        weights={"dominance": 0.5},
    )
    found = masked(folders[True], asked, tmp_path / "out")
    before, after = linked(folders[True], found)
    group = read(found.private)["group"].to_numpy()
    assert after.groupby([*NUMBERS, "note"], dropna=False).size().min() >= 4
    assert (before["note"].groupby(group).nunique() == 1).all()
    assert (before["note"] == after["note"]).all()
    there = before[NUMBERS].notna() & after[NUMBERS].notna()
    own = there.mul(before["w"], axis=0).groupby(group)
    shares = (own.max() / own.sum().where(own.sum() > 0)).max(axis=None)
    (check,) = found.audit.promises
    assert 0.5 >= check.found == pytest.approx(shares)


@pytest.mark.parametrize("policy", ["patterns", "fill"])
def test_who_decides_nothing_of_an_attribute_has_no_weight_in_it(policy):
    config = SimpleNamespace(job=job(roles=WEIGHED, missing={"policy": policy}))
    rows = pa.table({"age": [1.0, 2.0]})
    kept = np.array([[True, False, True], [True, True, False]])
    found = remove_weights(
        append_weights(rows, np.array([3.0, 5.0]), kept, config), config
    )
    assert found[0].equals(rows)
    assert found[1].tolist() == [[3, 0, 3], [5, 5, 0]]


def test_blocks_go_together_until_nobody_dominates_what_others_are_filled_with(
    tmp_path,
):
    table, at = surveyed(120, holes=False), np.arange(120)
    table["income"] += 1e4 * (at < 60)
    table["height"] = table["height"].mask((at >= 8) & (at < 60))
    table["w"] = np.where(at == 0, 400.0, 10.0)  # of 470 with a height, 990 in all
    asked = job(
        roles=WEIGHED,
        missing={"policy": "fill"},
        engine={"block": 60},
        weights={"dominance": 0.5},
    )
    found = masked(put(tmp_path / "in", table), asked, tmp_path / "out")
    assert found.manifest["blocks"] == 1
    (check,) = found.audit.promises
    assert check.found <= 0.5


def test_one_block_of_strata_is_the_table(folders, tmp_path):
    quasi = {"quasi-identifier": NAMES, "other": [*NUMBERS, "w"], "weight": []}
    how = {"missing": {"policy": "patterns"}, "engine": {"block": 1000}}
    asked = job(roles={**WITHIN, **quasi}, **how)
    found = masked(folders[True], asked, tmp_path / "out")
    plain = set_block_partition(aggopt.Job(**{**dict(asked), "engine": {}}))
    whole = aggopt.mask(read(folders[True]), plain, secret=SECRET)
    of_groups = whole.blocks[0].certificate.objective
    assert found.certificates["groups"].objective == pytest.approx(of_groups, rel=1e-9)
    _require_same_holes(found.audit.missing, whole.audit.missing)


def test_merging_until_enough_values_are_there_stays_within_strata(tmp_path):
    table, rng = surveyed(100, 27, holes=False), np.random.default_rng(27)
    for name in NUMBERS:
        table[name] = table[name].where(rng.random(100) < 0.6)
    roles = {**WITHIN, "other": ["ill", "town", "w"], "weight": []}
    asked = job(roles=roles, missing={"policy": "fill"})
    found = masked(put(tmp_path / "in", table), asked, tmp_path / "out")
    assert found.audit.missing.least >= 4


def test_a_missing_value_of_a_constant_stays_missing(tmp_path):
    table = surveyed(60)
    table["income"] = table["income"].where(table["income"].isna(), 7.0)
    given = {"roles": WEIGHED, "missing": {"policy": "patterns"}, "aggregation": P3M}
    folder = put(tmp_path / "in", table)
    found = masked(folder, job(**given), tmp_path / "out")
    before, after = linked(folder, found)
    assert (after["income"].isna() | ~before["income"].isna()).all()
    assert set(after["income"].dropna()) == {7.0}
    assert found.certificates["income"].solver == "constant attribute"


def test_strata_with_too_few_values_to_fill_by_are_refused(tmp_path):
    table = surveyed(60)
    own = np.flatnonzero(table["note"] == "a")
    table.loc[own[3:], "income"] = np.nan
    table.loc[own[:3], "income"] = 1.0
    folder = put(tmp_path / "in", table)
    with refused(InfeasibleInputError, "'income'", "k = 4"):
        masked(folder, job(roles=WITHIN, missing={"policy": "fill"}), tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_two_processes_give_the_same_bytes(folders, tmp_path, case):
    policy, roles, sections = CASES[case]
    given = {"roles": roles, "missing": {"policy": policy}, **sections}
    one, two = (
        masked(
            folders[policy != "refuse"],
            job(engine={"block": 60, "jobs": jobs}, **given),
            tmp_path / str(jobs),
        )
        for jobs in (1, 2)
    )
    assert digest(one.path) == digest(two.path)


# --- what is asked of a group beside all records is kept and counted in folders


CLOSE = {"t": 0.2, "repair": "merge"}


def paid(n, seed=0):
    """Persons, of whom it is confidential what goes with their income."""
    rng = np.random.default_rng(seed)
    table = persons(n, seed)
    return table.assign(ill=np.rint(table["income"] * rng.uniform(0.5, 1.5, n)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two files of them."""
    return put(tmp_path_factory.mktemp("whole") / "in", paid(130), paid(90, seed=1))


@pytest.fixture(scope="module")
def release(folder, tmp_path_factory):
    """The release of that folder, in blocks, whose groups are close."""
    asked = job(privacy=CLOSE, engine={"block": 55})
    return masked(folder, asked, tmp_path_factory.mktemp("close") / "out")


def test_t_is_kept_in_blocks_against_the_distribution_of_all(release):
    written = read(release.path)
    (check,) = release.audit.promises
    assert check.holds
    assert release.manifest["blocks"] > 1
    assert check.found == t_closeness(written[QUASI], written["ill"]) <= 0.2
    assert check.groups == release.audit.groups == len(written.groupby(QUASI))
    assert check.promise == "t (ordered)"


def test_levels_are_those_of_all_records(folder, tmp_path):
    levels = {"confidential": {"ill": {"levels": 3}}}
    asked = job(privacy={"l": 3, "repair": "merge"} | levels)
    found = masked(folder, asked, tmp_path / "out")
    written = read(found.path)
    level = assign_levels(written["ill"].to_numpy(), 3)
    groups = written.groupby(QUASI).ngroup().to_numpy()
    (check,) = found.audit.promises
    assert check.found == distinct_l(groups, level) == 3
    values = written["ill"].nunique()
    assert check.promise == f"distinct l of 3 levels of {values} values"


def test_names_are_compared_with_those_of_all(tmp_path):
    folder = put(tmp_path / "in", persons(120), persons(60, seed=1))
    asked = job(privacy=CLOSE | {"distance": "equal", "p": 2}, engine={"block": 60})
    found = masked(folder, asked, tmp_path / "out")
    written = read(found.path)
    t, p = sorted(found.audit.promises, key=lambda check: check.promise, reverse=True)
    assert t.found == t_closeness(written[QUASI], written["ill"], distance="equal")
    assert p.found == distinct_l(written[QUASI], written["ill"]) >= 2


def test_blocks_whose_values_lie_apart_go_together(tmp_path):
    table = persons(160)
    by = np.argsort(np.argsort(table["income"].to_numpy()))
    folder = put(tmp_path / "in", table.assign(ill=by // 80, height=0.0, age=3))
    asked = job(privacy={"t": 0.1, "repair": "merge"}, engine={"block": 40})
    found = masked(folder, asked, tmp_path / "out")
    assert found.manifest["blocks"] == 1
    assert found.audit.promises[0].found <= 0.1


def test_the_audit_counts_what_is_written(folder, tmp_path, monkeypatch):
    each = run._Run.each

    def meddled(self, step, count, config):
        found = each(self, step, count, config)
        if step == "write":
            part = config.part(0)
            table = pd.read_parquet(part).sort_values("income")
            table["ill"] = np.sort(table["ill"])
            table.to_parquet(part, index=False)
        return found

    monkeypatch.setattr(run._Run, "each", meddled)
    with refused(PrivacyError, "t (ordered)"):
        masked(folder, job(privacy=CLOSE), tmp_path / "out")


def test_leaves_go_together_until_they_keep_what_is_asked():
    sizes = np.full(6, 4)

    def keep(leaves):
        return sum(leaf in (0, 5) for leaf in leaves) % 2 == 0

    assert merge_leaves(sizes, 4, keep) == [(0, 1, 2, 3, 4, 5)]
    assert merge_leaves(
        sizes[:5], 8, lambda leaves: 0 not in leaves or 3 in leaves
    ) == [(0, 1, 2, 3, 4)]
    assert merge_leaves(sizes, 8, lambda leaves: True) == [(0, 1), (2, 3), (4, 5)]


def test_nothing_of_all_records_is_asked_of_values_that_groups_count():
    assert not whole.needs_global_values(
        job(privacy={"l": 2, "p": 2, "repair": "merge"})
    )
    assert whole.needs_global_values(job(privacy=CLOSE))
    require_supported_job(job(privacy=CLOSE))
