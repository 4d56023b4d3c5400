"""Distances that a user gives, and which points have them."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from encoding.mixed import squared
from refusals import refused

from aggopt.encoding.levels import TableOfDistances
from aggopt.errors import JobError

K23 = {  # lengths of paths in the complete bipartite graph
    "a1": {"a2": 2, "b1": 1, "b2": 1, "b3": 1},
    "a2": {"b1": 1, "b2": 1, "b3": 1},
    "b1": {"b2": 2, "b3": 2},
    "b2": {"b3": 2},
}


@pytest.mark.parametrize("seed", range(4))
def test_squared_distances_of_points_are_recovered(seed: int) -> None:
    X = np.random.default_rng(seed).normal(size=(6, 3))
    D = squared(X)
    given = pd.DataFrame(D, index=list("abcdef"), columns=list("abcdef"))
    of = TableOfDistances.of(given)
    np.testing.assert_array_equal(of.distances, D)
    np.testing.assert_allclose(squared(of.points), D, rtol=0, atol=1e-12)
    assert of.points.shape == (6, 3)


def test_one_way_round_is_enough() -> None:
    of = TableOfDistances.of({"b": {"a": 1}, "a": {"c": 2}, "c": {"b": 1.5}})
    assert of.levels == ("a", "b", "c")
    assert of.distances.tolist() == [[0, 1, 2], [1, 0, 1.5], [2, 1.5, 0]]


def test_what_is_not_of_negative_type_is_refused_with_its_eigenvalue() -> None:
    with refused(JobError, "0.2", "0.4"):
        TableOfDistances.of(K23)


def test_what_the_refusal_advises_is_accepted() -> None:
    more = 0.400004
    lifted = {u: {v: d + more for v, d in row.items()} for u, row in K23.items()}
    of = TableOfDistances.of(lifted)
    np.testing.assert_allclose(squared(of.points), of.distances, rtol=0, atol=1e-12)


def test_levels_without_distance_are_one_point() -> None:
    of = TableOfDistances.of({"a": {"b": 0, "c": 1}, "b": {"c": 1}})
    np.testing.assert_allclose(squared(of.points), of.distances, atol=1e-12)


@pytest.mark.parametrize(
    "given",
    [
        [1],
        {},
        {"a": 1},
        {"a": {"b": -1}},
        {"a": {"b": np.inf}},
        {"a": {"b": "1"}},
        {"a": {"b": 1}, "b": {"a": 2}},
        {"a": {"a": 1, "b": 1}},
        {"a": {"b": 1, "c": 1}},
    ],
)
def test_what_is_no_table_of_distances_is_refused(given: Any) -> None:
    with refused(JobError):
        TableOfDistances.of(given)
