"""Two files of two waves, read by a foreign script: no sum is of fewer than k."""

import numpy as np
import pandas as pd
import pytest
from pipeline.two_files import fewest, groups_in_common, known, of_release
from refusals import refused

import aggopt
from aggopt.errors import PrivacyError
from aggopt.pipeline.review.compare_with_keys import compare_releases
from aggopt.release.audit.changes import count_changes

K = 4
ROLES = {"identifier": ["name"], "quasi-identifier": ["age", "income"]}


def wave(n, seed=0, start=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "name": [f"Person {start + i}" for i in range(n)],
            "age": rng.integers(20, 80, n),
            "income": rng.lognormal(8.0, 0.5, n).round(2),
        }
    )


def job(changes="refuse", folder=None, **partition):
    how = {"method": "mdav"}
    if folder is not None:
        how = {
            "keep_groups": str(folder / "a.private.csv"),
            "earlier": str(folder / "one.csv"),
            "person": "name",
            "changes": changes,
            **partition,
        }
    output = {"digits": "full"}
    return aggopt.Job(roles=ROLES, privacy={"k": K}, partition=how, output=output)


@pytest.fixture
def folder(tmp_path):
    """Two groups of four and one of five; the first wave, and its release."""
    wave(13).to_csv(tmp_path / "one.csv", index=False)
    aggopt.mask(tmp_path / "one.csv", job()).write(tmp_path / "a.csv")
    return tmp_path


def one_new(table):
    new = pd.DataFrame({"name": ["New"], "age": [40], "income": [7777.77]})
    return pd.concat([table, new], ignore_index=True)


def one_changed(table):
    table = table.copy()
    table.loc[3, "income"] += 1234.56
    return table


def one_gone(table):
    return table.drop(index=5)


CHANGES = {"came": one_new, "changed": one_changed, "went": one_gone}
SECRETS = {"came": 7777.77, "changed": 1234.56, "went": None}


def unguarded(folder, table):
    """What the groups of the first wave publish of a second, if nothing guards them.

    Whoever is new joins the nearest group by income, as any tool would do it.
    """
    first, _ = of_release(folder, "one", "a")
    of_first = pd.read_csv(folder / "one.csv").set_index("name")
    centres = of_first["income"].groupby(first).mean()
    later = table.set_index("name")
    groups = pd.Series(
        [
            first[name] if name in first.index else (centres - income).abs().idxmin()
            for name, income in later["income"].items()
        ],
        later.index,
    )
    return groups, later["income"].groupby(groups).transform("mean")


@pytest.mark.parametrize("case", CHANGES)
def test_few_are_found_to_the_cent_and_refused(folder, case) -> None:
    table = CHANGES[case](pd.read_csv(folder / "one.csv"))
    first, a = of_release(folder, "one", "a")
    second, after = unguarded(folder, table)
    found = list(known(first, second, a["income"], after))
    secret = SECRETS[case]
    if secret is None:
        secret = -pd.read_csv(folder / "one.csv")["income"][5]
    assert min(abs(value - secret) for _, value in found) < 0.005
    with refused(PrivacyError) as error:
        aggopt.mask(table, job(folder=folder))
    kind = {"came": "came to", "changed": "have another 'income' in", "went": "went"}
    assert f"Fewer than k = 4 {kind[case]}" in error.value.problem
    assert "7777" not in str(error.value)
    assert "1234" not in str(error.value)


@pytest.mark.parametrize("changes", ["hold back", "merge"])
@pytest.mark.parametrize("case", CHANGES)
def test_what_is_offered_shows_no_sum_of_few(folder, case, changes) -> None:
    table = CHANGES[case](pd.read_csv(folder / "one.csv"))
    table.to_csv(folder / "two.csv", index=False)
    release = aggopt.mask(folder / "two.csv", job(changes, folder))
    release.write(folder / "b.csv")
    first, second, unchanged = both(folder)
    assert fewest(first, second, unchanged) in (0, *range(K, 99))
    assert groups_in_common(first, second).min() >= K
    assert compared(folder).holds
    assert release.wave.changes.holds


def both(folder):
    first, _ = of_release(folder, "one", "a")
    second, _ = of_release(folder, "two", "b")
    one = pd.read_csv(folder / "one.csv").set_index("name")["income"]
    two = pd.read_csv(folder / "two.csv").set_index("name")["income"]
    same = one.index.intersection(two.index)
    return first, second, set(same[one[same] == two[same]])


def compared(folder):
    return compare_releases(
        [folder / "a.csv", folder / "b.csv"],
        [folder / "one.csv", folder / "two.csv"],
        [folder / "a.manifest.json", folder / "b.manifest.json"],
        person="name",
    )


@pytest.mark.parametrize("case", CHANGES)
def test_compare_finds_each_of_the_three(folder, case) -> None:
    table = CHANGES[case](pd.read_csv(folder / "one.csv"))
    table.to_csv(folder / "two.csv", index=False)
    how = {"keep_groups": str(folder / "a.private.csv")}
    if case == "changed":  # of the same records in the same order nobody is asked for
        asked = aggopt.Job(roles=ROLES, privacy={"k": K}, partition=how)
    else:
        asked = aggopt.Job(roles=ROLES, privacy={"k": K}, partition={"method": "mdav"})
    aggopt.mask(folder / "two.csv", asked).write(folder / "b.csv")
    found = compared(folder)
    assert not found.holds
    if case == "changed":
        (pair,) = found.changes
        assert pair.changes.changed["income"].records == 1
        assert found.together.rarest >= K
        assert "have another 'income' in a group: 1 group, 1 record" in found.verdict


@pytest.mark.parametrize("twice", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_what_holds_is_of_k_or_more_in_any_sum(seed, twice) -> None:
    """The counts imply that no sum is of few: any groups, not only those we make.

    Where each person comes twice, all counts hold with k = 2.
    """
    rng = np.random.default_rng(seed)
    n, k = 9 if twice else 18, 2
    first = rng.integers(-1, 3, n)
    second = np.where(rng.random(n) < 0.7, first, rng.integers(-1, 3, n))
    changed = rng.random(n) < 0.3
    if twice:
        first, second, changed = (np.repeat(a, 2) for a in (first, second, changed))
    found = count_changes(first, second, changed[:, None], ("x",), k)
    people = np.array([f"p{i:02}" for i in range(18)])
    one = pd.Series(first[first >= 0], people[first >= 0])
    other = pd.Series(second[second >= 0], people[second >= 0])
    cut = fewest(one, other, set(people[~changed]))
    assert found.holds >= twice
    if found.holds:
        assert cut == 0 or cut >= k
    sizes = groups_in_common(one, other)
    in_common = [c for pair, c in sizes.items() if min(pair) >= 0]
    assert found.common.total == sum(in_common)
    assert found.common.few == sum(c < k for c in in_common)


def test_moves_between_groups_are_found_by_a_sum_of_several() -> None:
    """Of a merged group less one that is as it was: the few who are left."""
    first = np.array([0] * 4 + [1] * 4)
    second = np.array([0] * 4 + [0] * 2 + [-1] * 2)
    changed = np.zeros((8, 1), bool)
    found = count_changes(first, second, changed, ("x",), 4)
    assert not found.holds
    assert (found.common.few, found.gone.few) == (1, 1)
    names = np.array(list("abcdefgh"))
    one, other = pd.Series(first, names), pd.Series(second[:6], names[:6])
    assert fewest(one, other, set(names)) == 2


def filled(**partition):
    return aggopt.Job(
        roles=ROLES,
        privacy={"k": K},
        missing={"policy": "fill"},
        partition=partition or {"method": "mdav"},
        output={"digits": "full"},
    )


@pytest.fixture
def holed(tmp_path):
    """A release with filled incomes, and a wave without four people of a group.

    Of these four one has an income: the sum of five less that of four.
    """
    rng = np.random.default_rng(1)
    one = wave(18, seed=1)
    one["age"] = np.r_[rng.integers(20, 30, 10), rng.integers(70, 80, 8)]
    one.loc[[0, 1, 2, 4, 5], "income"] = np.nan
    one.to_csv(tmp_path / "one.csv", index=False)
    aggopt.mask(tmp_path / "one.csv", filled()).write(tmp_path / "a.csv")
    groups = pd.read_csv(tmp_path / "a.private.csv")["group"]
    lacking = np.flatnonzero((groups == groups[3]) & one["income"].isna())
    two = one.drop(index=[3, *lacking[:3]])
    two.to_csv(tmp_path / "two.csv", index=False)
    return tmp_path


def test_of_filled_values_those_that_are_there_are_counted(holed) -> None:
    how = {
        "keep_groups": str(holed / "a.private.csv"),
        "earlier": str(holed / "one.csv"),
        "person": "name",
    }
    with refused(PrivacyError, "'income'") as error:
        aggopt.mask(holed / "two.csv", filled(**how))
    release = aggopt.mask(holed / "two.csv", filled(**how, changes="hold back"))
    assert release.wave.changes.of_values["income"].holds
    assert str(pd.read_csv(holed / "one.csv")["income"][3]) not in str(error.value)


def test_compare_counts_filled_values_that_are_there(holed) -> None:
    aggopt.mask(holed / "two.csv", filled()).write(holed / "b.csv")
    found = compared(holed)
    (pair,) = found.changes
    assert pair.changes.holds_of_records
    assert not pair.changes.of_values["income"].holds
    assert not found.holds


def test_a_wave_whose_known_people_are_all_held_back_is_refused(folder) -> None:
    one = pd.read_csv(folder / "one.csv")
    groups = pd.read_csv(folder / "a.private.csv")["group"]
    gone = [int(np.flatnonzero(groups == group)[0]) for group in groups.unique()]
    table = pd.concat([one.drop(index=gone), wave(6, seed=3, start=50)])
    with refused(PrivacyError, "16"):
        aggopt.mask(table, job("merge", folder))
