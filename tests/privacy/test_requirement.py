"""What is promised of one attribute: decided exactly, said with counts."""

import warnings
from fractions import Fraction
from itertools import product
from math import exp, log, prod

import numpy as np
import pytest
from privacy import slow

from aggopt.privacy import t_closeness
from aggopt.privacy.closeness import suppress_constant_warnings
from aggopt.privacy.distance import compute_starts
from aggopt.privacy.models.l_diversity import Diversity
from aggopt.privacy.models.p_sensitive import Sensitivity
from aggopt.privacy.models.t_closeness import Closeness
from aggopt.privacy.nested import Nested
from aggopt.privacy.ordered_attribute import Ordered
from aggopt.privacy.requirement import LEAST, Check, find_broken_groups

#        group 0     group 1     group 2
LABELS = np.array([0, 0, 0, 0, 1, 1, 1, 2, 2])
CODES = np.array([0, 1, 2, 0, 1, 1, 2, 2, 2])
L1 = "l of at most 1"
ENTROPY = exp(-(2 / 3 * log(2 / 3) + 1 / 3 * log(1 / 3)))


def runs(labels=LABELS):
    return np.argsort(labels, kind="stable"), compute_starts(np.bincount(labels))


def close(t=0.5, distance=None):
    return Closeness("pay", distance or Ordered.of(CODES), t)


def diverse(least=2, **how):
    return Diversity("pay", CODES, least, **how)


KEPT = Check("pay", "distinct l", 2, 3, True, groups=4, broken=0, worst=7)


@pytest.mark.parametrize(
    ("kept", "words"),
    [
        (
            KEPT,
            "distinct l >= 2 holds for 'pay': the worst group, of 7 records, has 3.",
        ),
        (
            Check("pay", "entropy l", 3, 2.25, False, 4, 2, 7),
            "entropy l >= 3 DOES NOT HOLD for 'pay': the worst group, of 7 records, "
            "has 2.25; 2 of 4 groups fail.",
        ),
        (
            Check("pay", "t (equal)", 0.25, 0.5, False, 4, 1, 7, sign="<="),
            "t (equal) <= 0.25 DOES NOT HOLD for 'pay': the worst group, of 7 "
            "records, has 0.5; 1 of 4 groups fails.",
        ),
        (
            Check("pay", "t (equal)", 0.25, 0, True, 4, 0, 7, trivial=True, sign="<="),
            "t (equal) <= 0.25 holds trivially for 'pay': it has one value only, "
            "known of everybody.",
        ),
    ],
)
def test_it_is_said_with_counts(kept, words):
    assert str(kept) == words


def test_diversity_is_of_the_worst_group():
    assert diverse().check(LABELS) == Check(
        "pay", "distinct l", 2, 1, False, 3, 1, 2, keeps=L1
    )
    assert diverse(1).check(LABELS) == Check(
        "pay", "distinct l", 1, 1, True, 3, 0, 2, keeps=L1
    )


def test_entropy_and_recursive_diversity():
    two = LABELS < 2
    entropy = Diversity("pay", CODES[two], 2, "entropy")
    found = entropy.check(LABELS[two])
    assert found.promise == "entropy l"
    assert found.found == pytest.approx(ENTROPY)
    assert (found.broken, found.worst) == (1, 3)
    recursive = Diversity("pay", CODES[two], 2, "recursive", c=2.5)
    found = recursive.check(LABELS[two])
    expected = slow.recursive(LABELS[two].tolist(), CODES[two].tolist(), 2.5)
    assert (found.promise, found.found) == ("recursive (2.5, l)", expected)


@pytest.mark.parametrize(
    ("codes", "how", "name"),
    [
        (CODES, {"values": 9}, "distinct l of 3 levels of 9 values"),
        (CODES // 2, {"values": 9}, "distinct l of 2 levels of 9 values"),
        (CODES * 0, {"values": 9}, "distinct l of 1 level of 9 values"),
        (CODES, {"kind": "entropy"}, "entropy l"),
        (CODES, {"kind": "recursive", "c": 3.0}, "recursive (3, l)"),
    ],
)
def test_its_name_says_what_is_counted(codes, how, name):
    assert Diversity("pay", codes, 2, **how).check(LABELS).promise == name


def test_the_name_of_closeness_says_which_distance():
    assert close().check(LABELS).promise == "t (ordered)"
    equal = Closeness("pay", Nested.equal(CODES), 0.1, "equal")
    assert equal.check(LABELS).promise == "t (equal)"


@pytest.mark.parametrize("distance", [Ordered.of(CODES), Nested.equal(CODES)])
def test_closeness_is_of_the_farthest_group(distance):
    oracle = slow.ordered if isinstance(distance, Ordered) else slow.equal
    worst = oracle(LABELS.tolist(), CODES.tolist())
    found = close(0.3, distance).check(LABELS)
    assert found.found == float(worst) > 0.3
    assert (found.asked, found.holds, found.groups) == (0.3, False, 3)
    assert found.worst == 2
    assert not found.trivial


def test_the_border_is_kept_and_what_lies_beyond_is_broken():
    worst = Ordered.of(CODES).largest(LABELS)
    assert close(worst).check(LABELS).holds
    less = close(worst - Fraction(1, 10**12)).check(LABELS)
    assert (less.holds, less.broken) == (False, 1)


def test_of_equally_bad_groups_the_smallest_is_named():
    labels, codes = np.array([0, 0, 0, 1, 1]), np.array([4, 4, 4, 0, 0])
    assert Diversity("pay", codes, 2).check(labels).worst == 2


def test_one_value_is_trivially_close():
    same = np.zeros(4, np.int64)
    found = Closeness("pay", Ordered.of(same), 0.1)
    kept = found.check(np.array([0, 0, 1, 1]))
    assert (kept.trivial, kept.holds, kept.found, kept.broken) == (True, True, 0, 0)
    assert not Diversity("pay", same, 2).check(np.array([0, 0, 1, 1])).trivial


def test_what_is_short_is_zero_exactly_where_the_promise_is_kept():
    for promise in (close(0.3), diverse(2), diverse(3), diverse(2, kind="entropy")):
        short, broken = promise.measure_shortfall(*runs()), promise.find_broken(*runs())
        assert ((short > 0) == broken).all()
        assert broken.any()


def test_what_is_short_is_a_share_of_diversity_or_the_distance_beyond_t():
    assert diverse(4).measure_shortfall(*runs()).tolist() == [1 / 4, 2 / 4, 3 / 4]
    table = Ordered.of(CODES)
    assert close(0.3).measure_shortfall(*runs()) == pytest.approx(
        np.maximum(0, table.emd(LABELS) - 0.3)
    )


def test_what_is_short_by_less_than_rounding_is_short_all_the_same():
    worst = Ordered.of(CODES).largest(LABELS)
    short = close(worst - Fraction(1, 10**30)).measure_shortfall(*runs())
    assert short.tolist() == [0, 0, 1 / (1 + 2 * len(LABELS))]


def test_a_record_may_be_in_several_groups():
    records, starts = np.array([0, 1, 2, 0, 3]), np.array([0, 3, 5])
    assert diverse(2).find_broken(records, starts).tolist() == [False, True]
    table = Ordered.of(CODES)
    far = [slow.between(CODES[of], CODES) for of in ([0, 1, 2], [0, 3])]
    assert far[0] < far[1]
    for t, broken in ((far[0] - Fraction(1, 999), 2), (far[0], 1), (far[1], 0)):
        apart = Closeness("pay", table, t)
        assert apart.find_broken(records, starts).sum() == broken


class Rounded(Diversity):
    """As if logarithms were rounded to 8 digits, and a little low."""

    low = 0.0

    def measure_groups(self, records, starts):
        return np.round(super().measure_groups(records, starts), 8) - self.low


def test_entropy_is_decided_exactly_whatever_rounding_makes_of_it(monkeypatch):
    odd, even = np.arange(30001) % 2, np.arange(30000) % 2
    assert not Rounded("pay", odd, 2, "entropy").is_satisfied(odd * 0)
    assert Rounded("pay", even, 2, "entropy").is_satisfied(even * 0)
    monkeypatch.setattr(Rounded, "low", 1e-9)
    assert Rounded("pay", even, 2, "entropy").is_satisfied(even * 0)
    assert not Rounded("pay", even, 2).is_satisfied(even * 0)


def test_of_several_groups_each_entropy_is_decided_exactly():
    codes = np.append([0, 1], np.arange(30001) % 2)
    broken = Diversity("pay", codes, 2, "entropy").find_broken(
        np.arange(30003), np.array([0, 2, 30003])
    )
    assert broken.tolist() == [False, True]


def test_a_factor_smaller_than_floats_divide_by_is_exact():
    tiny = 5e-324  # of 10^324 parts: no float counts them
    asked = Diversity("pay", CODES, 2, "recursive", c=tiny)
    assert asked.measure_groups(*runs()).tolist() == [0, 0, 0]


def test_groups_are_those_of_the_records_that_are_passed():
    labels, codes = np.array([0, 1, 0, 1]), np.array([0, 0, 1, 0])
    for asked in (Sensitivity("pay", codes, 2), Diversity("pay", codes, 2)):
        assert asked.find_broken(*runs(labels)).tolist() == [False, True]
        assert asked.measure_groups(*runs(labels)).tolist() == [2, 1]
        assert asked.measure_groups(*runs(labels)).dtype == float


def test_repr_shows_no_record():
    assert "array" not in repr(close())


@pytest.mark.parametrize("least", [2, 3, 4])
def test_entropy_is_decided_in_whole_numbers(least):
    # of s records, value v in c_v: s^s >= l^s prod c_v^c_v
    for counts in product(range(5), repeat=4):
        size = sum(counts)
        if not size:
            continue
        codes = np.repeat(np.arange(4), counts)
        group = Diversity("x", np.append(codes, 3), least, "entropy")
        reached = size**size >= least**size * prod(c**c for c in counts if c)
        broken = group.find_broken(np.arange(size), np.array([0, size]))
        assert broken.tolist() == [not reached]


def test_a_group_is_broken_that_breaks_any_requirement():
    labels = np.tile(np.arange(4), 2)
    one = Sensitivity("a", np.array([0, 0, 0, 0, 1, 0, 1, 0]), 2)
    two = Sensitivity("b", np.array([0, 0, 0, 0, 1, 1, 0, 0]), 2)
    assert find_broken_groups((one,), labels).tolist() == [False, True, False, True]
    assert find_broken_groups((one, two), labels).tolist() == [False, True, True, True]
    nothing = find_broken_groups((), labels)
    assert (nothing.tolist(), nothing.dtype) == ([False] * 4, np.bool_)


class AtMost(Sensitivity):
    sign = "<="


def test_the_extreme_is_that_of_the_group_that_protects_least():
    found = np.array([3.0, 1.0, 2.0])
    for kind, worst in ((Sensitivity, 1.0), (AtMost, 3.0)):
        extreme = kind("x", CODES, 2).find_worst(*runs(), found)
        assert (extreme, type(extreme)) == (worst, float)


def test_what_is_short_of_a_count_that_must_stay_below():
    # groups of 3, 2 and 1 values, 2 asked for at most; broken says fewer than 2
    found = AtMost("x", CODES, 2).measure_shortfall(*runs())
    assert found.tolist() == [0, 0, LEAST]


def test_p_of_two_is_still_a_promise():
    asked = Sensitivity("x", np.array([0, 1, 0]), 3)
    assert (
        asked.explain_infeasible(2).fix
        == "promise p of at most 2, or drop it, as identifier."
    )
    alone = Sensitivity("x", np.zeros(3, int), 2).explain_infeasible(2)
    assert alone.fix.startswith("promise p of at most 1, that is none, or")


def test_uniform_values_are_no_more_diverse_in_another_sense():
    asked = Diversity("x", np.array([0, 1, 2]), 4, "entropy").explain_infeasible(2)
    assert asked.fix == "promise l of at most 3, or drop the attribute, as identifier."


class Fewer(AtMost):
    def find_broken(self, records, starts):
        return self.measure_groups(records, starts) > self.p


def test_what_is_beyond_a_count_is_a_share_of_it():
    # groups of 3, 2 and 1 values
    assert Fewer("x", CODES, 1).measure_shortfall(*runs()).tolist() == [2, 1, 0]


def test_only_the_warning_of_constant_values_is_kept_back():
    with suppress_constant_warnings():
        assert t_closeness([0, 0, 1], [7, 7, 7]) == 0
    with suppress_constant_warnings(), pytest.raises(RuntimeWarning, match="one value"):
        warnings.warn("it has one value only", RuntimeWarning, stacklevel=1)
