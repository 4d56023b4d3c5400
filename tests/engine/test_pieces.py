"""The folder that comes in, and what is refused before a record is read."""

from dataclasses import replace
from itertools import chain

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from folders import ROLES, digest, job, masked, persons, put
from refusals import refused

import aggopt
from aggopt.engine.storage import input_parts as pieces
from aggopt.engine.storage.input_parts import (
    InputFolder,
    count_records_before,
    find_common_type,
    list_files,
)
from aggopt.engine.validate import input_files
from aggopt.errors import TableError


def test_all_records_are_in_one_piece_each_in_the_order_of_names(tmp_path, monkeypatch):
    monkeypatch.setattr(pieces, "PIECE", 25)
    tables = persons(60), persons(7, seed=1)
    folder = put(tmp_path / "in", *tables, rows=10)
    parts = InputFolder.of(folder)
    assert parts.records == 67
    assert [piece.records for piece in parts.pieces] == [20, 20, 20, 7]
    assert [piece.first for piece in parts.pieces] == [0, 20, 40, 60]
    read = [piece.read(["name"])["name"].to_pylist() for piece in parts.pieces]
    assert list(chain(*read)) == [*tables[0]["name"], *tables[1]["name"]]


def test_a_pattern_and_its_folder_name_the_same_files(tmp_path):
    folder = put(tmp_path / "in", persons(5), persons(5))
    (folder / "notes.txt").write_text("")
    assert list_files(folder) == list_files(f"{folder}/*.parquet")


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
        InputFolder.of(folder)


def test_an_empty_part_is_no_piece(tmp_path):
    folder = put(tmp_path / "in", persons(0), persons(5))
    assert [piece.path.name for piece in InputFolder.of(folder).pieces] == [
        "in-1.parquet"
    ]


def test_an_empty_folder_is_refused(tmp_path):
    with refused(TableError, tmp_path):
        InputFolder.of(tmp_path)


def test_a_table_without_records_is_refused(tmp_path):
    folder = put(tmp_path / "in", persons(0))
    with refused(TableError):
        InputFolder.of(folder)


def test_other_kinds_of_files_are_refused(tmp_path):
    folder = put(tmp_path / "in", persons(5))
    (folder / "more.csv").write_text("a\n1\n")
    with refused(TableError, "more.csv", "CSV"):
        list_files(f"{folder}/*")


def test_what_is_no_parquet_file_is_refused_without_quoting_it(tmp_path):
    (tmp_path / "a.parquet").write_text("Mary,42")
    with refused(TableError, tmp_path):
        InputFolder.of(tmp_path)


def test_a_file_that_is_damaged_later_is_refused_without_quoting_it(tmp_path):
    folder = put(tmp_path / "in", persons(5))
    piece = InputFolder.of(folder).pieces[0]
    piece.path.write_text("Mary,42")
    with refused(TableError, "in-0.parquet") as error:
        piece.read(["age"])
    assert "Mary" not in str(error.value)
    seen = piece.path.stat()
    piece = replace(piece, state=(seen.st_size, seen.st_mtime_ns))
    with refused(TableError, "in-0.parquet") as error:
        piece.read(["age"])
    assert "Mary" not in str(error.value)
    assert error.value.__cause__ is None


DIFFERING = {
    "lacks 'note'": lambda table: table.drop(columns="note"),
    "also has 'more'": lambda table: table.assign(more=1),
    "has double of 'age' for int64": lambda table: table.assign(age=table["age"] + 0.5),
}


@pytest.mark.parametrize("said", DIFFERING)
def test_parts_with_other_columns_are_refused_by_name(tmp_path, said):
    folder = put(tmp_path / "in", persons(5), DIFFERING[said](persons(5)))
    with refused(TableError, said):
        InputFolder.of(folder)


def test_every_file_that_differs_is_named_with_its_types(tmp_path):
    plain, half = persons(5), persons(5).assign(age=0.5)
    other = half.assign(more=True)
    folder = put(tmp_path / "in", plain, half, plain, other, plain.drop(columns="ill"))
    with refused(TableError, "in-0.parquet", "in-1.parquet", "in-3.parquet"):
        InputFolder.of(folder)


def narrow(table):
    """Have ages in one byte."""
    return table.assign(age=table["age"].astype("int8"))


SAME = {
    "order": lambda table: table[table.columns[::-1]],
    "wider integers": narrow,
    "dictionaries": lambda table: table.assign(
        ill=table["ill"].astype("category"), note=table["note"].astype("category")
    ),
}


@pytest.mark.parametrize("what", SAME)
@pytest.mark.parametrize("first", [True, False], ids=["first", "second"])
def test_what_loses_nothing_is_masked_to_the_same_bytes(tmp_path, what, first):
    tables = [persons(80), persons(80, seed=1)]
    roles = ROLES | {"quasi-identifier": ["age", "height", "note"], "other": ["ill"]}
    asked = job(roles=roles | {"confidential": [], "drop": ["income"]})
    whole = masked(put(tmp_path / "whole", *tables), asked, tmp_path / "a")
    place = 0 if first and what != "order" else 1  # the first file says the order
    tables[place] = SAME[what](tables[place])
    mixed = masked(put(tmp_path / "mixed", *tables), asked, tmp_path / "b")
    assert digest(mixed.path) == digest(whole.path)


def test_an_order_that_others_lack_is_not_dropped_silently(tmp_path):
    ranked = pd.Categorical(["a", "b"] * 5, ordered=True)
    tables = persons(10), persons(10).assign(note=ranked)
    with refused(TableError, "'note'"):
        InputFolder.of(put(tmp_path / "in", *tables))


@pytest.mark.parametrize(
    ("one", "other", "common"),
    [
        ("int8", "int64", "int64"),
        ("uint8", "int8", "int16"),
        ("uint32", "int8", "int64"),
        ("uint64", "int64", None),
        ("int64", "float64", None),
        ("string", "large_string", "large_string"),
    ],
)
def test_the_narrowest_type_that_has_all_values_is_common(one, other, common):
    one, other = pa.type_for_alias(one), pa.type_for_alias(other)
    common = common and pa.type_for_alias(common)
    assert find_common_type(one, other) == find_common_type(other, one) == common


def test_a_row_group_that_no_task_can_read_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(input_files, "LARGEST", 4)
    folder = put(tmp_path / "in", persons(5))
    with refused(TableError, "in-0.parquet", "250", "000"):
        InputFolder.of(folder)


def test_a_row_group_of_the_largest_size_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(input_files, "LARGEST", 5)
    parts = InputFolder.of(put(tmp_path / "in", persons(5)))
    assert np.isfinite(parts.pieces[0].read(["income"])["income"].to_numpy()).all()


def test_files_of_one_name_in_several_folders_are_told_apart(tmp_path):
    for number, name in enumerate(["x", "y"]):
        put(tmp_path / name, persons(5 + number), persons(3))
    several = InputFolder.of(f"{tmp_path}/*/*.parquet").pieces
    names = ["x/in-0.parquet", "x/in-1.parquet", "y/in-0.parquet", "y/in-1.parquet"]
    assert count_records_before(several) == dict(zip(names, [0, 5, 8, 14], strict=True))
    alone = InputFolder.of(tmp_path / "y").pieces
    assert count_records_before(alone) == {"in-0.parquet": 0, "in-1.parquet": 6}


def test_a_file_is_named_once_for_all_its_pieces(tmp_path, monkeypatch):
    monkeypatch.setattr(pieces, "PIECE", 10)
    folder = put(tmp_path / "in", persons(30), persons(7), rows=10)
    assert count_records_before(InputFolder.of(folder).pieces) == {
        "in-0.parquet": 0,
        "in-1.parquet": 30,
    }


@pytest.mark.parametrize("pattern", ["in", "in/region=01", "in/*/*.parquet"])
def test_a_column_in_the_names_of_folders_is_refused(tmp_path, pattern):
    (tmp_path / "in").mkdir()
    put(tmp_path / "in" / "region=01", persons(5))
    said = tmp_path / "in" if pattern == "in" else "in-0.parquet"
    with refused(TableError, said):
        InputFolder.of(tmp_path / pattern)


def test_one_file_of_a_partition_is_refused_in_memory_too(tmp_path):
    folder = put(tmp_path / "region=01", persons(20))
    roles = {"quasi-identifier": ["age"], "drop": [*persons(1).columns.drop("age")]}
    with refused(TableError, "in-0.parquet"):
        aggopt.mask(folder / "in-0.parquet", aggopt.Job(privacy={"k": 5}, roles=roles))


def test_a_partition_whose_column_the_files_have_loses_nothing(tmp_path):
    folder = put(tmp_path / "region=01", persons(5).assign(region="01"))
    assert InputFolder.of(folder).records == 5


@pytest.mark.parametrize("address", ["s3://bucket/in", "gs://bucket/*.parquet"])
def test_an_address_is_refused_by_its_name(address):
    with refused(TableError, address):
        InputFolder.of(address)


def test_an_address_to_write_is_refused_before_any_work(tmp_path):
    folder = put(tmp_path / "in", persons(20))
    with refused(TableError):
        aggopt.mask(folder, job(), out="s3://bucket/out")


def test_what_a_refused_partition_is_to_do_keeps_its_column(tmp_path):
    (tmp_path / "in").mkdir()
    for region in ("01", "02"):
        folder = put(tmp_path / "in" / f"region={region}", persons(5))
    with pytest.raises(TableError) as error:
        InputFolder.of(folder)
    code = error.value.fix.removeprefix("write it into the files, as text: ")
    names = {"FOLDER": tmp_path / "in", "NEW": tmp_path / "new"}
    exec(code.removesuffix("."), names)
    parts = InputFolder.of(tmp_path / "new")
    read = pa.concat_tables([piece.read(["region"]) for piece in parts.pieces])
    assert sorted(read["region"].to_pylist()) == ["01"] * 5 + ["02"] * 5
