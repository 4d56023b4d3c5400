"""Rounding: a decimal grid, whole numbers, bounds and dates, and its notes."""

import json
from decimal import Decimal
from itertools import product
from math import floor, log10
from types import SimpleNamespace

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from refusals import refused
from tables import job, people, wide, wide_job

import aggopt
from aggopt.encoding.clock import Clock
from aggopt.errors import JobError
from aggopt.experiments.compare_solvers import compare
from aggopt.job import Output
from aggopt.pipeline.finish import published_values, rounding_notes
from aggopt.pipeline.finish.rounding import round_to_grid
from aggopt.pipeline.prepare.published_grid import choose_decimals
from aggopt.release.manifest import Drift

ONE = {"quasi-identifier": ["x"]}


def one(x, **output):
    frame = pd.DataFrame({"x": x})
    plain = {"privacy": {"k": 3}, "partition": {"method": "mdav"}}
    return aggopt.mask(frame, aggopt.Job(roles=ONE, **plain, output=output))


def drawn(scale=1.0, shift=0.0, n=60, seed=0):
    return np.random.default_rng(seed).normal(size=n) * scale + shift


@pytest.mark.parametrize("scale", [1e-12, 3e-7, 1.0, 999.0, 1000.0, 4e8, 1e15])
@pytest.mark.parametrize("digits", [2, 6, 9])
def test_values_are_whole_multiples_of_a_step_and_written_as_such(
    tmp_path, scale, digits
) -> None:
    x = drawn(scale)
    files = one(x, digits=digits).write(tmp_path / "masked.csv")
    spread = Decimal(x.std()).adjusted()
    step = Decimal(1).scaleb(spread - digits + 1)
    for text in files.table.read_text().splitlines()[1:]:
        assert Decimal(text) % step == 0


def test_small_values_have_no_more_decimals_than_large_ones() -> None:
    values = one([1e-7, 2e-7, 3e-7, 100.0, 101, 102], decimals=None).table["x"]
    assert values.tolist() == [0.0] * 3 + [101.0] * 3


@pytest.mark.parametrize("far", [1e9, -1e9, 1e12])
def test_values_far_from_zero_keep_what_tells_them_apart(far) -> None:
    x = drawn(1.0, far)
    c = one(x).table["x"].to_numpy()
    exact = one(x, digits="full").table["x"].to_numpy()
    assert np.abs(c - exact).max() <= 1e-5
    assert len(np.unique(c)) == len(np.unique(exact))


def test_a_value_on_the_grid_is_the_float_of_its_decimal() -> None:
    values = round_to_grid(np.array([12.3456789, 0.1 + 0.2, -1e-9, 1234.5]), 4)
    assert [repr(v) for v in values.tolist()] == ["12.3457", "0.3", "0.0", "1234.5"]
    assert round_to_grid(np.array([1234.5, 1250.0]), -2).tolist() == [1200.0, 1200.0]
    assert round_to_grid(np.array([1e300]), 15).tolist() == [1e300]


def test_the_step_changes_where_the_spread_has_a_digit_more() -> None:
    places = [choose_decimals(s, Output()) for s in (0.999, 1.0, 9.99, 10.0, 1e6)]
    assert places == [6, 5, 5, 4, -1]
    assert choose_decimals(7.0, Output(decimals=-2)) == -2
    assert choose_decimals(7.0, Output(digits="full")) is None


def test_rounding_is_before_the_audit_and_the_measures(tmp_path) -> None:
    release = aggopt.mask(people(), job(output={"decimals": -3}))
    income = release.table["income"].to_numpy()
    assert (income % 1000 == 0).all()
    X = people()[["age", "income"]].to_numpy(float)
    Y = release.table[["age", "income"]].to_numpy(float)
    assert release.measures.il == aggopt.measure.il(X, Y)
    groups = pd.DataFrame(Y).drop_duplicates()
    assert release.audit.groups == len(groups)
    written = pd.read_csv(release.write(tmp_path / "masked.csv").table)
    assert set(written["income"]) == set(income)


def test_what_rounding_moves_is_measured_and_said_once(tmp_path) -> None:
    x = drawn(12.0, 40.0)
    release, exact = one(x), one(x, digits="full")
    moved = release.drift["x"]
    before, after = (r.table["x"].to_numpy() for r in (exact, release))
    assert moved.step == 1e-4
    assert moved.mean == pytest.approx(abs((after - before).mean()) / x.std())
    assert moved.variance == pytest.approx(
        abs(after.var() / before.var() - 1), rel=1e-4
    )
    assert 0 < moved.mean < 5e-6
    (note,) = (note for note in release.notes if "rounded" in note)
    assert "6 digits of the attribute's standard deviation" in note
    assert not any("rounded" in note for note in exact.notes)
    assert exact.drift == {}
    files = release.write(tmp_path / "masked.csv")
    kept = json.loads(files.manifest.read_text())["rounding"]["x"]
    assert kept == {"step": 1e-4, "mean": moved.mean, "variance": moved.variance}


def test_a_grid_that_is_too_coarse_is_said() -> None:
    release = one(drawn(0.01, 7.0), decimals=0)
    assert "'x': rounding leaves one value of all." in release.notes
    assert any("19 of 20 groups publish what another does" in n for n in release.notes)


def test_a_grid_on_which_one_value_dwarfs_all_others_is_said() -> None:
    x = np.append(np.arange(1.0, 120.0), 1e6)
    (said,) = [n for n in one(x, digits=2).notes if "one and the same value" in n]
    assert said.startswith("'x': rounding publishes one and the same value for 1")
    assert "of 120 records: ask for more digits" in said
    assert not any("one and the same" in n for n in one(x, digits=6).notes)


def test_blocks_and_types_are_rounded_alike() -> None:
    release = aggopt.mask(wide(), wide_job(partition={"method": "individual_ranking"}))
    for name in ("height", "debt"):
        step = release.drift[name].step
        parts = release.table[name].to_numpy() / step
        assert parts == pytest.approx(np.rint(parts), rel=1e-12)
    whole = {"round_integers": True, "digits": 2}
    release = aggopt.mask(people(), job(output=whole))
    assert release.table["age"].dtype == people()["age"].dtype
    plain = aggopt.mask(people(), job(output={"round_integers": True}))
    assert (release.table["age"] == plain.table["age"]).all()  # its step is 1


def test_float32_stays_float32_and_is_written_short(tmp_path) -> None:
    frame = pl.DataFrame({"x": drawn(12.0, 40.0).astype(np.float32)})
    asked = aggopt.Job(roles=ONE, privacy={"k": 3}, partition={"method": "mdav"})
    release = aggopt.mask(frame, asked)
    assert release.table["x"].dtype == pl.Float32
    written = release.write(tmp_path / "masked.csv").table.read_text().splitlines()
    assert max(map(len, written)) <= 8


def test_constants_and_other_columns_are_left_alone(tmp_path) -> None:
    frame = people().assign(age=1 / 3, note=np.linspace(0, 1, 40) / 3)
    release = aggopt.mask(frame, job())
    assert (release.table["age"] == 1 / 3).all()
    assert (release.table["note"] == frame["note"]).all()


def test_a_comparison_audits_and_measures_what_would_be_written() -> None:
    how = {"method": "p3m", "solver": "lagrangian", "margin": 0}
    asked = job(aggregation=how, output={"decimals": -3})
    (row,) = compare(people(), asked, ["lagrangian"])
    assert (row.si, row.sl) == (
        (found := aggopt.mask(people(), asked).measures).si,
        found.sl,
    )


@pytest.mark.parametrize(
    "output",
    [
        {"digits": 1},
        {"digits": 16},
        {"digits": 6.0},
        {"digits": True},
        {"digits": "all"},
        {"decimals": 16},
        {"decimals": -16},
        {"decimals": 0.5},
        {"digits": 6, "decimals": 2},
    ],
)
def test_settings_that_make_no_sense_are_refused(output) -> None:
    with refused(JobError):
        job(output=output)


@pytest.mark.parametrize("output", [{"digits": "full"}, {"digits": 3}, {"decimals": 2}])
def test_the_setting_survives_a_round_trip(output) -> None:
    asked = job(output=output)
    assert aggopt.Job(**asked.model_dump()) == asked


def test_a_job_that_is_written_down_says_its_digits() -> None:
    assert "digits = 6" in job().to_toml()
    assert "digits" not in job(output={"decimals": 2}).to_toml()
    assert Output() == Output(digits=6) == Output.model_validate(Output().model_dump())


# --- published numbers of a release: decimals, whole numbers, bounds and dates


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


# --- what is said of rounding, in full, of small tables that can be counted by hand


TENTH = Output(decimals=1)
APART = [0.0, 0.0, 2.0, 2.0]  # standard deviation 1


def given(
    *columns, output=TENTH, whole=False, labels=(0, 0, 1, 1), blocks=None, clocks=None
):
    """Stand for a table of these columns, called a, b, ..., that was partitioned."""
    names = tuple("abcdef"[: len(columns)])
    frame = pd.DataFrame(dict(zip(names, columns, strict=True)))
    X = frame.to_numpy(float)
    frame = frame.astype(int) if whole else frame
    parts = blocks or [(tuple(range(len(names))), labels)]
    return SimpleNamespace(
        X=X,
        names=names,
        of_numbers=lambda whole: whole,
        labels_of_numbers=np.array(labels),
        weights=None,
        job=SimpleNamespace(
            output=output, roles=SimpleNamespace(quasi_identifier=names), attributes={}
        ),
        table=SimpleNamespace(
            frame=nw.from_native(frame), clocks=clocks or {}, numeric=names, spans={}
        ),
        blocks=[
            SimpleNamespace(columns=columns, labels=np.array(of))
            for columns, of in parts
        ],
    )


def matrix(*columns):
    return np.array(columns, float).T


def said(table, before, after):
    moved = rounding_notes.measure_drifts(table, before, after)
    return rounding_notes.describe_rounding_effects(table, before, after, moved)


def test_the_note_has_the_largest_move_of_any_attribute() -> None:
    table = given(APART, APART)
    before = matrix([0.04, 0.04, 2.0, 2.0], [0.04, 0.04, 1.96, 1.96])
    notes = said(table, before, matrix(APART, APART))
    assert notes == [
        "Published values are rounded (decimals = 1): means moved by at most 0.02 "
        "standard deviations, variances by at most 0.09 of themselves; certificates "
        "are of the values before rounding."
    ]


def test_moves_that_floats_do_not_show_are_not_said() -> None:
    table = given(APART)
    masked, after = matrix(APART), matrix(APART)
    for mean, variance, shown in (
        (1e-15, 1e-15, False),
        (1.1e-15, 0.0, True),
        (0.0, 1.1e-15, True),
    ):
        notes = rounding_notes.describe_rounding_effects(
            table, masked, after, {"a": Drift(0.1, mean, variance)}
        )
        assert bool(notes) is shown
    assert rounding_notes.describe_rounding_effects(table, masked, after, {}) == []


def test_dates_are_rounded_to_the_units_of_their_clocks() -> None:
    minutes = Clock(pa.timestamp("s"), 60, 60)
    parts = Clock(pa.timestamp("ms"), 0, 1)
    table = given(APART, APART, APART, clocks={"a": minutes, "b": parts})
    before = matrix(*[[0.4, 0.4, 1.7, 1.7]] * 3)
    after = published_values.round_numbers_of_table(table, before)
    assert after.tolist() == matrix([0, 0, 2, 2], [0, 0, 2, 2], before[:, 2]).tolist()
    assert {
        n: each.step
        for n, each in rounding_notes.measure_drifts(table, before, after).items()
    } == {"a": 60.0, "b": 1e-3, "c": 0.1}
    (note,) = said(table, before, after)
    assert note.startswith(
        "Published values are rounded (decimals = 1, 'a' to minutes, 'b' to "
        "milliseconds): means"
    )
    still = rounding_notes.measure_drifts(table, after, after)
    assert {name: each.mean for name, each in still.items()} == dict.fromkeys("abc", 0)


def test_only_the_column_of_a_date_is_rounded_to_its_clock() -> None:
    parts = Clock(pa.timestamp("ms"), 0, 1)
    plain = Output(digits="full")
    table = given(APART, APART, clocks={"b": parts}, output=plain)
    before = matrix(*[[0.4, 0.4, 1.7, 1.7]] * 2)
    assert (
        published_values.round_numbers_of_table(table, before).tolist()
        == matrix(before[:, 0], [0, 0, 2, 2]).tolist()
    )


def test_drift_is_of_each_attribute_that_varies() -> None:
    constant = [5.0] * 4
    before = matrix(constant, [0.04, 0.04, 2.0, 2.0])
    found = rounding_notes.measure_drifts(
        given(constant, APART), before, matrix(constant, APART)
    )
    assert found == {
        "b": Drift(0.1, pytest.approx(0.02), pytest.approx(1 / 0.98**2 - 1))
    }
    one = rounding_notes.measure_drifts(
        given(APART), matrix([1.04] * 4), matrix([1.0] * 4)
    )
    assert one == {"a": Drift(0.1, pytest.approx(0.04), 0.0)}


def test_drift_counts_in_standard_deviations_and_without_sign() -> None:
    table = given([0.0, 0.0, 8.0, 8.0], output=Output(decimals=0))
    before = matrix([0.4, 0.4, 7.6, 7.6])
    found = rounding_notes.measure_drifts(table, before, before + 0.4)["a"]
    assert (found.step, found.mean) == (1.0, pytest.approx(0.1))
    wide = rounding_notes.measure_drifts(
        table, matrix([0, 0, 8, 8]), matrix([1, 1, 7, 7])
    )["a"]
    assert wide.variance == pytest.approx(1 - 9 / 16)


def test_drift_far_from_zero_is_exact() -> None:
    far = 1e12 + np.array(APART)
    moved = matrix(far) + 2.0**-13  # the least that floats of this size show
    found = rounding_notes.measure_drifts(given(far), matrix(far), moved)["a"]
    assert (found.mean, found.variance) == (2.0**-13, 0.0)


@pytest.mark.parametrize(
    ("output", "asked"),
    [
        (TENTH, "decimals = 1"),
        (Output(digits=3), "3 digits of the attribute's standard deviation"),
        (Output(digits="full"), "to their types"),
    ],
)
def test_the_note_says_what_was_asked(output, asked) -> None:
    table = given(APART, output=output)
    (note,) = said(table, matrix([0.5, 0.5, 2, 2]), matrix([0.25, 0.25, 2, 2]))[:1]
    assert note.startswith(f"Published values are rounded ({asked}): means moved by ")


def test_whole_numbers_are_rounded_once_to_their_type() -> None:
    before, after = matrix([0.26, 0.26, 2, 2]), matrix(APART)
    for output, step in (
        (Output(decimals=1, round_integers=True), None),
        (Output(decimals=0, round_integers=True), 1.0),
        (Output(decimals=-1, round_integers=True), 10.0),
        (Output(decimals=1), 0.1),
        (Output(digits="full", round_integers=True), None),
    ):
        table = given(APART, output=output, whole=True)
        assert rounding_notes.measure_drifts(table, before, after)["a"].step == step
    floats = given(APART, output=Output(decimals=1, round_integers=True))
    assert rounding_notes.measure_drifts(floats, before, after)["a"].step == 0.1
    full = given(APART, output=Output(digits="full"), whole=True)
    assert rounding_notes.measure_drifts(full, after, after) == {}


@pytest.mark.parametrize("sign", [1, -1])
def test_what_its_type_rounds_further_than_floats_do_is_said(sign) -> None:
    constant, wide = [5.0] * 4, [0.0, 0.0, 2e6, 2e6]
    plain, table = matrix(constant, APART, wide), given(constant, APART, wide)
    for share, count in ((0.9, 0), (1.1, 1)):
        moved = plain + sign * share * matrix([0] * 4, [2e-6, 0, 0, 0], [0] * 4)
        found = rounding_notes._list_typed_notes(table, plain, moved)
        assert len(found) == count
    assert found == [
        "'b' was rounded to its type: the certificate is of the values before, the "
        "measures are of those released."
    ]


def test_a_range_is_as_wide_on_both_sides_of_zero() -> None:
    x = [-1.0, -1.0, 1.0, 1.0]
    moved = matrix(x) + matrix([1e-6, 0, 0, 0])
    assert rounding_notes._list_typed_notes(given(x), matrix(x), moved) == []


def collapsed(before, after, **how):
    columns = before.T.tolist()
    how = {"labels": range(len(before)), **how}
    table = given(*columns, **how)
    few = rounding_notes._list_single_value_notes(table, before, after)
    return [*few, *rounding_notes._list_equal_group_notes(table, before, after)]


def test_a_group_without_a_value_publishes_no_zero() -> None:
    before = matrix([np.nan, 0.04, 2.0, 3.0])
    assert collapsed(before, matrix([np.nan, 0.0, 2.0, 3.0])) == []


def test_one_value_of_all_is_said_where_rounding_made_it() -> None:
    before = matrix([7.0, 7.0, 7.0], [1.1, 1.2, 1.3])
    found = collapsed(before, matrix([7.0] * 3, [1.0] * 3), labels=(0, 0, 0))
    assert found == ["'b': rounding leaves one value of all."]


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        ([1, 2, 3, 4, 5, 6], [0, 0, 0, 0, 5, 6], True),
        ([1, 2, 3, 4, 5, 6], [0, 0, 0, 4, 5, 6], False),  # half, and no more
        ([1, 1, 1, 1, 5, 6], [0, 0, 0, 0, 5, 6], False),  # so it was before
        ([1, 1, 1, 4, 5, 6], [0, 0, 0, 0, 5, 6], True),
    ],
)
def test_one_value_of_more_than_half_is_said(before, after, shown) -> None:
    notes = collapsed(matrix(before), matrix(after), labels=(0, 0, 0, 0, 0, 0))
    expected = [
        "'a': rounding publishes one and the same value for 4 of 6 records: ask for "
        "more digits, or cap the values that make its standard deviation so large."
    ]
    assert notes == (expected if shown else [])


def test_groups_that_publish_what_another_does_are_counted_in_each_block() -> None:
    before = matrix([1, 1, 2, 2, 3, 3], [1, 1, 2, 2, 9, 9], [4, 4, 5, 5, 6, 6])
    after = matrix([1, 1, 1, 1, 3, 3], [1, 1, 1, 1, 9, 9], [4, 4, 5, 5, 6, 6])
    blocks = [((0, 1), (0, 0, 1, 1, 2, 2)), ((2,), (0, 0, 1, 1, 2, 2))]
    found = collapsed(before, after, blocks=blocks)
    of = [note for note in found if "groups" in note]
    assert of == ["'a', 'b': rounding makes 1 of 3 groups publish what another does."]
    alone = [((0,), (0, 0, 1, 1, 2, 2)), ((1, 2), (0, 0, 1, 1, 2, 2))]
    of = [note for note in collapsed(before, after, blocks=alone) if "groups" in note]
    assert of == ["'a': rounding makes 1 of 3 groups publish what another does."]


@pytest.mark.parametrize(
    ("moved", "said"),
    [
        (0.0015, "0.002"),
        (0.001, "0.001"),
        (0.00101, "0.002"),
        (0.0123, "0.02"),
        (2.1e-5, "3e-05"),
        (0.96, "1"),
        (0.0, "0"),
    ],
)
def test_whatat_most_is_rounded_up(moved, said):
    moves = {"a": Drift(0.1, moved, 0.5), "b": Drift(0.1, 0.0, moved)}
    note = rounding_notes.describe_rounding_effects(
        given(APART), *[np.array([APART]).T] * 2, moves
    )[0]
    assert f"moved by at most {said} standard deviations" in note
