"""Waves within strata, patterns and units: counts, and sums, from the files alone."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest

import aggopt

K = 3
SEEDS = range(10)
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
}


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
    if "patterns" in what:
        table.loc[rng.random(n) < 0.3, "income"] = np.nan
    if what == "units":
        table["household"] = start + np.arange(n) // 2
    return table


def later(one, seed, what, start=500, gone=3, new=12):
    """Return the next wave: some gone, some new, some changed, some moved."""
    rng = np.random.default_rng([seed, 7, start])
    two = one.drop(index=rng.choice(len(one), gone, replace=False))
    rows = rng.choice(len(two), len(two) // 3, replace=False)
    at = two.columns.get_loc("income")
    two.iloc[rows, at] = (two.iloc[rows, at] * 1.1).round(2)
    if "strata" in what:
        moved = rng.choice(len(two), 2, replace=False)
        two.iloc[moved, two.columns.get_loc("region")] = "south"
    if "patterns" in what:
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


def of_file(folder, table, release):
    """Return original and group of each released person, with pandas alone."""
    people = pd.read_csv(folder / f"{table}.csv")
    key = pd.read_csv(folder / f"{release}.private.csv")
    there = key["released_record"].notna()
    found = people[there].set_index("name")
    masked = pd.read_csv(folder / f"{release}.csv")
    shown = masked.iloc[key["released_record"][there].astype(int)]
    names = [c for c in masked.columns if c in ("age", "income", "region")]
    group = shown.groupby(names, dropna=False, sort=False).ngroup()
    there = shown[["age", "income"]].notna().add_prefix("has_")
    found[list(there)] = there.to_numpy()
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
def made(tmp_path, request):
    what, changes, seed = request.param
    sections = CASES[what, changes]
    n = 60 if what == "units" else 40
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


@pytest.mark.parametrize(
    "made", [(*case, seed) for case in CASES for seed in SEEDS], indirect=True
)
def test_none_or_k_of_each_kind_in_the_files(made) -> None:
    folder, what, changes, release = made
    one, two = waves_of(folder, ("one", "two"))
    columns = ["age", "income", *(["region"] if "strata" in what else [])]
    who = "household" if what == "units" else None
    counts = recounted(one, two, columns, who)
    assert min(counts.values()) >= K, counts
    assert release.wave.changes.holds
    sizes = two.groupby("group").size() if who is None else None
    assert sizes is None or sizes.min() >= K
    if changes == "hold back":
        assert set(two.index) <= set(one.index)
    assert few_in_a_sum([one, two], "income", K, who) is None
    assert few_in_a_sum([one, two], "age", K, who) is None


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
    asked = job("", in_groups(tmp_path, "two", "two_masked", "merge"))
    aggopt.mask(tmp_path / "three.csv", asked).write(tmp_path / "three_masked.csv")
    two, three = waves_of(tmp_path, ("two", "three"))
    assert min(recounted(two, three, ["age", "income"]).values()) >= K
    assert few_in_a_sum([two, three], "income", K) is None
