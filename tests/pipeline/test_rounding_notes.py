"""What is said of rounding, in full, of small tables that can be counted by hand."""

from types import SimpleNamespace

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from aggopt.encoding.clock import Clock
from aggopt.job import Output
from aggopt.pipeline.finish import rounding
from aggopt.release.manifest import Drift

TENTH = Output(decimals=1)
APART = [0.0, 0.0, 2.0, 2.0]  # standard deviation 1


def given(
    *columns, output=TENTH, whole=False, labels=(0, 0, 1, 1), blocks=None, clocks=None
):
    """Stand for a table of these columns, called a, b, ..., that was partitioned."""
    names = tuple("abcdef"[: len(columns)])
    frame = pd.DataFrame(dict(zip(names, columns, strict=True)))
    X = frame.to_numpy(float)
    frame = frame.astype(int) if whole else frame
    parts = blocks or [(tuple(range(len(names))), labels)]
    return SimpleNamespace(
        X=X,
        names=names,
        of_numbers=lambda whole: whole,
        labels_of_numbers=np.array(labels),
        weights=None,
        job=SimpleNamespace(
            output=output,
            roles=SimpleNamespace(quasi_identifier=names),
            attributes={},
        ),
        table=SimpleNamespace(
            frame=nw.from_native(frame), clocks=clocks or {}, numeric=names
        ),
        blocks=[
            SimpleNamespace(columns=columns, labels=np.array(of))
            for columns, of in parts
        ],
    )


def matrix(*columns):
    return np.array(columns, float).T


def said(table, before, after):
    moved = rounding.measure_drifts(table, before, after)
    return rounding.describe_rounding_effects(table, before, after, moved)


def test_the_note_has_the_largest_move_of_any_attribute() -> None:
    table = given(APART, APART)
    before = matrix([0.04, 0.04, 2.0, 2.0], [0.04, 0.04, 1.96, 1.96])
    notes = said(table, before, matrix(APART, APART))
    assert notes == [
        "Published values are rounded (decimals = 1): means moved by at most 0.02 "
        "standard deviations, variances by at most 0.09 of themselves; certificates "
        "are of the values before rounding."
    ]


def test_moves_that_floats_do_not_show_are_not_said() -> None:
    table = given(APART)
    masked, after = matrix(APART), matrix(APART)
    for mean, variance, shown in (
        (1e-15, 1e-15, False),
        (1.1e-15, 0.0, True),
        (0.0, 1.1e-15, True),
    ):
        notes = rounding.describe_rounding_effects(
            table, masked, after, {"a": Drift(0.1, mean, variance)}
        )
        assert bool(notes) is shown
    assert rounding.describe_rounding_effects(table, masked, after, {}) == []


def test_dates_are_rounded_to_the_units_of_their_clocks() -> None:
    minutes = Clock(pa.timestamp("s"), 60, 60)
    parts = Clock(pa.timestamp("ms"), 0, 1)
    table = given(APART, APART, APART, clocks={"a": minutes, "b": parts})
    before = matrix(*[[0.4, 0.4, 1.7, 1.7]] * 3)
    after = rounding._round_numbers(table, before)
    assert after.tolist() == matrix([0, 0, 2, 2], [0, 0, 2, 2], before[:, 2]).tolist()
    assert {
        n: each.step
        for n, each in rounding.measure_drifts(table, before, after).items()
    } == {
        "a": 60.0,
        "b": 1e-3,
        "c": 0.1,
    }
    (note,) = said(table, before, after)
    assert note.startswith(
        "Published values are rounded (decimals = 1, 'a' to minutes, 'b' to "
        "milliseconds): means"
    )
    still = rounding.measure_drifts(table, after, after)
    assert {name: each.mean for name, each in still.items()} == dict.fromkeys("abc", 0)


def test_only_the_column_of_a_date_is_rounded_to_its_clock() -> None:
    parts = Clock(pa.timestamp("ms"), 0, 1)
    plain = Output(digits="full")
    table = given(APART, APART, clocks={"b": parts}, output=plain)
    before = matrix(*[[0.4, 0.4, 1.7, 1.7]] * 2)
    assert (
        rounding._round_numbers(table, before).tolist()
        == matrix(before[:, 0], [0, 0, 2, 2]).tolist()
    )


def test_drift_is_of_each_attribute_that_varies() -> None:
    constant = [5.0] * 4
    before = matrix(constant, [0.04, 0.04, 2.0, 2.0])
    found = rounding.measure_drifts(
        given(constant, APART), before, matrix(constant, APART)
    )
    assert found == {
        "b": Drift(0.1, pytest.approx(0.02), pytest.approx(1 / 0.98**2 - 1))
    }
    one = rounding.measure_drifts(given(APART), matrix([1.04] * 4), matrix([1.0] * 4))
    assert one == {"a": Drift(0.1, pytest.approx(0.04), 0.0)}


def test_drift_counts_in_standard_deviations_and_without_sign() -> None:
    table = given([0.0, 0.0, 8.0, 8.0], output=Output(decimals=0))
    before = matrix([0.4, 0.4, 7.6, 7.6])
    found = rounding.measure_drifts(table, before, before + 0.4)["a"]
    assert (found.step, found.mean) == (1.0, pytest.approx(0.1))
    wide = rounding.measure_drifts(table, matrix([0, 0, 8, 8]), matrix([1, 1, 7, 7]))[
        "a"
    ]
    assert wide.variance == pytest.approx(1 - 9 / 16)


def test_drift_far_from_zero_is_exact() -> None:
    far = 1e12 + np.array(APART)
    moved = matrix(far) + 2.0**-13  # the least that floats of this size show
    found = rounding.measure_drifts(given(far), matrix(far), moved)["a"]
    assert (found.mean, found.variance) == (2.0**-13, 0.0)


@pytest.mark.parametrize(
    ("output", "asked"),
    [
        (TENTH, "decimals = 1"),
        (Output(digits=3), "3 digits of the attribute's standard deviation"),
        (Output(digits="full"), "to their types"),
    ],
)
def test_the_note_says_what_was_asked(output, asked) -> None:
    table = given(APART, output=output)
    (note,) = said(table, matrix([0.5, 0.5, 2, 2]), matrix([0.25, 0.25, 2, 2]))[:1]
    assert note.startswith(f"Published values are rounded ({asked}): means moved by ")


def test_whole_numbers_are_rounded_once_to_their_type() -> None:
    before, after = matrix([0.26, 0.26, 2, 2]), matrix(APART)
    for output, step in (
        (Output(decimals=1, round_integers=True), None),
        (Output(decimals=0, round_integers=True), 1.0),
        (Output(decimals=-1, round_integers=True), 10.0),
        (Output(decimals=1), 0.1),
        (Output(digits="full", round_integers=True), None),
    ):
        table = given(APART, output=output, whole=True)
        assert rounding.measure_drifts(table, before, after)["a"].step == step
    floats = given(APART, output=Output(decimals=1, round_integers=True))
    assert rounding.measure_drifts(floats, before, after)["a"].step == 0.1
    full = given(APART, output=Output(digits="full"), whole=True)
    assert rounding.measure_drifts(full, after, after) == {}


@pytest.mark.parametrize("sign", [1, -1])
def test_what_its_type_rounds_further_than_floats_do_is_said(sign) -> None:
    constant, wide = [5.0] * 4, [0.0, 0.0, 2e6, 2e6]
    plain, table = matrix(constant, APART, wide), given(constant, APART, wide)
    for share, count in ((0.9, 0), (1.1, 1)):
        moved = plain + sign * share * matrix([0] * 4, [2e-6, 0, 0, 0], [0] * 4)
        found = rounding._list_typed_notes(table, plain, moved)
        assert len(found) == count
    assert found == [
        "'b' was rounded to its type: the certificate is of the values before, the "
        "measures are of those released."
    ]


def test_a_range_is_as_wide_on_both_sides_of_zero() -> None:
    x = [-1.0, -1.0, 1.0, 1.0]
    moved = matrix(x) + matrix([1e-6, 0, 0, 0])
    assert rounding._list_typed_notes(given(x), matrix(x), moved) == []


def collapsed(before, after, **how):
    columns = before.T.tolist()
    how = {"labels": range(len(before)), **how}
    table = given(*columns, **how)
    few = rounding._list_single_value_notes(table, before, after)
    return [*few, *rounding._list_equal_group_notes(table, before, after)]


def test_a_group_without_a_value_publishes_no_zero() -> None:
    before = matrix([np.nan, 0.04, 2.0, 3.0])
    assert collapsed(before, matrix([np.nan, 0.0, 2.0, 3.0])) == []


def test_one_value_of_all_is_said_where_rounding_made_it() -> None:
    before = matrix([7.0, 7.0, 7.0], [1.1, 1.2, 1.3])
    found = collapsed(before, matrix([7.0] * 3, [1.0] * 3), labels=(0, 0, 0))
    assert found == ["'b': rounding leaves one value of all."]


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        ([1, 2, 3, 4, 5, 6], [0, 0, 0, 0, 5, 6], True),
        ([1, 2, 3, 4, 5, 6], [0, 0, 0, 4, 5, 6], False),  # half, and no more
        ([1, 1, 1, 1, 5, 6], [0, 0, 0, 0, 5, 6], False),  # so it was before
        ([1, 1, 1, 4, 5, 6], [0, 0, 0, 0, 5, 6], True),
    ],
)
def test_one_value_of_more_than_half_is_said(before, after, shown) -> None:
    notes = collapsed(matrix(before), matrix(after), labels=(0, 0, 0, 0, 0, 0))
    expected = [
        "'a': rounding publishes one and the same value for 4 of 6 records: ask for "
        "more digits, or cap the values that make its standard deviation so large."
    ]
    assert notes == (expected if shown else [])


def test_groups_that_publish_what_another_does_are_counted_in_each_block() -> None:
    before = matrix([1, 1, 2, 2, 3, 3], [1, 1, 2, 2, 9, 9], [4, 4, 5, 5, 6, 6])
    after = matrix([1, 1, 1, 1, 3, 3], [1, 1, 1, 1, 9, 9], [4, 4, 5, 5, 6, 6])
    blocks = [((0, 1), (0, 0, 1, 1, 2, 2)), ((2,), (0, 0, 1, 1, 2, 2))]
    found = collapsed(before, after, blocks=blocks)
    of = [note for note in found if "groups" in note]
    assert of == ["'a', 'b': rounding makes 1 of 3 groups publish what another does."]
    alone = [((0,), (0, 0, 1, 1, 2, 2)), ((1, 2), (0, 0, 1, 1, 2, 2))]
    of = [note for note in collapsed(before, after, blocks=alone) if "groups" in note]
    assert of == ["'a': rounding makes 1 of 3 groups publish what another does."]


@pytest.mark.parametrize(
    ("moved", "said"),
    [
        (0.0015, "0.002"),
        (0.001, "0.001"),
        (0.00101, "0.002"),
        (0.0123, "0.02"),
        (2.1e-5, "3e-05"),
        (0.96, "1"),
        (0.0, "0"),
    ],
)
def test_whatat_most_is_rounded_up(moved, said):
    moves = {"a": Drift(0.1, moved, 0.5), "b": Drift(0.1, 0.0, moved)}
    note = rounding.describe_rounding_effects(
        given(APART), *[np.array([APART]).T] * 2, moves
    )[0]
    assert f"moved by at most {said} standard deviations" in note
