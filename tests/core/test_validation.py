"""Checks on arrays: what is refused, and how the message puts it."""

import numpy as np
import pandas as pd
import pytest
from refusals import refused

from aggopt.core import validation
from aggopt.errors import InfeasibleInputError, JobError, TableError

SECRET = 987654.25


@pytest.mark.parametrize(
    "X",
    [
        [1.0, 2.0],
        np.empty((0, 3)),
        [["a"], ["b"]],
        [[1 + 2j]],
        np.array([["a"], [1]], dtype=object),
        [[SECRET, np.nan], [np.inf, SECRET]],
        np.array([[SECRET], [None]], dtype=object),
    ],
)
def test_unusable_records_are_refused(X):
    with refused(TableError) as refusal:
        validation.check_matrix(X)
    assert str(SECRET) not in str(refusal.value)


def test_frames_booleans_and_integers_become_floats():
    frame = pd.DataFrame({"a": [1, 2], "b": [True, False]})
    assert validation.check_matrix(frame).tolist() == [[1.0, 1.0], [2.0, 0.0]]


@pytest.mark.parametrize("k", [2.0, "3", True, None])
def test_k_must_be_a_whole_number(k):
    with refused(JobError):
        validation.check_group_size(k, 9)


def test_a_column_in_the_place_of_k_is_one_too_early():
    with refused(JobError):
        validation.check_group_size(np.arange(9.0), 9)


@pytest.mark.parametrize("k", [0, -2])
def test_k_below_one_is_refused(k):
    with refused(JobError, "below 1"):
        validation.check_group_size(k, 9)


def test_k_above_n_says_which_are_possible():
    with refused(InfeasibleInputError):
        validation.check_group_size(10, 9)


def test_numpy_integers_are_whole_numbers():
    assert validation.check_group_size(np.int8(3), 9) == 3


@pytest.mark.parametrize(
    "labels",
    [
        [0, 1],
        [0.0, 1.0, 1.0],
        [0, 2, 2],
        [-1, 0, 1],
        [0, 0, 10**11],
        np.array([0, 0, 2**63 + 5], dtype=np.uint64),
    ],
)
def test_unusable_labels_are_refused(labels):
    with refused(JobError):
        validation.check_groups(labels, 3)


@pytest.mark.parametrize("labels", [[[0], [0, 1], [1]], [0, [1], 1]])
def test_labels_of_unequal_length_are_refused(labels):
    with refused(TableError):
        validation.check_groups(labels, 3)
    with refused(TableError):
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
    with refused(TableError):
        validation.check_vector(values)
    with refused(TableError):
        validation.check_matrix(np.asarray(values)[:, None])


def test_large_values_that_floats_tell_apart_are_taken():
    large = LARGE + 10**6 * np.arange(12)
    assert (validation.check_vector(large) == large.astype(float)).all()


@pytest.mark.parametrize(
    "values",
    [
        np.array(["1", "2"], dtype=object),
        np.array([b"1", 2], dtype=object),
        [10**400, 1],
        [[1.0], [2.0, 3.0]],
        np.ma.array([1.0, 2.0], mask=[0, 1]),
        [],
        [1.0, np.nan, np.inf],
    ],
)
def test_what_is_no_vector_of_numbers_is_refused(values):
    with refused(TableError):
        validation.check_vector(values)
