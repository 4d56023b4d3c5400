"""Patterns of missing values: joined so that few values are suppressed."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from refusals import refused

import aggopt
from aggopt.errors import InfeasibleInputError, JobError, TableError
from aggopt.missing import patterns

NAN = float("nan")
FEW = st.sampled_from([NAN, 0.0, 1.0, 2.0, -999.0])
TABLES = st.integers(4, 14).flatmap(lambda n: arrays(float, (n, 3), elements=FEW))


def usable(X):
    return not np.isnan(X).all(axis=0).any()


@settings(deadline=None)
@given(TABLES, st.integers(1, 4))
def test_a_pattern_has_k_records_that_hold_the_same_and_nothing_is_made_up(X, k):
    if not usable(X):
        return
    labels, suppressed = patterns(X, k)
    there = ~np.isnan(X)
    assert not (suppressed & ~there).any()
    for pattern in range(labels.max() + 1):
        rows = labels == pattern
        assert rows.sum() >= k
        assert len(np.unique((there & ~suppressed)[rows], axis=0)) == 1


@settings(deadline=None)
@given(TABLES, st.integers(1, 4), st.randoms(use_true_random=False))
def test_the_order_of_records_does_not_change_how_much_is_suppressed(X, k, rng):
    if not usable(X):
        return
    order = list(range(len(X)))
    rng.shuffle(order)
    first, again = patterns(X, k), patterns(X[order], k)
    assert again.suppressed.sum() == first.suppressed.sum()
    assert sorted(np.bincount(again.labels)) == sorted(np.bincount(first.labels))


def test_what_k_records_lack_stays_as_it_is():
    X = [[1.0, NAN], [2.0, NAN], [NAN, 3.0], [NAN, 4.0], [5.0, 6.0], [7.0, 8.0]]
    labels, suppressed = patterns(X, 2)
    assert labels.tolist() == [0, 0, 1, 1, 2, 2]
    assert not suppressed.any()


def test_a_rare_pattern_joins_the_one_that_costs_fewest_values():
    # with the complete records: 2 of them lose one each; with the others: 1 loses one
    X = [[1.0, 1.0, NAN], [1.0, NAN, NAN], [2.0, NAN, NAN], [3.0, NAN, NAN]]
    X += [[1.0, 1.0, 1.0]] * 3
    labels, suppressed = patterns(X, 3)
    assert labels.tolist() == [0, 0, 0, 0, 1, 1, 1]
    assert suppressed.sum() == 1
    assert suppressed[0, 1]


def test_only_as_many_records_change_as_are_needed_and_those_nearest():
    X = [[NAN, 10.2], *([float(i), float(i)] for i in range(12))]
    labels, suppressed = patterns(X, 3)
    assert np.bincount(labels).tolist() == [3, 10]
    assert np.flatnonzero(suppressed[:, 0]).tolist() == [11, 12]
    # of 4 complete records none can stay without 2 others: all change
    labels, suppressed = patterns(X[:1] + X[-4:], 3)
    assert labels.tolist() == [0] * 5
    assert suppressed.sum() == 4
    # of 5, 3 stay
    assert patterns(X[:1] + X[-5:], 3).suppressed.sum() == 2


def test_two_rare_patterns_share_what_both_have():
    X = [[1.0, NAN, 5.0], [NAN, 2.0, 6.0]]
    labels, suppressed = patterns(X, 2)
    assert labels.tolist() == [0, 0]
    assert np.argwhere(suppressed).tolist() == [[0, 0], [1, 1]]


def test_records_may_be_left_with_nothing():
    labels, suppressed = patterns([[1.0, NAN], [NAN, 1.0]], 2)
    assert labels.tolist() == [0, 0]
    assert suppressed.sum() == 2


def test_999_is_a_value():
    assert not patterns([[-999.0, 1.0], [99.0, -9.0]], 2).suppressed.any()


def test_a_masked_array_has_holes_where_it_is_masked():
    X = np.ma.masked_array([[1.0, 2.0]] * 4, [[False, True]] * 2 + [[False, False]] * 2)
    assert patterns(X, 2).labels.tolist() == [0, 0, 1, 1]


def test_nothing_of_a_record_is_shown():
    shown = repr(patterns([[-999.0, NAN], [-999.0, NAN], [3.0, 4.0], [5.0, 6.0]], 2))
    assert shown == "Patterns: 4 records in 2, 0 values suppressed"


@pytest.mark.parametrize(
    ("X", "k", "error"),
    [
        ([[1.0]], 2, InfeasibleInputError),
        ([[1.0]], 0, JobError),
        ([[1.0, NAN], [2.0, NAN]], 1, TableError),
        ([[1.0, np.inf]], 1, TableError),
        ([1.0], 1, TableError),
        ([["a"]], 1, TableError),
    ],
)
def test_refused(X, k, error):
    with refused(error):
        aggopt.missing.patterns(X, k)
