"""Neighbours of places become those of the records that stand there."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggopt.partition.neighbours import COPIES, RecordPlaces

ROWS = np.array([[2.0, 0.0], [1.0, 5.0], [2.0, -0.0], [2.0, 0.0], [7.0, 7.0]])


def test_places_come_in_the_order_of_their_first_records() -> None:
    found = RecordPlaces.of(ROWS)
    assert found.rows.tolist() == [[2, 0], [1, 5], [7, 7]]
    assert found.place.tolist() == [0, 1, 0, 0, 2]
    assert repr(found) == "RecordPlaces(3 of 5 records)"


@given(
    st.lists(
        st.tuples(st.sampled_from([0.0, -0.0, 1.0]), st.sampled_from([0.0, 3.0])),
        min_size=1,
        max_size=12,
    )
)
def test_each_record_is_at_its_place(rows: list[tuple[float, float]]) -> None:
    X = np.array(rows)
    found = RecordPlaces.of(X)
    assert (found.rows[found.place] == X).all()
    assert len(found.rows) == len(np.unique(X, axis=0))


def test_own_copies_come_first_and_then_those_of_places_near() -> None:
    near = np.array([[1, 2], [0, 2], [1, 0]])
    found = RecordPlaces.of(ROWS).of_records(near, 4)
    assert found[0].tolist() == [2, 3, 1, 4]
    assert found[2].tolist() == [3, 0, 1, 4]
    assert found[1].tolist() == [2, 3, 4, 2]  # a list that ends repeats its first
    assert found[4].tolist() == [1, 2, 3, 1]


def test_lists_of_one_place_hold_different_copies() -> None:
    places = RecordPlaces.of(np.zeros((9, 1)))
    found = places.of_records(np.zeros((1, 0), int), COPIES)
    assert (found != np.arange(9)[:, None]).all()
    assert len(np.unique(found)) == 9


@pytest.mark.parametrize("count", [1, 3])
def test_who_is_alone_stands_in_its_own_list(count: int) -> None:
    alone = RecordPlaces.of(np.ones((1, 2)))
    assert alone.of_records(np.zeros((1, 0), int), count).tolist() == [[0] * count]
