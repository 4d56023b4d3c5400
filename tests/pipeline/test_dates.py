"""Dates, times of day and durations among quasi-identifiers, by every kind of table."""

import datetime as dt
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest
from refusals import refused

import aggopt
from aggopt.data.table import Table
from aggopt.encoding.iso_text import format_iso_duration
from aggopt.errors import TableError
from aggopt.experiments.sweep import sweep
from aggopt.job import Output
from aggopt.pipeline.finish.evaluate import compare_originals
from aggopt.pipeline.review.review_release import assess_release

SECRET = "0" * 32
DATES = ("born", "seen", "stay", "at", "zoned")
NAMES = (*DATES, "age", "sex")
SAID = {name: {"kind": "date"} for name in DATES}
N = 60


def dated() -> pd.DataFrame:
    """Return persons with a date of each type, a number and a category."""
    rng = np.random.default_rng(0)
    days, minutes = rng.integers(0, 20000, N).tolist(), rng.integers(0, 1440, N)
    seconds = pd.to_timedelta(rng.integers(0, 3 * 10**7, N), unit="s")
    seen = (pd.Timestamp("2020-01-01") + seconds).astype("datetime64[ns]")
    return pd.DataFrame(
        {
            "born": [dt.date(1950, 1, 1) + dt.timedelta(day) for day in days],
            "seen": seen,
            "stay": pd.to_timedelta(rng.integers(0, 9000, N), unit="min"),
            "at": [dt.time(m // 60, m % 60) for m in minutes.tolist()],
            "zoned": seen.tz_localize("UTC").tz_convert("Europe/Paris"),
            "age": rng.integers(18, 90, N),
            "sex": rng.choice(["f", "m"], N),
        }
    )


def asked(names: tuple[str, ...] = NAMES, **sections: Any) -> aggopt.Job:
    roles = {"quasi-identifier": names}
    plain = {"privacy": {"k": 4}, "partition": {"method": "mdav"}}
    return aggopt.Job(roles=roles, **{**plain, **sections})


def one(values: Any, **sections: Any) -> aggopt.Release:
    return aggopt.mask(pd.DataFrame({"x": values}), asked(("x",), **sections))


@pytest.fixture(scope="module")
def release() -> aggopt.Release:
    return aggopt.mask(dated(), asked(), secret=SECRET)


def given(kind: str, folder: Path) -> Any:
    frame, path = dated(), folder / f"people.{kind}"
    if kind == "polars":
        return pl.from_pandas(frame)
    if kind == "arrow":
        return pa.Table.from_pandas(frame)
    if kind == "parquet":
        frame.to_parquet(path)
        return path
    spelled = [format_iso_duration(stay.value) for stay in frame["stay"]]
    frame.assign(stay=spelled).to_csv(path, index=False)
    return path


def rows(table: Any) -> list[dict[str, Any]]:
    if isinstance(table, pd.DataFrame):
        table = pa.Table.from_pandas(table, preserve_index=False)
    return pa.table(table).to_pylist()


@pytest.mark.parametrize("kind", ["polars", "arrow", "csv", "parquet"])
def test_every_kind_of_table_gives_the_same_release(
    kind: str, release: aggopt.Release, tmp_path: Path
) -> None:
    job = asked(attributes=SAID) if kind == "csv" else asked()
    again = aggopt.mask(given(kind, tmp_path), job, secret=SECRET)
    assert rows(again.table) == rows(release.table)
    assert again.measures == release.measures


def test_types_stay_and_time_zones_too(release: aggopt.Release, tmp_path: Path) -> None:
    assert release.table.dtypes[list(DATES)].equals(dated().dtypes[list(DATES)])
    assert {type(day) for day in release.table["born"]} == {dt.date}
    assert {type(hour) for hour in release.table["at"]} == {dt.time}
    for kind, source in (("arrow", given("arrow", tmp_path)),):
        out = aggopt.mask(source, asked()).table
        for name in DATES:
            assert out.schema.field(name).type == source.schema.field(name).type, kind


def test_published_dates_are_the_means_of_their_groups_in_whole_units(
    release: aggopt.Release,
) -> None:
    frame, labels = dated(), release.labels
    steps = {"seen": "s", "stay": "min", "zoned": "s"}
    for name, step in steps.items():
        mean = frame[name].groupby(labels).mean()
        off = (release.table[name] - mean.loc[labels].array).abs()
        assert off.max() <= pd.Timedelta(1, step) / 2
        assert (release.table[name].groupby(labels).nunique() == 1).all()
    days = pd.to_datetime(frame["born"]).groupby(labels).mean().loc[labels].to_numpy()
    off = (pd.to_datetime(release.table["born"]) - days).abs()
    assert off.max() <= pd.Timedelta(12, "h")


def test_what_rounding_to_units_moves_is_measured_and_said(
    release: aggopt.Release,
) -> None:
    steps = {name: release.drift[name].step for name in DATES}
    assert steps == {"born": 86400, "seen": 1, "stay": 60, "at": 60, "zoned": 1}
    (said,) = [note for note in release.notes if "are rounded" in note]
    assert said.startswith(
        "Published values are rounded (6 digits of the attribute's standard deviation, "
        "'born' to days, 'seen' to seconds, 'stay' to minutes, 'at' to minutes, "
        "'zoned' to seconds): means moved by at most "
    )
    (alone,) = [note for note in one(dated()["born"]).notes if "are rounded" in note]
    assert alone.startswith("Published values are rounded ('x' to days): means moved")


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_written_file_keeps_k_and_its_types_and_is_read_again(
    ending: str, tmp_path: Path
) -> None:
    kind = "csv" if ending == "csv" else "parquet"
    source = given(kind, tmp_path)
    job = asked(attributes=SAID) if kind == "csv" else asked()
    release = aggopt.mask(source, job)
    files = release.write(tmp_path / f"m.{ending}")
    read = pd.read_csv if ending == "csv" else pd.read_parquet
    written = read(files.table)
    counts = Counter(written.astype(str).itertuples(index=False, name=None))
    assert min(counts.values()) == release.audit.smallest >= 4
    if ending == "parquet":
        types = pyarrow.parquet.read_schema(files.table).types
        assert types == pyarrow.parquet.read_schema(source).types[:-2] + types[-2:]
    found = assess_release(source, files.table, job)
    assert found.audit.holds
    assert found.measures == release.measures
    assert found.audit.unchanged == release.audit.unchanged
    aggopt.repeat(files.manifest, source, tmp_path / f"again.{ending}")
    assert (tmp_path / f"again.{ending}").read_bytes() == files.table.read_bytes()


def test_a_typed_table_is_measured_beside_its_release_in_text(tmp_path: Path) -> None:
    source = given("parquet", tmp_path)
    release = aggopt.mask(source, asked())
    files = release.write(tmp_path / "m.csv")
    assert assess_release(source, files.table, asked()).measures == release.measures


def test_a_csv_file_has_what_iso_spells(tmp_path: Path) -> None:
    aggopt.mask(dated(), asked(output={"shuffle": False})).write(tmp_path / "m.csv")
    written = pd.read_csv(tmp_path / "m.csv", dtype=str)
    for name, pattern in {
        "born": r"\d{4}-\d\d-\d\d",
        "seen": r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d",
        "stay": r"P\dDT\d+H\d+M0S",
        "at": r"\d\d:\d\d:00",
        "zoned": r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\+0[12]:00",
    }.items():
        assert written[name].str.fullmatch(pattern).all()


def test_parts_of_a_second_have_the_digits_of_the_job() -> None:
    parts = pd.to_timedelta(np.random.default_rng(1).integers(0, 10**9, N), unit="us")
    moments = pd.Timestamp("2020-01-01") + parts  # over 17 minutes
    of = {"digits": 2}, {"digits": 6}, {"digits": "full"}, {"decimals": 1}
    steps = [one(moments, output=output).drift["x"].step for output in of]
    assert steps == [1, 1e-3, 1e-6, 1e-3]


def test_seconds_of_nanoseconds_are_whole() -> None:
    rng = np.random.default_rng(2)
    parts = 86400 * 10**9 * rng.integers(0, 2000, N) + rng.integers(0, 10**9, N)
    made = one(np.datetime64("2020-01-01", "ns") + parts)
    assert made.drift["x"].step == 1
    assert not (made.table["x"].astype("int64") % 10**9).any()


def test_p3m_moves_dates_and_keeps_their_variance() -> None:
    how = {"method": "p3m", "delta": 0.1, "solver": "lagrangian"}
    made = one(dated()["born"], aggregation=how)
    before, after = (
        pd.to_datetime(pd.Series(values)).astype("int64")
        for values in (dated()["born"], made.table["x"])
    )
    assert after.var() / before.var() == pytest.approx(1, abs=1e-3)
    assert {type(day) for day in made.table["x"]} == {dt.date}


def test_times_of_day_stay_within_the_day_and_that_is_said() -> None:
    late = [dt.time(0, 0), *[dt.time(23, m) for m in range(50, 59)]] * 6
    how = {"method": "p3m", "delta": 0.5, "margin": 0, "solver": "lagrangian"}
    made = one(late, aggregation=how)
    assert any("'x' was rounded to its type" in note for note in made.notes)
    assert made.table["x"].max() == dt.time(23, 59)


def test_dates_have_no_size_and_are_no_codes() -> None:
    days = [dt.date(2020, 1, 1), dt.date(2020, 2, 1), dt.date(2021, 9, 1)] * 20
    notes = " ".join(one(days, privacy={"k": 4, "dominance": 0.5}).notes)
    assert "One record makes up more than" not in notes
    assert "codes" not in notes
    spans = [pd.Timedelta(i % 3, "D") for i in range(N - 1)] + [pd.Timedelta(900, "D")]
    notes = " ".join(one(spans).notes)
    assert "One record makes up more than" in notes
    assert "codes" not in notes


def test_constant_dates_are_kept_as_they_are() -> None:
    frame = dated().assign(seen=pd.Timestamp("2020-05-05 05:05:05.055"))
    made = aggopt.mask(frame, asked())
    assert made.table["seen"].equals(frame["seen"])
    assert "'seen' has one value only: kept as it is, weight zero." in made.notes


def test_a_sweep_takes_dates() -> None:
    how = {"method": "p3m", "solver": "lagrangian"}
    frame, job = dated()[["born", "age"]], asked(("born", "age"), aggregation=how)
    (point,) = sweep(frame, job, alpha=[0.5], delta=[0.1], jobs=1)
    assert point.holds


def test_text_becomes_dates_in_the_release_of_a_table_in_memory() -> None:
    text = dated()["born"].astype(str)
    made = one(text, attributes={"x": {"kind": "date"}}).table["x"]
    assert str(made.dtype) == "date32[day][pyarrow]"
    assert one(dated()["born"]).table["x"].tolist() == made.tolist()


GERMAN = "%d.%m.%Y"


@pytest.mark.parametrize("ending", ["csv", "parquet", "xlsx", "sav"])
def test_dates_of_a_format_are_published_in_it(tmp_path: Path, ending: str) -> None:
    frame = dated()[["born", "age"]]
    text = frame.assign(born=[day.strftime(GERMAN) for day in frame["born"]])
    job = asked(("born", "age"), attributes={"born": {"format": GERMAN}})
    text.to_csv(tmp_path / "in.csv", index=False)
    out = tmp_path / f"out.{ending}"
    aggopt.mask(tmp_path / "in.csv", job, secret=SECRET).write(out)
    iso = aggopt.mask(frame, asked(("born", "age")), secret=SECRET)
    made = aggopt.mask(text, job, secret=SECRET)
    published = [day.strftime(GERMAN) for day in iso.table["born"]]
    assert made.table["born"].tolist() == published
    assert made.audit.smallest >= 4
    found = assess_release(tmp_path / "in.csv", out, job)
    assert found.audit.holds
    assert found.measures == iso.measures


def test_polars_and_arrow_have_text_of_a_format_as_pandas_has() -> None:
    frame = dated()[["born", "age"]]
    text = frame.assign(born=[day.strftime(GERMAN) for day in frame["born"]])
    text.loc[:7, "born"] = None
    how = {"attributes": {"born": {"format": GERMAN}}, "missing": {"policy": "fill"}}
    job = asked(("born", "age"), **how)
    known = aggopt.mask(text, job, secret=SECRET).table["born"].tolist()
    polars = aggopt.mask(pl.from_pandas(text), job, secret=SECRET).table
    arrow = aggopt.mask(pa.Table.from_pandas(text), job, secret=SECRET).table
    assert polars["born"].to_list() == arrow["born"].to_pylist() == known
    job = asked(("born", "age"), **{**how, "missing": {"policy": "patterns"}})
    assert aggopt.mask(text, job).table["born"].isna().sum() == 8


@pytest.mark.parametrize("count", [1, 2])
def test_years_that_no_file_spells_are_counted(count: int) -> None:
    far = np.datetime64("9999-12-31", "s") + np.arange(N - count, -count, -1)
    days = far.astype("datetime64[D]").astype("datetime64[s]")
    days[:count] = np.datetime64("10000-01-01", "s")
    with pytest.raises(TableError) as error:
        one(days)
    said = "1 date is" if count == 1 else "2 dates are"
    assert error.value.problem == f"Column 'x': {said} of no year from 1 to 9999."


def test_a_number_in_place_of_a_date_is_refused_of_a_release(tmp_path: Path) -> None:
    source = given("parquet", tmp_path)
    files = aggopt.mask(source, asked()).write(tmp_path / "m.parquet")
    files.manifest.unlink()
    numbers = pd.read_parquet(files.table).assign(born=range(N))
    numbers.to_parquet(files.table)
    with refused(TableError, "'born'"):
        assess_release(source, files.table, asked())


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_dates_that_are_missing_stay_so_by_patterns(
    ending: str, tmp_path: Path
) -> None:
    holed = dated().drop(columns=["sex", "zoned"])
    holed.loc[:19, list(DATES[:4])] = None
    spans = [
        None if pd.isna(s) else format_iso_duration(s.value) for s in holed["stay"]
    ]
    source = tmp_path / f"people.{ending}"
    if ending == "csv":
        holed.assign(stay=spans).to_csv(source, index=False)
    else:
        holed.to_parquet(source)
    names = (*DATES[:4], "age")
    types = {name: SAID[name] for name in DATES[:4]} if ending == "csv" else {}
    job = asked(names, attributes=types, missing={"policy": "patterns"})
    release = aggopt.mask(source, job)
    files = release.write(tmp_path / f"m.{ending}")
    read = pd.read_csv if ending == "csv" else pd.read_parquet
    assert (read(files.table).isna().sum()[list(DATES[:4])] == 20).all()
    assert assess_release(source, files.table, job).measures == release.measures


@pytest.mark.parametrize("output", [{"digits": "full"}, {"decimals": 1}])
def test_a_date_may_move_by_half_of_its_day_whatever_numbers_may(output) -> None:
    days = pd.to_datetime("2020-01-01") + pd.to_timedelta([0, 6, 12, 30], "D")
    frame = pd.DataFrame({"day": days, "a": [1.0, 2, 3, 9]})
    job = aggopt.Job(roles={"quasi-identifier": [*frame]}, privacy={"k": 2})
    table = Table.of(frame, job.roles, job.attributes)
    X = table.matrix()
    steps = compare_originals(X, X, Output(**output), table).step
    assert steps[0] == 0.5
    assert steps[1] < 0.1
