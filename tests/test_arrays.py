"""Checks on arrays: what is refused, and how the message puts it."""

import numpy as np
import pandas as pd
import pytest

from aggopt import arrays
from aggopt.errors import InfeasibleInputError, JobError, TableError

SECRET = 987654.25


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([1.0, 2.0], r"X has 1 dimension\(s\)"),
        (np.empty((0, 3)), r"X is empty: shape \(0, 3\)"),
        ([["a"], ["b"]], "not real numbers"),
        ([[1 + 2j]], "not real numbers"),
        (np.array([["a"], [1]], dtype=object), "entries that are not numbers"),
        ([[SECRET, np.nan], [np.inf, SECRET]], r"column 0: 1, column 1: 1"),
        (np.array([[SECRET], [None]], dtype=object), r"column 0: 1"),
    ],
)
def test_unusable_records_are_refused(X, message):
    with pytest.raises(TableError, match=message) as refusal:
        arrays.matrix(X)
    assert "To fix:" in str(refusal.value)
    assert str(SECRET) not in str(refusal.value)


def test_frames_booleans_and_integers_become_floats():
    frame = pd.DataFrame({"a": [1, 2], "b": [True, False]})
    assert arrays.matrix(frame).tolist() == [[1.0, 1.0], [2.0, 0.0]]


@pytest.mark.parametrize("k", [2.0, "3", True, None])
def test_k_must_be_a_whole_number(k):
    with pytest.raises(JobError, match="k must be a whole number, not"):
        arrays.group_size(k, 9)


@pytest.mark.parametrize("k", [0, -2])
def test_k_below_one_is_refused(k):
    with pytest.raises(JobError, match="below 1"):
        arrays.group_size(k, 9)


def test_k_above_n_says_which_are_possible():
    with pytest.raises(InfeasibleInputError, match=r"only 9 records\.\n.*from 1 to 9"):
        arrays.group_size(10, 9)


def test_numpy_integers_are_whole_numbers():
    assert arrays.group_size(np.int8(3), 9) == 3


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([0, 1], r"shape \(2,\), but there are 3"),
        ([0.0, 1.0, 1.0], "type float64"),
        ([0, 2, 2], "skip a group number"),
        ([-1, 0, 1], "negative"),
    ],
)
def test_unusable_labels_are_refused(labels, message):
    with pytest.raises(JobError, match=message):
        arrays.groups(labels, 3)
