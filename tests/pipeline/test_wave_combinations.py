"""Two and three waves within strata, patterns, units, and with filled values.

Counts, and sums, are recounted from the files, with pandas and NumPy alone.
"""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from refusals import refused

import aggopt
from aggopt.errors import AggoptError, JobError, PrivacyError
from aggopt.pipeline.review.compare_with_keys import compare_releases

K = 3
SLOW = [pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 5)]
SEEDS = [0, *SLOW]
CASES = {
    ("strata", "merge"): {},
    ("strata", "hold back"): {},
    ("dropped strata", "merge"): {"strata": {"small": "drop"}},
    ("dropped strata", "hold back"): {"strata": {"small": "drop"}},
    ("merged strata", "merge"): {"strata": {"small": "merge"}},
    ("patterns", "merge"): {"missing": {"policy": "patterns"}},
    ("patterns", "hold back"): {"missing": {"policy": "patterns"}},
    ("strata and patterns", "merge"): {"missing": {"policy": "patterns"}},
    ("units", "hold back"): {},
    ("units", "merge"): {},
    ("fill", "hold back"): {"missing": {"policy": "fill"}},
    ("fill", "merge"): {"missing": {"policy": "fill"}},
}
THREE = ("plain", "strata", "patterns", "units", "fill")  # with merge, as below


def people(n, seed, what, start=0):
    """Return persons with an age, an income, and what the case is about."""
    rng = np.random.default_rng([seed, start])
    table = pd.DataFrame(
        {
            "name": [f"Person {start + i}" for i in range(n)],
            "age": rng.integers(20, 80, n).astype(float),
            "income": rng.lognormal(8.0, 0.5, n).round(2),
        }
    )
    if "strata" in what:
        table["region"] = rng.choice(["north", "south"], n, p=[0.6, 0.4])
    if "dropped" in what or "merged" in what:
        table.loc[:1, "region"] = "west"
    if "patterns" in what or what == "fill":
        table.loc[rng.random(n) < 0.3, "income"] = np.nan
    if what == "units":
        table["household"] = start + np.arange(n) // 2
    return table


def later(one, seed, what, start=500, gone=3, new=12, changed=None):
    """Return the next wave: some gone, some new, some changed, some moved."""
    rng = np.random.default_rng([seed, 7, start])
    two = one.drop(index=rng.choice(len(one), gone, replace=False))
    rows = rng.choice(len(two), changed or len(two) // 3, replace=False)
    at = two.columns.get_loc("income")
    two.iloc[rows, at] = (two.iloc[rows, at] * 1.1).round(2)
    if "strata" in what:
        moved = rng.choice(len(two), 2, replace=False)
        two.iloc[moved, two.columns.get_loc("region")] = "south"
    if "patterns" in what or what == "fill":
        two.iloc[rng.choice(len(two), 2, replace=False), at] = np.nan
    more = people(new, seed, what.replace("dropped ", "").replace("merged ", ""), start)
    both = pd.concat([two, more], ignore_index=True)
    return both.sample(frac=1.0, random_state=seed).reset_index(drop=True)


def job(what, partition=None, **sections):
    roles = {"identifier": ["name"], "quasi-identifier": ["age", "income"]}
    if "strata" in what:
        roles["stratum"] = ["region"]
    if what == "units":
        roles["unit"] = ["household"]
    how = partition or {"method": "mdav"}
    own = {"privacy": {"k": K}, "output": {"digits": "full"}, **sections}
    return aggopt.Job(roles=roles, partition=how, **own)


def in_groups(folder, table, release, changes):
    return {
        "keep_groups": str(folder / f"{release}.private.csv"),
        "earlier": str(folder / f"{table}.csv"),
        "person": "name",
        "changes": changes,
    }


def in_all(folder, tables, changes):
    """Return the section of a wave that names all earlier releases."""
    return {
        "keep_groups": [str(folder / f"{name}_masked.private.csv") for name in tables],
        "earlier": [str(folder / f"{name}.csv") for name in tables],
        "person": "name",
        "changes": changes,
    }


def of_file(folder, table, release):
    """Return original and group of each released person, with pandas alone.

    A person has a value in a sum if it is published and, where holes are filled, if the
    original has it.
    """
    people = pd.read_csv(folder / f"{table}.csv")
    key = pd.read_csv(folder / f"{release}.private.csv")
    there = key["released_record"].notna()
    found = people[there].set_index("name")
    masked = pd.read_csv(folder / f"{release}.csv")
    shown = masked.iloc[key["released_record"][there].astype(int)]
    names = [c for c in masked.columns if c in ("age", "income", "region")]
    group = shown.groupby(names, dropna=False, sort=False).ngroup()
    for name in ("age", "income"):
        found[f"has_{name}"] = shown[name].notna().to_numpy() & found[name].notna()
    return found.assign(group=group.to_numpy())


def recounted(one, two, columns, who=None):
    """Return the least count that is not 0 of each kind, by joins of two waves."""
    both = one.add_suffix("1").join(two.add_suffix("2"), how="outer")
    both["who"] = both.index
    if who is not None:
        both["who"] = both[f"{who}1"].fillna(both[f"{who}2"])
    stayed = both.dropna(subset=["group1", "group2"])
    went, came = both[both["group2"].isna()], both[both["group1"].isna()]
    set_of = {group: {group} for group in stayed["group1"]}
    part = stayed["group1"].copy()
    for _ in range(len(stayed)):  # the least name of what is connected
        least = part.groupby(stayed["group2"]).transform("min")
        least = least.groupby(stayed["group1"]).transform("min")
        if (least == part).all():
            break
        part = least
    assert len(set_of) >= part.nunique()
    found = {
        "stayed": stayed.groupby(["group1", "group2"])["who"].nunique(),
        "went": went.groupby("group1")["who"].nunique(),
        "came": came.groupby("group2")["who"].nunique(),
    }
    for name in columns:
        old, new = stayed[f"{name}1"], stayed[f"{name}2"]
        differs = ~((old == new) | (old.isna() & new.isna()))
        found[name] = stayed[differs].groupby(part)["who"].nunique()
    return {what: counts.min() for what, counts in found.items() if len(counts)}


def least_count(one, two, what):
    """Return the least count that is not 0, of records or units, in two waves.

    Of attributes with filled values it counts those who have a value, too.
    """
    who = "household" if what == "units" else None
    columns = ["age", "income", *(["region"] if "strata" in what else [])]
    counts = list(recounted(one, two, columns, who).values())
    if what == "fill":
        own = (wave[wave["has_income"]] for wave in (one, two))
        counts += recounted(*own, ["income"]).values()
    return min(counts)


def few_in_a_sum(waves, column, k, who=None):
    """Return fewer than k persons of whom a sum of sums of groups is, or None.

    A sum has a number for each group of each wave.  Persons of one class have the same
    groups, and the same values in the same waves, so that a sum has all of them or
    none.  A sum that has persons of few classes alone exists if the rank of the matrix
    of groups and classes falls without them.
    """
    names = sorted(set().union(*(wave.index for wave in waves)))
    groups = {}
    classes = {}
    units = {}
    for name in names:
        cells, blocks = [], {}
        for t, wave in enumerate(waves):
            if name not in wave.index or not wave.loc[name, f"has_{column}"]:
                continue
            row = groups.setdefault((t, wave.loc[name, "group"]), len(groups))
            block = blocks.setdefault(wave.loc[name, column], len(blocks))
            cells.append((row, block))
            units[name] = name if who is None else wave.loc[name, who]
        classes.setdefault(tuple(cells), []).append(name)
    classes.pop((), None)
    parts = []
    for cells, members in classes.items():
        part = np.zeros((len(groups), 1 + max(block for _, block in cells)))
        for row, block in cells:
            part[row, block] = 1.0
        parts.append((part, {units[name] for name in members}))
    matrix = np.hstack([part for part, _ in parts])
    whole = np.linalg.matrix_rank(matrix)
    few = [i for i, (_, members) in enumerate(parts) if len(members) < k]
    for size in range(1, k):
        for some in combinations(few, size):
            if len(set().union(*(parts[i][1] for i in some))) >= k:
                continue
            rest = [part for i, (part, _) in enumerate(parts) if i not in some]
            if not rest or np.linalg.matrix_rank(np.hstack(rest)) < whole:
                return some
    return None


def waves_of(folder, names):
    return [of_file(folder, name, f"{name}_masked") for name in names]


@pytest.fixture
def made(tmp_path, case, seed):
    what, changes = case
    sections = CASES[what, changes]
    n = {"units": 60, "fill": 90}.get(what, 40)
    people(n, seed, what).to_csv(tmp_path / "one.csv", index=False)
    aggopt.mask(tmp_path / "one.csv", job(what, **sections)).write(
        tmp_path / "one_masked.csv"
    )
    table = later(pd.read_csv(tmp_path / "one.csv"), seed, what)
    table.to_csv(tmp_path / "two.csv", index=False)
    asked = job(what, in_groups(tmp_path, "one", "one_masked", changes), **sections)
    release = aggopt.mask(tmp_path / "two.csv", asked)
    release.write(tmp_path / "two_masked.csv")
    return tmp_path, what, changes, release


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("case", CASES, ids=" ".join)
def test_none_or_k_of_each_kind_in_the_files(made) -> None:
    folder, what, changes, release = made
    one, two = waves_of(folder, ("one", "two"))
    who = "household" if what == "units" else None
    assert least_count(one, two, what) >= K
    assert release.wave.changes.holds
    sizes = two.groupby("group").size() if who is None else None
    assert sizes is None or sizes.min() >= K
    if changes == "hold back":
        assert set(two.index) <= set(one.index)
    assert few_in_a_sum([one, two], "income", K, who) is None
    assert few_in_a_sum([one, two], "age", K, who) is None


def mask_three(folder, what, seed, named=None):
    """Write three waves and their releases, each compared to all earlier ones.

    The third names `named`, or all.
    """
    n, sections = 60 if what == "units" else 40, CASES.get((what, "merge"), {})
    tables = ["one", "two", "three"]
    people(n, seed, what).to_csv(folder / "one.csv", index=False)
    aggopt.mask(folder / "one.csv", job(what, **sections)).write(
        folder / "one_masked.csv"
    )
    for i in (1, 2):
        table = pd.read_csv(folder / f"{tables[i - 1]}.csv")
        start = 500 + 400 * i
        later(table, seed + 100 * i, what, start).to_csv(
            folder / f"{tables[i]}.csv", index=False
        )
        before = named if i == 2 and named else tables[:i]
        asked = job(what, in_all(folder, before, "merge"), **sections)
        release = aggopt.mask(folder / f"{tables[i]}.csv", asked)
        release.write(folder / f"{tables[i]}_masked.csv")
    return release, waves_of(folder, tables)


@pytest.mark.parametrize("what", THREE)
@pytest.mark.parametrize("seed", [0, *SLOW[1:]])
def test_a_third_wave_shows_no_few_beside_either_earlier_one(
    tmp_path, what, seed
) -> None:
    release, waves = mask_three(tmp_path, what, seed)
    for one, two in combinations(waves, 2):
        assert least_count(one, two, what) >= K
    who = "household" if what == "units" else None
    for column in ("age", "income"):
        for pair in combinations(waves, 2):
            assert few_in_a_sum(pair, column, K, who) is None
    counted = release.wave.changes
    assert counted.holds
    assert list(counted.others) == ["one_masked", "all earlier releases together"]
    tables = ["one", "two", "three"]
    both = compare_releases(
        [tmp_path / f"{name}_masked.csv" for name in tables],
        [tmp_path / f"{name}.csv" for name in tables],
        [tmp_path / f"{name}_masked.manifest.json" for name in tables],
        person="name",
    )
    assert both.holds
    _, with_first, with_second = (pair.changes for pair in both.changes)
    assert with_first.common == counted.others["one_masked"].common
    assert with_second.common == counted.common


def census(n=200, seed=0):
    """Return persons as in a census: two skewed incomes and an age."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, 2)) @ np.array([[1.0, 0.6], [0.0, 0.8]])
    return pd.DataFrame(
        {
            "name": [f"Person {i}" for i in range(n)],
            "age": rng.integers(20, 80, n).astype(float),
            "income": np.exp(8 + 0.6 * z[:, 0]).round(2),
        }
    )


@pytest.mark.parametrize(
    "k", [5, *(pytest.param(k, marks=pytest.mark.slow) for k in (3, 10))]
)
def test_three_waves_of_a_census_leave_k_in_all_pairs(tmp_path, k) -> None:
    persons, rng = census(seed=k), np.random.default_rng(k)
    table, tables = persons[:160], ["one", "two", "three"]
    for i, name in enumerate(tables):
        if i:
            table = table.drop(index=rng.choice(table.index, 3, replace=False))
            rows = rng.choice(table.index, 12, replace=False)
            table.loc[rows, "income"] = (table.loc[rows, "income"] * 1.03).round(2)
            table = pd.concat([table, persons[140 + 20 * i : 160 + 20 * i]])
        table.to_csv(tmp_path / f"{name}.csv", index=False)
        how = in_all(tmp_path, tables[:i], "merge") if i else None
        asked = job("plain", how, privacy={"k": k})
        aggopt.mask(tmp_path / f"{name}.csv", asked).write(
            tmp_path / f"{name}_masked.csv"
        )
    waves = waves_of(tmp_path, tables)
    assert len(waves[2]) > 80
    for one, two in combinations(waves, 2):
        assert min(recounted(one, two, ["age", "income"]).values()) >= k


def test_a_wave_that_names_one_earlier_release_of_two_is_refused(tmp_path) -> None:
    with refused(JobError, "one_masked"):
        mask_three(tmp_path, "plain", 0, named=["two"])
    assert not (tmp_path / "three_masked.csv").exists()


@pytest.mark.parametrize("what", ["units", "fill"])
def test_the_remedies_of_a_refused_wave_make_it_hold(tmp_path, what) -> None:
    sections = CASES[what, "merge"]
    one = people(60, 1, what)
    one.to_csv(tmp_path / "one.csv", index=False)
    aggopt.mask(tmp_path / "one.csv", job(what, **sections)).write(
        tmp_path / "one_masked.csv"
    )
    table = later(pd.read_csv(tmp_path / "one.csv"), 1, what)

    def masked(changes):
        how = in_groups(tmp_path, "one", "one_masked", changes)
        return aggopt.mask(table, job(what, how, **sections))

    with pytest.raises(PrivacyError) as error:
        masked("refuse")
    for changes in ("merge", "hold back"):
        assert f'changes = "{changes}" under [partition]' in error.value.fix
        release = masked(changes)
        assert f"holds back {release.wave.held} of 69 records" in error.value.fix
        assert release.wave.changes.holds


@pytest.mark.parametrize("k", [pytest.param(3, marks=pytest.mark.slow), 5])
def test_each_earlier_release_counts_with_its_own_k(tmp_path, k) -> None:
    """A public file of k = 6 in groups of a scientific one, and the next year."""
    people(60, 0, "plain").to_csv(tmp_path / "one.csv", index=False)
    aggopt.mask(tmp_path / "one.csv", job("plain", privacy={"k": k})).write(
        tmp_path / "one_masked.csv"
    )
    (tmp_path / "two.csv").write_bytes((tmp_path / "one.csv").read_bytes())
    asked = job("plain", in_all(tmp_path, ["one"], "refuse"), privacy={"k": 6})
    aggopt.mask(tmp_path / "two.csv", asked).write(tmp_path / "two_masked.csv")
    table = later(pd.read_csv(tmp_path / "two.csv"), 0, "plain")
    table.to_csv(tmp_path / "three.csv", index=False)
    asked = job("plain", in_all(tmp_path, ["one", "two"], "merge"), privacy={"k": 6})
    release = aggopt.mask(tmp_path / "three.csv", asked)
    release.write(tmp_path / "three_masked.csv")
    one, two, three = waves_of(tmp_path, ["one", "two", "three"])
    assert min(recounted(one, three, ["age", "income"]).values()) >= k
    assert min(recounted(two, three, ["age", "income"]).values()) >= 6
    counted = release.wave.changes
    assert [counted.k, *(each.k for each in counted.others.values())] == [6, k, k]


def test_the_next_year_of_a_public_and_a_scientific_file(tmp_path) -> None:
    one = people(90, 0, "plain")
    tables = {"science1": one, "public1": one}
    tables["science2"] = tables["public2"] = later(one, 0, "plain", changed=9)
    before = {
        "science1": [],
        "public1": ["science1"],
        "science2": ["science1"],
        "public2": ["science1", "science2", "public1"],
    }
    for name in before:
        tables[name].to_csv(tmp_path / f"{name}.csv", index=False)
        how = in_all(tmp_path, before[name], "merge") if before[name] else None
        k = 6 if name.startswith("public") else 3
        aggopt.mask(
            tmp_path / f"{name}.csv", job("plain", how, privacy={"k": k})
        ).write(tmp_path / f"{name}_masked.csv")
    waves = dict(zip(before, waves_of(tmp_path, before), strict=True))
    assert min(len(wave) for wave in waves.values()) > 40
    for one, two in combinations(before, 2):
        k = 6 if {one, two} == {"public1", "public2"} else 3
        counts = recounted(waves[one], waves[two], ["age", "income"])
        assert min(counts.values()) >= k, (one, two)


def test_earlier_releases_that_show_few_together_are_noted(tmp_path) -> None:
    """Groups of their own in two years: no later wave mends what both show."""
    table = people(40, 0, "plain")
    for name, method in (("one", "mdav"), ("two", "projection")):
        table.to_csv(tmp_path / f"{name}.csv", index=False)
        aggopt.mask(tmp_path / f"{name}.csv", job("plain", {"method": method})).write(
            tmp_path / f"{name}_masked.csv"
        )
    one, two = waves_of(tmp_path, ["one", "two"])
    assert min(recounted(one, two, []).values()) < K
    release = aggopt.mask(
        table, job("plain", in_all(tmp_path, ["one", "two"], "hold back"))
    )
    assert list(release.wave.changes.others) == ["one_masked"]
    said = "releases one_masked and two_masked together show values of fewer than k"
    assert any(said in note for note in release.notes)


@pytest.mark.parametrize(
    "changed", [{"keep_groups": [1, 0], "earlier": [1, 0]}, {"earlier": [1, 0]}]
)
def test_earlier_releases_in_another_order_are_refused(tmp_path, changed) -> None:
    one = people(40, 0, "plain")
    two = later(one, 0, "plain", gone=3, new=3)
    two.to_csv(tmp_path / "two.csv", index=False)
    one.to_csv(tmp_path / "one.csv", index=False)
    aggopt.mask(tmp_path / "one.csv", job("plain")).write(tmp_path / "one_masked.csv")
    second = job("plain", in_all(tmp_path, ["one"], "hold back"))
    aggopt.mask(tmp_path / "two.csv", second).write(tmp_path / "two_masked.csv")
    how = in_all(tmp_path, ["one", "two"], "hold back")
    for key, places in changed.items():
        how[key] = [how[key][place] for place in places]
    with refused(AggoptError):
        aggopt.mask(tmp_path / "two.csv", job("plain", how))


@pytest.mark.parametrize("seed", SEEDS)
def test_who_was_held_back_and_changed_is_new_in_the_next_wave(tmp_path, seed) -> None:
    """Their change shows nothing: the earlier release does not have them."""
    one = people(40, seed, "")
    one.to_csv(tmp_path / "one.csv", index=False)
    aggopt.mask(tmp_path / "one.csv", job("")).write(tmp_path / "one_masked.csv")
    later(one, seed, "").to_csv(tmp_path / "two.csv", index=False)
    asked = job("", in_groups(tmp_path, "one", "one_masked", "hold back"))
    aggopt.mask(tmp_path / "two.csv", asked).write(tmp_path / "two_masked.csv")
    three = later(pd.read_csv(tmp_path / "two.csv"), seed, "", start=900)
    three.to_csv(tmp_path / "three.csv", index=False)
    asked = job("", in_all(tmp_path, ["one", "two"], "merge"))
    aggopt.mask(tmp_path / "three.csv", asked).write(tmp_path / "three_masked.csv")
    one, two, three = waves_of(tmp_path, ("one", "two", "three"))
    for earlier in (one, two):
        assert min(recounted(earlier, three, ["age", "income"]).values()) >= K
        assert few_in_a_sum([earlier, three], "income", K) is None
