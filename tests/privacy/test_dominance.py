"""No record has most of the weight of its group."""

import numpy as np
import pytest
from drawn import examples
from hypothesis import given
from hypothesis import strategies as st

from aggopt.privacy.dominance import Dominance
from aggopt.privacy.requirement import sort_by_group

LABELS = np.array([0, 1, 0, 1, 1, 0])
WEIGHTS = np.array([3.0, 1.0, 1.0, 1.0, 1.0, 1.0])
ASKED = Dominance(WEIGHTS, 0.6, "w")


def test_the_largest_share_of_each_group_is_found() -> None:
    assert ASKED.measure_groups(*sort_by_group(LABELS)).tolist() == [0.6, 1 / 3]
    found = ASKED.check(LABELS)
    assert (found.attribute, found.promise, found.sign) == ("w", "dominance", "<=")
    assert (found.asked, found.found, found.groups, found.worst) == (0.6, 0.6, 2, 3)
    assert found.holds
    assert found.keeps == "dominance = 0.6 under [weights]"
    assert str(found) == (
        "dominance <= 0.6 holds for 'w': the worst group, of 3 records, has 0.6."
    )


def test_a_record_with_just_the_share_does_not_dominate() -> None:
    assert ASKED.is_satisfied(LABELS)
    assert Dominance(WEIGHTS, 0.6 - 1e-10).is_satisfied(LABELS)  # as rounding may do
    less = Dominance(WEIGHTS, 0.59)
    assert less.find_broken(*sort_by_group(LABELS)).tolist() == [True, False]
    assert less.measure_shortfall(*sort_by_group(LABELS)) == pytest.approx(
        [0.6 / 0.59 - 1, 0.0]
    )
    assert less.attribute == ""
    assert less.model == "dominance"
    assert (
        Dominance(WEIGHTS, 0.5).describe_kept(0.731)
        == "dominance = 0.74 under [weights]"
    )


def test_a_group_in_which_nothing_weighs_has_no_share() -> None:
    some = Dominance(np.array([0.0, 0.25, 0.0, 0.0, 0.5, 0.0]), 0.6, "w")
    assert some.measure_groups(*sort_by_group(LABELS)).tolist() == [0.0, 2 / 3]


def test_rounding_is_allowed_up_to_its_end() -> None:
    most = 0.75 * (1 + 1e-9)
    one = np.zeros(2, np.intp)
    assert Dominance(np.array([most, 1 - most]), 0.75).is_satisfied(one)
    more = np.nextafter(most, 1)
    assert not Dominance(np.array([more, 1 - more]), 0.75).is_satisfied(one)


def test_what_no_group_keeps_is_said_with_counts() -> None:
    assert ASKED.explain_infeasible(2) is None
    heavy = Dominance(np.array([9.0, 1.0, 1.0]), 0.8, "w").explain_infeasible(2)
    assert heavy.problem == (
        "One of 3 records has more than 0.8 of the weight of all by 'w': no group "
        "keeps that dominance."
    )
    assert heavy.fix == (
        "correct that weight, leave the record out, or allow a larger dominance under "
        "[weights]."
    )


@examples(30)
@given(st.lists(st.floats(0.1, 99), min_size=4, max_size=12), st.floats(0.3, 1))
def test_a_union_of_groups_that_keep_it_keeps_it(weights, share) -> None:
    labels = np.arange(len(weights)) % 2
    asked = Dominance(np.array(weights), share)
    scaled = Dominance(1024 * np.array(weights), share)
    assert asked.n == len(weights)
    assert (
        asked.find_broken(*sort_by_group(labels))
        == scaled.find_broken(*sort_by_group(labels))
    ).all()
    if asked.is_satisfied(labels):
        assert asked.is_satisfied(np.zeros(len(weights), np.intp))
        assert asked.explain_infeasible(2) is None
