"""What a release's files are when they appear: those that were counted."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from folders import job, persons, put
from refusals import refused

import aggopt
from aggopt.engine.steps import write as passes_out
from aggopt.engine.steps.write import hash_rows
from aggopt.errors import EngineError, PrivacyError, TableError
from aggopt.release.files.write_table import write_table

ROW = {"a": True, "b": 3, "c": 0.5, "d": "x"}


@pytest.mark.parametrize("missing", ROW)
def test_equal_rows_go_to_one_place_whatever_is_missing_beside_them(missing):
    whole = pa.Table.from_pylist([ROW, {**ROW, "b": 4}])
    holed = pa.Table.from_pylist([ROW, {**ROW, missing: None}], whole.schema)
    one, other = hash_rows(whole), hash_rows(holed)
    assert one[0] == other[0]
    assert len({*one.tolist(), *other.tolist()}) == 3


def test_dictionaries_and_zeros_are_what_they_say():
    coded = pa.table({"a": pa.array(["y", "x"]).dictionary_encode(), "b": [0.0, 1.0]})
    plain = pa.table({"a": ["x", "y"], "b": [1.0, -0.0]})
    assert hash_rows(coded).tolist() == hash_rows(plain)[::-1].tolist()


def test_rows_that_miss_the_same_are_one_group_over_several_files(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(passes_out, "PER_FILE", 20)
    table = persons(60)[["age", "income"]].assign(fit=pd.array([True, False] * 30))
    table["fit"] = table["fit"].astype("boolean").mask(np.arange(60) < 4)
    roles = {"quasi-identifier": ["age", "income", "fit"]}
    asked = job(roles=roles, missing={"policy": "patterns"}, engine={"block": 30})
    found = aggopt.mask(put(tmp_path / "in", table), asked, out=tmp_path / "out")
    assert len([*found.path.glob("*.parquet")]) == 3
    assert found.audit.smallest >= 4


def test_files_that_changed_while_they_were_counted_are_refused(tmp_path):
    def change(step, share):
        if step == "hash":
            (part,) = tmp_path.glob("*-stage/public/*.parquet")
            part.write_bytes(part.read_bytes() + b"more")

    folder = put(tmp_path / "in", persons(60))
    asked = job(engine={"block": 30})
    with refused(PrivacyError):
        aggopt.mask(folder, asked, out=tmp_path / "out", progress=change)
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


@pytest.mark.parametrize("at", ["recount", "hash"])
def test_files_beside_those_that_were_counted_are_refused(tmp_path, at):
    def add(step, share):
        if step == at and share == 1:
            (stage,) = tmp_path.glob("*-stage/public")
            (stage / ".part-00000.parquet").write_bytes(b"half")

    folder = put(tmp_path / "in", persons(60))
    asked = job(engine={"block": 30})
    with refused(PrivacyError):
        aggopt.mask(folder, asked, out=tmp_path / "out", progress=add)
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


@pytest.mark.parametrize("at", ["describe", "scatter"])
def test_a_file_that_changes_while_it_is_masked_is_refused(tmp_path, at):
    def change(step, share):
        if step == at and share == 0:
            persons(60, seed=9).to_parquet(folder / "in-0.parquet", index=False)

    folder = put(tmp_path / "in", persons(60))
    with refused(TableError, "in-0.parquet"):
        aggopt.mask(
            folder, job(engine={"block": 30}), out=tmp_path / "out", progress=change
        )
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


@pytest.mark.parametrize("name", ["out", "out.private"])
def test_a_folder_that_another_has_made_meanwhile_is_left_as_it_is(tmp_path, name):
    def make(step, share):
        if step == "hash" and share == 1:
            (tmp_path / name).mkdir()

    folder = put(tmp_path / "in", persons(60))
    f"{tmp_path / name} is there already."
    with refused(TableError, str(tmp_path / name)):
        aggopt.mask(
            folder, job(engine={"block": 30}), out=tmp_path / "out", progress=make
        )
    assert {path.name for path in tmp_path.iterdir()} == {"in", name}
    assert not any((tmp_path / name).iterdir())


def test_a_release_whose_keys_are_gone_is_refused(tmp_path):
    def remove(step, share):
        if step == "hash" and share == 1:
            (key,) = tmp_path.glob("*-stage/private/key-*")
            key.unlink()

    folder = put(tmp_path / "in", persons(60))
    with refused(EngineError):
        aggopt.mask(
            folder, job(engine={"block": 30}), out=tmp_path / "out", progress=remove
        )
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


def test_what_a_killed_process_has_half_written_is_not_in_the_release(
    tmp_path, monkeypatch
):
    seen = []

    def write(aside, *others):
        seen.append(aside.parent.name)
        return write_table(aside, *others)

    monkeypatch.setattr(passes_out, "write_table", write)
    found = aggopt.mask(
        put(tmp_path / "in", persons(60)), job(engine={"block": 30}), out=tmp_path / "o"
    )
    assert len(seen) == len([*found.path.iterdir()])
    assert all(name.endswith("-stage") for name in seen)
