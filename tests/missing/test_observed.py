"""Groups of which enough records have a value: a requirement like l and t."""

import numpy as np

from aggopt.missing import Observed
from aggopt.privacy.requirement import sort_by_group
from aggopt.repair.merge_until_satisfied import merge_until_satisfied

THERE = np.array([True, False, True, True, False, False])


def test_it_is_counted_group_by_group():
    asked = Observed("age", THERE, 2)
    check = asked.check(np.array([0, 0, 0, 1, 1, 1]))
    assert (check.found, check.holds, check.broken, check.worst) == (1.0, False, 1, 3)
    assert str(check).startswith(
        "values that are not missing >= 2 DOES NOT HOLD for 'age'"
    )
    assert check.keeps == "k of at most 1"
    assert asked.measure_shortfall(
        *sort_by_group(np.array([0, 0, 0, 1, 1, 1]))
    ).tolist() == [0.0, 0.5]
    assert Observed("age", THERE, 1).is_satisfied(np.array([0, 0, 0, 1, 1, 1]))
    assert asked.n == 6


def test_what_the_whole_table_lacks_no_groups_have():
    assert Observed("age", THERE, 3).explain_infeasible(2) is None
    assert "age" in Observed("age", THERE, 4).explain_infeasible(2).problem


def test_groups_are_merged_with_near_ones_until_it_holds():
    X = np.array([[0.0], [0.1], [5.0], [5.1], [5.2], [9.0]])
    made = merge_until_satisfied(
        X, np.array([0, 0, 1, 1, 2, 2]), [Observed("age", THERE, 1)]
    )
    assert made.tolist() == [0, 0, 1, 1, 1, 1]
