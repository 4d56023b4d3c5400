"""Weights of values that are there, and who has most of them."""

import numpy as np
from surveys import survey

from aggopt.release.audit.dominance import (
    dominance_requirement,
    find_most_dominated,
    weights_of_values,
)

WEIGHTS = np.array([3.0, 1.0, 2.0, 2.0])
THERE = np.array([[True, True], [True, False], [True, True], [True, False]])


def test_a_value_that_is_missing_has_no_weight() -> None:
    assert weights_of_values(WEIGHTS, THERE | True) is WEIGHTS
    found = weights_of_values(WEIGHTS, THERE)
    assert found.tolist() == [[3.0, 3.0], [1.0, 0.0], [2.0, 2.0], [2.0, 0.0]]
    assert found.dtype == float


def test_dominance_is_asked_of_each_attribute_that_has_holes() -> None:
    job = survey(weights={"dominance": 0.7})
    assert dominance_requirement(job, None) == ()
    assert dominance_requirement(survey(weights={"dominance": 1.0}), WEIGHTS) == ()
    (one,) = dominance_requirement(job, WEIGHTS)
    assert (one.weights is WEIGHTS, one.share, one.attribute) == (True, 0.7, "w")
    first, second = dominance_requirement(job, weights_of_values(WEIGHTS, THERE))
    assert first.weights.tolist() == WEIGHTS.tolist()
    assert second.weights.tolist() == [3.0, 0.0, 2.0, 0.0]


def test_the_worst_group_of_any_attribute_is_found() -> None:
    job, pairs = survey(weights={"dominance": 0.7}), np.array([0, 0, 1, 1])
    assert find_most_dominated((), [((0, 1), pairs)]) == []
    whole = dominance_requirement(job, WEIGHTS)
    (found,) = find_most_dominated(whole, [((0,), pairs), ((1,), np.zeros(4, np.intp))])
    assert found.found == 0.75
    asked = dominance_requirement(job, weights_of_values(WEIGHTS, THERE))
    (first,) = find_most_dominated(asked, [((0,), pairs)])
    (second,) = find_most_dominated(asked, [((0,), pairs), ((1,), pairs)])
    assert (first.found, second.found) == (0.75, 1.0)
