"""Risks by keys, weights and units: beside slow copies and figures of sdcMicro."""

import os
from collections import Counter
from itertools import combinations
from math import comb, factorial
from pathlib import Path
from statistics import median, multimode, stdev

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from aggopt.core.record_weights import weight_of_each
from aggopt.errors import AggoptError
from aggopt.measure import risk
from aggopt.measure.risk.sample_uniques import MOST, check_size

DATA = Path(os.environ.get("AGGOPT_DATA", "missing"))
KEYS = ["urbrur", "roof", "walls", "water", "electcon", "relat", "sex"]
few = settings(max_examples=25, deadline=None)
small_tables = some.lists(
    some.tuples(*[some.integers(0, 2)] * 3), min_size=1, max_size=9
)


@pytest.fixture(scope="module")
def testdata():
    path = DATA / "testdata.csv"
    if not path.exists():
        pytest.skip("set AGGOPT_DATA to the folder of the reference tables")
    return pd.read_csv(path)


# --- individual risk


@pytest.mark.parametrize("f", [1, 2, 9, 10, 176])
@pytest.mark.parametrize("p", [0.05, 0.999])
def test_individual_risk_is_the_mean_of_the_negative_binomial(f, p) -> None:
    from scipy.stats import nbinom

    more = np.arange(20_000)
    found = risk.individual_risk(np.zeros(f, int), np.full(f, 1 / p))
    assert found == pytest.approx(
        np.sum(nbinom.pmf(more, f, p) / (more + f)), rel=1e-12
    )
    assert len(found) == f


def test_a_sample_that_is_the_population_has_the_risk_of_its_groups() -> None:
    labels = np.repeat([0, 1], [4, 12])
    assert risk.individual_risk(labels) == pytest.approx(
        1 / np.repeat([4, 12], [4, 12])
    )
    light = np.full(16, 0.5)
    assert risk.individual_risk(labels, light) == pytest.approx(
        risk.individual_risk(labels)
    )


def test_individual_risk_counts_the_weights_of_each_combination() -> None:
    table = pd.DataFrame({"a": ["x", "x", "y"], "b": [1, 1, 1]})
    found = risk.individual_risk(table, [5.0, 15.0, 10.0])
    assert found[:2] == pytest.approx(risk.individual_risk([0, 0], [10.0, 10.0]))
    assert found[2] == pytest.approx(np.log(10) / 9)  # f = 1: p/(1-p) log 1/p


def test_individual_risk_of_testdata_has_no_hole(testdata) -> None:
    found = risk.individual_risk(testdata[KEYS], testdata["sampling_weight"])
    assert found.sum() == pytest.approx(10.775525136, abs=5e-10)
    assert found.max() == pytest.approx(0.0465168706, abs=5e-11)
    sizes = testdata.groupby(KEYS)["sex"].transform("size")
    assert ((sizes == 1).sum(), (sizes == 2).sum()) == (157, 124)
    assert risk.dis(testdata[KEYS], 0.01) == pytest.approx(
        157 * 0.01 / (157 * 0.01 + 124 * 0.99)
    )


def test_household_risk_is_that_of_any_of_its_members() -> None:
    units = pd.DataFrame({"street": ["a", "a", "b", "a"], "door": [1, 1, 1, 2]})
    found = risk.household_risk([0.5, 0.2, 0.0, 1.0], units)
    assert found == pytest.approx([0.6, 0.6, 0.0, 1.0])
    whole = np.array([1, 0], np.uint8)
    assert risk.household_risk(whole, [0, 1]).tolist() == [1.0, 0.0]
    assert risk.household_risk([1e-12, 1e-12], [0, 0]) == pytest.approx(2e-12, rel=1e-9)


# --- special records


def slow_suda(rows, size):
    n, d = len(rows), len(rows[0])
    scores, shares, uniques = [0] * n, [[0] * d for _ in rows], [0] * n
    for i in range(n):
        minimal = []
        for s in range(1, size + 1):
            for own in combinations(range(d), s):
                alike = sum(all(row[j] == rows[i][j] for j in own) for row in rows)
                if alike == 1 and not any(set(m) <= set(own) for m in minimal):
                    minimal.append(own)
                    scores[i] += factorial(d - s)
                    uniques[i] += 1
                    for j in own:
                        shares[i][j] += factorial(d - s)
    return scores, shares, uniques


@few
@given(rows=small_tables, size=some.integers(1, 4))
def test_suda_finds_all_minimal_uniques(rows, size) -> None:
    found = risk.suda(np.array(rows), size=size)
    expected = slow_suda(rows, min(size, 3))
    assert (found.scores.tolist(), found.shares.tolist(), found.uniques.tolist()) == (
        expected
    )
    assert found.special == sum(score > 0 for score in expected[0])
    assert (found.total, found.largest) == (sum(expected[0]), max(expected[0]))


def test_suda_looks_at_sets_of_so_many_attributes() -> None:
    rows = [["a", "x"], ["a", "y"], ["b", "x"], ["b", "y"]]
    assert risk.suda(rows, size=1).scores.tolist() == [0, 0, 0, 0]
    found = risk.suda(rows, size=2)
    assert found.scores.tolist() == [1, 1, 1, 1]
    figures = (found.scores, found.shares, found.uniques)
    assert {each.dtype for each in figures} == {np.dtype(np.int64)}


def test_what_is_missing_is_one_value_of_suda() -> None:
    table = pd.DataFrame({"a": ["x", None, None, "x"], "b": ["u", "u", "v", "u"]})
    assert risk.suda(table).scores.tolist() == [0, 1, 1, 0]


def test_suda_of_testdata_is_that_of_sdcmicro(testdata) -> None:
    found = risk.suda(testdata[KEYS])
    assert (found.total, found.largest, found.special) == (4890, 720, 157)
    assert risk.suda(testdata[KEYS], size=7).total == 4890


def test_the_size_of_suda_is_checked_against_the_sets() -> None:
    assert check_size(None, 14) == check_size(20, 14) == 14
    assert check_size(4, 20) == 4
    assert sum(comb(20, s) for s in range(1, 6)) > MOST  # the next would be too many
    assert check_size(np.int64(1), 1) == 1


@pytest.mark.parametrize(
    ("sizes", "fraction", "expected"),
    [
        ((1, 2, 3), 0.1, 0.1 / (0.1 + 2 * 0.9)),
        ((1, 1, 2, 2), 0.5, 2 / (2 + 4)),
        ((2, 2), 0.5, 0.0),
        ((1, 3), 0.5, 1.0),
        ((1, 2), 1, 1.0),
    ],
)
def test_a_unique_match_is_right_by_data_intrusion(sizes, fraction, expected) -> None:
    labels = np.repeat(np.arange(len(sizes)), sizes)[:, None]
    assert risk.dis(labels, fraction) == pytest.approx(expected)


# --- attribution


def others(values, labels, i):
    return [v for j, v in enumerate(values) if j != i and labels[j] == labels[i]]


def slow_mode(values, labels, i):
    counts = Counter(others(values, labels, i))
    best = [v for v, c in counts.items() if c == max(counts.values())]
    return (values[i] in best) / len(best)


def most_frequent(values, labels, i):
    modes = multimode(values)
    return (values[i] in modes) / len(modes)


def slow_median(values, labels, i, width):
    guess = median(others(values, labels, i))
    return float(abs(guess - values[i]) <= width * stdev(values))


def slow_attribution(values, labels, right):
    known = [i for i in range(len(values)) if others(values, labels, i)]
    table = [0] * len(values)
    if not known:
        return None, None, len(values)
    share = sum(right(values, labels, i) for i in known) / len(known)
    by_chance = most_frequent if right is slow_mode else right
    chance = sum(by_chance(values, table, i) for i in known) / len(known)
    return share, chance, len(values) - len(known)


grouped = some.lists(
    some.tuples(some.integers(0, 2), some.integers(0, 4)), min_size=2, max_size=10
)


@few
@given(rows=grouped, safety=some.sampled_from([0.0, 0.05, 0.8]))
def test_each_record_is_guessed_from_the_others_of_its_group(rows, safety) -> None:
    labels = np.unique([row[0] for row in rows], return_inverse=True)[1]
    values = [row[1] for row in rows]
    text = risk.attribution(labels, list(map(str, values)), safety=safety)
    expected = slow_attribution(values, labels, slow_mode)
    assert (text.share, text.chance, text.undefined) == pytest.approx(expected)

    def near(*of):
        return slow_median(*of, safety * (1 + 1e-9))

    number = risk.attribution(labels, np.array(values, float), safety=safety)
    expected = slow_attribution(values, labels, near)
    assert (number.share, number.chance, number.undefined) == pytest.approx(expected)


def test_values_as_frequent_as_each_other_are_guessed_by_chance() -> None:
    values = ["flu", "none"] * 50
    found = risk.attribution(np.repeat(np.arange(20), 5), values)
    assert found.chance == 0.5


def test_groups_are_more_than_the_values_that_are_guessed() -> None:
    labels = np.repeat(np.arange(6), 3)
    values = list("abbaabbbbababbaaaa")
    found = risk.attribution(labels, values)
    expected = slow_attribution(values, labels, slow_mode)
    assert (found.share, found.chance, found.undefined) == pytest.approx(expected)


def test_a_guess_is_right_within_a_twentieth_of_a_deviation() -> None:
    x = np.array([0.0, 1.0, 2.0, 10.0])  # sd 4.57: 0.05 of it is 0.23
    labels = [0, 0, 1, 1]
    assert risk.attribution(labels, x).share == 0.0
    assert risk.attribution(labels, x, safety=0.22).share == 0.5
    assert risk.attribution(labels, x, safety=0.05) == risk.attribution(labels, x)


def test_numbers_that_are_missing_are_left_out_and_counted() -> None:
    x = [1.0, 1.0, np.nan, 5.0, np.nan, 5.0]
    found = risk.attribution([0, 0, 0, 1, 1, 2], x)
    assert (found.share, found.undefined) == (1.0, 4)
    text = risk.attribution([0, 0, 1, 1], ["a", None, None, None])
    assert (text.share, text.undefined) == (0.5, 0)


def test_without_a_mate_there_is_no_guess_and_no_gain() -> None:
    found = risk.attribution([[1.0], [2.0]], ["a", "a"])
    assert (found.share, found.chance, found.undefined, found.gain) == (
        None,
        None,
        2,
        None,
    )
    assert risk.Attribution(0.5, 0.25, 0).gain == 0.25
    assert risk.Attribution(0.5, None, 0).gain is None
    assert risk.attribution([0, 1], [np.nan, np.nan]).undefined == 2


def test_whole_numbers_and_truth_values_are_what_they_are() -> None:
    labels = [0, 0, 0]
    assert risk.attribution(labels, [1, 2, 3], safety=0).share == pytest.approx(1 / 3)
    assert risk.attribution(labels, np.array([1, 2, 3], np.uint8), safety=0).share > 0.3
    assert risk.attribution(labels, [True, True, False]).share == pytest.approx(1 / 3)


# --- dominance and weights


def test_dominance_is_the_share_of_the_heaviest_record() -> None:
    found = risk.dominance([[1.0], [1.0], [2.0], [1.0]], [1.0, 5.0, 3.0, 4.0])
    assert sorted(found) == pytest.approx([0.5, 1.0])


def test_weights_are_one_each_where_none_are_given() -> None:
    assert weight_of_each(None, 3).tolist() == [1.0, 1.0, 1.0]
    assert weight_of_each([1, 2, 3], 3).tolist() == [1.0, 2.0, 3.0]


# --- refusals, in full

TWO = [[0.0], [1.0]]
REFUSED = {
    "weights of other records": (
        lambda: risk.individual_risk(TWO, [1.0]),
        "There are 1 weight for 2 records.",
        "pass one weight for each record.",
    ),
    "weights of nothing": (
        lambda: risk.dominance([0, 0, 0], [0.0, -1.0, 2.0]),
        "2 weights of 3 are 0 or below.",
        "remove records that represent nobody, or correct their weights.",
    ),
    "missing weights": (
        lambda: risk.individual_risk(TWO, [1.0, np.nan]),
        "weights has missing or infinite entries (1).",
        "remove those records or fill the entries before masking.",
    ),
    "risks of other records": (
        lambda: risk.household_risk([0.5], [1, 2]),
        "There are 2 records, and risks of shape (1,), or some are no fractions.",
        "pass one risk from 0 to 1 per record.",
    ),
    "risks above one": (
        lambda: risk.household_risk([0.5, 1.5], [1, 2]),
        "There are 2 records, and risks of shape (2,), or some are no fractions.",
        "pass one risk from 0 to 1 per record.",
    ),
    "risks below nothing": (
        lambda: risk.household_risk([0.5, -0.1], [1, 2]),
        "There are 2 records, and risks of shape (2,), or some are no fractions.",
        "pass one risk from 0 to 1 per record.",
    ),
    "a size of no attribute": (
        lambda: risk.suda(TWO, size=0),
        "size is not a whole number of at least 1.",
        "leave it out, or pass a number of attributes, such as size=3.",
    ),
    "a size that is no number": (
        lambda: risk.suda(TWO, size="all"),
        "size is not a whole number of at least 1.",
        "leave it out, or pass a number of attributes, such as size=3.",
    ),
    "too many sets": (
        lambda: check_size(None, 15),
        "15 attributes have 32767 sets of up to 15 of them, and up to 20000 are looked "
        "at.",
        "choose a smaller size, such as 3, or pass fewer attributes.",
    ),
    "too many attributes": (
        lambda: check_size(1, 21),
        "21 attributes make scores that 64 bits do not hold.",
        "pass at most 20 of them.",
    ),
    "a table as keys that is none": (
        lambda: risk.suda(np.empty((0, 2))),
        "The table of keys has shape (0, 2).",
        "pass one value per record, shape (n,), or a table of several attributes, "
        "shape (n, d).",
    ),
    "no fraction": (
        lambda: risk.dis(TWO, 0),
        "fraction is no number above 0 and up to 1.",
        "pass records / persons of the population, such as 0.01.",
    ),
    "more than the population": (
        lambda: risk.dis(TWO, 1.01),
        "fraction is no number above 0 and up to 1.",
        "pass records / persons of the population, such as 0.01.",
    ),
    "a truth value as fraction": (
        lambda: risk.dis(TWO, True),
        "fraction is no number above 0 and up to 1.",
        "pass records / persons of the population, such as 0.01.",
    ),
    "values of other records": (
        lambda: risk.attribution([0, 0], ["a"]),
        "There are 1 values, but 2 records.",
        "pass one value per record.",
    ),
    "two confidential attributes": (
        lambda: risk.attribution([0, 0], [["a", "b"], ["a", "b"]]),
        "There are 2 confidential attributes.",
        "pass one column at a time.",
    ),
    "no confidential value": (
        lambda: risk.attribution([0, 0], np.empty(0)),
        "The confidential attribute has shape (0,).",
        "pass one value per record, shape (n,), or a table of several attributes, "
        "shape (n, d).",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_refusal_says_what_to_do(case) -> None:
    call, problem, fix = REFUSED[case]
    with pytest.raises(AggoptError) as error:
        call()
    assert (error.value.problem, error.value.fix) == (problem, fix)
