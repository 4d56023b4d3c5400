"""Merges of groups for a limit of a whole release, against brute force."""

import numpy as np
import pytest

from aggopt.partition import mdav
from aggopt.privacy.exact_order import read_epsilon, read_exact_numbers
from aggopt.privacy.models.epsilon_m import Proximity
from aggopt.privacy.models.l_diversity import Diversity
from aggopt.repair.nearest_merges import apply_merges, list_merges, merge_as_needed


def sse(X, labels):
    return sum(
        ((X[labels == g] - X[labels == g].mean(axis=0)) ** 2).sum() for g in set(labels)
    )


@pytest.fixture
def records():
    X = np.random.default_rng(5).normal(size=(40, 2))
    return (X - X.mean(axis=0)) / X.std(axis=0)


def test_the_first_merge_is_the_cheapest_of_all_pairs(records):
    labels = mdav(records, 3).labels
    merges = list_merges(records, labels, ())
    pairs = [(a, b) for b in range(labels.max() + 1) for a in range(b)]
    costs = [sse(records, apply_merges(labels, [pair])) for pair in pairs]
    assert pairs[int(np.argmin(costs))] == merges[0]
    assert len(set(apply_merges(labels, merges))) == 1


def test_each_union_satisfies_the_requirements(records):
    codes = np.arange(40) % 5
    labels = np.repeat(np.arange(10), 4)
    requirement = Diversity("ill", codes, 4)
    merges = list_merges(records, labels, [requirement])
    for count in range(len(merges) + 1):
        merged = apply_merges(labels, merges[:count])
        assert min(len(set(codes[merged == g])) for g in set(merged)) >= 4


def test_a_union_that_breaks_a_requirement_is_never_made():
    values = np.array([0.0, 5.0, -1.0, 1.0, 9.0, 3.0])
    (numbers,) = (each for _, each in read_exact_numbers(values, 6))
    requirement = Proximity("pay", numbers, read_epsilon(1), 2, False)
    X, labels = np.array([[0.0], [0], [1], [1], [9], [9]]), np.repeat([0, 1, 2], 2)
    assert requirement.is_satisfied(labels)
    merges = list_merges(X, labels, [requirement])
    assert merges[0] == (1, 2)  # of 0, 5, -1 and 1, three are near 0
    for count in range(len(merges) + 1):
        merged = np.unique(apply_merges(labels, merges[:count]), return_inverse=True)[1]
        assert requirement.is_satisfied(merged)


@pytest.mark.parametrize("most", [1, 4, 9, 10, 13])
def test_no_fewer_merges_keep_a_limit(records, most):
    labels = mdav(records, 3).labels
    merges = list_merges(records, labels, ())
    merged = merge_as_needed(labels, merges, lambda tried: tried.max() + 1 <= most)
    assert merged.max() + 1 == min(most, labels.max() + 1)
    assert merge_as_needed(labels, merges, lambda tried: False) is None
