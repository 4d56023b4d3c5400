"""Files in between appear whole, with a mode for their owner, and read as written."""

import numpy as np
import pyarrow as pa
import pytest
from refusals import refused

from aggopt.engine.storage.scratch_files import (
    STOP,
    StoppedError,
    load_arrays,
    load_state,
    read_buckets,
    remove_steps,
    save_arrays,
    save_state,
    stop_on_request,
    write_atomically,
    write_sorted,
)
from aggopt.errors import EngineError


def test_rows_are_read_back_bucket_by_bucket_in_the_order_of_the_files(tmp_path):
    rng = np.random.default_rng(0)
    files, both = [tmp_path / "a", tmp_path / "b"], []
    for number, file in enumerate(files):
        bucket = rng.integers(0, 3, 20)
        table = pa.table({"x": np.arange(20) + 100 * number, "s": ["é"] * 20})
        sizes = write_sorted(file, table, bucket, 4)
        assert sizes.tolist() == np.bincount(bucket, minlength=4).tolist()
        both.append((table, bucket))
    for buckets in ([0], [3], [1, 2]):
        rows = read_buckets(files, buckets)
        expected = [
            value
            for table, bucket in both
            for own in buckets
            for value in table["x"].to_numpy()[bucket == own].tolist()
        ]
        assert rows["x"].to_pylist() == expected
        assert set(rows["s"].to_pylist()) <= {"é"}


def test_arrays_are_read_back_and_no_pickle_is(tmp_path):
    save_arrays(tmp_path / "a", x=np.eye(2), y=np.array(["text"]))
    held = load_arrays(tmp_path / "a")
    assert held["x"].tolist() == np.eye(2).tolist()
    np.savez(tmp_path / "b.npz", z=np.array([{}], dtype=object))
    with pytest.raises(ValueError, match="allow_pickle"):
        load_arrays(tmp_path / "b.npz")


def test_files_are_for_their_owner_alone(tmp_path):
    write_atomically(tmp_path / "a", lambda aside: aside.write_text("x"))
    save_state(tmp_path / "b", {"x": 1})
    assert load_state(tmp_path / "b") == {"x": 1}
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}


def test_a_task_that_runs_twice_leaves_one_file(tmp_path):
    for text in ("first", "second"):
        write_atomically(
            tmp_path / "a", lambda aside, text=text: aside.write_text(text)
        )
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
    assert (tmp_path / "a").read_text() == "second"


def test_a_task_that_fails_leaves_nothing(tmp_path):
    def fail(aside):
        aside.write_text("half")
        raise PermissionError(13, "Permission denied")

    with pytest.raises(PermissionError):
        write_atomically(tmp_path / "a", fail)
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_told_in_words(tmp_path):
    (tmp_path / "work").mkdir()

    def fail(aside):
        aside.write_text("half")
        raise OSError(28, "No space left on device")

    with refused(EngineError, tmp_path):
        write_atomically(tmp_path / "work" / "a", fail)
    assert list((tmp_path / "work").iterdir()) == []


def test_files_of_steps_are_forgotten_and_no_others(tmp_path):
    for name in ("part-000001", "part-000002", "parted-000001"):
        (tmp_path / name).touch()
    remove_steps(tmp_path, "part", "none")
    assert [path.name for path in tmp_path.iterdir()] == ["parted-000001"]


def test_tasks_stop_once_the_user_has(tmp_path):
    check = stop_on_request(tmp_path)
    check(0.5)
    (tmp_path / STOP).touch()
    with pytest.raises(StoppedError):
        check(0.5)


def test_rows_with_dictionaries_of_several_files_are_written_as_their_entries(tmp_path):
    parts = [
        pa.chunked_array([pa.array(x).dictionary_encode()])
        for x in (["a", "b"], ["c", "b"])
    ]
    column = pa.chunked_array([chunk for part in parts for chunk in part.chunks])
    table = pa.table({"x": column, "y": range(4)})
    write_sorted(tmp_path / "a", table, np.array([1, 0, 1, 0]), 2)
    found = read_buckets([tmp_path / "a"], [1, 0])
    assert found.column("x").to_pylist() == ["a", "c", "b", "b"]
    assert found.column("y").to_pylist() == [0, 2, 1, 3]
    assert found.schema.field("x").type == pa.string()
