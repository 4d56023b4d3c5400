"""Weights of values that are there, and who has most of them."""

import numpy as np
from surveys import survey

from aggopt.release.audit.dominance import (
    find_most_dominated,
    make_dominance_requirements,
    select_value_weights,
)

WEIGHTS = np.array([3.0, 1.0, 2.0, 2.0])
THERE = np.array([[True, True], [True, False], [True, True], [True, False]])


def test_a_value_that_is_missing_has_no_weight() -> None:
    assert select_value_weights(WEIGHTS, THERE | True) is WEIGHTS
    found = select_value_weights(WEIGHTS, THERE)
    assert found.tolist() == [[3.0, 3.0], [1.0, 0.0], [2.0, 2.0], [2.0, 0.0]]
    assert found.dtype == float


def test_dominance_is_asked_of_each_attribute_that_has_holes() -> None:
    job = survey(weights={"dominance": 0.7})
    assert make_dominance_requirements(job, None) == ()
    assert (
        make_dominance_requirements(survey(weights={"dominance": 1.0}), WEIGHTS) == ()
    )
    (one,) = make_dominance_requirements(job, WEIGHTS)
    assert (one.weights is WEIGHTS, one.share, one.attribute) == (True, 0.7, "w")
    first, second = make_dominance_requirements(
        job, select_value_weights(WEIGHTS, THERE)
    )
    assert first.weights.tolist() == WEIGHTS.tolist()
    assert second.weights.tolist() == [3.0, 0.0, 2.0, 0.0]


def test_the_worst_group_of_any_attribute_is_found() -> None:
    job, pairs = survey(weights={"dominance": 0.7}), np.array([0, 0, 1, 1])
    assert find_most_dominated((), [((0, 1), pairs)]) == []
    whole = make_dominance_requirements(job, WEIGHTS)
    (found,) = find_most_dominated(whole, [((0,), pairs), ((1,), np.zeros(4, np.intp))])
    assert found.found == 0.75
    asked = make_dominance_requirements(job, select_value_weights(WEIGHTS, THERE))
    (first,) = find_most_dominated(asked, [((0,), pairs)])
    (second,) = find_most_dominated(asked, [((0,), pairs), ((1,), pairs)])
    assert (first.found, second.found) == (0.75, 1.0)
