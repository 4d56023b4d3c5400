"""Entries of confidential attributes, in memory and as a file repeats them."""

import datetime
from decimal import Decimal

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest
from refusals import refused

from aggopt.data.parsing.entries import (
    Values,
    is_date,
    is_doubtful,
    list_entries,
    make_entry_reader,
    read_tree,
    require_apart,
)
from aggopt.errors import JobError, TableError
from aggopt.privacy import distinct_l, find_groups


@pytest.mark.parametrize(
    ("value", "text", "meant"),
    [
        (1, "1", 1),
        (np.int64(7), " +7 ", 7),
        (1.5, "1.50", 1.5),
        (Decimal("2.50"), "2.5", 2.5),
        (Decimal("2.0"), "2", 2),
        (10**20, str(10**20), 10**20),
        (True, "True", "True"),
        (np.inf, "inf", "inf"),
        (-np.inf, "-inf", "-inf"),
        ("flu", "flu ", "flu"),
        (None, "", None),
        (np.nan, "NA", None),
        (pd.NA, ".", None),
        (pd.NaT, "n/a", None),
        (Decimal("NaN"), "NaN", None),
    ],
)
def test_a_value_is_what_its_text_is(value, text, meant) -> None:
    entry = make_entry_reader(".")
    for given in (value, text):
        found = entry(given)
        assert found == meant
        assert type(found) is type(meant)


def test_a_decimal_comma() -> None:
    entry = make_entry_reader(",")
    assert (entry("1,5"), entry("1.5"), entry("1e999")) == (1.5, "1.5", "inf")


def test_text_that_may_stand_for_what_is_missing_is_counted() -> None:
    entries = ["-", "Unknown", "inf", "-", "none", "flu", None, "3"]
    values = Values.of(
        nw.new_series("x", entries, backend="polars"), make_entry_reader(".")
    )
    assert values.count(is_doubtful) == 4
    assert values.all.tolist() == [*entries[:-1], 3]


def test_refusals() -> None:
    with refused(TableError):
        require_apart([1, 1.0, "a", "a", None])
    with refused(JobError):
        read_tree({"1": ["a"], "01": ["b"]}, make_entry_reader("."))
    for odd in ([1, "a"], [[1], [2]], [b"a", b"b"], [10**30, 1], [1j, 2j]):
        frame = nw.from_native(pd.DataFrame({"x": pd.Series(odd, dtype=object)}))
        with refused(TableError) as error:
            list_entries(frame["x"])
        assert error.value.__cause__ is None


@pytest.mark.parametrize("kind", [pl.Datetime("ns"), pl.Duration("ns"), pl.Time])
def test_times_are_told_apart_to_the_nanosecond(kind) -> None:
    column = pl.Series("x", [0, 1, 2, None]).cast(kind)
    found = list_entries(nw.from_native(column.to_frame())["x"])
    assert len(set(found.tolist())) == 4
    assert sum(map(is_date, found)) == 3
    assert distinct_l([0, 0, 0], column.head(3)) == 3
    assert find_groups(column).tolist() == [1, 2, 3, 0]


def test_dates_are_dates_and_the_two_zeros_are_one() -> None:
    day = datetime.date(2020, 1, 2)
    frame = nw.from_native(pd.DataFrame({"day": [day, None], "zero": [0.0, -0.0]}))
    assert sum(map(is_date, list_entries(frame["day"]))) == 1
    zeros = list_entries(frame["zero"])
    assert zeros[0] != zeros[1]  # as a file has them
    with refused(TableError):
        require_apart(map(make_entry_reader(","), zeros))
