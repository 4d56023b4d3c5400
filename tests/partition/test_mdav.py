"""What MDAV does that other partitioners need not."""

import numpy as np
import pytest
from refusals import refused

from aggopt.errors import UnknownNameError
from aggopt.partition import mdav


def sizes(n: int, k: int, ending: str) -> list[int]:
    X = np.random.default_rng(n).normal(size=(n, 2))
    return np.bincount(mdav(X, k, ending=ending)).tolist()


@pytest.mark.parametrize(
    ("n", "expected"),
    [(3, [3]), (5, [5]), (6, [3, 3]), (8, [3, 5]), (9, [3, 3, 3]), (11, [3, 3, 5])],
)
def test_3k_keeps_all_groups_but_the_last_at_k(n: int, expected: list[int]) -> None:
    assert sizes(n, 3, "3k") == expected


@pytest.mark.parametrize(
    ("n", "expected"),
    [(3, [3]), (5, [5]), (6, [3, 3]), (9, [3, 3, 3]), (10, [3, 3, 4]), (11, [3, 3, 5])],
)
def test_nearest_makes_a_group_of_k_or_more(n: int, expected: list[int]) -> None:
    assert sizes(n, 3, "nearest") == expected


def test_nearest_sends_fewer_than_k_where_they_are_closest() -> None:
    x = np.array([97, 98, 99, 0, 1, 2, 50, 3])[:, None]  # 50 is 48 from 98, 49 from 1
    labels = mdav(x, 3, ending="nearest", scale="none")
    assert labels.tolist() == [0, 0, 0, 1, 1, 1, 0, 1]


def test_first_of_equals_wins() -> None:
    x = np.array([[-1.0], [1.0], [-1.0], [1.0]])
    assert mdav(x, 2).tolist() == [0, 1, 0, 1]
    assert mdav(-x, 2).tolist() == [0, 1, 0, 1]
    assert mdav(np.zeros((5, 1)), 2).tolist() == [0, 0, 1, 1, 1]


def test_unscaled_lets_the_widest_attribute_decide() -> None:
    X = np.array([[0, 0.1], [0, 0.9], [9, 0.1], [9, 0.9]])
    assert mdav(X * [1, 1000], 2, scale="none").tolist() == [0, 1, 0, 1]
    assert mdav(X, 2, scale="none").tolist() == [0, 0, 1, 1]


@pytest.mark.parametrize(
    "option", [{"ending": "x"}, {"ending": "neerest"}, {"scale": "zz"}, {"scale": None}]
)
def test_unknown_names_are_refused(option: dict[str, str]) -> None:
    with refused(UnknownNameError):
        mdav([[1.0], [2.0]], 1, **option)
