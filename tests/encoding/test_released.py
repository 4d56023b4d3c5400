"""What is released is read with the types of the original."""

import datetime as dt
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from encoding.mixed import ORDER, TYPES, table
from refusals import refused

import aggopt
from aggopt.encoding.encoded_table import read_released_values
from aggopt.errors import TableError

FRAME = table(30, seed=5)
E = aggopt.encode(FRAME, TYPES)


def changed(**columns: Any) -> pd.DataFrame:
    return FRAME.assign(**columns)


def test_the_original_itself_has_its_own_values_and_levels() -> None:
    found = read_released_values(E, FRAME)
    np.testing.assert_array_equal(found[0], FRAME["age"])
    for codes, each in zip(found[1:], E.attributes[1:], strict=True):
        np.testing.assert_array_equal(codes, each.codes)


def test_the_order_of_columns_and_the_container_make_no_difference() -> None:
    other = pl.from_pandas(FRAME[FRAME.columns[::-1]])
    ways = read_released_values(E, FRAME), read_released_values(E, other)
    for one, two in zip(*ways, strict=True):
        np.testing.assert_array_equal(one, two)


def test_levels_without_a_record_and_inner_nodes_are_known() -> None:
    released = changed(school="all", illness=["lung", "heart", "left", "*", "y"] * 6)
    _, _, school, illness, _ = read_released_values(E, released)
    assert set(school) == {ORDER.index("all")}
    nodes = E.attribute("illness").nodes
    assert [nodes[j] for j in illness[:5]] == ["lung", "heart", "left", "*", "y"]


def test_of_nodes_of_one_name_it_is_the_level_or_the_lowest(tmp_path: Any) -> None:
    path = tmp_path / "tree.csv"
    path.write_text("a;b;x;*\nb;c;x;*\nd;c;y;*\n")
    frame = pd.DataFrame({"x": list("abdabd")})
    encoded = aggopt.encode(frame, {"x": {"tree": str(path)}})
    (found,) = read_released_values(encoded, pd.DataFrame({"x": list("bcbcbc")}))
    b, c = found[0], found[1]
    assert b == encoded.attribute("x").levels.index("b")
    assert encoded.attribute("x").nodes.count("c") == 2
    assert c == encoded.attribute("x").nodes.index("c")


def test_numbers_that_are_codes_may_come_back_as_text_beside_nodes() -> None:
    frame = pd.DataFrame({"x": [1, 2, 3, 1, 2, 3]})
    tree = {"odd": [1, 3], "even": [2]}
    encoded = aggopt.encode(frame, {"x": {"tree": tree}})
    (found,) = read_released_values(
        encoded, pd.DataFrame({"x": ["1", "even", "odd", "1", "2", "3"]})
    )
    nodes = [encoded.attribute("x").nodes[j] for j in found]
    assert nodes == [1, "even", "odd", 1, 2, 3]


def test_what_is_missing_may_be_a_level() -> None:
    frame = pd.DataFrame({"x": ["a", None, "b", "a"] * 2})
    encoded = aggopt.encode(frame, {"x": {"missing": "own value"}})
    (found,) = read_released_values(encoded, pd.DataFrame({"x": [None] * 8}))
    assert [encoded.attribute("x").levels[j] for j in found] == [None] * 8


DAYS = [dt.date(2020, 1, 5), dt.date(2020, 1, 1), dt.date(2021, 1, 1)]


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_dates_count_from_the_first_of_the_original(make: Any) -> None:
    encoded = aggopt.encode(make({"born": DAYS}))
    earlier = [dt.date(2019, 12, 30), dt.date(2020, 1, 3), dt.date(2020, 1, 1)]
    (found,) = read_released_values(encoded, make({"born": earlier}))
    assert found.tolist() == [-2, 2, 0]


def test_moments_are_counted_as_the_originals_are_or_refused() -> None:
    encoded = aggopt.encode(pd.DataFrame({"born": DAYS}))
    midnight = pd.to_datetime(pd.Series(DAYS))
    (found,) = read_released_values(encoded, pd.DataFrame({"born": midnight}))
    assert found.tolist() == [4, 0, 366]
    for other, said in (
        (midnight + pd.Timedelta("12h"), "timestamp.*, and in the original date32"),
        ([1.0, 2.0, 3.0], "numbers, and in the original dates or times"),
    ):
        with pytest.raises(TableError, match=said) as error:
            read_released_values(encoded, pd.DataFrame({"born": other}))
        assert error.value.fix == "make them of one type."
    dates = pd.DataFrame({"age": DAYS})
    with refused(TableError):
        read_released_values(aggopt.encode(FRAME[["age"]].head(3)), dates)


@pytest.mark.parametrize(
    "released",
    [
        FRAME.head(29),
        FRAME.drop(columns="age"),
        changed(wage=1),
        changed(age="SECRET"),
        changed(sex="SECRET"),
        changed(illness=["SECRET", *["flu"] * 29]),
        changed(place=[None, *["p"] * 29]),
        changed(age=[np.nan, *range(29)]),
        "SECRET",
    ],
)
def test_what_is_no_release_of_these_records_is_refused(released: Any) -> None:
    with refused(TableError) as error:
        read_released_values(E, released)
    assert "SECRET" not in str(error.value)
    assert error.value.fix
