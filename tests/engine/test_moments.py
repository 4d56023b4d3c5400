"""PartMoments of pieces are those of all records."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused

from aggopt.engine.moments import PartMoments
from aggopt.errors import TableError


@settings(max_examples=20)
@given(st.integers(0, 10**6), st.lists(st.integers(1, 30), min_size=1, max_size=5))
def test_pieces_together_have_the_moments_of_all(seed, sizes):
    rng = np.random.default_rng(seed)
    parts = [1e6 + rng.normal(size=(size, 3)) for size in sizes]
    whole, found = (
        np.vstack(parts),
        PartMoments.together([PartMoments.of(x) for x in parts]),
    )
    away = whole - whole.mean(axis=0)
    assert (found.n == len(whole)).all()
    assert found.mean == pytest.approx(whole.mean(axis=0), rel=1e-14)
    assert found.products == pytest.approx(away.T @ away, rel=1e-7, abs=1e-7)
    assert found.variance == pytest.approx(whole.var(axis=0), rel=1e-7, abs=1e-9)
    assert (found.low, found.high) == (
        pytest.approx(whole.min(axis=0), abs=0),
        pytest.approx(whole.max(axis=0), abs=0),
    )


@pytest.mark.parametrize("split", [False, True])
def test_attributes_too_wide_for_squares_are_refused(split):
    rows = np.array([[0.0, -1e200], [0.0, 1e200]])
    parts = [rows[:1], rows[1:]] if split else [rows]
    with refused(
        "Column(s) [1] span more than a float can hold.",
        "divide them by a constant first.",
        TableError,
    ):
        PartMoments.together([PartMoments.of(part) for part in parts])
