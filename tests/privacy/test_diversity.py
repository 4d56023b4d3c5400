"""Distinct, entropy and recursive diversity, k-anonymity and p-sensitivity."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest
from drawn import examples
from hypothesis import given
from hypothesis import strategies as st
from privacy import slow
from refusals import refused

from aggopt import privacy
from aggopt.errors import JobError, TableError
from aggopt.partition import constraints as l_diversity
from aggopt.privacy.value_levels import assign_levels


def drawn(seed, n, groups, values):
    rng = np.random.default_rng(seed)
    labels = np.unique(rng.integers(0, groups, n), return_inverse=True)[1]
    return labels.tolist(), rng.integers(0, values, n).tolist()


cases = st.builds(
    drawn,
    st.integers(0, 10**6),
    st.integers(1, 40),
    st.integers(1, 5),
    st.integers(1, 6),
)


@given(cases, st.sampled_from([0.1, 0.5, 1, 1.5, 2, 3, 10]))
@examples(200)
def test_each_is_its_definition(case, c):
    labels, values = case
    assert privacy.k_anonymity(labels) == min(Counter(labels).values())
    distinct = min(len(set(group)) for group in slow.members(labels, values))
    assert privacy.distinct_l(labels, values) == distinct
    assert privacy.p_sensitive(labels, values) == distinct
    entropy = privacy.entropy_l(labels, values)
    assert entropy == pytest.approx(slow.entropy(labels, values), rel=1e-12)
    assert privacy.recursive_cl(labels, values, c) == slow.recursive(labels, values, c)


@given(cases)
@examples(100)
def test_laws(case):
    labels, values = map(np.array, case)
    names = np.array([f"v{v}" for v in values])
    few = np.c_[values, values % 2]
    for of in (privacy.distinct_l, privacy.entropy_l):
        assert of(labels, names) == of(labels, values)
        assert of(np.tile(labels, 2), np.tile(values, 2)) == of(labels, values)
        assert of(labels, few) == min(of(labels, values), of(labels, values % 2))
        assert of(labels // 2, values) >= of(labels, values)  # merging is monotone
    assert 1 <= privacy.entropy_l(labels, values) <= privacy.distinct_l(labels, values)
    for c in (0.5, 2):
        merged = privacy.recursive_cl(labels // 2, values, c)
        assert merged >= privacy.recursive_cl(labels, values, c)


@pytest.mark.parametrize("many", [1, 2, 3, 5, 7, 10, 49, 101])
@pytest.mark.parametrize("times", [1, 3])
def test_even_values_have_an_entropy_of_exactly_their_number(many, times):
    values = np.tile(np.arange(many), times)
    assert privacy.entropy_l(np.zeros(len(values), int), values) == many


def test_uneven_values_can_have_a_whole_entropy_too():
    # 1/2, 1/4, 1/4 has 1.5 bits; together with its mirror image 2^3 = 8 exactly
    pairs = [(a, b) for a in "aabc" for b in "aabc"]
    values = [a + b for a, b in pairs]
    assert privacy.entropy_l([0] * 16, values) == 8
    nearly = values * 10 + ["aa"]
    assert privacy.entropy_l([0] * 161, nearly) < 8


def test_many_records_that_are_nearly_even_are_not_taken_for_even():
    # so near that only whole numbers, of any length, can tell 30001 records from even
    values = np.arange(30001) % 2
    assert 2 - 2e-9 < privacy.entropy_l(np.zeros(30001, int), values) < 2


def test_recursive_at_the_border():
    group = ["a"] * 4 + ["b"] * 2 + ["c"] * 2
    assert privacy.recursive_cl([0] * 8, group, c=2) == 2  # 4 < 2 * 2 fails
    assert privacy.recursive_cl([0] * 8, group, c=1.0000001) == 2
    assert privacy.recursive_cl([0] * 8, group, c=1) == 1  # 4 < 1 * (2 + 2) fails
    assert privacy.recursive_cl([0] * 8, group, c=2.1) == 3
    assert privacy.recursive_cl([0] * 8, group, c=0.5) == 0
    # 0.1 * 10 is not below 1 in decimals, and is in binary fractions of 0.1
    assert privacy.recursive_cl([0] * 10, list(range(10)), c=0.1) == 0


def test_recursive_is_decided_beyond_the_digits_of_a_float():
    above = np.nextafter(1 / 3, 1)  # 3 times it is above 1, by less than a float shows
    assert privacy.recursive_cl([0, 0, 0], [1, 2, 3], c=float(above)) == 1
    assert privacy.recursive_cl([0, 0, 0], [1, 2, 3], c=1 / 3) == 0


def test_a_constant_attribute_is_1_diverse():
    for of in (privacy.distinct_l, privacy.entropy_l, privacy.p_sensitive):
        assert of([0, 0, 1], [4, 4, 4]) == 1


def test_missing_values():
    values = ["a", None, "b", None]
    with refused(TableError):
        privacy.distinct_l([0, 0, 1, 1], values)
    assert privacy.distinct_l([0, 0, 1, 1], values, missing="own value") == 2
    assert privacy.distinct_l([0, 1, 0, 1], values, missing="own value") == 1
    frame = pd.DataFrame({"x": [1.0, np.nan], "day": [pd.NaT, pd.Timestamp(0)]})
    assert privacy.distinct_l([0, 0], frame, missing="own value") == 2


def test_numbers_and_text_differ():
    assert privacy.distinct_l([0, 0], [1, "1"]) == 2


@pytest.mark.parametrize("c", [0, -1, float("nan"), float("inf"), "2", None, True])
def test_c_is_a_number_above_0(c):
    with refused(JobError, "c is"):
        privacy.recursive_cl([0, 0], [1, 2], c)


def test_values_that_cannot_be_compared():
    lists = np.empty(2, object)
    lists[:] = [[1], [2]]
    with refused(TableError, "cannot be compared"):
        privacy.distinct_l([0, 0], lists)


def test_errors_quote_no_value():
    with pytest.raises(TableError) as error:
        privacy.distinct_l([0, 0, 0], ["secret", None, "other"])
    assert "secret" not in str(error.value)


# --- levels of a confidential number


@pytest.mark.parametrize("levels", [2, 3, 7, 20])
def test_levels_hold_equally_many(levels):
    values = np.random.default_rng(0).permutation(420)
    found = assign_levels(values, levels)
    assert (np.bincount(found) == 420 // levels).all()
    assert (np.diff(found[np.argsort(values)]) >= 0).all()


def test_equal_numbers_share_a_level():
    values = np.random.default_rng(1).integers(0, 6, 100)
    for levels in range(2, 12):
        found = assign_levels(values, levels)
        assert all(len(set(found[values == v])) == 1 for v in range(6))
        assert sorted(set(found)) == list(range(found.max() + 1))
        assert (assign_levels(np.tile(values, 3), levels)[:100] == found).all()


def test_they_are_those_of_the_partition():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        values = rng.integers(0, 30, 200).astype(float)
        for levels in (2, 5, 20):
            theirs = l_diversity.read_levels(values, 200, levels, None)
            assert (assign_levels(values, levels) == theirs).all()
        ends = [3.0, 11.0, 25.0]
        theirs = l_diversity.read_levels(values, 200, 20, ends)
        assert (assign_levels(values, ends) == theirs).all()


def test_given_ends():
    assert assign_levels(np.array([1, 5, 5.1, 9]), [5, 6]).tolist() == [0, 1, 1, 2]
    assert assign_levels(np.array([1, 9]), [5, 6]).tolist() == [0, 1]


@pytest.mark.parametrize("levels", [1, 0, -3, [], [2, 1], [1, 1], [float("nan"), 1]])
def test_levels_that_are_none(levels):
    with refused(JobError, "levels = 20"):
        assign_levels(np.array([1, 2, 3]), levels)
