"""Published values lie on a decimal grid, written short; what moves is measured."""

import json
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from refusals import refused
from tables import job, people, wide, wide_job

import aggopt
from aggopt.errors import JobError
from aggopt.experiments.compare_solvers import compare
from aggopt.job import Output
from aggopt.pipeline.finish.rounding import round_to_grid
from aggopt.pipeline.prepare.published_grid import choose_decimals

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
