"""(epsilon, m)-anonymity and dissimilarity, against their definitions in fractions."""

from decimal import Decimal
from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
import pytest
from drawn import examples
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused

from aggopt import privacy
from aggopt.errors import JobError, TableError
from aggopt.privacy.exact_order import Numbers, count_crowded, select_epsilon
from aggopt.privacy.models.dissimilarity import Dissimilarity
from aggopt.privacy.models.epsilon_m import Proximity
from aggopt.privacy.models.p_sensitive import Sensitivity
from aggopt.privacy.requirement import sort_by_group


def exact(number):
    return Fraction(repr(number)) if isinstance(number, float) else Fraction(number)


def near(x, y, epsilon, relative):
    reach = exact(epsilon) * (abs(exact(x)) if relative else 1)
    return abs(exact(x) - exact(y)) <= reach


def parted(labels, values):
    return [
        [v for v, g in zip(values, labels, strict=True) if g == h] for h in set(labels)
    ]


def slow_m(labels, values, epsilon, relative=False):
    """The largest m: of each group, its size over the most values near one of it."""
    return min(
        Fraction(len(group), sum(near(x, y, epsilon, relative) for y in group))
        for group in parted(labels, values)
        for x in group
    )


def slow_delta(labels, values, epsilon):
    """The largest delta: the share of others that a value is farther from."""
    shares = [Fraction(1)]
    for group in parted(labels, values):
        for i, x in enumerate(group):
            others = group[:i] + group[i + 1 :]
            far = sum(not near(x, y, epsilon, False) for y in others)
            shares += [Fraction(far, len(others))] if others else []
    return min(shares)


TABLES = st.integers(1, 14).flatmap(
    lambda n: st.tuples(
        st.lists(st.integers(0, 3), min_size=n, max_size=n),
        st.lists(
            st.one_of(
                st.integers(-9, 9), st.sampled_from([0.1, 0.2, 0.3, 0.7, -0.1, 1e9])
            ),
            min_size=n,
            max_size=n,
        ),
    )
)
EPSILONS = st.sampled_from([0, 0.1, 0.2, 1, 2, 2.5, 7])


def made(table):
    labels, values = table
    return np.unique(labels, return_inverse=True)[1], values


def numbers(values):
    return Numbers.of(values, np.arange(len(values)))


@given(TABLES, EPSILONS, st.booleans(), st.integers(1, 4))
@examples(150)
def test_m_is_that_of_the_definition(table, epsilon, relative, m):
    labels, values = made(table)
    expected = slow_m(labels, values, epsilon, relative)
    column = pd.Series(values, dtype=object)
    assert privacy.epsilon_m(labels, column, epsilon, relative=relative) == float(
        expected
    )
    asked = Proximity("x", numbers(values), exact(epsilon), m, relative)
    assert asked.is_satisfied(labels) == (expected >= m)
    short, broken = (
        asked.measure_shortfall(*sort_by_group(labels)),
        asked.find_broken(*sort_by_group(labels)),
    )
    assert ((short > 0) == broken).all()


@given(TABLES, EPSILONS, st.sampled_from([Fraction(1, 3), Fraction(1, 2), Fraction(1)]))
@examples(150)
def test_delta_is_that_of_the_definition(table, epsilon, delta):
    labels, values = made(table)
    expected = slow_delta(labels, values, epsilon)
    column = pd.Series(values, dtype=object)
    assert privacy.dissimilarity(labels, column, epsilon) == float(expected)
    asked = Dissimilarity("x", numbers(values), exact(epsilon), delta)
    assert asked.is_satisfied(labels) == (expected >= delta)
    short, broken = (
        asked.measure_shortfall(*sort_by_group(labels)),
        asked.find_broken(*sort_by_group(labels)),
    )
    assert ((short > 0) == broken).all()


@given(TABLES, st.integers(1, 4))
@examples(50)
def test_p_counts_distinct_values(table, p):
    labels, values = made(table)
    codes = np.unique([float(v) for v in values], return_inverse=True)[1]
    fewest = min(len(set(map(float, group))) for group in parted(labels, values))
    asked = Sensitivity("x", codes, p)
    assert asked.is_satisfied(labels) == (fewest >= p)
    assert asked.check(labels).found == privacy.p_sensitive(labels, codes) == fewest


def both(epsilon, m, delta, values, relative=False):
    of = numbers(values)
    return (
        Proximity("x", of, exact(epsilon), m, relative),
        Dissimilarity("x", of, exact(epsilon), exact(delta)),
    )


def test_neither_need_hold_of_a_union_of_groups_of_which_it_holds():
    for asked in both(1, 2, 1, [0, 5, -1, 1]):
        assert asked.is_satisfied(np.array([0, 0, 1, 1]))
        assert not asked.is_satisfied(np.zeros(4, int))
        assert not asked.additive
        assert asked.explain_infeasible(2) is None


def test_p_holds_of_a_union_if_it_holds_of_one():
    asked = Sensitivity("x", np.array([0, 1, 0, 0]), 2)
    assert asked.is_satisfied(np.zeros(4, int))
    assert asked.additive


def partitions(n, k):
    """Labels of every partition of n records into groups of k or more."""
    for labels in product(*(range(i + 1) for i in range(n))):
        if all(labels[i] <= max(labels[:i], default=-1) + 1 for i in range(n)):
            found = np.array(labels)
            if np.bincount(found).min() >= k:
                yield found


@pytest.mark.parametrize("seed", range(12))
def test_what_is_called_infeasible_is(seed):
    rng = np.random.default_rng(seed)
    values = rng.integers(-3, 12, 6).tolist()
    for asked in (*both(2, 2, 0.6, values), *both(0.5, 2, 1, values, relative=True)):
        refusal = asked.explain_infeasible(2)
        feasible = any(asked.is_satisfied(labels) for labels in partitions(6, 2))
        assert refusal is None or not feasible
        assert refusal is None or "cannot be kept of 'x'" in refusal.problem


def test_too_many_equal_values_are_infeasible_and_said_to_be():
    for asked in both(0, 2, 1, [7, 7, 7, 7, 8, 9]):
        said = str(asked.explain_infeasible(2))
        assert "4 of 6 records lie" in said
        assert "promise" in said
    assert "m of at most 1" in str(
        both(0, 2, 1, [7, 7, 7, 7, 8, 9])[0].explain_infeasible(2)
    )


@pytest.mark.parametrize(("alike", "refused"), [(3, False), (4, True)])
def test_a_crowd_of_just_the_share_of_all_records_is_feasible(alike, refused):
    values = [7] * alike + list(range(10, 16 - alike))
    m, delta = both(0, 2, 1, values)  # alike <= 6 / 2 both
    assert (m.explain_infeasible(2) is not None) == refused
    assert (delta.explain_infeasible(2) is not None) == refused


@pytest.mark.parametrize(("alike", "refused"), [(3, False), (4, True)])
def test_a_crowd_may_be_as_large_as_delta_leaves_room_for(alike, refused):
    values = [7] * alike + list(range(10, 14 - alike))
    delta = both(0, 2, 0.5, values)[1]  # alike <= 2 / 2 + 4 / 2
    assert (delta.explain_infeasible(2) is not None) == refused


def test_a_crowd_too_large_for_the_groups_that_there_can_be():
    delta = both(0, 2, 0.8, [7, 7, 7, 10, 11])[1]  # 3 > .8 * 2 + .2 * 5, in 5 // 2
    assert delta.explain_infeasible(2) is not None
    assert not any(delta.is_satisfied(labels) for labels in partitions(5, 2))


def test_a_share_just_above_what_floats_tell_apart_is_exact():
    # 2 of 3 others are far, and 0.6666666666666667 of 3 is more than 2
    asked = Dissimilarity(
        "x", numbers([0, 1, 10, 11]), Fraction(1), exact(2 / 3 + 1e-16)
    )
    assert asked.delta == Fraction("0.6666666666666667")
    assert asked.find_broken(np.arange(4), np.array([0, 4])).tolist() == [True]


def test_a_share_smaller_than_floats_divide_by_is_exact():
    asked = Dissimilarity("x", numbers([1, 1, 1, 9]), Fraction(0), exact(5e-324))
    assert asked.find_broken(np.arange(4), np.array([0, 2, 4])).tolist() == [
        True,
        False,
    ]


def test_a_crowd_is_of_values_that_are_all_near_each_other():
    of = numbers([-10, -9, -8, 0, 8, 9, 10])
    assert count_crowded(of, of.near(Fraction(1), relative=False)) == 2
    assert count_crowded(of, of.near(Fraction(2), relative=False)) == 3
    assert count_crowded(of, of.near(Fraction(1, 4), relative=True)) == 3


@pytest.mark.parametrize(
    ("values", "epsilon", "relative", "most"),
    [
        ([0, 1, 2], 2, False, 3),
        ([0.5, 1, 2], 1.5, False, 3),
        ([-3, -2, -1], 2, False, 3),
        ([8, 9, 10.4], 0.25, True, 2),  # 8 is near 10.4, and 10.4 is not near 8
        ([-8, -9, -10.4], 0.25, True, 2),
        ([4, 4, 4, 9], 1, False, 3),
    ],
)
def test_a_crowd_begins_nearest_to_zero(values, epsilon, relative, most):
    of = numbers(values)
    assert count_crowded(of, of.near(exact(epsilon), relative=relative)) == most


def test_numbers_of_any_kind_are_counted_exactly():
    kinds = [np.float64(0.3), np.int8(1), Decimal("0.3"), 2**70, Fraction(1).numerator]
    of = Numbers.of(kinds, np.arange(5))
    assert of.values == (Fraction(3, 10), 1, 2**70)
    assert of.place.tolist() == [0, 1, 0, 2, 1]


def test_numbers_beyond_a_float_are_near_each_other_exactly():
    far = 10**400
    assert privacy.epsilon_m([0, 0, 0], [far, far + 1, far + 3], 1) == 1.5
    assert privacy.dissimilarity([0, 0, 0], [far, far + 2, far + 4], 1) == 1


@pytest.mark.parametrize("odd", [True, "1.5", np.bool_(True), 1j, None])
def test_truth_values_and_text_are_no_numbers(odd):
    with refused(TableError):
        Numbers.of([1, odd], np.arange(2))


def test_an_epsilon_is_one_for_all_or_one_for_each():
    assert select_epsilon(0.1, "pay", "proximity") == Fraction(1, 10)
    assert select_epsilon({"pay": 0.1, "age": 5}, "pay", "proximity") == Fraction(1, 10)


def test_decimals_count_as_they_are_written():
    assert privacy.epsilon_m([0, 0], [0.3, 0.4], 0.1) == 1
    assert privacy.epsilon_m([0, 0], [0.3, 0.4], 0.0999) == 2
    assert privacy.dissimilarity([0, 0], [0.3, 0.4], 0.1) == 0


def test_a_shift_and_a_scale_change_nothing():
    rng = np.random.default_rng(0)
    values, labels = rng.integers(0, 30, 40), np.arange(40) % 8
    for measure in (privacy.epsilon_m, privacy.dissimilarity):
        found = measure(labels, values, 3)
        assert measure(labels, values + 17, 3) == found
        assert measure(labels, values * 4, 12) == found
        assert measure(labels, -values, 3) == found
        order = rng.permutation(40)
        assert measure(labels[order], values[order], 3) == found
        both_ = pd.DataFrame({"a": values, "b": np.arange(40) * 100})
        assert measure(labels, both_, 3) == found


@pytest.mark.parametrize("measure", [privacy.epsilon_m, privacy.dissimilarity])
def test_what_is_no_number_is_refused(measure):
    with refused(TableError):
        measure([0, 0, 0], [1, "a", float("inf")], 1)
    with refused(TableError):
        measure([0, 0], [1.0, float("nan")], 1)
    for epsilon in (-1, "1", None, float("nan")):
        with refused(JobError, "epsilon is"):
            measure([0, 0], [1, 2], epsilon)


@pytest.mark.parametrize("odd", ["no", 1, None])
def test_relative_is_a_truth_value_or_refused(odd):
    with pytest.raises(
        JobError, match=f"relative is .*{type(odd).__name__}|'no'"
    ) as no:
        privacy.epsilon_m([0, 0, 0, 0], [10, 11, 20, 30], 0.1, relative=odd)
    assert "where epsilon is a share of the value" in no.value.fix
    share = privacy.epsilon_m([0, 0, 0, 0], [10, 11, 20, 30], 0.1, relative=np.True_)
    assert share == 2


def test_the_sentence_of_the_audit():
    m, delta = both(5, 2, 0.75, [10, 20, 21, 30, 50])
    labels = np.array([0, 0, 0, 1, 1])
    assert str(m.check(labels)) == (
        "(5, m)-anonymity m >= 2 DOES NOT HOLD for 'x': the worst group, of 3 records, "
        "has 1.5; 1 of 2 groups fails."
    )
    assert m.check(labels).keeps == "m of at most 1"
    assert str(delta.check(labels)) == (
        "(5, delta)-dissimilarity delta >= 0.75 DOES NOT HOLD for 'x': the worst "
        "group, of 3 records, has 0.5; 1 of 2 groups fails."
    )
    assert delta.check(labels).keeps == "delta of at most 0.5, rounded down"
    p = Sensitivity("x", np.array([0, 1, 2, 0, 0]), 2)
    assert str(p.check(labels)) == (
        "p-sensitive p >= 2 DOES NOT HOLD for 'x': the worst group, of 2 records, has "
        "1; 1 of 2 groups fails."
    )
    assert p.check(labels).keeps == "p of at most 1"
    relative = both(0.5, 2, 1, [1, 2], relative=True)[0]
    assert relative.check(np.zeros(2, int)).promise == "(0.5 relative, m)-anonymity m"


def test_repr_shows_no_record():
    for asked in both(5, 2, 0.75, [10, 20]):
        assert "Fraction(10" not in repr(asked)
        assert "20" not in repr(asked)


def test_what_all_records_together_lack_is_refused_with_what_they_have():
    codes = np.array([0, 1, 2, 0])
    assert Sensitivity("x", codes, 3).explain_infeasible(2) is None
    refusal = Sensitivity("x", codes, 4).explain_infeasible(2)
    assert refusal.problem == (
        "p-sensitive p >= 4 cannot be kept of 'x': all 4 records together have 3, and "
        "not every group can have more."
    )
    assert refusal.fix == "promise p of at most 3, or drop it, as identifier."

    class AtMost(Sensitivity):
        sign = "<="

    assert "can have less." in AtMost("x", codes, 4).explain_infeasible(2).problem
