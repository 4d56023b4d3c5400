"""Published numbers of a release: decimals, whole numbers, bounds and dates."""

from itertools import product
from math import floor, log10

import numpy as np
import pandas as pd
import pytest

import aggopt

FRAME = pd.DataFrame(
    {
        "a": [0.1234, 1.457, 10.01, 11.7, 20.3, 21.9, 33.333, 34.777],
        "n": [0, 1, 10, 11, 20, 23, 33, 34],
    }
)
DAYS = pd.to_datetime("2020-01-01") + pd.to_timedelta(
    [0, 1, 9, 10, 20, 23, 30, 31], "D"
)
WHOLE = {"integer": True}


def mask(frame, attributes=None, output=None, **sections):
    quasi = [name for name in frame if name != "w"]
    roles = {"quasi-identifier": quasi, "weight": [n for n in frame if n == "w"]}
    job = aggopt.Job(
        roles=roles,
        privacy={"k": 2},
        partition={"method": "mdav"},
        attributes=attributes or {},
        output={"shuffle": False, **(output or {})},
        **sections,
    )
    return aggopt.mask(frame, job, secret="0" * 32)


def means_of_groups(x, labels, weights=None):
    """Return the mean of each record's group, in plain Python."""
    weights = np.ones(len(x)) if weights is None else weights
    means = {
        label: np.average(x[labels == label], weights=weights[labels == label])
        for label in set(labels)
    }
    return np.array([means[label] for label in labels])


@pytest.mark.parametrize("decimals", [3, 1, 0, -1])
def test_group_means_are_rounded_to_the_decimals_of_the_job(decimals) -> None:
    release = mask(FRAME[["a"]], output={"decimals": decimals})
    means = means_of_groups(FRAME["a"].to_numpy(), release.labels)
    expected = [round(mean, decimals) for mean in means]
    assert release.table["a"].tolist() == expected
    (note,) = [n for n in release.notes if n.startswith("Published values are rounded")]
    assert f"(decimals = {decimals})" in note


@pytest.mark.parametrize("unit", [1e-4, 1.0, 1e5])
def test_six_digits_are_counted_from_the_standard_deviation(unit) -> None:
    frame = FRAME[["a"]] * unit
    release = mask(frame)
    place = 5 - floor(log10(frame["a"].std(ddof=0)))
    means = means_of_groups(frame["a"].to_numpy(), release.labels)
    expected = [round(mean, place) for mean in means]
    assert release.table["a"].tolist() == expected


def test_nothing_is_rounded_with_all_digits() -> None:
    release = mask(FRAME[["a"]], output={"digits": "full"})
    means = means_of_groups(FRAME["a"].to_numpy(), release.labels)
    np.testing.assert_allclose(release.table["a"], means, rtol=1e-15)
    assert not any("are rounded" in note for note in release.notes)


@pytest.mark.parametrize("weights", [None, [1, 1, 3, 3, 1, 1, 2, 2]])
def test_whole_numbers_keep_the_mean_as_well_as_any_others(weights) -> None:
    frame = FRAME if weights is None else FRAME.assign(w=np.array(weights, float))
    release = mask(frame, {"n": WHOLE})
    x, w = FRAME["n"].to_numpy(float), np.array(weights or [1.0] * 8)
    means = means_of_groups(x, release.labels, None if weights is None else w)
    published = release.table["n"].to_numpy(float)
    assert (published == np.rint(published)).all()
    assert np.abs(published - means).max() < 1
    _, group = np.unique(release.labels, return_inverse=True)
    of_group = means[np.unique(group, return_index=True)[1]]
    choices = product((np.floor, np.ceil), repeat=len(of_group))
    drifts = [
        np.average(
            [end(mean) for end, mean in zip(ends, of_group, strict=True)]
            @ np.eye(len(of_group))[group].T
            - means,
            weights=w,
        )
        for ends in choices
    ]
    drift = abs(np.average(published - means, weights=w))
    assert drift <= np.abs(drifts).min() + 1e-12


def test_whole_numbers_of_groups_without_a_value_stay_missing() -> None:
    frame = FRAME.astype(float)
    frame.loc[[2, 3, 7], "n"] = None
    release = mask(frame, {"n": WHOLE}, missing={"policy": "patterns"})
    published = release.table["n"]
    assert published.isna().sum() >= 3
    present = published.dropna().to_numpy(float)
    assert len(present) >= 2
    assert (present == np.rint(present)).all()


@pytest.mark.parametrize("integer", [False, True])
def test_rounding_moves_no_value_out_of_the_bounds(integer) -> None:
    # means of 0.25 and 6.75 round to 0.2 and 6.8, and as whole numbers to 0 and 7
    frame = pd.DataFrame({"f": [0.25, 0.25, 3.0, 3.1, 6.75, 6.75]})
    bounds = {"lower": 0.25, "upper": 6.75, "integer": integer}
    release = mask(frame, {"f": bounds}, {"decimals": 1})
    expected = [1, 1, 3, 3, 6, 6] if integer else [0.3, 0.3, 3.0, 3.0, 6.7, 6.7]
    published = release.table["f"].tolist()
    ends = [*published[:2], *published[4:]]
    assert ends == [*expected[:2], *expected[4:]]


def test_integer_columns_stay_integers_on_request() -> None:
    plain, typed = mask(FRAME), mask(FRAME, output={"round_integers": True})
    assert plain.table["n"].dtype == np.float64
    assert typed.table["n"].dtype == np.int64
    assert typed.table["a"].dtype == np.float64
    assert np.abs(typed.table["n"] - plain.table["n"]).max() <= 0.5


def test_dates_are_published_in_the_unit_of_the_originals() -> None:
    release = mask(pd.DataFrame({"day": DAYS, "a": FRAME["a"]}))
    published = pd.to_datetime(release.table["day"])
    assert (published == published.dt.normalize()).all()
    assert any("'day' to days" in note for note in release.notes)
    numbers = (DAYS - DAYS[0]).days.to_numpy(float)
    means = means_of_groups(numbers, release.labels)
    moved = (published - DAYS[0]).dt.days.to_numpy() - means
    assert np.abs(moved).max() <= 0.5
