"""What CBFS does that other partitioners need not."""

import numpy as np
import pytest
from refusals import refused

from aggopt.errors import UnknownNameError
from aggopt.partition import cbfs


@pytest.mark.parametrize("n", [3, 5, 6, 8, 9, 10, 100])
def test_there_are_as_many_groups_as_can_be(n: int) -> None:
    labels = cbfs(np.random.default_rng(n).normal(size=(n, 2)), 3)
    assert labels.max() + 1 == n // 3


def test_groups_come_from_the_outside_in() -> None:
    x = np.array([-5, 1, 2, 100, 101, 103, 49, 50, 51, 200, 201, 203.0])[:, None]
    assert cbfs(x, 3).tolist() == [1, 1, 1, 2, 2, 2, 3, 3, 3, 0, 0, 0]


def test_each_record_left_joins_the_nearest_centroid() -> None:
    x = np.array([0, 1, 2, 3, 100, 101, 102, 99, 20])[:, None]
    assert cbfs(x, 4, scale="none").tolist() == [1, 1, 1, 1, 0, 0, 0, 0, 1]


def test_unknown_scale_is_refused() -> None:
    with refused(UnknownNameError, "'none'"):
        cbfs([[1.0], [2.0]], 1, scale="non")
