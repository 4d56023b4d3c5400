"""`init` looks at a sample of a large table, the same each time, and says so."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from aggopt.data.readers import read
from aggopt.data.readers.csv_dialect import read_with_dialect, sample_with_dialect
from aggopt.data.readers.read import Sample
from aggopt.errors import TableError
from aggopt.inspection.draft import propose_job


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Look at 40 records, ten in a row."""
    monkeypatch.setattr(read, "MOST", 40)
    monkeypatch.setattr(read, "RUN", 10)


def persons(n):
    """Persons with a number each."""
    rng = np.random.default_rng(0)
    age = rng.integers(18, 90, n)
    return pd.DataFrame({"row": range(n), "age": age, "pay": rng.normal(size=n)})


def write(table, to):
    """Write a table into a file of several row groups."""
    if to.suffix == ".csv":
        table.to_csv(to, index=False)
    else:
        pq.write_table(pa.Table.from_pandas(table), to, row_group_size=33)


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
@pytest.mark.parametrize("n", [41, 99, 400])
def test_runs_of_records_are_spread_over_the_table(tmp_path, ending, n):
    path = tmp_path / f"table{ending}"
    write(persons(n), path)
    found, how = sample_with_dialect(path)
    every = n // 4
    rows = [r * every + i for r in range(4) for i in range(10)]
    assert [int(row) for row in found.table["row"].to_pylist()] == rows
    assert found.note == (
        f"Of {n} records a sample was looked at: the first 10 of each {every}."
    )
    assert how == read_with_dialect(path)[1]
    assert sample_with_dialect(path)[0].table.equals(found.table)


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_of_a_small_table_all_records_are_looked_at(tmp_path, ending):
    path = tmp_path / f"table{ending}"
    write(persons(40), path)
    found, _ = sample_with_dialect(path)
    assert found.note == ""
    assert found.table.equals(read_with_dialect(path)[0])


def test_the_job_and_the_command_say_that_it_is_a_sample(tmp_path, aggopt):
    path, job = tmp_path / "table.csv", tmp_path / "job.toml"
    write(persons(400), path)
    said = "Of 400 records a sample was looked at: the first 10 of each 100."
    made = propose_job(path, job)
    assert f"# {said}\n" in made.text
    assert "found in 40 records." in made.text
    code, out, errors = aggopt("init", path, "--out", job)
    assert code == 0, errors
    assert said in out


def test_a_sample_keeps_no_block_of_the_file(tmp_path):
    path = tmp_path / "table.parquet"
    write(persons(200_000), path)
    found = Sample.of(path, read_with_dialect(path)[1])
    assert found.table.get_total_buffer_size() < 10_000


def test_a_large_file_that_is_damaged_is_refused_without_quoting_it(tmp_path):
    path = tmp_path / "people.parquet"
    pq.write_table(pa.Table.from_pandas(persons(2000)), path, compression="gzip")
    whole = bytearray(path.read_bytes())
    whole[30:400] = bytes(370)
    path.write_bytes(whole)
    with pytest.raises(TableError, match=r"is not a readable parquet file|cannot be"):
        propose_job(path, tmp_path / "job.toml")
