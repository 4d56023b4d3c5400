"""Records of which some values are missing, as coordinates."""

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import pytest
from holed import QUASI, persons

import aggopt
from aggopt.encoding.encode_table import encode_observed, fill_coordinates, select_rows


@pytest.mark.parametrize("weights", ["variance", "range"])
def test_each_attribute_is_encoded_by_its_own_values(weights):
    frame = persons()[QUASI]
    absent = frame.isna().to_numpy()
    made = encode_observed(nw.from_native(frame), absent, {}, weights)
    assert [each.kind for each in made.attributes] == ["numeric"] * 2 + ["nominal"] * 2
    for j, name in enumerate(QUASI):
        own = aggopt.encode(frame[[name]].dropna(), weights=weights)
        there = made.coordinates[:, made.owner == j]
        assert np.isnan(there[absent[:, j]]).all()
        np.testing.assert_array_equal(there[~absent[:, j]], own.coordinates)
        assert made.weights[j] == own.weights[0]


def test_without_holes_it_is_the_usual_encoding():
    frame = persons(share=0.0)[QUASI]
    made = encode_observed(
        nw.from_native(frame), np.zeros(frame.shape, bool), {}, "variance"
    )
    np.testing.assert_array_equal(made.coordinates, aggopt.encode(frame).coordinates)
    np.testing.assert_array_equal(
        made.attributes[2].codes, aggopt.encode(frame).attributes[2].codes
    )


def test_rows_and_attributes_that_are_complete_are_left():
    frame = pd.DataFrame(
        {"a": [1.0, 2.0, np.nan], "b": list("xyx"), "c": [7.0, 7.0, 7.0]}
    )
    made = encode_observed(
        nw.from_native(frame), frame.isna().to_numpy(), {}, "variance"
    )
    assert made.attributes[0].numbers.values.tolist()[:2] == [1.0, 2.0]
    part = select_rows(made, np.array([2, 0]), np.array([False, True, True]))
    assert [each.name for each in part.attributes] == ["b", "c"]
    np.testing.assert_array_equal(
        part.coordinates, made.coordinates[[2, 0]][:, made.owner == 1]
    )
    whole = fill_coordinates(made, np.zeros(made.shape[1]))
    assert whole.coordinates[2, 0] == 0
    assert not np.isnan(whole.coordinates).any()
    assert np.isnan(made.coordinates[2, 0])


def test_a_code_that_is_missing_is_no_level():
    frame = pd.DataFrame({"b": ["y", None, "x"]})
    made = encode_observed(
        nw.from_native(frame), frame.isna().to_numpy(), {}, "variance"
    )
    assert made.attributes[0].codes.tolist() == [1, -1, 0]
    assert made.attributes[0].rows(np.array([0, 2])).codes.tolist() == [1, 0]
