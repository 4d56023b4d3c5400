"""The folder that comes in, and what is refused before a record is read."""

from dataclasses import replace
from itertools import chain

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from folders import job, masked, persons, put
from refusals import refused

from aggopt.engine import pieces
from aggopt.engine.pieces import InputParts, files_of, firsts_of
from aggopt.errors import TableError


def test_all_records_are_in_one_piece_each_in_the_order_of_names(tmp_path, monkeypatch):
    monkeypatch.setattr(pieces, "PIECE", 25)
    tables = persons(60), persons(7, seed=1)
    folder = put(tmp_path / "in", *tables, rows=10)
    parts = InputParts.of(folder)
    assert parts.records == 67
    assert [piece.records for piece in parts.pieces] == [20, 20, 20, 7]
    assert [piece.first for piece in parts.pieces] == [0, 20, 40, 60]
    read = [piece.read(["name"])["name"].to_pylist() for piece in parts.pieces]
    assert list(chain(*read)) == [*tables[0]["name"], *tables[1]["name"]]


def test_a_pattern_and_its_folder_name_the_same_files(tmp_path):
    folder = put(tmp_path / "in", persons(5), persons(5))
    (folder / "notes.txt").write_text("")
    assert files_of(folder) == files_of(f"{folder}/*.parquet")


def test_files_may_say_that_a_column_is_complete(tmp_path):
    folder = put(tmp_path / "in", persons(40).assign(height=1.0))
    whole = pa.Table.from_pandas(persons(40, seed=1))
    said = [each.with_nullable(False) for each in whole.schema]
    pq.write_table(whole.cast(pa.schema(said)), folder / "in-1.parquet")
    found = masked(folder, job(engine={"block": 1000}), tmp_path / "out")
    assert found.audit.records == 80
    assert pq.read_schema(found.path / "part-00000.parquet").field("age").nullable


@pytest.mark.parametrize("number", [0, 1], ids=["first", "second"])
def test_a_column_that_is_there_twice_is_refused_and_its_file_named(tmp_path, number):
    folder = put(tmp_path / "in", persons(5), persons(5))
    twice = pa.table([[1], [2]], names=["age", "age"])
    pq.write_table(twice, folder / f"in-{number}.parquet")
    with pytest.raises(TableError, match=rf"in-{number}\.parquet: .*'age'"):
        InputParts.of(folder)


def test_an_empty_part_is_no_piece(tmp_path):
    folder = put(tmp_path / "in", persons(0), persons(5))
    assert [piece.path.name for piece in InputParts.of(folder).pieces] == [
        "in-1.parquet"
    ]


def test_an_empty_folder_is_refused(tmp_path):
    with refused(
        f"No file is called {tmp_path}/*.parquet.",
        'name a folder of .parquet files, or a pattern: "in/*.parquet"; '
        "`aggopt convert` makes them of CSV files.",
        TableError,
    ):
        InputParts.of(tmp_path)


def test_a_table_without_records_is_refused(tmp_path):
    folder = put(tmp_path / "in", persons(0))
    with refused(
        "There is no record in 1 file.",
        "name the folder of a table that has some.",
        TableError,
    ):
        InputParts.of(folder)


def test_other_kinds_of_files_are_refused(tmp_path):
    folder = put(tmp_path / "in", persons(5))
    (folder / "more.csv").write_text("a\n1\n")
    with refused(
        "1 file of 2 are no .parquet files: more.csv, ...",
        'name those that are, "in/*.parquet"; `aggopt convert` makes them of CSV '
        "files.",
        TableError,
    ):
        files_of(f"{folder}/*")


def test_what_is_no_parquet_file_is_refused_without_quoting_it(tmp_path):
    (tmp_path / "a.parquet").write_text("Mary,42")
    with refused(
        f"{tmp_path}/a.parquet is not a readable Parquet file.",
        "check that it may be read, is what its ending says, and not damaged.",
        TableError,
    ):
        InputParts.of(tmp_path)


def test_a_file_that_is_damaged_later_is_refused_without_quoting_it(tmp_path):
    folder = put(tmp_path / "in", persons(5))
    piece = InputParts.of(folder).pieces[0]
    piece.path.write_text("Mary,42")
    with pytest.raises(TableError, match=r"in-0\.parquet has changed since") as error:
        piece.read(["age"])
    assert "Mary" not in str(error.value)
    seen = piece.path.stat()
    piece = replace(piece, state=(seen.st_size, seen.st_mtime_ns))
    with pytest.raises(TableError, match=r"in-0\.parquet is not a readable") as error:
        piece.read(["age"])
    assert "Mary" not in str(error.value)
    assert error.value.__cause__ is None


FIX = "write all files with the same columns, in one order and of one type."
DIFFERING = {
    "lacks 'note'": lambda table: table.drop(columns="note"),
    "also has 'more'": lambda table: table.assign(more=1),
    "has other types of 'age'": lambda table: table.assign(age=table["age"] + 0.5),
    "has them in another order": lambda table: table[table.columns[::-1]],
}


@pytest.mark.parametrize("said", DIFFERING)
def test_parts_with_other_columns_are_refused_by_name(tmp_path, said):
    folder = put(tmp_path / "in", persons(5), DIFFERING[said](persons(5)))
    problem = f"in-1.parquet has not the columns of in-0.parquet: it {said}."
    with refused(problem, FIX, TableError):
        InputParts.of(folder)


def test_a_row_group_that_no_task_can_read_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(pieces, "LARGEST", 4)
    folder = put(tmp_path / "in", persons(5))
    with refused(
        "in-0.parquet has a row group of 5 records, and a task reads one at least, of "
        "at most 4.",
        "write the file anew with smaller row groups, of 250,000 records.",
        TableError,
    ):
        InputParts.of(folder)


def test_a_row_group_of_the_largest_size_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(pieces, "LARGEST", 5)
    parts = InputParts.of(put(tmp_path / "in", persons(5)))
    assert np.isfinite(parts.pieces[0].read(["income"])["income"].to_numpy()).all()


def test_files_of_one_name_in_several_folders_are_told_apart(tmp_path):
    for number, name in enumerate(["x", "y"]):
        put(tmp_path / name, persons(5 + number), persons(3))
    several = InputParts.of(f"{tmp_path}/*/*.parquet").pieces
    names = ["x/in-0.parquet", "x/in-1.parquet", "y/in-0.parquet", "y/in-1.parquet"]
    assert firsts_of(several) == dict(zip(names, [0, 5, 8, 14], strict=True))
    alone = InputParts.of(tmp_path / "y").pieces
    assert firsts_of(alone) == {"in-0.parquet": 0, "in-1.parquet": 6}


def test_a_file_is_named_once_for_all_its_pieces(tmp_path, monkeypatch):
    monkeypatch.setattr(pieces, "PIECE", 10)
    folder = put(tmp_path / "in", persons(30), persons(7), rows=10)
    assert firsts_of(InputParts.of(folder).pieces) == {
        "in-0.parquet": 0,
        "in-1.parquet": 30,
    }
