"""A table that needs more memory than is left is refused; one of folders is, too."""

import json

import pandas as pd
import pytest
from refusals import refused
from tables import ROLES, job, people

import aggopt
from aggopt.core import memory
from aggopt.errors import JobError, MemoryLimitError

LEVELS = 600
N = 6000
NEEDED = 13 * 8 * N * (1 + LEVELS)  # bytes: coordinates of each record, thirteen times


@pytest.fixture
def coded() -> pd.DataFrame:
    """Persons with a category of many levels."""
    return people(N).assign(code=[f"c{i % LEVELS}" for i in range(N)])


def job_of_codes(**sections):
    """Return the job that masks the codes and the ages."""
    roles = {**ROLES, "quasi-identifier": ["age", "code"], "drop": ["income"]}
    return job(roles=roles, **sections)


def test_levels_that_do_not_fit_are_refused_before_the_work(coded, monkeypatch):
    monkeypatch.setattr(memory, "find_available_memory", lambda: NEEDED - 1)
    steps = []
    with refused(MemoryLimitError, "6000", "601", "358"):
        aggopt.mask(coded, job_of_codes(), progress=lambda step, _: steps.append(step))
    assert {*steps} == {"read"}


@pytest.mark.parametrize(
    ("sections", "coordinates"),
    [
        ({"attributes": {"code": {"kind": "nominal"}}}, 1 + LEVELS),
        ({"partition": {"method": "mdav", "weights": "range"}}, 71 + LEVELS),
    ],
)
def test_coordinates_are_those_of_the_encoding(
    coded, monkeypatch, sections, coordinates
):
    monkeypatch.setattr(memory, "find_available_memory", lambda: 10 * 2**20)
    asked = job_of_codes(**sections)
    with refused(MemoryLimitError):
        aggopt.mask(coded, asked)
    monkeypatch.undo()
    encoded = aggopt.encode(
        coded[["age", "code"]], weights=asked.partition.weights
    ).coordinates
    assert encoded.shape == (N, coordinates)


def test_check_says_what_levels_cost(coded, tmp_path, monkeypatch, aggopt):
    coded.to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "job.toml").write_text(job_of_codes().to_toml())
    asked = [str(tmp_path / name) for name in ("people.csv", "job.toml")]
    code, out, _ = aggopt("check", *asked, "--json")
    (note,) = (n for n in json.loads(out)["notes"] if "coordinate" in n)
    assert (code, note) == (
        0,
        "'code': each of 600 values is a coordinate of every record, which takes "
        "about 357 MiB of memory; a tree, an order or fewer values take less.",
    )
    monkeypatch.setattr(memory, "find_available_memory", lambda: NEEDED - 1)
    code, out, _ = aggopt("check", *asked, "--json")
    (obstacle,) = json.loads(out)["obstacles"]
    assert code == 3
    assert "with 601 coordinates each needs about 358 MiB" in obstacle["problem"]
    assert "'code'" in obstacle["fix"]


@pytest.mark.parametrize("name", ["local", "dask"])
def test_a_table_is_not_masked_by_a_job_for_folders(name):
    with refused(JobError, "[engine]") as error:
        aggopt.mask(people(), job(engine={"name": name}))
    assert error.value.problem == (
        f"[engine] name = {name!r} masks a folder into another, and a table is to be "
        "masked."
    )
