"""A run that does not fit is refused before it begins; a full disk leaves nothing."""

import os
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from folders import QUASI, ROLES, job, masked, persons, put
from refusals import refused

from aggopt.core import memory
from aggopt.encoding import AttributeType
from aggopt.engine import resource_check as needs
from aggopt.engine.resource_check import (
    RunNeeds,
    require_fitting_memory,
    require_resources,
)
from aggopt.engine.state.category_levels import Levels
from aggopt.engine.state.split_tree import estimate_largest_leaf
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


def task_bytes(parts, job):
    """Return the bytes of the largest task, without its process."""
    return RunNeeds.of(parts, job).process - needs.PROCESS


def test_the_largest_block_is_not_larger_than_the_table():
    assert estimate_largest_leaf(1_000_000, 100_000) == 1.4 * 125_000
    assert estimate_largest_leaf(50_000, 100_000) == 50_000


def test_a_task_needs_what_its_records_do(parts, monkeypatch):
    row = 3 * 8 + 1 + 24  # numbers, a byte, and a text; names are not read
    assert task_bytes(parts, job()) == 1000 * 9 * (row + 8)  # a file of the release
    monkeypatch.setattr(passes_out, "PER_FILE", 100)
    piece = 1000 * (3 * row + 6 * 24) + 4 * 1000 * 24  # and its coordinates
    assert task_bytes(parts, job()) == piece
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
    assert most <= reckoned / MIB <= 2 * most


def test_more_memory_than_is_left_is_refused(parts, tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "find_available_memory", lambda: 400 * MIB)
    require_resources(parts, job(), tmp_path / "out")
    with refused(InfeasibleInputError, "175", "1000", "721"):
        require_resources(parts, job(engine={"jobs": 2}), tmp_path / "out")


def test_memory_of_a_cluster_is_not_that_of_this_machine(parts, tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "find_available_memory", lambda: 0)
    require_resources(parts, job(engine={"name": "dask"}), tmp_path / "out")
    asked = job(engine={"name": "dask", "workers": 1})
    with refused(InfeasibleInputError):
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
    with refused(EngineError, tmp_path):
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
    with refused(EngineError):
        masked(folder, job(engine={"block": 30}), tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


MEASURED_LEVELS = [  # records, block, numbers, levels; MiB of the process
    (20_000, 10_000, 3, [50], 360),
    (20_000, 10_000, 3, [500], 772),
    (40_000, 40_000, 3, [500], 1575),
    (40_000, 20_000, 3, [50, 200], 691),
    (40_000, 20_000, 0, [1000], 1547),
    (60_000, 600, 3, [500], 1116),
]


def levels_of(counts):
    """Return the levels of categories, each of which has so many."""
    found = {}
    for place, count in enumerate(counts):
        names = [f"v{i}" for i in range(count)]
        values = pa.table({"value": names, "count": [10] * count})
        found[f"c{place}"] = Levels.of(values, AttributeType())
    return found


def wide(n, d, counts, **engine):
    """Return a folder of n records with d numbers and these categories, and its job."""
    names = [f"x{j}" for j in range(d)]
    levels = levels_of(counts)
    fields = [(name, pa.float64()) for name in names]
    fields += [(name, pa.string()) for name in levels]
    schema = pa.schema([*fields, ("ill", pa.int8())])
    pieces = [InputPart(Path("in"), (0,), j, n // 4, (0, 0)) for j in range(4)]
    roles = {"quasi-identifier": [*names, *levels], "confidential": ["ill"]}
    return (
        InputFolder(schema, tuple(pieces)),
        job(5, roles=roles, engine=engine),
        levels,
    )


@pytest.mark.parametrize(("n", "block", "d", "counts", "most"), MEASURED_LEVELS)
def test_levels_times_records_are_what_was_measured(n, block, d, counts, most):
    parts, asked, levels = wide(n, d, counts, block=block)
    reckoned = RunNeeds.of(parts, asked, levels).memory / MIB
    assert most <= reckoned <= 2 * most


def test_levels_that_do_not_fit_are_refused_with_a_block_that_does(monkeypatch):
    parts, asked, levels = wide(400_000, 3, [500], block=100_000, jobs=2)
    monkeypatch.setattr(memory, "find_available_memory", lambda: 3000 * MIB)
    with refused(InfeasibleInputError, "503") as caught:
        require_fitting_memory(parts, asked, levels)
    block, fits = re.search(r"block = (\d+)", caught.value.fix), "which fits"
    assert fits in caught.value.fix
    parts, smaller, levels = wide(400_000, 3, [500], block=int(block[1]), jobs=2)
    require_fitting_memory(parts, smaller, levels)
    assert RunNeeds.of(parts, smaller, levels).memory <= 3000 * MIB


def test_time_and_disk_grow_with_records_and_coordinates():
    narrow, broad = (
        RunNeeds.of(*wide(1_000_000, 10, counts)) for counts in ([], [500])
    )
    assert broad.seconds > 3 * narrow.seconds
    assert 60 < narrow.seconds < 260  # 127 were measured
    assert broad.disk >= narrow.disk


def test_a_run_is_refused_once_its_levels_are_counted(tmp_path, monkeypatch):
    table = persons(3600).assign(ward=[f"w{i % 900}" for i in range(3600)])
    roles = {**ROLES, "quasi-identifier": [*QUASI, "ward"]}
    asked = job(roles=roles, engine={"block": 3600})
    parts = InputFolder.of(put(tmp_path / "in", table))
    without = RunNeeds.of(parts, asked).memory
    monkeypatch.setattr(memory, "find_available_memory", lambda: without)
    with refused(InfeasibleInputError, "903"):
        masked(tmp_path / "in", asked, tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["in"]
