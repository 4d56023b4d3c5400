"""Typed measures where a boundary, a default or a rounding decides."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused

from aggopt.errors import TableError
from aggopt.measure import assess_types, types
from aggopt.measure._typed_pair import TypedPair, _compute_within_sse
from aggopt.measure.types.frequencies import Contingency

SCHOOL = {"school": {"order": ["low", "middle", "high"]}}
COUNT = st.integers(1, 10**5)


def named(**columns: str) -> pd.DataFrame:
    """Return a table of columns whose values are single letters."""
    return pd.DataFrame({name: list(text) for name, text in columns.items()})


def test_a_number_that_does_not_vary_is_disclosed_only_as_it_is() -> None:
    flat = pd.DataFrame({"x": [7.0] * 4})
    assert types.sdid(flat, flat.assign(x=7.04)) == {"x": 0.0}
    assert types.sdid(flat, flat) == {"x": 1.0}


def test_safety_and_blocks_of_a_measure_called_alone_are_its_own() -> None:
    school = pd.DataFrame({"school": ["low", "middle", "high"] * 2})
    lower = school.assign(school="low")
    assert types.sdid(school, lower, SCHOOL)["school"] == pytest.approx(1 / 3)
    wide = types.sdid(school, lower, SCHOOL, safety=0.5)
    assert wide["school"] == pytest.approx(2 / 3)
    assert types.linkage(school, school, SCHOOL, whole=4).blocks == 2
    assert types.linkage(school, school, SCHOOL).blocks == 1


def test_an_assessment_counts_records_and_says_in_how_many_blocks() -> None:
    school = pd.DataFrame({"school": ["low", "middle", "high"] * 2})
    found = assess_types(school, school, SCHOOL, whole=4)
    assert (found.n, found.linkage_blocks, found.safety) == (6, 2, 0.05)
    assert "in 2 blocks; at most" in str(found)
    assert "blocks" not in str(assess_types(school, school, SCHOOL))


def test_two_levels_have_an_entropy() -> None:
    assert types.ebil(named(x="ffmm"), named(x="mmmm")) == {"x": 1.0}


@given(st.lists(COUNT, min_size=2, max_size=6), st.lists(COUNT, min_size=1, max_size=6))
def test_independent_columns_leave_all_of_the_entropy(a, b) -> None:
    table = Contingency(
        sum(a) * sum(b),
        np.outer(a, b).ravel(),
        np.repeat(np.multiply(a, sum(b)), len(b)),
        np.tile(np.multiply(b, sum(a)), len(a)),
        len(a),
        len(b),
    )
    assert table.left / table.entropy == pytest.approx(1, rel=1e-12)
    assert table.left <= table.entropy


@given(st.lists(COUNT, min_size=2, max_size=6))
def test_what_is_a_function_of_another_has_no_more_than_all_of_v(counts) -> None:
    of = np.array(counts)
    table = Contingency(sum(counts), of, of, of, len(of), len(of))
    assert 1 - 1e-12 <= table.cramers_v <= 1


@pytest.mark.parametrize("value", [0.1, 0.3, 0.7, 1.1, 1e9 + 0.1])
def test_equal_records_have_no_sum_of_squares(value: float) -> None:
    for n in range(2, 8):
        assert _compute_within_sse(np.full((n, 1), value), np.zeros(n, np.intp)) == 0.0


def test_what_varies_little_varies() -> None:
    light = {"x": {"weight": 0.01}}
    frame = pd.DataFrame({"x": [1.0, 2.0], "y": [3.0, 3.0]})
    found = assess_types(frame, frame, light)
    assert (found.varying, found.d) == (1, 2)


def test_what_does_not_vary_has_no_coordinate_and_a_flat_table_one() -> None:
    flat = pd.DataFrame({"x": [7.0] * 4, "y": list("aaaa")})
    pair = TypedPair.of(flat, flat)
    assert [each.points[0].shape for each in pair.attributes] == [(4, 0), (4, 0)]
    assert pair.embedded.original.shape == (4, 1)
    assert {each.safety for each in pair.attributes} == {0.05}


def test_values_out_of_reach_are_refused_and_the_farthest_is_not() -> None:
    frame = pd.DataFrame({"x": [-1.0, 1.0], "y": [-1.0, 1.0]})
    assert assess_types(frame, frame.assign(x=1e100))["unchanged"]["x"] == 0.0
    with refused(TableError, "'x'", "'y'", "100"):
        assess_types(frame, frame.assign(x=1.1e100, y=-1.1e100))
