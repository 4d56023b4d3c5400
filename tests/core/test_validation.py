"""Checks on arrays: what is refused, and how the message puts it."""

import numpy as np
import pandas as pd
import pytest

from aggopt.core import validation
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
        validation.check_matrix(X)
    assert "To fix:" in str(refusal.value)
    assert str(SECRET) not in str(refusal.value)


def test_frames_booleans_and_integers_become_floats():
    frame = pd.DataFrame({"a": [1, 2], "b": [True, False]})
    assert validation.check_matrix(frame).tolist() == [[1.0, 1.0], [2.0, 0.0]]


@pytest.mark.parametrize("k", [2.0, "3", True, None])
def test_k_must_be_a_whole_number(k):
    with pytest.raises(JobError, match="k must be a whole number, not"):
        validation.check_group_size(k, 9)


def test_a_column_in_the_place_of_k_is_one_too_early():
    with pytest.raises(JobError, match="k must be a whole number, not ndarray") as no:
        validation.check_group_size(np.arange(9.0), 9)
    assert "takes a confidential attribute, that comes before k" in no.value.fix


@pytest.mark.parametrize("k", [0, -2])
def test_k_below_one_is_refused(k):
    with pytest.raises(JobError, match="below 1"):
        validation.check_group_size(k, 9)


def test_k_above_n_says_which_are_possible():
    with pytest.raises(InfeasibleInputError, match=r"only 9 records\.\n.*from 1 to 9"):
        validation.check_group_size(10, 9)


def test_numpy_integers_are_whole_numbers():
    assert validation.check_group_size(np.int8(3), 9) == 3


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([0, 1], r"shape \(2,\), but there are 3"),
        ([0.0, 1.0, 1.0], "type float64"),
        ([0, 2, 2], "skip a group number"),
        ([-1, 0, 1], "negative"),
        ([0, 0, 10**11], "skip a group number"),
        (np.array([0, 0, 2**63 + 5], dtype=np.uint64), "skip a group number"),
    ],
)
def test_unusable_labels_are_refused(labels, message):
    with pytest.raises(JobError, match=message):
        validation.check_groups(labels, 3)


@pytest.mark.parametrize("labels", [[[0], [0, 1], [1]], [0, [1], 1]])
def test_labels_of_unequal_length_are_refused(labels):
    with pytest.raises(TableError, match="labels is not array-like"):
        validation.check_groups(labels, 3)
    with pytest.raises(TableError, match="labels is not array-like"):
        validation.check_labellings(labels, 3, 2)


LARGE = 1_700_000_000_000_000_000


@pytest.mark.parametrize(
    "values",
    [
        LARGE + 9 * np.arange(12),
        np.array([LARGE + 9 * i for i in range(12)], dtype=object),
        (LARGE + 9 * np.arange(12)).astype(np.uint64),
        1 + np.arange(1, 9) * np.longdouble(2.0) ** -60,
    ],
)
def test_values_that_floats_would_merge_are_refused(values):
    with pytest.raises(TableError, match="more digits than a float can tell apart"):
        validation.check_vector(values)
    with pytest.raises(TableError, match="subtract a base from them"):
        validation.check_matrix(np.asarray(values)[:, None])


def test_large_values_that_floats_tell_apart_are_taken():
    large = LARGE + 10**6 * np.arange(12)
    assert (validation.check_vector(large) == large.astype(float)).all()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.array(["1", "2"], dtype=object), "not numbers"),
        (np.array([b"1", 2], dtype=object), "not numbers"),
        ([10**400, 1], "too large for a float"),
        ([[1.0], [2.0, 3.0]], "is not array-like"),
        (
            np.ma.array([1.0, 2.0], mask=[0, 1]),
            r"entries \(1 masked",
        ),
        ([], "is empty"),
        ([1.0, np.nan, np.inf], r"infinite entries \(2\)"),
    ],
)
def test_what_is_no_vector_of_numbers_is_refused(values, message):
    with pytest.raises(TableError, match=message):
        validation.check_vector(values)
