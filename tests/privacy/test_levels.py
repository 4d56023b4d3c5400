"""Levels of a confidential number."""

import numpy as np
import pytest
from refusals import refused

from aggopt.errors import JobError
from aggopt.partition import constraints as l_diversity
from aggopt.privacy.value_levels import assign_levels


@pytest.mark.parametrize("levels", [2, 3, 7, 20])
def test_levels_hold_equally_many(levels):
    values = np.random.default_rng(0).permutation(420)
    found = assign_levels(values, levels)
    assert (np.bincount(found) == 420 // levels).all()
    assert (np.diff(found[np.argsort(values)]) >= 0).all()


def test_equal_numbers_share_a_level():
    values = np.random.default_rng(1).integers(0, 6, 100)
    for levels in range(2, 12):
        found = assign_levels(values, levels)
        assert all(len(set(found[values == v])) == 1 for v in range(6))
        assert sorted(set(found)) == list(range(found.max() + 1))
        assert (assign_levels(np.tile(values, 3), levels)[:100] == found).all()


def test_they_are_those_of_the_partition():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        values = rng.integers(0, 30, 200).astype(float)
        for levels in (2, 5, 20):
            theirs = l_diversity.read_levels(values, 200, levels, None)
            assert (assign_levels(values, levels) == theirs).all()
        ends = [3.0, 11.0, 25.0]
        theirs = l_diversity.read_levels(values, 200, 20, ends)
        assert (assign_levels(values, ends) == theirs).all()


def test_given_ends():
    assert assign_levels(np.array([1, 5, 5.1, 9]), [5, 6]).tolist() == [0, 1, 1, 2]
    assert assign_levels(np.array([1, 9]), [5, 6]).tolist() == [0, 1]


@pytest.mark.parametrize("levels", [1, 0, -3, [], [2, 1], [1, 1], [float("nan"), 1]])
def test_levels_that_are_none(levels):
    with refused(JobError, "levels = 20"):
        assign_levels(np.array([1, 2, 3]), levels)
