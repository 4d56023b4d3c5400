"""PartMoments of pieces are those of all records."""

import numpy as np
import pytest
from folders import job, masked, persons, put
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused

from aggopt.engine.state.moments import PartMoments
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


def test_numbers_whose_squares_no_float_sums_are_refused_by_name(tmp_path):
    tables = [persons(30).astype({"age": float}) for _ in range(2)]
    tables[1].loc[3, "age"] = 1.1e150
    with refused(TableError, "in-1.parquet", "150", "'age'"):
        masked(put(tmp_path / "in", *tables), job(), tmp_path / "out")
