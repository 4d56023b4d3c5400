"""Groups merged until they keep any promise."""

import numpy as np
import pytest
from drawn import examples
from hypothesis import given
from hypothesis import strategies as st

from aggopt import partition, privacy
from aggopt.measure import il
from aggopt.privacy.models.l_diversity import Diversity
from aggopt.privacy.models.t_closeness import Closeness
from aggopt.privacy.nested import Nested
from aggopt.privacy.ordered_attribute import Ordered
from aggopt.repair.merge_until_satisfied import merge_until_satisfied


def close(values, t, made=Ordered.of):
    return Closeness("x", made(values), t)


@given(
    st.integers(0, 10**6),
    st.integers(2, 60),
    st.integers(1, 4),
    st.sampled_from([0.05, 0.1, 0.3, 0.6]),
)
@examples(60)
def test_all_promises_hold_and_groups_are_only_merged(seed, n, k, t):
    rng = np.random.default_rng(seed)
    X, values = rng.normal(size=(n, 2)), rng.integers(0, 5, n)
    values[:2] = 0, 1  # not constant, of which the measure warns
    values = np.unique(values, return_inverse=True)[1]
    labels = partition.mdav(X, min(k, n))
    least = min(2, len(set(values)))
    promises = [
        close(values, t),
        close(values, t, Nested.equal),
        Diversity("x", values, least),
    ]
    merged = merge_until_satisfied(X, labels, promises)
    assert privacy.t_closeness(merged, values) <= t
    assert privacy.t_closeness(merged, values, distance="equal") <= t
    assert privacy.distinct_l(merged, values) >= least
    together = [set(merged[labels == g]) for g in range(labels.max() + 1)]
    assert all(len(groups) == 1 for groups in together)
    assert sorted(set(merged)) == list(range(merged.max() + 1))


def test_groups_that_keep_the_promise_are_left_alone():
    X, values = np.arange(12.0)[:, None], np.tile([0, 1, 2], 4)
    labels = np.arange(12) // 3
    promise = close(values, 0.01)
    assert (merge_until_satisfied(X, labels, [promise]) == labels).all()


def test_it_loses_less_than_one_group_and_takes_the_near_ones():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(400, 2))
    values = np.unique(X[:, 0].round(1), return_inverse=True)[1]
    labels = partition.mdav(X, 5)
    merged = merge_until_satisfied(X, labels, [close(values, 0.2)])
    means = np.stack([X[merged == g].mean(axis=0) for g in merged])
    assert merged.max() > 10
    assert il(X, means) < 0.8
    # groups 0 and 1 are near each other and complete each other; 2 and 3 as well
    X = np.array([[0.0], [0.1], [9.0], [9.1]]).repeat(2, axis=0)
    pairs = merge_until_satisfied(
        X, np.arange(8) // 2, [close(np.arange(8) // 2 % 2, 0.1)]
    )
    assert pairs.tolist() == [0, 0, 0, 0, 1, 1, 1, 1]


def test_a_farther_group_is_taken_where_the_nearest_does_not_help():
    X = np.array([[0.0], [1.0], [3.0], [5.0]]).repeat(2, axis=0)
    promise = close(np.array([0, 0, 1, 1]).repeat(2), 0.1)
    merged = merge_until_satisfied(X, np.arange(8) // 2, [promise])
    assert merged.reshape(4, 2).tolist() == [[0, 0], [1, 1], [0, 0], [1, 1]]


def test_progress_and_one_group():
    told = []
    X, values = np.arange(8.0)[:, None], np.arange(8)
    merged = merge_until_satisfied(
        X, np.arange(8) // 2, [close(values, 0.001)], progress=told.append
    )
    assert (merged == 0).all()
    assert told == sorted(told)
    assert told[-1] == 1.0


@pytest.mark.parametrize("seed", range(3))
def test_a_round_does_not_depend_on_the_order_of_records(seed):
    rng = np.random.default_rng(seed)
    X, values = rng.normal(size=(60, 2)), rng.integers(0, 9, 60)
    labels = partition.mdav(X, 3)
    order = rng.permutation(60)
    promise, moved = close(values, 0.1), close(values[order], 0.1)
    one, other = (
        merge_until_satisfied(X, labels, [promise]),
        merge_until_satisfied(X[order], labels[order], [moved]),
    )
    assert (one[order] == other).all()
