"""A run that does not fit is refused before it begins; a full disk leaves nothing."""

import os
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from folders import job, masked, persons, put
from refusals import refused

from aggopt.core import memory
from aggopt.engine import resource_check as needs
from aggopt.engine.resource_check import largest_block, require_resources, task_bytes
from aggopt.engine.steps import write as passes_out
from aggopt.engine.storage.input_parts import InputFolder, InputPart
from aggopt.errors import EngineError, InfeasibleInputError

MIB = 1 << 20


@pytest.fixture
def folder(tmp_path):
    """A folder of one file."""
    return put(tmp_path / "in", persons(60))


@pytest.fixture
def parts(tmp_path):
    """Nine numbers of a thousand records, in two row groups."""
    rng = np.random.default_rng(0)
    names = ["age", "height", "income"]
    table = pd.DataFrame(rng.normal(size=(1000, 3)), columns=names)
    more = table.assign(ill=np.int8(1), note="a", name="b")
    return InputFolder.of(put(tmp_path / "in", more, rows=600))


def test_the_largest_block_is_not_larger_than_the_table():
    assert largest_block(1_000_000, 100_000) == 1.4 * 125_000
    assert largest_block(50_000, 100_000) == 50_000


def test_a_task_needs_what_its_records_do(parts, monkeypatch):
    row = 3 * 8 + 1 + 24  # numbers, a byte, and a text; names are not read
    assert task_bytes(parts, job()) == 1000 * 9 * (row + 8)  # a file of the release
    monkeypatch.setattr(passes_out, "PER_FILE", 100)
    assert task_bytes(parts, job()) == 1000 * (3 * row + 6 * 24)  # a piece
    large = job(engine={"block": 1000})
    assert task_bytes(parts, large) == 1000 * (3 * row + 10 * 24 + 580)
    monkeypatch.setattr(needs, "PROGRAM", 2000)
    shifts = job(2, aggregation={"method": "p3m"})
    assert task_bytes(parts, shifts) == 500 * 2000


MEASURED = [  # records, block, numbers, files; MiB of the process
    (100_000, 25_000, 10, 4, 387),
    (100_000, 50_000, 10, 4, 390),
    (100_000, 100_000, 10, 4, 461),
    (100_000, 100_000, 10, 1, 453),
    (100_000, 100_000, 4, 4, 411),
    (200_000, 200_000, 10, 4, 613),
    (1_000_000, 100_000, 10, 8, 572),
]


@pytest.mark.parametrize(("n", "block", "d", "files", "most"), MEASURED)
def test_what_is_reckoned_is_what_was_measured(n, block, d, files, most):
    names = [f"x{j}" for j in range(d)]
    fields = [(name, pa.float64()) for name in names]
    schema = pa.schema([*fields, ("ill", pa.int8()), ("other", pa.int64())])
    pieces = [InputPart(Path("in"), (0,), j, n // files, (0, 0)) for j in range(files)]
    roles = {"quasi-identifier": names, "confidential": ["ill"], "other": ["other"]}
    asked = job(5, roles=roles, engine={"block": block})
    reckoned = needs.PROCESS + task_bytes(InputFolder(schema, tuple(pieces)), asked)
    assert reckoned / MIB == pytest.approx(most, rel=0.08)


def test_more_memory_than_is_left_is_refused(parts, tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: 400 * MIB)
    require_resources(parts, job(), tmp_path / "out")
    with refused(
        "A run of 2 processes, in blocks of 175 records and pieces of files of 1000, "
        "needs about 601 MiB of memory, and 400 MiB are left.",
        "choose a smaller block under [engine] or fewer processes, or write files with "
        "smaller row groups.",
        InfeasibleInputError,
    ):
        require_resources(parts, job(engine={"jobs": 2}), tmp_path / "out")


def test_memory_of_a_cluster_is_not_that_of_this_machine(parts, tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: 0)
    require_resources(parts, job(engine={"name": "dask"}), tmp_path / "out")
    asked = job(engine={"name": "dask", "workers": 1})
    with pytest.raises(InfeasibleInputError, match="A run of 1 process, in"):
        require_resources(parts, asked, tmp_path / "out")


def test_less_room_than_files_in_between_take_is_refused(parts, tmp_path, monkeypatch):
    room = {"free": 2 * 1000 * (25 + 8)}

    def usage(path):
        assert path == tmp_path
        return SimpleNamespace(**room)

    monkeypatch.setattr(needs.shutil, "disk_usage", usage)
    require_resources(parts, job(), tmp_path / "out")
    room["free"] -= 1024
    require_resources(parts, job(engine={"resume": True}), tmp_path / "out")
    with refused(
        f"Files in between take 64.5 KiB or more, and in {tmp_path} 63.5 KiB are free.",
        "make room, or name another folder: [engine] work.",
        EngineError,
    ):
        require_resources(parts, job(), tmp_path / "out")


@pytest.mark.parametrize("file", [0, 3, 8, 14])
def test_a_disk_that_gets_full_leaves_nothing(folder, tmp_path, monkeypatch, file):
    sync, done = os.fsync, []

    def full(handle):
        done.append(handle)
        if len(done) > file:
            raise OSError(28, "No space left on device")
        sync(handle)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(EngineError, match="There is no room left in"):
        masked(folder, job(engine={"block": 30}), tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["in"]
