"""Dates and times as numbers, and numbers as dates and times."""

import datetime as dt
from dataclasses import replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from refusals import refused

from aggopt.encoding.clock import (
    DAY,
    SECOND,
    Clock,
    Moments,
    count_nanoseconds,
    get_limits,
)
from aggopt.errors import TableError

DAYS = [dt.date(2020, 1, 5), dt.date(1969, 12, 31), dt.date(2020, 2, 29)]
TIMES = [dt.datetime(2020, 1, 2), dt.datetime(1950, 3, 4, 5, 6, 7)]
SPANS = [dt.timedelta(1), dt.timedelta(-2, 3, 4)]
CLOCKS = [dt.time(1, 2), dt.time(23, 59, 59, 5)]
ZONES = [None, "UTC", "Europe/Paris", "+05:30"]


def columns() -> dict[str, Any]:
    """Return a column of each type that the three libraries have."""
    made: dict[str, Any] = {
        "pandas dates": pd.Series(DAYS),
        "pandas objects": pd.Series(TIMES, dtype=object),
        "pandas times": pd.Series(CLOCKS),
        "pandas spans": pd.Series(SPANS, dtype=object),
        "pandas of Arrow": pd.Series(DAYS, dtype=pd.ArrowDtype(pa.date32())),
        "polars dates": pl.Series("x", DAYS),
        "polars times": pl.Series("x", CLOCKS),
        "arrow dates": pa.chunked_array([pa.array(DAYS)]),
        "arrow long dates": pa.chunked_array([pa.array(DAYS, pa.date64())]),
    }
    for unit in ("s", "ms", "us", "ns"):
        made[f"pandas spans {unit}"] = pd.Series(SPANS[:1]).astype(f"m8[{unit}]")
        made[f"arrow spans {unit}"] = arrow(SPANS[:1], pa.duration(unit))
        for zone in ZONES:
            moments = pd.Series(TIMES, index=[7, 7]).astype(f"M8[{unit}]")
            made[f"pandas {unit} {zone}"] = moments.dt.tz_localize(zone)
            made[f"arrow {unit} {zone}"] = arrow(TIMES, pa.timestamp(unit, zone))
    for unit in ("ms", "us", "ns"):
        plain = pl.Series("x", TIMES).cast(pl.Datetime(unit))
        made[f"polars {unit}"] = plain
        made[f"polars {unit} zone"] = plain.dt.replace_time_zone("Europe/Paris")
        made[f"polars spans {unit}"] = pl.Series("x", SPANS).cast(pl.Duration(unit))
    for kind in (pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns")):
        made[f"arrow {kind}"] = arrow(CLOCKS[:1], kind)
    return made


def arrow(values: Any, kind: Any) -> Any:
    return pa.chunked_array([pa.array(values, kind)])


COLUMNS = columns()


def series(native: Any) -> nw.Series[Any]:
    return nw.from_native(native, series_only=True)


@pytest.mark.parametrize("name", COLUMNS)
def test_what_is_counted_comes_back_in_the_same_type(name: str) -> None:
    native = COLUMNS[name]
    column = series(native)
    found = Moments.of(column)
    clock = Clock.of(found)
    again = clock.filled(column, clock.numbers(found)).to_native()
    assert again.equals(native)
    kind = "type" if isinstance(native, pa.ChunkedArray) else "dtype"
    assert getattr(again, kind) == getattr(native, kind)
    if isinstance(native, pd.Series):
        assert again.index.equals(native.index)
        assert [*map(type, again)] == [*map(type, native)]


def test_what_is_missing_stays_missing() -> None:
    for native in (pd.Series([*DAYS, None]), pl.Series("x", [*DAYS, None])):
        found = Moments.of(series(native))
        assert found.absent.tolist() == [False, False, False, True]
        clock = Clock.of(found)
        numbers = clock.numbers(found)
        assert np.isnan(numbers).tolist() == found.absent.tolist()
        on_grid = clock.on_grid(numbers, 1)
        assert np.isnan(on_grid).tolist() == found.absent.tolist()
        filled = clock.filled(series(native), numbers).to_list()
        assert filled[:3] == DAYS
        assert pd.isna(filled[3])


def test_dates_count_from_the_first_and_durations_from_nothing() -> None:
    for name, first in (("pandas dates", -1), ("pandas spans", 0), ("arrow dates", -1)):
        assert Clock.of(Moments.of(series(COLUMNS[name]))).start == first
    assert Clock.of(Moments.of(series(COLUMNS["polars times"]))).start == 0


@pytest.mark.parametrize(
    ("values", "whole", "said"),
    [
        ([dt.datetime(2020, 1, 1), dt.datetime(1960, 1, 2)], DAY, "days"),
        ([dt.datetime(2020, 1, 1, 5), dt.datetime(1960, 1, 2)], DAY // 24, "hours"),
        ([dt.datetime(1960, 1, 1, 5, 1)], 60 * SECOND, "minutes"),
        ([dt.datetime(1960, 1, 1, 5, 1, 7)], SECOND, "seconds"),
        ([dt.datetime(1960, 1, 1, 5, 1, 7, 5000)], 10**6, "milliseconds"),
        ([dt.datetime(1960, 1, 1, 5, 1, 7, 5)], 10**3, "microseconds"),
        (["1960-01-01T00:00:00.000000005"], 1, "nanoseconds"),
    ],
)
def test_the_coarsest_unit_in_which_all_are_whole(
    values: Any, whole: int, said: str
) -> None:
    native = pd.to_datetime(pd.Series(values)).astype("datetime64[ns]")
    clock = Clock.of(Moments.of(series(native)))
    assert clock.whole == whole
    assert clock.describe_step(1) == said
    assert clock.seconds == whole / SECOND


def test_parts_of_a_second_are_as_fine_as_asked() -> None:
    fine, coarse = Clock(pa.timestamp("ns"), 0, 1), Clock(pa.timestamp("ns"), 0, DAY)
    steps = {None: 1, -3: SECOND, 0: SECOND, 1: 10**6, 3: 10**6, 4: 10**3, 6: 10**3}
    assert {d: fine.step(d) for d in steps} == steps
    assert [fine.step(7), fine.step(99)] == [1, 1]
    assert {coarse.step(d) for d in steps} == {1}
    assert Clock(pa.timestamp("ns"), 0, 1000).step(0) == 10**6
    assert Clock(pa.timestamp("ms"), 0, 1).step(6) == 1
    assert Clock(pa.timestamp("s"), 0, 60).step(6) == 1
    assert Clock(pa.date32(), 0, 1).step(0) == 1


def test_numbers_are_whole_and_the_same_in_every_unit() -> None:
    days = Moments.of(series(COLUMNS["arrow dates"]))
    for unit in ("s", "ms", "us", "ns"):
        moments = days.cast(pa.timestamp(unit))
        clock = Clock.of(moments)
        assert clock.numbers(moments).tolist() == [18267, 0, 18322]
        assert clock.seconds == 86400
        noon = replace(moments, counts=moments.counts + clock.whole // 2)
        assert clock.numbers(noon).tolist() == [18267.5, 0.5, 18322.5]
        before = replace(moments, counts=moments.counts - 3 * clock.whole // 2)
        assert clock.numbers(before).tolist() == [18265.5, -1.5, 18320.5]


@settings(deadline=None)
@given(
    st.integers(-(10**9), 10**9),
    st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=5),
    st.integers(1, 1000),
)
def test_the_grid_is_of_the_calendar_not_of_the_first_date(
    start: int, numbers: list[float], step: int
) -> None:
    x = np.array(numbers)
    y = Clock(pa.timestamp("s"), 60 * start, 60).on_grid(x, step)
    assert not ((y + start) % step).any()
    assert (np.abs(y - x) <= step / 2 * (1 + 1e-9)).all()


@settings(deadline=None, max_examples=30)
@given(
    st.integers(-(2**62), 2**62),
    st.integers(0, 2**62),
    st.sampled_from([1000, 10**6, SECOND]),
)
@example(4_611_686_018_072_613_378, 4_611_686_018_427_387_647, SECOND)
def test_what_is_published_are_whole_steps_though_floats_count_by_twos(
    start: int, apart: int, step: int
) -> None:
    kind = pa.timestamp("ns")
    clock, exact = Clock(kind, start, 1), start + apart
    x = clock.on_grid(np.array([float(apart)]), step)
    made = clock.filled(series(arrow([0], kind)), x, step).to_arrow()
    (count,) = made.cast(pa.int64()).to_pylist()
    assert count % step == 0
    # four roundings of numbers up to twice `apart`, each by half a spacing at most
    assert abs(count - exact) <= step / 2 + np.spacing(2.0 * apart) * 2


def test_the_last_of_a_day_is_a_whole_step_too() -> None:
    column = series(arrow(CLOCKS, pa.time64("us")))
    clock = Clock.of(Moments.of(column))
    last = clock.filled(column, np.array([86_399_900_000.0, 0.0]), 10**6)
    assert last.to_list() == [dt.time(23, 59, 59), dt.time(0)]


def test_values_beyond_a_type_are_the_last_that_it_has() -> None:
    assert get_limits(pa.time64("us")) == (0, DAY // 1000 - 1)
    minutes = series(pd.Series([dt.time(1, 2), dt.time(3)]))
    last = Clock.of(Moments.of(minutes)).filled(minutes, np.array([-5.0, 1e9]))
    assert last.to_list() == [dt.time(0), dt.time(23, 59)]
    column = series(pl.Series("x", CLOCKS))
    nano = Clock.of(Moments.of(column))
    last = nano.filled(column, np.array([-1.0, 1e18])).to_list()
    assert last == [dt.time(0), dt.time(23, 59, 59, 999999)]
    first, end = get_limits(pa.date32())
    epoch = dt.date(1970, 1, 1)
    assert epoch + dt.timedelta(first) == dt.date.min
    assert epoch + dt.timedelta(end) == dt.date.max
    assert get_limits(pa.timestamp("ns")) == (-(2**63) + 1, 2**63 - 1)
    low, high = get_limits(pa.timestamp("us"))
    zero = dt.datetime(1970, 1, 1)
    assert zero + dt.timedelta(microseconds=low) == dt.datetime.min
    assert zero + dt.timedelta(microseconds=high) == dt.datetime.max
    assert get_limits(pa.duration("s")) == (-(2**63) + 1, 2**63 - 1)
    dates = series(COLUMNS["arrow ns None"])
    clock = Clock.of(Moments.of(dates))
    (early, late) = clock.filled(dates, np.array([-1e18, 1e18])).to_arrow().to_pylist()
    assert (early.value, late.value) == (-9223372036 * SECOND, 9223372036 * SECOND)


def test_the_length_of_units() -> None:
    kinds = (pa.date32(), pa.date64(), pa.time32("s"), pa.duration("us"))
    assert [count_nanoseconds(kind) for kind in kinds] == [DAY, 10**6, SECOND, 1000]


def test_dates_that_no_file_spells_are_counted() -> None:
    seconds = [
        0,
        get_limits(pa.timestamp("s"))[1],
        get_limits(pa.timestamp("s"))[1] + 1,
    ]
    native = arrow([*seconds, get_limits(pa.timestamp("s"))[0] - 1, None], pa.int64())
    found = Moments.of(series(native.cast(pa.timestamp("s"))))
    assert found.beyond == 2


def test_dates_are_counted_as_others_where_both_are_whole() -> None:
    days = Moments.of(series(COLUMNS["arrow dates"]))
    seconds = days.cast(pa.timestamp("s"))
    assert seconds.counts.tolist() == (days.counts * 86400).tolist()
    assert seconds.type == pa.timestamp("s")
    assert seconds.cast(pa.date32()).counts.tolist() == days.counts.tolist()
    zoned = Moments.of(series(COLUMNS["arrow us Europe/Paris"]))
    assert zoned.cast(pa.timestamp("us", "UTC")).type.tz == "UTC"


REFUSED = {
    "hours as days": ("arrow s None", pa.date32()),
    "wall times as instants": ("arrow s None", pa.timestamp("s", "UTC")),
    "instants as wall times": ("arrow s UTC", pa.timestamp("s")),
    "times of day as dates": ("arrow time32[s]", pa.date32()),
    "times of day as durations": ("arrow time32[s]", pa.duration("s")),
    "durations as dates": ("arrow spans s", pa.timestamp("s")),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_counted_as_others_is_refused(case: str) -> None:
    name, wanted = REFUSED[case]
    with refused(TableError) as error:
        Moments.of(series(COLUMNS[name]), wanted)
    assert str(wanted) in error.value.problem


def test_the_farthest_in_a_finer_unit_are_refused() -> None:
    far = series(arrow([2**62], pa.int64()).cast(pa.timestamp("s")))
    with refused(TableError):
        Moments.of(far, pa.timestamp("ns"))


def test_more_digits_than_a_float_has_are_refused() -> None:
    counts = arrow([0, 2**60, 2**60 + 1], pa.int64()).cast(pa.timestamp("ns"))
    found = Moments.of(series(counts))
    with refused(TableError):
        Clock.of(found).numbers(found)


def test_numbers_are_no_dates() -> None:
    with refused(TableError):
        Moments.of(series(pd.Series([1, 2])))


def test_dates_of_several_types_are_refused() -> None:
    zoned = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
    mixed = pd.Series([dt.time(1), zoned], dtype=object)
    with refused(TableError):
        Moments.of(series(mixed))
