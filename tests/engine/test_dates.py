"""Dates, times of day and durations of a folder are masked as those of one table."""

from datetime import UTC, date, datetime, time, timedelta

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from folders import digest, job, linked, masked, of_same_groups, read
from refusals import refused

from aggopt.engine.steps.write import hash_rows
from aggopt.errors import AggoptError, TableError

KINDS = {
    "born": pa.date32(),
    "seen": pa.timestamp("us", "Europe/Vienna"),
    "woke": pa.time64("us"),
    "stay": pa.duration("s"),
    "moved": pa.string(),
}
ROLES = {"quasi-identifier": [*KINDS, "age"], "other": ["note"]}
SAID = {"moved": {"kind": "date"}}


def dated(n, year, seed=0):
    """Records whose dates are whole days, hours, minutes, seconds, and text."""
    rng = np.random.default_rng(seed)
    days, hours = rng.integers(0, 900, n), rng.integers(0, 9000, n)
    first = date(year, 3, 5), datetime(year, 3, 5, 7, tzinfo=UTC)
    columns = {
        "born": [first[0] + timedelta(days=int(d)) for d in days],
        "seen": [first[1] + timedelta(hours=int(h)) for h in hours],
        "woke": [time(int(h) // 375, int(h) % 60) for h in hours],
        "stay": [timedelta(seconds=int(d)) for d in days],
        "moved": [str(first[0] + timedelta(days=int(h))) for h in hours],
    }
    made = {name: pa.array(columns[name], kind) for name, kind in KINDS.items()}
    return pa.table(made | {"age": rng.normal(size=n), "note": ["a"] * n})


def put(folder, *tables):
    """Write a file of each Arrow table into a new folder."""
    folder.mkdir()
    for number, table in enumerate(tables):
        pq.write_table(table, folder / f"in-{number}.parquet")
    return folder


def asked(**sections):
    """Return a job for `dated`."""
    return job(**{"roles": ROLES, "attributes": SAID, **sections})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two files, of which the second has the first dates."""
    tables = dated(130, 2020), dated(90, 1966, seed=1)
    return put(tmp_path_factory.mktemp("dates") / "in", *tables)


@pytest.fixture(scope="module")
def release(folder, tmp_path_factory):
    """The release of that folder, in several blocks."""
    return masked(folder, asked(), tmp_path_factory.mktemp("dates") / "out")


def test_what_is_published_is_what_memory_publishes_of_the_same_groups(folder, release):
    before, after = linked(folder, release)
    whole = of_same_groups(release, before, asked())
    expected = whole.masked.frame.to_pandas()
    assert release.manifest["blocks"] > 1
    for name in ROLES["quasi-identifier"]:
        same = pd.Series(expected[name]).astype(after[name].dtype) == after[name]
        assert same.mean() > 0.9  # a half may be rounded to either side
        ours, theirs = release.certificates[name], whole.certificates[name]
        assert ours.objective == pytest.approx(theirs.objective, rel=1e-9)
        drift = release.manifest["rounding"][name]
        assert drift["step"] == whole.drift[name].step


def test_dates_keep_their_types_and_units(folder, release):
    schema = pq.read_schema(release.path / "part-00000.parquet")
    kinds = KINDS | {"moved": pa.date32()}
    assert {name: schema.field(name).type for name in kinds} == kinds
    after = read(release.path)
    assert (after["seen"].dt.minute == 0).all()
    assert {each.second for each in after["woke"]} == {0}


def test_each_group_publishes_its_mean_day(folder, release):
    before, after = linked(folder, release)
    assert after.groupby(ROLES["quasi-identifier"]).size().min() >= 4
    days = pd.to_datetime(before["born"]).astype("datetime64[us]")
    means = days.groupby(read(release.private)["group"].to_numpy()).transform("mean")
    away = pd.to_datetime(after["born"]).astype("datetime64[us]") - means
    assert away.abs().max() <= pd.Timedelta(hours=12)


def test_dates_with_holes_are_filled_or_stay_missing(tmp_path):
    tables = [dated(80, 2020), dated(80, 1980, seed=1)]
    blank = np.random.default_rng(5).random(80) < 0.3
    for name in ("born", "moved"):
        column = tables[0].column(name).combine_chunks()
        held = pa.array(column.to_pylist(), column.type, mask=blank)
        place = tables[0].schema.get_field_index(name)
        tables[0] = tables[0].set_column(place, name, held)
    place = tables[1].schema.get_field_index("moved")
    tables[1] = tables[1].set_column(place, "moved", pa.nulls(80, pa.string()))
    folder = put(tmp_path / "in", *tables)
    found = masked(folder, asked(missing={"policy": "patterns"}), tmp_path / "holes")
    before, after = linked(folder, found)
    names = ROLES["quasi-identifier"]
    assert after.groupby(names, dropna=False).size().min() >= 4
    assert (after[names].isna() | ~before[names].isna()).all(axis=None)
    filled = masked(folder, asked(missing={"policy": "fill"}), tmp_path / "full")
    assert read(filled.path)[names].notna().all(axis=None)
    assert filled.audit.missing.least >= 4


def test_seconds_of_nanoseconds_are_whole(tmp_path):
    rng = np.random.default_rng(2)
    parts = 86400 * 10**9 * rng.integers(0, 2000, 40) + rng.integers(0, 10**9, 40)
    table = pa.table({"seen": np.datetime64("2020-01-01", "ns") + parts})
    given = job(roles={"quasi-identifier": ["seen"]})
    found = masked(put(tmp_path / "in", table), given, tmp_path / "out")
    (part,) = found.path.iterdir()
    assert found.manifest["rounding"]["seen"]["step"] == 1
    assert not (np.asarray(pq.read_table(part)["seen"].cast("int64")) % 10**9).any()


def test_files_that_spell_dates_in_two_ways_are_refused(tmp_path):
    later = dated(60, 1980, seed=1)
    place = later.schema.get_field_index("moved")
    later = later.set_column(place, "moved", pa.array(["1980-01-01 10:00"] * 60))
    folder = put(tmp_path / "in", dated(60, 2020), later)
    with refused(TableError, "'moved'", "in-1.parquet"):
        masked(folder, asked(), tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


@pytest.mark.parametrize(
    ("column", "attributes"),
    [
        (["1980-01-01", "soon"] * 30, SAID),
        (["1980-01-01"] * 60, SAID | {"seen": {"lower": 1}}),
        (["1980-01-01"] * 60, SAID | {"age": {"kind": "date"}}),
    ],
    ids=["words", "bounds", "numbers"],
)
def test_what_is_no_date_is_refused(tmp_path, column, attributes):
    table = dated(60, 1980, seed=1)
    table = table.set_column(
        table.schema.get_field_index("moved"), "moved", pa.array(column)
    )
    folder = put(tmp_path / "in", dated(60, 2020), table)
    with refused(AggoptError):
        masked(folder, asked(attributes=attributes), tmp_path / "out")


def test_dates_that_are_missing_altogether_are_refused(tmp_path):
    table = dated(60, 2020)
    place = table.schema.get_field_index("moved")
    table = table.set_column(place, "moved", pa.nulls(60, pa.string()))
    with refused(TableError, "'moved'"):
        masked(put(tmp_path / "in", table), asked(), tmp_path / "out")


def test_dates_may_be_names(tmp_path):
    days = pa.array([date(2020, 1, 1 + j % 3) for j in range(60)])
    folder = put(tmp_path / "in", pa.table({"day": days, "age": np.arange(60.0)}))
    roles = {"quasi-identifier": ["day", "age"]}
    given = job(roles=roles, attributes={"day": {"kind": "nominal"}})
    found = masked(folder, given, tmp_path / "out")
    assert (
        pq.read_schema(found.path / "part-00000.parquet").field("day").type == days.type
    )
    assert set(read(found.path)["day"]) <= set(days.to_pylist())


def test_equal_dates_are_one_number_whatever_is_missing_beside_them():
    for name, kind in KINDS.items():
        held = dated(3, 2020).select([name])
        beside = pa.concat_tables([held, pa.table({name: pa.nulls(1, kind)})])
        assert (hash_rows(held) == hash_rows(beside)[:3]).all()
        alone = pa.table({name: pa.nulls(2, kind)})
        assert (hash_rows(alone) == hash_rows(beside)[3]).all()


@pytest.mark.slow
def test_two_processes_give_the_same_bytes(folder, release, tmp_path):
    found = masked(folder, asked(engine={"jobs": 2}), tmp_path / "out")
    assert digest(found.path) == digest(release.path)


def test_dates_of_a_format_are_published_in_it(tmp_path):
    tables, format_ = [], "%d.%m.%Y"
    for number in range(2):
        table = dated(120, 1950, seed=number)
        text = [f"{day:%d.%m.%Y}" for day in table.column("born").to_pylist()]
        place = table.schema.get_field_index("moved")
        tables.append(table.set_column(place, "moved", pa.array(text)))
    asked_so = asked(attributes={"moved": {"format": format_}})
    release = masked(put(tmp_path / "in", *tables), asked_so, tmp_path / "out")
    after = read(release.path)
    assert after["moved"].str.fullmatch(r"\d\d\.\d\d\.195\d").all()
    assert release.audit.holds
    assert (after["moved"] == [f"{d:%d.%m.%Y}" for d in after["born"]]).all()


def test_a_date_that_does_not_fit_is_named_by_file_column_and_record(tmp_path):
    table = dated(120, 1950)
    text = [f"{day:%d.%m.%Y}" for day in table.column("born").to_pylist()]
    text[41] = "30.02.1950"
    table = table.set_column(4, "moved", pa.array(text))
    with refused(TableError, "in-0.parquet", "'moved'", "120") as error:
        masked(
            put(tmp_path / "in", table),
            asked(attributes={"moved": {"format": "%d.%m.%Y"}}),
            tmp_path / "out",
        )
    assert "30.02.1950" not in str(error.value)
