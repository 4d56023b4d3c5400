"""Intervals about values: their ends belong to them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aggopt.measure._interval import compute_chance_within, is_within

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
