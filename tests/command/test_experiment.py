"""`aggopt experiment`: a grid in a file, rows in another, resumed from a cache."""

import json

import pandas as pd
import pytest
from refusals import refused
from tables import people

from aggopt.errors import JobError
from aggopt.experiments.grid import GridFile

CODE = """
import os
import signal
from pathlib import Path
import numpy as np

HERE = Path(__file__).parent

def split(X, k):
    (HERE / f"made-{k}").touch()
    if k == 4 and (HERE / "stop").exists():
        os.kill(os.getpid(), signal.SIGINT)
    return np.minimum(np.argsort(np.argsort(X[:, 0])) // k, len(X) // k - 1)
"""
GRID = """
tables = ["people.csv"]
cache = "kept"
[roles]
quasi-identifier = ["age", "income"]
other = ["name", "illness", "note"]
[grid]
k = [3, 4]
partition = ["lib/mine.py:split"]
"""
RUN = ("experiment", "lab/grid.toml", "--out", "found.csv")
TRUST = ("--trust", "lab/lib/mine.py")


@pytest.fixture
def lab(tmp_path, monkeypatch):
    """A folder with a table, a grid and its code; the one above is where we are."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lab" / "lib").mkdir(parents=True)
    people(20).to_csv("lab/people.csv", index=False)
    (tmp_path / "lab" / "lib" / "mine.py").write_text(CODE)
    (tmp_path / "lab" / "grid.toml").write_text(GRID)
    return tmp_path / "lab"


def test_it_writes_rows_and_goes_on_after_an_interrupt(lab, aggopt):
    code, out, err = aggopt(*RUN)
    assert code == 2
    assert "names code, mine.py" in " ".join((out + err).split())
    assert not (lab / "lib" / "made-3").exists()
    (lab / "lib" / "stop").touch()
    code, out, err = aggopt(*RUN, *TRUST)
    assert code == 130
    assert "cells that are done are kept in" in " ".join((out + err).split())
    assert not (lab.parent / "found.csv").exists()
    for name in ("stop", "made-3", "made-4"):
        (lab / "lib" / name).unlink()
    code, out, _ = aggopt(*RUN, *TRUST)
    assert code == 0
    assert "Rows: found.csv, 4 rows" in out
    assert not (lab / "lib" / "made-3").exists()  # it was in the cache
    found = pd.read_csv("found.csv")
    assert found["k"].tolist() == [3, 3, 4, 4]
    assert (found["smallest"] >= found["k"]).all()
    assert aggopt(*RUN, *TRUST)[0] == 2  # the file is there
    code, out, _ = aggopt(*RUN, *TRUST, "--overwrite", "--json", "--jobs", "1")
    assert (code, json.loads(out)["rows"], json.loads(out)["failed"]) == (0, 4, 0)


def test_cells_that_fail_are_rows_and_an_exit_code(lab, aggopt):
    grid = GRID.replace("[3, 4]", "[3, 50]").replace("lib/mine.py:split", "mdav")
    (lab / "grid.toml").write_text(grid.replace('cache = "kept"', "jobs = 1"))
    words = ("experiment", "lab/grid.toml", "--out", "found.parquet")
    code, out, err = aggopt(*words)
    assert (code, err) == (1, "")
    assert "1 cell failed" in out
    found = pd.read_parquet("found.parquet")
    assert found["error"].notna().tolist() == [False, False, True]
    assert "k = 50" in found["message"].tolist()[-1]


@pytest.mark.parametrize(
    "stated",
    [
        GRID.replace("tables =", "table ="),
        GRID.replace("[grid]", "[grids]"),
        GRID.split("[grid]")[0],
        "",
        GRID.replace('"people.csv"', ""),
        GRID.replace('"people.csv"', "3"),
        GRID.replace("people.csv", "nobody.csv"),
        GRID.replace('"people.csv"', '"people.csv", "people.csv"'),
        GRID.replace('"kept"', "3"),
        "tables = ",
    ],
)
def test_what_is_no_grid_is_refused(lab, stated):
    (lab / "grid.toml").write_text(stated)
    with refused(JobError):
        GridFile.read(lab / "grid.toml")


def test_a_grid_that_is_not_there_and_an_ending_are_refused(lab, aggopt):
    code, _, err = aggopt("experiment", "lab/none.toml", "--out", "found.csv")
    assert (code, "cannot be read" in err) == (2, True)
    code, _, err = aggopt("experiment", "lab/grid.toml", "--out", "found.txt")
    assert code == 2
    assert "found.txt ends in neither .csv nor .parquet." in err


def test_paths_are_seen_from_the_grid(lab):
    (lab / "grid.toml").write_text(
        """
tables = { first = "people.csv" }
[roles]
quasi-identifier = ["age"]
[grid]
k = 3
partition = ["mdav", "mine.py:f", { method = "blocked", inner = "mine.py:g" }]
aggregation = { model = "mine.py:m", solver = "cvxpy:OSQP" }
privacy = [{ own = [{ method = "mine.py:p" }] }]
attributes = { age = { tree = "tree.csv" }, sex = { kind = "nominal" } }
"""
    )
    read = GridFile.read(lab / "grid.toml")
    here = f"{lab}/mine.py"
    assert read.tables == {"first": lab / "people.csv"}
    assert read.arguments["grid"] == {
        "k": 3,
        "partition": [
            {"method": "mdav"},
            {"method": f"{here}:f"},
            {"method": "blocked", "inner": f"{here}:g"},
        ],
        "aggregation": {"model": f"{here}:m", "solver": "cvxpy:OSQP"},
        "privacy": [{"own": [{"method": f"{here}:p"}]}],
        "attributes": {"age": {"tree": f"{lab}/tree.csv"}, "sex": {"kind": "nominal"}},
    }
