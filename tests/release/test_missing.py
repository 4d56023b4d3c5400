"""Audits of missing values and of dominance."""

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest
from surveys import survey

from aggopt.job import Privacy
from aggopt.job.roles import Roles
from aggopt.release.audit.audit import audit_release
from aggopt.release.audit.dominance import (
    find_most_dominated,
    make_dominance_requirements,
    select_value_weights,
)
from aggopt.release.audit.missing import (
    MissingChanges,
    MissingValues,
    count_least_compatible,
    find_missing_in,
)


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (MissingValues(0, 0, 0, 0, 3), []),
        (
            MissingValues(1, 1, 1, 0, 3),
            [
                "1 value of quasi-identifiers is missing, in 1 pattern: k counts what "
                "is missing as a value of its own.",
                "1 value of the original is suppressed, because fewer than k "
                "would have shared what is missing.",
            ],
        ),
        (
            MissingValues(4, 2, 3, None, 3, 7),
            [
                "4 values of quasi-identifiers are missing, in 2 patterns: k counts "
                "what is missing as a value of its own.",
                "3 values of the original are suppressed, because fewer than k "
                "would have shared what is missing.",
                "If what is missing equalled anything, 7 records would share the "
                "rarest combination: a figure, not k.",
            ],
        ),
        (
            MissingValues(0, 0, 0, 1, 3),
            [
                "1 value that is missing in the original is filled with what the group "
                "publishes; each is that of 3 records or more that have one. Means and "
                "variances are kept, where they are, of the values that are there: "
                "over all records they differ."
            ],
        ),
    ],
)
def test_what_is_said(found, said):
    assert found.notes == said


def test_holes_are_null_or_nan_and_empty_text_is_none():
    cases = [
        (pd.Series([1.0, np.nan]), [False, True]),
        (pd.Series(["a", ""]), [False, False]),
        (pd.Series(["a", None]), [False, True]),
        (pd.Series([1, 2]), [False, False]),
        (pl.Series([1.0, None, float("nan")]), [False, True, True]),
        (pl.Series(["", None, "NA"]), [False, True, False]),
    ]
    for series, expected in cases:
        column = nw.from_native(series, series_only=True)
        assert find_missing_in(column).tolist() == expected


def test_patterns_are_sets_of_attributes_and_none_is_no_pattern():
    frame = pd.DataFrame({"a": [1.0, np.nan, np.nan], "b": [1.0, 2.0, np.nan]})
    roles, privacy = Roles(**{"quasi-identifier": ["a", "b"]}), Privacy(k=2)
    assert audit_release(frame, roles, privacy).missing == MissingValues(3, 2)
    found = audit_release(frame, roles, privacy, compatible=True).missing
    assert found == MissingValues(3, 2, compatible=2)
    assert audit_release(frame[:1], roles, privacy, compatible=True).missing is None


def test_records_agree_where_both_have_a_value():
    codes = np.array([[0, 0], [0, 2], [1, 1], [2, 2]])
    holes = np.array([[False, True], [False, False], [True, False], [True, True]])
    assert count_least_compatible(codes, holes) == 3
    assert count_least_compatible(codes, np.zeros_like(holes)) == 1


def test_the_originals_say_what_was_lost_made_and_stands_behind():
    before = np.array([[1.0, 1.0], [2.0, np.nan], [3.0, 3.0], [np.nan, 4.0]])
    after = np.array([[1.5, np.nan], [1.5, np.nan], [3.0, 3.5], [3.0, 3.5]])
    groups = [((0, 1), np.array([0, 0, 1, 1]))]
    changes = MissingChanges.of(before, after, groups)
    found = changes.add_to(MissingValues(2, 1), ("a", "b"))
    known = {"suppressed_in": {"b": 1}, "imputed_in": {"a": 1}}
    assert found == MissingValues(2, 1, suppressed=1, imputed=1, least=1, **known)
    assert any("group publishes, 'a' 1; each" in note for note in found.notes)
    none = MissingChanges.of(before[:1], after[:1, [0, 0]], [((0, 1), np.array([0]))])
    assert none.add_to(None, ("a", "b")) is None
    parts = [
        MissingChanges.of(before[:2], after[:2], [((0, 1), np.array([0, 0]))]),
        MissingChanges.of(before[2:], after[2:], [((0, 1), np.array([0, 0]))]),
    ]
    assert MissingChanges.merge(parts).add_to(MissingValues(2, 1), "ab") == found


# --- weights of values that are there, and who has most of them


WEIGHTS = np.array([3.0, 1.0, 2.0, 2.0])
THERE = np.array([[True, True], [True, False], [True, True], [True, False]])


def test_a_value_that_is_missing_has_no_weight() -> None:
    assert select_value_weights(WEIGHTS, THERE | True) is WEIGHTS
    found = select_value_weights(WEIGHTS, THERE)
    assert found.tolist() == [[3.0, 3.0], [1.0, 0.0], [2.0, 2.0], [2.0, 0.0]]
    assert found.dtype == float


def test_dominance_is_asked_of_each_attribute_that_has_holes() -> None:
    job = survey(weights={"dominance": 0.7})
    assert make_dominance_requirements(job, None) == ()
    assert (
        make_dominance_requirements(survey(weights={"dominance": 1.0}), WEIGHTS) == ()
    )
    (one,) = make_dominance_requirements(job, WEIGHTS)
    assert (one.weights is WEIGHTS, one.share, one.attribute) == (True, 0.7, "w")
    first, second = make_dominance_requirements(
        job, select_value_weights(WEIGHTS, THERE)
    )
    assert first.weights.tolist() == WEIGHTS.tolist()
    assert second.weights.tolist() == [3.0, 0.0, 2.0, 0.0]


def test_the_worst_group_of_any_attribute_is_found() -> None:
    job, pairs = survey(weights={"dominance": 0.7}), np.array([0, 0, 1, 1])
    assert find_most_dominated((), [((0, 1), pairs)]) == []
    whole = make_dominance_requirements(job, WEIGHTS)
    (found,) = find_most_dominated(whole, [((0,), pairs), ((1,), np.zeros(4, np.intp))])
    assert found.found == 0.75
    asked = make_dominance_requirements(job, select_value_weights(WEIGHTS, THERE))
    (first,) = find_most_dominated(asked, [((0,), pairs)])
    (second,) = find_most_dominated(asked, [((0,), pairs), ((1,), pairs)])
    assert (first.found, second.found) == (0.75, 1.0)
