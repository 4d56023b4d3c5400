"""How typed attributes are distributed, before and after."""

import datetime as dt

import numpy as np
import pandas as pd
import pytest
from refusals import refused
from tables import job, people

import aggopt
from aggopt.errors import UnknownNameError
from aggopt.measure.safe_figures import Shares, estimate_density
from aggopt.release.figures.distributions import (
    STEPS,
    compute_calendar_edges,
    format_moments,
    make_distribution,
)

DAY = 86400


def released(frame, k=3, **roles):
    """Return the two tables that a release has."""
    names = {"quasi-identifier": [str(c) for c in frame.columns], **roles}
    release = aggopt.mask(frame, job(k, roles=names))
    return release.original.value, release.masked


def test_numbers_are_in_bins_of_the_release() -> None:
    frame = people(60)
    release = aggopt.mask(frame, job())
    original = release.original.value
    found = make_distribution(original, release.masked, "income")
    what = estimate_density(frame["income"], release.table["income"])
    assert (found.name, found.what, found.unit) == ("income", what, "")
    assert found.ticks == tuple(f"{edge:.12g}" for edge in what.edges)


def test_a_name_that_is_no_quasi_identifier_is_refused() -> None:
    release = aggopt.mask(people(), job())
    with refused(UnknownNameError, "illness"):
        make_distribution(release.original.value, release.masked, "illness")


def test_fewer_than_ten_records_show_nothing() -> None:
    original, masked = released(people(9)[["age"]])
    assert make_distribution(original, masked, "age") is None


def test_categories_are_at_their_levels() -> None:
    levels = ["red"] * 20 + ["green"] * 15 + ["blue"] * 5
    frame = pd.DataFrame(
        {"colour": levels, "x": np.repeat([1.0, 2.0, 3.0], [20, 15, 5])}
    )
    original, masked = released(frame, k=5)
    found = make_distribution(original, masked, "colour")
    what = Shares(("red", "other"), (50, 50), (50, 50))
    assert (found.what, found.ticks, found.unit) == (what, ("red", "other"), "")


def test_dates_count_from_1970_and_turn_over_with_the_calendar() -> None:
    days = pd.date_range("2001-02-03", periods=40, freq="100D")
    original, masked = released(pd.DataFrame({"born": days}), k=5)
    found = make_distribution(original, masked, "born")
    assert found.ticks[0] in ("2001", "2002")
    assert all(len(tick) == 4 for tick in found.ticks)
    firsts = [(dt.date(int(t), 1, 1) - dt.date(1970, 1, 1)).days for t in found.ticks]
    assert list(found.what.edges) == firsts
    assert sum(found.what.original) == pytest.approx(100, abs=5)


def test_lengths_are_in_the_unit_that_most_have_one_of() -> None:
    hours = pd.to_timedelta(np.arange(40) + 30, unit="h")
    frame = pd.DataFrame({"stay": hours})
    found = make_distribution(*released(frame, k=5), "stay")
    assert found.unit == "days"
    assert 1 <= found.what.edges[0] < found.what.edges[-1] <= 3
    found = make_distribution(*released(frame / 30, k=5), "stay")
    assert found.unit == "hours"


@pytest.mark.parametrize(("unit", "times"), STEPS, ids=[f"{t} {u}" for u, t in STEPS])
def test_calendar_edges_hold_what_is_released(unit, times) -> None:
    length = {"s": 1, "m": 60, "h": 3600, "D": DAY, "M": 30 * DAY, "Y": 365 * DAY}
    low, high = 12_345_678.0, 12_345_678.0 + 15 * times * length[unit]
    edges = compute_calendar_edges(np.array([low, high]))
    assert edges[0] <= low + 0.01 * (high - low)
    assert edges[-1] > high - 0.01 * (high - low)
    assert len(edges) <= 18
    assert (np.diff(edges) > 0).all()


def test_moments_are_spelled_alike_and_short() -> None:
    assert format_moments([0.0, 31 * DAY]) == ("1970-01", "1970-02")
    assert format_moments([0.0, DAY]) == ("1970-01-01", "1970-01-02")
    assert format_moments([-1.0, 60.0]) == (
        "1969-12-31T23:59:59",
        "1970-01-01T00:01:00",
    )
