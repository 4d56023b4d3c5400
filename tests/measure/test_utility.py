"""What analysts can still learn: beside slow copies, by hand, and beside the notes."""

import tracemalloc
from math import sqrt
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from refusals import refused

import aggopt
from aggopt.core import memory
from aggopt.errors import AggoptError, InfeasibleInputError, JobError, MemoryLimitError
from aggopt.measure import utility
from aggopt.measure.utility import _propensity
from aggopt.measure.utility._assess import _compute_correlation_change
from aggopt.measure.utility._propensity import EVENTS, _encode_attribute
from aggopt.measure.utility._regression import (
    _compare_coefficients,
    import_package,
    list_formula_columns,
)

EXTRA = "needs the extra stats: pip install '.[stats]'"
rng = np.random.default_rng(5)
TABLE = pd.DataFrame(
    {
        "a": rng.normal(size=120),
        "b": rng.gamma(2.0, size=120),
        "s": rng.choice(["u", "v", "w"], 120),
    }
)
TABLE["y"] = TABLE["a"] - 0.5 * TABLE["b"] + rng.normal(size=120)


def noisy(scale: float = 0.3) -> pd.DataFrame:
    moved = np.random.default_rng(6).normal(scale=scale, size=(120, 2))
    return TABLE.assign(a=TABLE["a"] + moved[:, 0], b=TABLE["b"] + moved[:, 1])


# --- propensity


@pytest.mark.smoke
@pytest.mark.parametrize("products", [5 * 220, 5 * 31])
def test_pmse_is_that_of_an_unpenalised_logistic_regression(
    monkeypatch, products
) -> None:
    monkeypatch.setattr(_propensity, "AT_ONCE", products)
    from sklearn.linear_model import LogisticRegression

    one, other = TABLE[["a", "b"]], noisy()[["a", "b"]].iloc[:100]
    Z = pd.concat([one, other]).to_numpy()
    Z = (Z - Z.mean(axis=0)) / Z.std(axis=0)
    a, b = Z.T
    F = np.column_stack([a, b, a * a, a * b, b * b])
    after = np.repeat([0, 1], [120, 100])
    model = LogisticRegression(C=np.inf, tol=1e-10, max_iter=10_000).fit(F, after)
    c = 100 / 220
    expected = np.mean((model.predict_proba(F)[:, 1] - c) ** 2)
    found = utility.pmse(one, other)
    assert found.terms == 5
    assert found.pmse == pytest.approx(expected, rel=1e-4)
    assert found.ratio == pytest.approx(
        found.pmse / (5 * (1 - c) ** 2 * c / 220), rel=1e-12
    )


def test_products_of_all_records_are_never_in_memory_together(monkeypatch) -> None:
    monkeypatch.setattr(_propensity, "AT_ONCE", 2**16)
    records, columns = 15_000, 12
    x = np.random.default_rng(0).normal(size=(records, columns))
    utility.pmse(x[:1000], x[:1000])  # imports take memory, too
    tracemalloc.start()
    found = utility.pmse(x, x + 0.1)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found.terms == 90
    assert peak < 8 * 2 * records * found.terms


def test_levels_of_one_category_have_no_products(monkeypatch) -> None:
    level = np.random.default_rng(0).integers(0, 30, 900).astype(str)
    one, other = (pd.DataFrame({"s": np.roll(level, by)}) for by in (0, 1))
    monkeypatch.setattr(_propensity, "MOST", 29)
    assert utility.pmse(one, other).terms == 29
    assert utility.pmse(one, other).pmse < 1e-12
    monkeypatch.setattr(_propensity, "MOST", 28)
    with refused(InfeasibleInputError, "28", "pmse_tree"):
        utility.pmse(one, other)


def test_levels_whose_columns_do_not_fit_memory_are_refused(monkeypatch) -> None:
    one = pd.DataFrame({"s": [f"v{i}" for i in range(600)]})
    monkeypatch.setattr(memory, "find_available_memory", lambda: 2**20)
    with refused(MemoryLimitError, "1200", "599", "22"):
        utility.pmse_tree(one, one)


def test_means_that_are_kept_do_not_hide_variances_that_are_lost() -> None:
    x = TABLE[["a"]]
    flat = x.assign(a=np.where(np.arange(120) % 2, 0.5, -0.5) + x["a"].mean())
    assert utility.pmse(x, flat).ratio > 5
    assert utility.pmse(x, x).pmse < 1e-12
    assert utility.pmse(x, flat, order=4).terms == 4


def test_categories_are_terms_level_by_level() -> None:
    one = pd.DataFrame({"s": ["u", "v", "w"] * 40})
    other = pd.DataFrame({"s": ["u", "u", "v"] * 40})
    found = utility.pmse(one, other)
    assert found.terms == 2
    # the fitted chance of each level is its share of released records
    p = {"u": 80 / 120, "v": 40 / 80, "w": 0.0}
    levels = [*one["s"], *other["s"]]
    expected = np.mean([(p[level] - 0.5) ** 2 for level in levels])
    assert found.pmse == pytest.approx(expected, abs=1e-3)
    holed = one.assign(s=one["s"].where(one["s"] != "w"))
    assert utility.pmse(holed, other).pmse == pytest.approx(found.pmse, rel=1e-6)


def test_records_that_miss_a_number_are_left_out() -> None:
    one, other = TABLE[["a", "b"]], noisy()[["a", "b"]]
    holed = pd.concat([one, pd.DataFrame({"a": [np.nan], "b": [99.0]})])
    assert utility.pmse(holed, other).pmse == pytest.approx(
        utility.pmse(one, other).pmse, rel=1e-6
    )
    assert utility.pmse_tree(holed, other) == utility.pmse_tree(one, other)


def test_nothing_that_varies_has_no_term() -> None:
    same = np.ones((30, 1))
    assert utility.pmse(same, same) == utility.Propensity(0.0, 0.0, 0)


def test_pmse_needs_ten_records_a_term() -> None:
    x = np.random.default_rng(1).normal(size=(20 * EVENTS, 1))
    assert utility.pmse(x[: 2 * EVENTS], x).terms == 2
    with refused(InfeasibleInputError, "19", "10", "pmse_tree"):
        utility.pmse(x[: 2 * EVENTS - 1], x)


def test_too_many_terms_are_counted_in_some_of_the_records() -> None:
    x = np.random.default_rng(1).normal(size=(3000, 24))
    with refused(InfeasibleInputError, "324"):
        utility.pmse(x, x)


def test_the_share_of_the_measures_that_are_done_rises_to_one() -> None:
    x = np.random.default_rng(1).normal(size=(60, 2))
    shares: list[float] = []
    utility.assess(x, x, progress=shares.append)
    assert len(shares) > 4
    assert shares == sorted(set(shares))
    assert shares[-1] == 1.0
    with refused(JobError):
        utility.assess(x, x, progress=1)


def test_a_tree_tells_apart_what_it_can_in_leaves_of_twenty() -> None:
    one, other = np.zeros((30, 1)), np.ones((20, 1))
    assert utility.pmse_tree(one, other) == pytest.approx(0.6 * 0.4)
    assert utility.pmse_tree(one, other[:19]) == 0.0  # too few for a leaf
    assert utility.pmse_tree(one, other[:19], leaf=19) > 0.2
    assert utility.pmse_tree(one, one) == 0.0


@pytest.mark.smoke
def test_a_tree_repeats_by_its_seed() -> None:
    one, other = TABLE[["a", "b"]], noisy(0.05)[["a", "b"]]
    found = {utility.pmse_tree(one, other, leaf=2, seed=s) for s in (0, 0, 0)}
    assert len(found) == 1
    assert utility.pmse_tree(one, other, leaf=2) in found
    from sklearn.tree import DecisionTreeClassifier

    after = np.repeat([False, True], 120)
    Z = pd.concat([one, other]).to_numpy()
    rows = np.lexsort((after, *Z.T))
    tree = DecisionTreeClassifier(min_samples_leaf=2, random_state=3)
    p = tree.fit(Z[rows], after[rows]).predict_proba(Z)[:, 1]
    assert utility.pmse_tree(one, other, leaf=2, seed=3) == pytest.approx(
        np.mean((p - 0.5) ** 2)
    )
    turned = utility.pmse_tree(one.iloc[::-1], other.iloc[::-1], leaf=2, seed=3)
    assert turned == utility.pmse_tree(one, other, leaf=2, seed=3)


def test_a_level_is_told_by_a_one_but_the_first() -> None:
    frame = pd.DataFrame({"s": ["u", "v", None, "w", "v"], "n": [3, 1, 4, 1, 5]})
    found = _encode_attribute(frame, "s")
    assert found.tolist() == [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0]]
    assert _encode_attribute(frame, "n").tolist() == [[3], [1], [4], [1], [5]]
    assert {_encode_attribute(frame, name).dtype for name in "sn"} == {np.dtype(float)}


def test_a_tree_has_leaves_of_twenty_and_the_seed_zero_unless_it_is_told(
    monkeypatch,
) -> None:
    import sklearn.tree

    heard = []
    whole = sklearn.tree.DecisionTreeClassifier

    def noting(**how):
        heard.append(how)
        return whole(**how)

    monkeypatch.setattr(sklearn.tree, "DecisionTreeClassifier", noting)
    assert utility.pmse_tree(np.zeros((2, 1)), np.ones((2, 1)), leaf=1) == 0.25
    utility.pmse_tree(np.zeros((2, 1)), np.ones((2, 1)))
    assert heard == [
        {"min_samples_leaf": 1, "random_state": 0},
        {"min_samples_leaf": 20, "random_state": 0},
    ]


# --- distributions


def test_wasserstein_is_the_mean_distance_of_sorted_values() -> None:
    one, other = TABLE[["a", "b"]], noisy()[["a", "b"]].iloc[::-1]
    found = utility.wasserstein(one, other)
    for name in ("a", "b"):
        apart = np.abs(np.sort(one[name]) - np.sort(other[name])).mean()
        assert found[name] == pytest.approx(apart / one[name].std(ddof=0))


def test_ks_is_the_largest_distance_where_values_are_many() -> None:
    x, y = np.arange(21.0)[:, None], np.arange(21.0)[:, None] + 2.5
    table = np.hstack([x, np.minimum(x, 19), np.ones_like(x)])
    found = utility.ks(table, np.hstack([y, y, y]))
    assert found == {"0": pytest.approx(3 / 21), "1": None}
    assert set(utility.wasserstein(table, table)) == {"0", "1"}
    text = utility.ks(TABLE, noisy())
    assert set(text) == {"a", "b", "y"}
    assert text["y"] == 0.0


def test_missing_numbers_do_not_count_in_distributions() -> None:
    holed = TABLE.assign(a=TABLE["a"].where(np.arange(120) > 10))
    expected = utility.wasserstein(TABLE[["a"]].iloc[11:], TABLE[["a"]])
    assert utility.wasserstein(holed, TABLE)["a"] == pytest.approx(expected["a"])


def test_whole_numbers_may_be_missing_in_a_column_of_pandas() -> None:
    some = pd.DataFrame({"a": pd.array([1, 3, None], "Int64")})
    assert utility.wasserstein(some, some.assign(a=2)) == {"a": 1.0}
    many = pd.DataFrame({"a": pd.array([*range(30), *[None] * 30], "Int64")})
    pair = many.assign(s="x"), many.assign(s="x").iloc[:30]
    assert utility.contingency(*pair, ["s"], ["a"]) == {("s", "a"): 0.5}
    whole = some.dropna()
    assert utility.totals(whole, whole).before.tolist() == [[4.0]]


def test_a_number_of_one_record_does_not_vary() -> None:
    assert utility.wasserstein(np.ones((1, 1)), np.ones((1, 1))) == {}


# --- regressions


@pytest.mark.smoke
def test_intervals_overlap_by_what_they_have_in_common() -> None:
    statsmodels = pytest.importorskip("statsmodels.api", reason=EXTRA)
    fits = []
    for frame in (TABLE, noisy()):
        design = statsmodels.add_constant(frame[["a", "b"]])
        fits.append(statsmodels.OLS(frame["y"], design).fit())
    found = utility.interval_overlap("y ~ a + b", TABLE, noisy())
    assert [each.name for each in found.coefficients] == ["a", "b"]
    for each in found.coefficients:
        (l1, u1), (l2, u2) = (fit.conf_int().loc[each.name] for fit in fits)
        common = min(u1, u2) - max(l1, l2)
        assert each.overlap == pytest.approx(
            (common / (u1 - l1) + common / (u2 - l2)) / 2
        )
        assert each.sign
        assert each.significance
    overlaps = [each.overlap for each in found.coefficients]
    assert found.smallest == min(overlaps)
    assert found.formula == "y ~ a + b"


def test_signs_and_significance_may_change() -> None:
    pytest.importorskip("statsmodels", reason=EXTRA)
    turned = TABLE.assign(y=-TABLE["y"])
    found = utility.interval_overlap("y ~ a", TABLE, turned).coefficients[0]
    assert not found.sign
    assert found.significance
    assert found.overlap < 0
    blurred = TABLE.assign(a=np.random.default_rng(2).permutation(TABLE["a"]))
    found = utility.interval_overlap("y ~ a", TABLE, blurred).coefficients[0]
    assert not found.significance


def test_a_coefficient_is_significant_below_the_level_and_not_at_it() -> None:
    ends = pd.DataFrame([[0.0, 1.0]])
    one, other = (
        SimpleNamespace(
            conf_int=lambda level: ends,
            pvalues=pd.Series([p]),
            params=pd.Series([0.5], ["a"]),
            model=SimpleNamespace(exog=np.ones((3, 1))),
        )
        for p in (0.05, 0.04)
    )
    assert [c.significance for c in _compare_coefficients(one, one)] == [True]
    assert [c.significance for c in _compare_coefficients(one, other)] == [False]
    assert utility.RegressionKept("y ~ 1", ()).smallest is None


def test_what_cannot_be_estimated_has_no_overlap() -> None:
    pytest.importorskip("statsmodels", reason=EXTRA)
    flat = TABLE.assign(a=0.0)
    found = utility.interval_overlap("y ~ a + b", TABLE, flat)
    assert found.coefficients[0].overlap is None
    assert found.coefficients[1].overlap is not None
    assert found.smallest is None


@pytest.mark.parametrize("factor", [3.0, -1e-7])
def test_columns_that_determine_each_other_have_no_overlap(factor: float) -> None:
    pytest.importorskip("statsmodels", reason=EXTRA)
    original = TABLE.assign(c=np.sin(np.arange(len(TABLE))))
    released = original.assign(a=factor * original["b"] + 1)
    found = utility.interval_overlap("y ~ a + b + c", original, released)
    overlaps = {each.name: each.overlap for each in found.coefficients}
    assert overlaps["a"] is overlaps["b"] is None
    assert overlaps["c"] is not None


def test_categories_and_functions_are_those_of_the_original() -> None:
    pytest.importorskip("statsmodels", reason=EXTRA)
    other = noisy().iloc[::-1]
    found = utility.interval_overlap("exp(y) ~ center(a) + C(s) + a:b", TABLE, other)
    names = [each.name for each in found.coefficients]
    assert names == ["center(a)", "C(s)[T.v]", "C(s)[T.w]", "a:b"]
    spaced = TABLE.rename(columns={"a": "the age"})
    found = utility.interval_overlap("y ~ log(`the age`**2)", spaced, spaced)
    assert found.smallest == 1.0


def test_weights_are_those_of_each_table() -> None:
    statsmodels = pytest.importorskip("statsmodels.api", reason=EXTRA)
    w = np.linspace(1, 5, 120)
    design = statsmodels.add_constant(TABLE[["a"]])
    one = statsmodels.WLS(TABLE["y"], design, weights=w).fit().conf_int().loc["a"]
    two = statsmodels.WLS(TABLE["y"], design).fit().conf_int().loc["a"]
    common = min(one[1], two[1]) - max(one[0], two[0])
    expected = (common / (one[1] - one[0]) + common / (two[1] - two[0])) / 2
    found = utility.interval_overlap(
        "y ~ a", TABLE, TABLE, weights=w, released_weights=np.ones(120)
    )
    assert found.smallest == pytest.approx(expected)
    same = utility.interval_overlap("y ~ a", TABLE, TABLE, weights=w)
    assert same.smallest == pytest.approx(1.0)
    turned = TABLE.iloc[::-1].iloc[:100]
    less = utility.interval_overlap("y ~ a", TABLE, turned, weights=w)
    assert less.smallest is not None  # one each, where the records differ


def test_records_that_miss_a_column_of_the_formula_are_left_out() -> None:
    pytest.importorskip("statsmodels", reason=EXTRA)
    holed = TABLE.assign(a=TABLE["a"].where(np.arange(120) > 30), b=np.nan)
    part = TABLE.iloc[31:]
    assert utility.interval_overlap("y ~ a", holed, part).smallest == pytest.approx(1)
    w = np.linspace(1, 5, 120)
    found = utility.interval_overlap(
        "y ~ a", holed, part, weights=w, released_weights=w[31:]
    )
    assert found.smallest == pytest.approx(1)


def test_a_package_that_is_missing_is_named_with_its_extra() -> None:
    with refused(JobError, "no_such_package", "'aggopt[stats]'"):
        import_package("no_such_package")


# --- tables and totals


def test_a_cell_of_ten_records_is_one_by_itself() -> None:
    one = pd.DataFrame({"a": ["x"] * 10 + ["y"] * 10 + ["z"] * 9 + ["u"], "b": "v"})
    other = one.assign(a=["x"] * 12 + ["y"] * 8 + ["z"] * 5 + ["u"] * 5)
    assert utility.contingency(one, other, ["a"], ["b"]) == {
        ("a", "b"): pytest.approx(2 / 30)
    }


def test_total_variation_is_of_cells_with_ten_records_or_more() -> None:
    one = pd.DataFrame({"a": ["x"] * 30 + ["y"] * 19, "b": ["u", "v"] * 24 + ["u"]})
    other = one.assign(a=["x"] * 35 + ["y"] * 14)
    # of 49: x/u 15, x/v 15, y/u 10 and y/v 9, which is too few and stands apart
    cells = {"xu": (15, 18), "xv": (15, 17), "yu": (10, 7), "rest": (9, 7)}
    apart = sum(abs(p - q) for p, q in cells.values()) / 49 / 2
    assert utility.contingency(one, other, ["a"], ["b", "a"]) == {
        ("a", "b"): pytest.approx(apart)
    }
    assert utility.contingency(one, one, ["a"], ["b"]) == {("a", "b"): 0.0}


def test_numbers_of_many_values_are_cut_at_fifths() -> None:
    x = np.arange(100.0)
    one = pd.DataFrame({"a": ["x"] * 100, "x": x})
    other = one.assign(x=np.where(x > 79.2, x - 40, x))  # the last fifth moves down
    found = utility.contingency(one, other, ["a"], ["x"])
    assert found == {("a", "x"): pytest.approx(0.2)}
    few = one.assign(x=x % 20 // 19)
    assert utility.contingency(few, few.assign(x=0.0), ["a"], ["x"]) == {
        ("a", "x"): pytest.approx(0.05)
    }
    holed = one.assign(x=np.where(x < 20, np.nan, x))
    assert utility.contingency(holed, one, ["a"], ["x"])[("a", "x")] > 0.19


def test_numbers_of_twenty_values_are_cells_each() -> None:
    x = np.repeat(np.arange(20.0), 10)
    one = pd.DataFrame({"a": "x", "x": x})
    found = utility.contingency(one, one.assign(x=np.maximum(x, 1)), ["a"], ["x"])
    assert found == {("a", "x"): pytest.approx(0.05)}
    names = one.assign(x=[f"n{j}" for j in range(200)])  # of one record each
    assert utility.contingency(names, names, ["a"], ["x"]) == {("a", "x"): 0.0}


@pytest.mark.parametrize("found", [70.0, 90.0])
def test_a_missing_value_is_one_of_its_own(found) -> None:
    x = np.arange(100.0)
    holed = pd.DataFrame({"a": "x", "x": np.where(x < 20, np.nan, x)})
    filled = holed.fillna({"x": found})
    expected = {("a", "x"): pytest.approx(0.2)}
    assert utility.contingency(holed, filled, ["a"], ["x"]) == expected
    named = pd.DataFrame({"a": ["x"] * 20, "s": ["u"] * 10 + [None] * 10})
    assert utility.contingency(named, named.assign(s="u"), ["a"], ["s"]) == {
        ("a", "s"): 0.5
    }


def test_totals_are_weighted_in_each_stratum() -> None:
    one = pd.DataFrame({"h": [1, 1, 1, 2, 2, 3], "x": [1.0, 2, 6, 10, 30, 5]})
    other = one.assign(x=[2.0, 2, 6, 20, 20, 9])
    w = [1.0, 2, 3, 1, 1, 4]
    found = utility.totals(one, other, strata=["h"], weights=w)
    assert found.names == ("x",)
    assert found.before.ravel().tolist() == [23, 40, 20]
    assert found.after.ravel().tolist() == [24, 40, 36]
    first = np.array([1, 4, 18])
    error = sqrt(3 / 2 * ((first - first.mean()) ** 2).sum())
    assert found.errors[:2].ravel() == pytest.approx([error, sqrt(2 * 200)])
    assert np.isnan(found.errors[2, 0])
    assert found.shifts[:2].ravel() == pytest.approx([1 / error, 0])
    assert found.largest == {"x": pytest.approx(1 / error)}


def test_totals_need_no_strata_and_no_order() -> None:
    one, other = TABLE[["a", "b", "s"]], noisy()[["a", "b", "s"]].iloc[::-1]
    found = utility.totals(one, other)
    assert found.before.ravel() == pytest.approx(one[["a", "b"]].sum().to_numpy())
    assert found.after.ravel() == pytest.approx(other[["a", "b"]].sum().to_numpy())
    more = pd.concat([one, one])
    assert utility.totals(one, more).after == pytest.approx(2 * found.before)
    given = utility.totals(one, more, released_weights=np.full(240, 0.5))
    assert given.largest == pytest.approx({"a": 0, "b": 0}, abs=1e-9)
    assert utility.totals(one, one, strata=["s"]).before.shape == (3, 2)


def test_a_total_without_an_error_that_moves_has_an_endless_shift() -> None:
    one, other = np.array([[2.0], [2.0]]), np.array([[2.0], [3.0]])
    assert utility.totals(one, other).shifts.tolist() == [[np.inf]]
    assert utility.totals(one, one).shifts.tolist() == [[0.0]]


# --- all of them


def test_assess_has_all_of_them() -> None:
    pytest.importorskip("statsmodels", reason=EXTRA)
    w = np.linspace(1, 2, 120)
    other = noisy().assign(s=["u"] * 60 + TABLE["s"].tolist()[60:])
    kept = TABLE.assign(g=np.arange(120) % 2), other.assign(g=np.arange(120) % 2)
    found = utility.assess(
        *kept,
        model="y ~ a",
        masked=["a", "b", "s"],
        beside=["y"],
        strata=["g"],
        weights=w,
        seed=4,
    )
    names = ["a", "b", "s"]
    one, two = (frame[names] for frame in kept)
    assert found.propensity == utility.pmse(one, two)
    assert found.tree == utility.pmse_tree(one, two, seed=4)
    assert found.wasserstein == utility.wasserstein(one, two)
    assert found.ks == utility.ks(one, two)
    assert found.regressions == (utility.interval_overlap("y ~ a", *kept, weights=w),)
    assert found.contingency == utility.contingency(*kept, ["s"], ["y", "g"])
    columns = ["a", "b", "g"]
    totals = utility.totals(kept[0][columns], kept[1][columns], strata=["g"], weights=w)
    assert found.totals.largest == totals.largest
    change = np.corrcoef(two[["a", "b"]].T) - np.corrcoef(one[["a", "b"]].T)
    assert found.correlation == pytest.approx(np.abs(change).max())
    stated = found.to_dict()
    assert stated["pmse"]["ratio"] == found.propensity.ratio
    assert stated["pmse_tree"] == found.tree
    assert stated["regressions"][0]["coefficients"][0]["name"] == "a"
    assert stated["contingency"] == {
        " x ".join(pair): each for pair, each in found.contingency.items()
    }
    assert stated["totals"] == totals.largest
    assert set(stated) == {
        *("pmse", "pmse_tree", "wasserstein", "ks", "correlation"),
        *("regressions", "contingency", "totals"),
    }


def test_columns_that_are_not_said_to_stand_beside_are_masked() -> None:
    found = utility.assess(TABLE, noisy(), beside=["y"], strata=["s"])
    assert set(found.wasserstein) == {"a", "b"}
    assert found.contingency == {}
    assert found.regressions == ()
    assert utility.assess(TABLE, noisy(), model=("y ~ a", "y ~ b")).regressions[1]


def test_numbers_that_are_missing_somewhere_have_no_total() -> None:
    holed = TABLE.assign(a=TABLE["a"].where(np.arange(120) > 3))
    for pair in ((holed, TABLE), (TABLE, holed)):
        found = utility.assess(*pair, masked=["a", "b"])
        assert found.totals.names == ("b",)
        assert set(found.wasserstein) == {"a", "b"}
    assert utility.assess(holed, holed, masked=["a"]).totals is None


def test_few_records_have_no_propensity_and_names_no_totals() -> None:
    found = utility.assess(TABLE.iloc[:40], TABLE.iloc[:40])
    assert found.propensity is None
    assert found.to_dict()["pmse"] is None
    names = utility.assess(TABLE[["s"]], TABLE[["s"]])
    assert (names.totals, names.correlation) == (None, None)
    assert names.to_dict()["totals"] is None
    one = utility.assess(TABLE[["a"]].assign(c=1.0), TABLE[["a"]].assign(c=2.0))
    assert one.correlation is None  # only one of them varies
    two = TABLE[["a"]].assign(c=np.arange(120) % 2)
    assert _compute_correlation_change(two, two) == 0.0


def test_the_seed_is_that_of_the_tree(monkeypatch) -> None:
    seeds = []
    tree = "aggopt.measure.utility._assess.pmse_tree"
    monkeypatch.setattr(tree, lambda *_, seed=None: seeds.append(seed) or 0.0)
    utility.assess(TABLE[["s"]], TABLE[["s"]])
    utility.assess(TABLE[["s"]], TABLE[["s"]], seed=4)
    assert seeds == [0, 4]


SHOWN = """\
Utility: changes by masking, 0 is best
  pMSE, products of two               0.00001  0.5 times an independent table's
  pMSE, tree                          0.20000  0.25 is worst
  distribution of age                  0.1000  W1, in standard deviations; KS 0.250
  distribution of sex                  0.0500  W1, in standard deviations
  correlations                         0.0300  largest change
  y ~ a
    age                                 0.900  overlap, 1 is best; same sign
    sex                                  none  overlap, 1 is best; OTHER SIGN, \
other significance
  region x cost                        0.0200  total variation
  total of age                          1.500  standard errors"""


def test_what_is_printed_is_names_and_figures() -> None:
    coefficients = (
        utility.Coefficient("age", 0.9, True, True),
        utility.Coefficient("sex", None, False, False),
    )
    totals = utility.Totals(
        ("age",), np.array([[10.0]]), np.array([[13.0]]), np.array([[2.0]])
    )
    found = utility.Utility(
        utility.Propensity(0.00001, 0.5, 3),
        0.2,
        {"age": 0.1, "sex": 0.05},
        {"age": 0.25, "sex": None},
        0.03,
        (utility.RegressionKept("y ~ a", coefficients),),
        {("region", "cost"): 0.02},
        totals,
    )
    assert str(found) == SHOWN
    assert SHOWN.splitlines()[3] in found._repr_html_()
    bare = utility.Utility(None, 0.0, {}, {}, None, (), {}, None)
    assert str(bare) == (
        "Utility: changes by masking, 0 is best\n"
        "  pMSE                                   none  too many attributes for the "
        "records\n"
        "  pMSE, tree                          0.00000  0.25 is worst"
    )


def test_the_demo_is_as_useful_as_it_was_found_to_be() -> None:
    pytest.importorskip("statsmodels", reason=EXTRA)
    from aggopt.command.demo import load_patients

    table, names = load_patients(), ["age", "sex", "bmi", "bp"]
    X = table[names].to_numpy(float)
    labels = aggopt.partition.local_search(X, 10)

    def of(values) -> pd.DataFrame:
        return table.assign(**dict(zip(names, values.T, strict=True)))

    means = of(aggopt.aggregate.mean(X, labels).values)
    assert utility.pmse(table[names], means[names]).ratio == pytest.approx(2.0, abs=0.1)
    p3m = of(aggopt.aggregate.p3m(X, labels).values)
    formula = f"progression ~ {' + '.join(names)}"
    found = utility.assess(table, p3m, masked=names, model=formula)
    assert found.propensity.ratio == pytest.approx(0.15, abs=0.01)
    assert found.tree == pytest.approx(0.15, abs=0.01)
    assert max(found.wasserstein.values()) == pytest.approx(0.10, abs=0.01)
    assert found.regressions[0].smallest == pytest.approx(0.66, abs=0.01)
    assert found.ks["sex"] is None


# --- refusals, in full

PLAIN = TABLE[["a", "y"]]
FORMULA = 'write it as "y ~ a + b".'
FUNCTIONS = "C, I, center, exp, log, log10, log2, poly, scale"
REFUSED = {
    "other columns": (
        lambda: utility.pmse(PLAIN, PLAIN.rename(columns={"y": "z"})),
        "Columns of one of the tables alone: 'y', 'z'.",
        "pass the same columns of both.",
    ),
    "numbers in one table alone": (
        lambda: utility.ks(PLAIN, PLAIN.assign(a="x", y=True)),
        "Numbers in one table and none in the other: 'a', 'y'.",
        "pass columns of the same types.",
    ),
    "no records": (
        lambda: utility.ks(PLAIN, PLAIN[:0]),
        "The table has no records.",
        "bring a table with records.",
    ),
    "order one": (
        lambda: utility.pmse(PLAIN, PLAIN, order=1),
        "order is not a whole number of at least 2.",
        "leave it out, or pass order=2: of order 1 it is 0 of every release that keeps "
        "the means.",
    ),
    "an order that is no number": (
        lambda: utility.pmse(PLAIN, PLAIN, order="2"),
        "order is not a whole number of at least 2.",
        "leave it out, or pass order=2: of order 1 it is 0 of every release that keeps "
        "the means.",
    ),
    "no leaf": (
        lambda: utility.pmse_tree(PLAIN, PLAIN, leaf=0),
        "leaf is not a whole number of at least 1.",
        "pass leaf=20.",
    ),
    "a leaf that is no number": (
        lambda: utility.pmse_tree(PLAIN, PLAIN, leaf="x"),
        "leaf is not a whole number of at least 1.",
        "pass leaf=20.",
    ),
    "no complete record": (
        lambda: utility.pmse_tree(PLAIN, PLAIN.assign(a=np.nan)),
        "Every record of a table misses a number.",
        "leave out the columns with missing values.",
    ),
    "a number that nobody has": (
        lambda: utility.wasserstein(PLAIN.assign(a=np.nan), PLAIN),
        "Missing in every record: 'a'.",
        "leave them out.",
    ),
    "numbers that nobody has": (
        lambda: utility.ks(PLAIN, PLAIN.assign(a=np.nan, y=np.nan)),
        "Missing in every record: 'a', 'y'.",
        "leave them out.",
    ),
    "missing values in two totals": (
        lambda: utility.totals(PLAIN, PLAIN.where(PLAIN > 0)),
        "Missing values in 'a', 'y'.",
        "pass columns of numbers that are complete.",
    ),
    "missing values in totals": (
        lambda: utility.totals(PLAIN, PLAIN.assign(a=PLAIN["a"].where(PLAIN["a"] > 0))),
        "Missing values in 'a'.",
        "pass columns of numbers that are complete.",
    ),
    "no numbers to add up": (
        lambda: utility.totals(TABLE[["s"]], TABLE[["s"]]),
        "There is no column of numbers.",
        "pass columns of numbers that are complete.",
    ),
    "strata that are masked": (
        lambda: utility.totals(TABLE, TABLE.assign(s="u"), strata=["s"]),
        "The strata of the release are not those of the original.",
        "name columns that are published as they are.",
    ),
    "an unknown stratum": (
        lambda: utility.totals(PLAIN, PLAIN, strata=["s"]),
        "No column is called 's'.",
        "The known names are a, y.",
    ),
    "an unknown row attribute": (
        lambda: utility.contingency(PLAIN, PLAIN, ["s"], ["a"]),
        "No column is called 's'.",
        "The known names are a, y.",
    ),
    "an unknown column beside": (
        lambda: utility.assess(PLAIN, PLAIN, beside=["s"]),
        "No column is called 's'.",
        "The known names are a, y.",
    ),
    "a formula with an unknown name": (
        lambda: list_formula_columns("y ~ a + wealth", ["y", "a"]),
        "No column is called 'wealth'.",
        "The known names are a, y.",
    ),
    "a formula that cannot be read": (
        lambda: list_formula_columns("y ~ a + (", ["y", "a"]),
        "The formula cannot be read.",
        FORMULA,
    ),
    "a formula without a response": (
        lambda: list_formula_columns("a", ["y", "a"]),
        "The formula cannot be read.",
        FORMULA,
    ),
    "a formula with two responses": (
        lambda: list_formula_columns("y + a ~ a", ["y", "a"]),
        "The formula has not one response.",
        FORMULA,
    ),
    "code in a formula": (
        lambda: list_formula_columns("y ~ I(a.mean())", ["y", "a"]),
        "The formula has more in it than columns, numbers and functions.",
        f"use names, +, :, * and {FUNCTIONS}.",
    ),
    "a subscript in a formula": (
        lambda: list_formula_columns("y ~ I(a[0])", ["y", "a"]),
        "The formula has more in it than columns, numbers and functions.",
        f"use names, +, :, * and {FUNCTIONS}.",
    ),
    "an unknown function in a formula": (
        lambda: list_formula_columns("y ~ eval(a)", ["y", "a"]),
        "No function of a formula is called 'eval'.",
        f"The known names are {FUNCTIONS}.",
    ),
    "a response that is no number": (
        lambda: utility.interval_overlap("s ~ a", TABLE, TABLE),
        "The response of the formula is no number.",
        "name a column of numbers before the ~.",
    ),
    "a formula of columns that nobody has": (
        lambda: utility.interval_overlap("y ~ a", PLAIN.assign(a=np.nan), PLAIN),
        "Every record misses a column of the formula.",
        "leave out the columns that are missing.",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_refusal_says_what_to_do(case) -> None:
    pytest.importorskip("statsmodels", reason=EXTRA)
    call, problem, fix = REFUSED[case]
    with pytest.raises(AggoptError) as error:
        call()
    assert (error.value.problem, error.value.fix) == (problem, fix)
