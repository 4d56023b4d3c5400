"""Measures of distances and intervals, and their parts."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aggopt.measure._dld import compute_dld
from aggopt.measure._interval import compute_chance_within, is_within
from aggopt.measure._pair import Pair
from aggopt.measure.registry import _split_in_half


def slowly(z: np.ndarray, released: np.ndarray) -> float:
    """Return the expected share, in whole numbers, over all released records."""
    linked = Fraction(0)
    for i, record in enumerate(z.astype(int).tolist()):
        apart = [
            sum((a - b) ** 2 for a, b in zip(record, row, strict=True))
            for row in released.astype(int).tolist()
        ]
        linked += Fraction(apart[i] == min(apart), apart.count(min(apart)))
    return float(linked / len(z))


def found(z: np.ndarray, released: np.ndarray) -> float:
    """Return what is found of tables that are in coordinates already."""
    varying = np.ones(z.shape[1], dtype=bool)
    return compute_dld(Pair(z, released, released - z, varying, released, 0.0))


WHOLE = st.integers(-2, 2)
ROWS = st.lists(st.tuples(WHOLE, WHOLE, WHOLE, WHOLE), min_size=1, max_size=9)


@settings(deadline=None)
@given(ROWS)
def test_it_is_the_share_of_the_nearest(both) -> None:
    table = np.array(both, float)
    z, released = table[:, :2], table[:, 2:]
    assert found(z, released) == pytest.approx(slowly(z, released), abs=1e-12)


def test_many_coordinates_with_many_ties() -> None:
    rng = np.random.default_rng(1)
    z, released = rng.integers(0, 2, (2, 40, 14)).astype(float)
    released[::3] = z[::3]
    assert found(z, released) == pytest.approx(slowly(z, released), abs=1e-12)


@pytest.mark.parametrize(("away", "share"), [(1e-14, 0.5), (1e-11, 0.0)])
def test_what_rounding_can_make_up_is_a_tie(away: float, share: float) -> None:
    """The first record is nearer to the other row, by a part of its length."""
    z = np.array([[0.0, 1.0], [9.0, 9.0]])
    released = np.array([[1.0, 1.0], [-1.0 + away, 1.0]])
    assert found(z, released) == share / 2  # the second is nearest to the first row


def test_far_rows_change_nothing() -> None:
    z = np.array([[0.0, 1.0], [5.0, 5.0], [9.0, 0.0]])
    released = np.array([[0.0, 1.5], [5.0, 5.0], [1e100, 0.0]])
    assert found(z, released) == pytest.approx(2 / 3)


def test_one_row_is_nearest_to_all() -> None:
    z = np.arange(4.0)[:, None]
    assert found(z, np.zeros_like(z)) == 0.25


# --- intervals about values: their ends belong to them


VALUES = st.lists(st.integers(-5, 5), min_size=1, max_size=12)


@settings(deadline=None)
@given(VALUES, VALUES, st.integers(0, 6))
def test_pairs_are_counted_with_both_ends(x, y, width) -> None:
    x, y = x[: len(y)], y[: len(x)]
    near = np.array([[abs(a - b) <= width for b in y] for a in x])
    one, other = np.array(x, float), np.array(y, float)
    assert compute_chance_within(one, other, width) == pytest.approx(near.mean())
    classes = np.arange(len(x)) // 3
    same = np.equal.outer(classes, classes)
    expected = ((near & same).sum(axis=1) / same.sum(axis=1)).mean()
    assert compute_chance_within(one, other, width, classes) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("apart", "inside"),
    [(0.0, True), (2.0, True), (2.0 + 1e-9, True), (2.0 + 4e-9, False), (2.1, False)],
)
def test_the_end_is_inside_up_to_rounding(apart: float, inside: bool) -> None:
    assert is_within(np.array([apart]), 2.0).tolist() == [inside]
    for x, y in (([0.0], [apart]), ([apart], [0.0])):
        assert compute_chance_within(np.array(x), np.array(y), 2.0) == inside


# --- rows in parts that are small enough to be assigned at once


def halves(rows, sizes):
    found = _split_in_half(np.arange(len(rows)) + 10, np.array(rows), np.array(sizes))
    return [part.tolist() for part in found]


def test_rows_are_halved_where_the_records_are() -> None:
    rows = [[3.0, 0.0], [1.0, 9.0], [2.0, 5.0]]  # the second attribute spreads most
    assert halves(rows, [1, 1, 5]) == [[10], [12, 11]]
    assert halves(rows, [4, 1, 1]) == [[10], [12, 11]]
    assert halves(rows, [1, 9, 1]) == [[10, 12], [11]]


def test_rows_that_are_equal_there_stay_together() -> None:
    assert halves([[0.0], [7.0], [7.0], [7.0]], [1, 1, 1, 1]) == [[10], [11, 12, 13]]
