"""Dates that text spells in a format of the user's."""

from datetime import date, datetime

import narwhals.stable.v2 as nw
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused

import aggopt
from aggopt.encoding.date_format import DateFormat, find_formats, format_column
from aggopt.encoding.iso_text import parse_text_dates
from aggopt.errors import JobError, TableError

MAKE = [pd.Series, pl.Series, lambda values: pa.chunked_array([pa.array(values)])]
FORMATS = ["%d.%m.%Y", "%m/%d/%Y", "%Y-%d-%m", "%Y%m%d", "on %d of %m in %Y (?)"]


def series(native):
    return nw.from_native(native, series_only=True)


@pytest.mark.parametrize("make", MAKE)
def test_text_is_read_as_dates_and_written_alike(make):
    text = ["22.09.1930", " 1.2.0999 ", None]
    found = parse_text_dates(series(make(text)), "%d.%m.%Y")
    assert [d and (d.year, d.month, d.day) for d in map(day, found.to_list())] == [
        (1930, 9, 22),
        (999, 2, 1),
        None,
    ]
    back = format_column(found, "%d.%m.%Y").to_list()
    assert ["" if pd.isna(each) else each for each in back] == [
        "22.09.1930",
        "01.02.0999",
        "",
    ]


def day(value):
    return None if pd.isna(value) else value


@given(st.dates(), st.sampled_from(FORMATS))
def test_what_is_written_is_read_as_the_same_day(moment, text):
    how = DateFormat(text)
    assert how.read(how.write(moment)) == datetime.combine(moment, datetime.min.time())


@given(st.datetimes(), st.sampled_from(["%d.%m.%Y %H:%M", "%Y/%m/%dT%H:%M:%S"]))
def test_times_of_day_have_the_parts_of_the_format(moment, text):
    how = DateFormat(text)
    known = moment.replace(microsecond=0)
    known = known if "%S" in text else known.replace(second=0)
    assert how.read(how.write(moment)) == known


@pytest.mark.parametrize(
    "text",
    ["%d.%m.%y", "%d.%m", "%d.%m.%Y.%d", "%d.%b.%Y", "", "%d.%m.%Y %M", "%d%m%Y%"],
)
def test_formats_of_no_whole_date_are_refused(text):
    with refused(JobError):
        aggopt.encoding.AttributeType(format=text)


def test_a_format_is_of_dates_alone():
    assert aggopt.encoding.AttributeType(format="%d.%m.%Y").kind == "date"
    with refused(JobError):
        aggopt.encoding.AttributeType("nominal", format="%d.%m.%Y")


@pytest.mark.parametrize(
    "wrong", ["31.02.1930", "1930-02-03", "1.1.30", "\u0661.1.1930"]
)
def test_what_does_not_fit_is_counted_and_its_record_named(wrong):
    column = series(pd.Series(["22.09.1930", None, wrong, wrong]))
    with refused(TableError) as error:
        parse_text_dates(column, "%d.%m.%Y")
    assert wrong not in str(error.value)


@pytest.mark.parametrize(
    ("text", "formats"),
    [
        (["22.09.1930", "01.02.1940"], ("%d.%m.%Y",)),
        (["12/31/1930", "01/02/1940"], ("%m/%d/%Y",)),
        (["02.09.1930", None], ("%d.%m.%Y", "%m.%d.%Y")),
        (["1930/09/22 23:59"], ("%Y/%m/%d %H:%M",)),
        (["22.09.1930", "09.22.1930"], ()),
        (["22.09.30"], ()),
        ([None], ()),
    ],
)
def test_formats_that_fit_all_entries_are_found(text, formats):
    assert find_formats(pa.array(text, pa.string())) == formats


def test_distances_of_such_dates_are_those_of_days():
    days = pd.Series(pd.date_range("1930-09-22", periods=5, freq="40D"))
    format_ = "%d.%m.%Y"
    text = pd.DataFrame({"born": days.dt.strftime(format_)})
    one = aggopt.encode(text, {"born": {"format": format_}}).coordinates
    two = aggopt.encode(pd.DataFrame({"born": days.dt.date})).coordinates
    assert one.tolist() == two.tolist()


def test_date_is_a_date():
    assert DateFormat("%d.%m.%Y").write(date(1, 2, 3)) == "03.02.0001"
