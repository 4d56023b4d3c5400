"""Holes go out as tables and files have them."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from holed import KEEP, asked, of_numbers, persons, rarest, rows
from refusals import refused

import aggopt
from aggopt.errors import TableError
from aggopt.pipeline.review.review_release import assess_release

NUMBERS = ["age", "income"]


@pytest.mark.parametrize("kind", ["pandas", "nullable", "polars", "arrow", "numpy"])
def test_holes_go_out_as_the_table_has_them(kind):
    frame = persons()[NUMBERS].round(0)
    whole = frame.astype("Int64")
    made = {
        "pandas": frame,
        "nullable": whole,
        "polars": pl.from_pandas(whole),
        "arrow": pa.Table.from_pandas(whole, preserve_index=False),
        "numpy": frame.to_numpy(),
    }[kind]
    names = ["0", "1"] if kind == "numpy" else NUMBERS
    job = of_numbers(names, 4, output={"round_integers": kind != "numpy"})
    release = aggopt.mask(made, job)
    table = release.table
    assert type(table) is type(made)
    if kind == "numpy":
        assert table.dtype == np.float64
        table = pd.DataFrame(table, columns=NUMBERS)
    if kind == "polars":
        assert table.schema == made.schema
    if kind == "arrow":
        assert table.schema.types == made.schema.types
    if kind == "nullable":
        assert (table.dtypes == made.dtypes).all()
    missing = sum(v is None for row in rows(table, NUMBERS) for v in row)
    assert missing == release.audit.missing.cells >= frame.isna().to_numpy().sum()
    assert rarest(table, NUMBERS) >= 4


def test_a_column_that_misses_nothing_loses_nothing():
    frame = persons(share=0.3).assign(age=np.arange(120), sex=np.arange(120) % 2 == 0)
    job = asked(output={"round_integers": True})
    table = aggopt.mask(frame, job).table
    assert (table.dtypes[["age", "sex"]] == frame.dtypes[["age", "sex"]]).all()
    assert rarest(table) >= 4


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_files_have_holes_empty_or_null(tmp_path, ending):
    frame = persons().assign(age=persons()["age"].astype("Int64"))
    start = tmp_path / f"in.{ending}"
    if ending == "csv":
        frame.to_csv(start, index=False)
    else:
        pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), start)
    release = aggopt.mask(start, asked())
    files = release.write(tmp_path / f"out.{ending}")
    stated = json.loads(files.manifest.read_text())["output"]["recounted"]
    assert stated["smallest"] >= 4
    assert stated["missing"]["cells"] == release.audit.missing.cells
    assert stated["missing"]["suppressed"] is None
    again = aggopt.repeat(files.manifest, start, tmp_path / f"again.{ending}")
    assert again.table.read_bytes() == files.table.read_bytes()
    found = assess_release(start, files.table, asked())
    assert found.audit.missing == release.audit.missing
    assert found.measures.il == pytest.approx(release.measures.il)
    if ending == "csv":
        text = files.table.read_text()
        assert "nan" not in text.lower()
        assert "-1" not in text
    else:
        assert pq.read_table(files.table)["age"].null_count > 0


@pytest.mark.parametrize("policy", ["refuse", "patterns", "fill"])
@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow"])
def test_an_empty_text_is_a_name_and_no_hole(tmp_path, policy, kind):
    place = [""] * 5 + ["x"] * 5 + ["" if policy == "refuse" else None] * 2
    frame = pd.DataFrame({"place": pd.Series(place, dtype=object), "y": range(12)})
    convert = {"polars": pl.from_pandas, "arrow": pa.Table.from_pandas}
    made = convert.get(kind, lambda table: table)(frame)
    job = aggopt.Job(
        roles={"quasi-identifier": ["place", "y"]},
        privacy={"k": 2},
        missing={"policy": policy},
    )
    release = aggopt.mask(made, job)
    holes = 2 if policy == "patterns" else 0
    assert (release.audit.missing.cells if release.audit.missing else 0) == holes
    files = release.write(tmp_path / "made.parquet")
    again = pd.read_parquet(files.table)["place"]
    assert (again.isna().sum(), "" in set(again)) == (holes, True)
    recounted = json.loads(files.manifest.read_text())["output"]["recounted"]
    assert (recounted["missing"] or {"cells": 0})["cells"] == holes
    pq.write_table(pa.Table.from_pandas(frame), tmp_path / "full.parquet")
    found = assess_release(tmp_path / "full.parquet", files.table, job)
    assert (found.audit.missing.cells if found.audit.missing else 0) == holes
    with refused(TableError, "CSV", "'place'"):
        release.write(tmp_path / "other.csv")
    assert not list(tmp_path.glob("other*"))


def test_without_holes_a_policy_changes_nothing(tmp_path):
    frame = persons(share=0.0)
    frame.to_csv(tmp_path / "in.csv", index=False)
    secret = "0" * 32
    for name, missing in (("one", {}), ("two", KEEP)):
        release = aggopt.mask(
            tmp_path / "in.csv",
            asked(missing=missing, output={"seed": 1}),
            secret=secret,
        )
        release.write(tmp_path / f"{name}.csv")
        assert release.audit.missing is None
    assert (tmp_path / "one.csv").read_bytes() == (tmp_path / "two.csv").read_bytes()
