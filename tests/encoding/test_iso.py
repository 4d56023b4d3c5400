"""Dates, times of day and durations that text spells."""

import datetime as dt
from typing import Any

import narwhals.stable.v2 as nw
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused

import aggopt
from aggopt.encoding.iso_text import format_iso_duration, parse_text_dates
from aggopt.errors import JobError, TableError

UTC = dt.UTC
MAKE = [pd.Series, pl.Series, lambda values: pa.chunked_array([pa.array(values)])]


def series(native: Any) -> nw.Series[Any]:
    return nw.from_native(native, series_only=True)


@pytest.mark.parametrize("make", MAKE)
@pytest.mark.parametrize(
    ("text", "values"),
    [
        (["2020-12-31", " 1999-01-02 "], [dt.date(2020, 12, 31), dt.date(1999, 1, 2)]),
        (
            ["2020-12-31T23:59", "2020-01-02 03:04:05.25"],
            [
                dt.datetime(2020, 12, 31, 23, 59),
                dt.datetime(2020, 1, 2, 3, 4, 5, 250000),
            ],
        ),
        (
            ["2020-12-31T23:59Z", "2020-01-02 03:04:05+02:00", "2020-01-02 03:04-0130"],
            [
                dt.datetime(2020, 12, 31, 23, 59, tzinfo=UTC),
                dt.datetime(2020, 1, 2, 1, 4, 5, tzinfo=UTC),
                dt.datetime(2020, 1, 2, 4, 34, tzinfo=UTC),
            ],
        ),
        (["23:59", "03:04:05.000001"], [dt.time(23, 59), dt.time(3, 4, 5, 1)]),
        (
            ["P1DT2H", "-PT1M2.5S", "PT0S", "P2D"],
            [
                dt.timedelta(1, 7200),
                -dt.timedelta(0, 62, 500000),
                dt.timedelta(0),
                dt.timedelta(2),
            ],
        ),
    ],
    ids=["dates", "times", "instants", "times of day", "durations"],
)
def test_text_is_read_as_what_it_spells(make: Any, text: Any, values: Any) -> None:
    found = parse_text_dates(series(make([*text, None])))
    assert found.to_arrow().to_pylist() == [*values, None]
    assert found.dtype.is_temporal()


def test_a_column_keeps_its_name_and_index_and_others_are_left_alone() -> None:
    column = pd.Series(["2020-12-31", None], index=[5, 5], name="born")
    found = parse_text_dates(series(column)).to_native()
    assert found.name == "born"
    assert found.index.tolist() == [5, 5]
    numbers = series(pd.Series([1, 2]))
    assert parse_text_dates(numbers) is numbers
    nothing = series(pl.Series("x", [None, None], dtype=pl.String))
    assert parse_text_dates(nothing) is nothing


REFUSED = {
    "a day that is none": (["2021-02-29", "2020-01-01"], "1 of 2 values does", "dates"),
    "words": (["x", "y", None], "2 of 2 values do", "dates"),
    "dates among times": (
        ["2020-01-01", "2020-01-01 12:00", "2020-01-01 13:00"],
        "1 of 3 values does",
        "dates with a time",
    ),
    "times without a zone": (
        ["2020-01-01 12:00Z", "2020-01-01 12:00", "2020-01-02 12:00Z"],
        "1 of 3 values does",
        "dates with a time and a zone",
    ),
    "days before months": (["31.12.2020"], "1 of 1 value does", "dates"),
    "an hour that is none": (["25:00", "12:00"], "1 of 2 values does", "times of day"),
    "an instant before the first": (
        ["0001-01-01 00:00+05:00"],
        "1 of 1 value does",
        "dates",
    ),
    "a span beyond all": (["P999999999DT999999999H"], "1 of 1 value does", "dates"),
    "nothing but a letter": (["P", "PT1H"], "1 of 2 values does", "durations"),
    "equal values, each counted": (["x", "x", "12:00"], "2 of 3 values do", "times"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_text_that_spells_something_else_is_refused(case: str) -> None:
    text, said, kind = REFUSED[case]
    with refused(TableError, "ISO", "8601", "2020") as error:
        parse_text_dates(series(pd.Series(text)))
    assert error.value.problem.startswith(f"{said} not spell {kind}")


@settings(deadline=None)
@given(st.integers(-(10**13), 10**13))
def test_a_duration_is_read_as_it_was_spelled(microseconds: int) -> None:
    text = format_iso_duration(microseconds * 1000)
    (found,) = parse_text_dates(series(pd.Series([text]))).to_arrow().to_pylist()
    assert found == dt.timedelta(microseconds=microseconds)
    assert pd.Timedelta(text) == pd.Timedelta(microseconds, unit="us")


def test_text_is_dates_only_where_that_is_said() -> None:
    text = pd.DataFrame({"born": ["2020-01-05", "2020-01-01", "2020-01-05"]})
    (names,) = aggopt.encode(text).attributes
    (dates,) = aggopt.encode(text, {"born": {"kind": "date"}}).attributes
    assert (names.kind, dates.kind) == ("nominal", "numeric")
    assert dates.numbers is not None
    assert dates.numbers.values.tolist() == [4, 0, 4]


@pytest.mark.parametrize("values", [[1, 2], [True, False]])
def test_what_is_no_date_is_refused_as_one(values: Any) -> None:
    what = "numbers" if values[0] is not True else "names"
    with pytest.raises(JobError, match=f'kind = "date", but the values are {what}.'):
        aggopt.encode(pd.DataFrame({"x": values}), {"x": {"kind": "date"}})


def test_a_release_of_text_is_read_as_the_dates_of_the_original() -> None:
    people = pd.DataFrame({"born": [dt.date(2020, 1, d) for d in (1, 2, 9, 8)]})
    text = people.astype(str)
    found = aggopt.measure.assess_types(people, text)
    assert found == aggopt.measure.assess_types(people, people)
