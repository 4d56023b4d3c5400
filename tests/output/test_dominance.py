"""Weights of values that are there, and who has most of them."""

import numpy as np
from surveys import survey

from aggopt.output.dominance import dominance_of, most_dominated, of_values

WEIGHTS = np.array([3.0, 1.0, 2.0, 2.0])
THERE = np.array([[True, True], [True, False], [True, True], [True, False]])


def test_a_value_that_is_missing_has_no_weight() -> None:
    assert of_values(WEIGHTS, THERE | True) is WEIGHTS
    found = of_values(WEIGHTS, THERE)
    assert found.tolist() == [[3.0, 3.0], [1.0, 0.0], [2.0, 2.0], [2.0, 0.0]]
    assert found.dtype == float


def test_dominance_is_asked_of_each_attribute_that_has_holes() -> None:
    job = survey(weights={"dominance": 0.7})
    assert dominance_of(job, None) == ()
    assert dominance_of(survey(weights={"dominance": 1.0}), WEIGHTS) == ()
    (one,) = dominance_of(job, WEIGHTS)
    assert (one.weights is WEIGHTS, one.share, one.attribute) == (True, 0.7, "w")
    first, second = dominance_of(job, of_values(WEIGHTS, THERE))
    assert first.weights.tolist() == WEIGHTS.tolist()
    assert second.weights.tolist() == [3.0, 0.0, 2.0, 0.0]


def test_the_worst_group_of_any_attribute_is_found() -> None:
    job, pairs = survey(weights={"dominance": 0.7}), np.array([0, 0, 1, 1])
    assert most_dominated((), [((0, 1), pairs)]) == []
    whole = dominance_of(job, WEIGHTS)
    (found,) = most_dominated(whole, [((0,), pairs), ((1,), np.zeros(4, np.intp))])
    assert found.found == 0.75
    asked = dominance_of(job, of_values(WEIGHTS, THERE))
    (first,) = most_dominated(asked, [((0,), pairs)])
    (second,) = most_dominated(asked, [((0,), pairs), ((1,), pairs)])
    assert (first.found, second.found) == (0.75, 1.0)
