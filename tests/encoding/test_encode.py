"""Coordinates of typed attributes: distances, weights, laws, refusals."""

import datetime as dt
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from encoding.mixed import KINDS, TYPES, all_distances, squared, table
from holed import QUASI, persons
from refusals import refused

import aggopt
from aggopt.encoding import AttributeType
from aggopt.encoding.encode_table import encode_observed, fill_coordinates, select_rows
from aggopt.errors import AggoptError, JobError, TableError, UnknownNameError


def test_each_column_is_of_the_kind_that_is_said_or_inferred() -> None:
    encoded = aggopt.encode(table(), TYPES)
    assert [each.kind for each in encoded.attributes] == KINDS
    assert [each.name for each in encoded.attributes] == list(table())


@pytest.mark.parametrize("seed", range(4))
def test_squared_distance_is_the_weighted_sum_of_distances(seed: int) -> None:
    frame = table(seed=seed)
    encoded = aggopt.encode(frame, TYPES)
    for each in encoded.attributes:
        found = squared(encoded.coordinates[:, each.columns])
        expected = each.weight * all_distances(frame, each.name)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-11)
    whole = sum(a.weight * all_distances(frame, a.name) for a in encoded.attributes)
    np.testing.assert_allclose(squared(encoded), whole, rtol=0, atol=1e-11)


def test_by_variance_every_attribute_has_the_same_total() -> None:
    frame = table(60)
    encoded = aggopt.encode(frame, TYPES)
    for each in encoded.attributes:
        Z = encoded.coordinates[:, each.columns]
        total = ((Z - Z.mean(axis=0)) ** 2).sum()
        assert total == pytest.approx(60 * (2 if each.name == "illness" else 1))


def test_the_weight_of_names_is_2_over_gini() -> None:
    share = np.array([12, 6, 6]) / 24
    frame = pd.DataFrame({"x": ["a"] * 12 + ["b"] * 6 + ["c"] * 6})
    gini = 1 - (share**2).sum()
    assert aggopt.encode(frame).weights == pytest.approx([2 / gini])


@pytest.mark.parametrize("seed", range(3))
def test_by_range_the_sum_is_gowers_distance(seed: int) -> None:
    frame = table(seed=seed)[["age", "sex", "school"]]
    x = frame["age"].to_numpy(float)
    gower = np.abs(x[:, None] - x) / np.ptp(x)
    gower = gower + all_distances(frame, "sex") + all_distances(frame, "school")
    types = {"school": TYPES["school"]}
    found = aggopt.encode(frame, types, weights="range")
    np.testing.assert_allclose(squared(found), gower, rtol=0, atol=1e-12)
    assert found.weights.tolist() == [1, 1, 1]


def test_by_range_own_distances_are_divided_by_the_largest() -> None:
    found = aggopt.encode(
        table()[["place"]], {"place": TYPES["place"]}, weights="range"
    )
    assert found.weights.tolist() == [0.5]
    assert squared(found).max() == pytest.approx(1)


def test_numbers_alone_are_z_scores() -> None:
    X = np.array([[1.0, 10.0], [2.0, 30.0], [6.0, 20.0]])
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    np.testing.assert_allclose(aggopt.encode(X), Z, atol=1e-14)
    assert [each.name for each in aggopt.encode(X).attributes] == ["0", "1"]


def test_two_levels_are_as_far_apart_whatever_their_kind() -> None:
    x = pd.Series(["n", "y", "y", "n", "y"])
    frame = pd.DataFrame({"x": x})
    codes = pd.DataFrame({"x": (x == "y").astype(int)})
    truth = pd.DataFrame({"x": x == "y"})
    ways = [
        aggopt.encode(frame),
        aggopt.encode(frame, {"x": {"order": ["n", "y"]}}),
        aggopt.encode(frame, {"x": {"tree": {"n": "*", "y": "*"}}}),
        aggopt.encode(codes),
        aggopt.encode(truth),
    ]
    for way in ways[1:]:
        np.testing.assert_allclose(squared(way), squared(ways[0]), atol=1e-12)


def test_permuted_records_are_permuted_coordinates() -> None:
    frame = table()
    order = np.random.default_rng(1).permutation(len(frame))
    shuffled = frame.iloc[order].reset_index(drop=True)
    one, other = aggopt.encode(frame, TYPES), aggopt.encode(shuffled, TYPES)
    np.testing.assert_allclose(one.coordinates[order], other, atol=1e-12)
    names = [each.levels for each in one.attributes[1:]]
    assert names == [each.levels for each in other.attributes[1:]]


def test_duplicated_records_keep_their_distances() -> None:
    frame = table()
    twice = pd.concat([frame, frame], ignore_index=True)
    one, other = aggopt.encode(frame, TYPES), aggopt.encode(twice, TYPES)
    np.testing.assert_allclose(one, other.coordinates[: len(frame)], atol=1e-12)


@pytest.mark.parametrize(
    "container",
    [pl.from_pandas, lambda f: pa.Table.from_pandas(f, preserve_index=False)],
    ids=["polars", "arrow"],
)
def test_the_container_makes_no_difference(container: Callable[..., Any]) -> None:
    found = aggopt.encode(container(table()), TYPES)
    np.testing.assert_array_equal(found, aggopt.encode(table(), TYPES))


def test_what_differs_in_no_record_has_no_coordinates_and_no_weight() -> None:
    frame = table().assign(one="a", seven=7)
    encoded = aggopt.encode(frame, TYPES)
    for name in ("one", "seven"):
        each = encoded.attribute(name)
        assert each.weight == 0
        assert encoded.coordinates[:, each.columns].shape == (len(frame), 0)
    assert np.ptp(encoded.coordinates, axis=0).min() > 0


@pytest.mark.parametrize("weights", ["variance", "range"])
def test_a_table_in_which_nothing_differs_is_one_column_of_zeros(weights: str) -> None:
    frame = pd.DataFrame({"x": [1, 1, 1], "y": ["a", "a", "a"]})
    encoded = aggopt.encode(frame, weights=weights)
    assert encoded.coordinates.tolist() == [[0], [0], [0]]
    assert encoded.weights.tolist() == [0, 0]
    assert aggopt.partition.mdav(encoded, k=3).sizes.tolist() == [3]


def test_an_ordered_categorical_column_is_ordinal_with_all_its_categories() -> None:
    x = pd.Categorical(["lo", "hi", "lo"], categories=["lo", "mid", "hi"], ordered=True)
    (each,) = aggopt.encode(pd.DataFrame({"x": x})).attributes
    assert (each.kind, each.levels) == ("ordinal", ("lo", "mid", "hi"))
    assert each.domain.distances[each.codes[0], each.codes[1]] == 1


def test_an_ordered_arrow_dictionary_is_ordinal() -> None:
    chunk = pa.DictionaryArray.from_arrays([0, 1, 0], ["lo", "hi"], ordered=True)
    (each,) = aggopt.encode(pa.table({"x": chunk})).attributes
    assert (each.kind, each.levels) == ("ordinal", ("lo", "hi"))


def test_chunks_with_different_orders_are_refused() -> None:
    one = pa.DictionaryArray.from_arrays([0, 1], ["lo", "hi"], ordered=True)
    other = pa.DictionaryArray.from_arrays([0, 1], ["mid", "hi"], ordered=True)
    with refused(TableError, "different dictionaries"):
        aggopt.encode(pa.table({"x": pa.chunked_array([one, other])}))


def test_categories_without_an_order_are_names() -> None:
    x = pd.Categorical(["b", "a", "b"], categories=["c", "b", "a"])
    (each,) = aggopt.encode(pd.DataFrame({"x": x})).attributes
    assert (each.kind, each.levels) == ("nominal", ("a", "b"))


DAYS = [dt.date(2020, 1, 1), dt.date(2020, 1, 5), dt.date(2021, 1, 1)]


@pytest.mark.parametrize(
    "values",
    [
        DAYS,
        pd.to_datetime(DAYS),
        pd.to_datetime(DAYS).tz_localize("CET"),
        pd.to_datetime(DAYS) - pd.Timestamp("2019-01-01"),
        pa.array(DAYS),
    ],
    ids=["objects", "datetimes", "zoned", "durations", "arrow"],
)
def test_dates_are_numbers(values: Any) -> None:
    is_arrow = isinstance(values, pa.Array)
    frame = pa.table({"x": values}) if is_arrow else pd.DataFrame({"x": values})
    days = np.array([[0.0], [4.0], [366.0]])
    np.testing.assert_allclose(aggopt.encode(frame), aggopt.encode(days), atol=1e-12)


def test_the_farthest_moments_that_there_are_can_be_counted() -> None:
    ends = pd.Series([pd.Timestamp.min, pd.Timestamp(0), pd.Timestamp.max])
    Z = aggopt.encode(pd.DataFrame({"x": ends})).coordinates[:, 0]
    assert Z.tolist() == pytest.approx([-np.sqrt(1.5), 0.0, np.sqrt(1.5)], abs=1e-6)


def test_times_of_day_are_numbers() -> None:
    times = [dt.time(1), dt.time(2), dt.time(5)]
    found = aggopt.encode(pd.DataFrame({"x": times}))
    hours = aggopt.encode(np.array([[1.0], [2.0], [5.0]]))
    np.testing.assert_allclose(found, hours, atol=1e-12)


def test_whole_numbers_of_few_values_are_noted_and_stay_numbers() -> None:
    frame = pd.DataFrame({"roof": [1, 2, 3, 4] * 5, "size": np.arange(20)})
    encoded = aggopt.encode(frame)
    assert [each.kind for each in encoded.attributes] == ["numeric", "numeric"]
    (note,) = encoded.notes
    assert note.startswith("'roof': whole numbers with 4 values")
    assert aggopt.encode(frame, {"roof": {"kind": "nominal"}}).notes == ()
    assert aggopt.encode(frame, {"roof": {"kind": "numeric"}}).notes == ()


@pytest.mark.parametrize(("values", "noted"), [(1, 0), (2, 1), (20, 1), (21, 0)])
def test_a_note_is_of_2_to_20_values(values: int, noted: int) -> None:
    frame = pd.DataFrame({"x": np.arange(60) % values})
    assert len(aggopt.encode(frame).notes) == noted


def test_what_is_missing_can_be_a_level_of_its_own() -> None:
    frame = pd.DataFrame({"x": ["a", None, "b", "a", None, "b"]})
    (each,) = aggopt.encode(frame, {"x": {"missing": "own value"}}).attributes
    assert each.levels == ("a", "b", None)
    assert each.codes.tolist() == [0, 2, 1, 0, 2, 1]


def test_what_is_missing_stands_directly_below_the_root_of_a_tree() -> None:
    frame = pd.DataFrame({"x": ["flu", None, "attack", "weak", "flu"]})
    how = {"x": {"tree": TYPES["illness"]["tree"], "missing": "own value"}}
    (each,) = aggopt.encode(frame, how).attributes
    own = each.levels.index(None)
    assert set(each.domain.distances[own, : len(each.levels)]) == {0.0, 1.0}


def test_a_type_is_the_same_as_its_map() -> None:
    how = {name: AttributeType(**of) for name, of in TYPES.items()}
    found = aggopt.encode(table(), how)
    np.testing.assert_array_equal(found, aggopt.encode(table(), TYPES))


SECRET = "QQ"
HOLED = ["a", None, "a", "b"]
REFUSED: dict[str, tuple[Any, Any, type[AggoptError], str]] = {
    "no table": ([1, 2], {}, TableError, "is not a table"),
    "no records": (pd.DataFrame({"x": []}), {}, TableError, "no records"),
    "no columns": (pd.DataFrame(index=[0, 1]), {}, TableError, "no"),
    "no map": ({"x": [1, 2]}, ["x"], JobError, "attributes is list"),
    "an unknown column": ({"x": [1, 2]}, {"y": {}}, UnknownNameError, "'y'"),
    "a hole": ({"x": HOLED}, {}, TableError, "'x': 1 value is missing"),
    "a hole in numbers": ({"x": [1, None]}, {}, TableError, "1 value is missing"),
    "holes": ({"x": ["a", None, None]}, {}, TableError, "2 values are missing"),
    "an own value of numbers": (
        {"x": [1, None]},
        {"x": {"missing": "own value"}},
        JobError,
        "no place among numbers",
    ),
    "an own value in an order": (
        {"x": pd.Categorical(HOLED, ordered=True)},
        {"x": {"missing": "own value"}},
        JobError,
        'values of kind "ordinal"',
    ),
    "nothing": ({"x": [None, None]}, {}, TableError, "All 2 values are missing"),
    "mixed types": ({"x": [1, "a"]}, {}, TableError, "2 types among 2 values"),
    "dates and times": (
        {"x": [dt.date(2020, 1, 1), dt.datetime(2020, 1, 1)]},
        {},
        TableError,
        "several types",
    ),
    "lists": ({"x": [[1], [2]]}, {}, TableError, "1 type among 2 values"),
    "an identifier": (
        {"x": [SECRET, "b", "c", "d"]},
        {},
        TableError,
        "4 different values among 4 records",
    ),
    "an unseen level of an order": (
        {"x": ["a", SECRET, SECRET]},
        {"x": {"order": ["a", "b"]}},
        TableError,
        "1 of 2 different values, of 2 records, is not in the order",
    ),
    "an unseen level of a tree": (
        {"x": ["a", SECRET, "b"]},
        {"x": {"tree": {"top": ["a", "b"]}}},
        TableError,
        "1 of 3 different values, of 1 record, is not in the tree",
    ),
    "an inner node": (
        {"x": ["a", "top", "b"]},
        {"x": {"tree": {"top": ["a", "b"]}}},
        TableError,
        "not in the tree",
    ),
    "an unseen level of distances": (
        {"x": ["a", SECRET, "b"]},
        {"x": {"distances": {"a": {"b": 1}}}},
        TableError,
        "not in the table of distances",
    ),
    "text as numbers": (
        {"x": ["a", SECRET]},
        {"x": {"kind": "numeric"}},
        JobError,
        "the values are no numbers",
    ),
    "ranks that would be guessed": (
        {"x": [1, 2]},
        {"x": {"kind": "ordinal"}},
        JobError,
        'kind = "ordinal" needs an order',
    ),
    "an infinite number": ({"x": [1.0, np.inf]}, {}, TableError, "infinite"),
    "too many digits": ({"x": [2**60, 2**60 + 1]}, {}, TableError, "more digits"),
    "too wide": ({"x": [-1e308, 1.7e308]}, {}, TableError, "more than a float"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_encoded_is_refused(case: str) -> None:
    data, types, error, words = REFUSED[case]
    frame = pd.DataFrame(data) if isinstance(data, dict) else data
    with pytest.raises(error, match=words) as error:
        aggopt.encode(frame, types)
    assert SECRET not in str(error.value)


def test_an_unknown_way_to_weigh_is_refused() -> None:
    with refused(UnknownNameError, "'gower'"):
        aggopt.encode(table(), weights="gower")


def test_two_levels_identify_none() -> None:
    assert aggopt.encode(pd.DataFrame({"x": ["a", "b", "a"]})).shape == (3, 2)


ADULT = Path(os.environ.get("AGGOPT_DATA", "")) / "adult"
TREES = ("marital-status", "education", "native-country", "workclass", "occupation")


@pytest.mark.skipif(
    not (ADULT / "adult.csv").is_file(),
    reason="set AGGOPT_DATA to a folder with adult/adult.csv and its hierarchies",
)
def test_adult_with_the_hierarchies_of_arx() -> None:
    frame = pd.read_csv(ADULT / "adult.csv", sep=";").drop(columns=["ID"])
    frame = frame.sample(300, random_state=0).drop(columns="salary-class")
    files = {name: ADULT / f"adult_hierarchy_{name}.csv" for name in (*TREES, "race")}
    encoded = aggopt.encode(frame, {name: {"tree": f} for name, f in files.items()})
    found = sum(
        each.weight * each.domain.distances[np.ix_(each.codes, each.codes)]
        for each in encoded.attributes
        if each.categories is not None
    )
    age = (frame["age"] - frame["age"].mean()) / frame["age"].std(ddof=0)
    found = found + (age.to_numpy()[:, None] - age.to_numpy()) ** 2
    np.testing.assert_allclose(squared(encoded), found, rtol=0, atol=1e-10)
    bound = aggopt.partition.loss_bound(encoded, 3)
    assert 0 < bound < aggopt.partition.mdav(encoded, 3).loss


def test_a_weight_that_does_nothing_is_noted() -> None:
    frame = pd.DataFrame({"x": list("abab"), "y": [1.5, 2.5, 4.0, 9.0], "z": "c"})
    twice = {"weight": 2.0}

    def notes(*names: str, **types: object) -> tuple[str, ...]:
        return aggopt.encode(frame[list(names)], types).notes

    assert notes("x", "y", "z", x=twice, y=twice) == ()
    alone = "'x': no other attribute varies: its weight does nothing."
    same = "'z': no record differs: its weight does nothing."
    assert notes("x", x={"weight": 1.0}) == ()
    assert notes("x", x=twice) == (alone,)
    assert notes("x", "z", x=twice, z=twice) == (alone, same)
    assert notes("x", "y", "z", z=twice) == (same,)
    assert notes("z", z=twice) == (same,)


ENUM = pl.Enum(["low", "middle", "high"])
CHUNKS = pa.chunked_array(
    [
        pa.DictionaryArray.from_arrays([0, 1, 0], ["b", "a"]),
        pa.DictionaryArray.from_arrays([1, 0, 2], ["a", "c", "b"]),
    ]
)


def test_an_enum_of_polars_is_ordinal() -> None:
    values = ["low", "high", "middle", "low"] * 2
    typed = aggopt.encode(pl.DataFrame({"x": pl.Series(values, dtype=ENUM)}))
    order = {"x": {"order": ["low", "middle", "high"]}}
    ranked = aggopt.encode(pl.DataFrame({"x": values}), order)
    assert typed.attributes[0].levels == ("low", "middle", "high")
    np.testing.assert_array_equal(squared(typed), squared(ranked))


def test_chunks_with_unequal_dictionaries_are_one_column() -> None:
    typed = aggopt.encode(pa.table({"x": CHUNKS}))
    text = aggopt.encode(pa.table({"x": CHUNKS.cast(pa.string())}))
    assert typed.attributes[0].levels == text.attributes[0].levels == ("a", "b", "c")
    assert (typed.attributes[0].codes == text.attributes[0].codes).all()
    np.testing.assert_array_equal(typed.coordinates, text.coordinates)


# --- records of which some values are missing, as coordinates


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
