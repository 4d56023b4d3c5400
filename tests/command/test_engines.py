"""The command that masks a folder by an engine."""

import json

import pytest
from folders import QUASI, persons, put, read

JOB = """
[roles]
identifier = ["name"]
quasi-identifier = ["age", "height", "income"]
confidential = ["ill"]
other = ["note"]
[privacy]
k = 4
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with a table in parts, and a job."""
    monkeypatch.chdir(tmp_path)
    put(tmp_path / "in", persons(60), persons(20, seed=1))
    (tmp_path / "job.toml").write_text(JOB)
    return tmp_path


def test_a_pattern_is_masked_into_a_folder(here, aggopt):
    words = ["mask", "in/*.parquet", "job.toml", "--out", "out"]
    code, told, errors = aggopt(*words, "--engine", "local")
    assert code == 0, errors
    assert "k = 4 holds on the masked attributes: 80 records" in told
    assert "For the public: out. For you alone: out.private." in told
    assert "local search in blocks" in told
    assert "highest risk: 25 %" in told
    assert read(here / "out").groupby(QUASI).size().min() >= 4


def test_the_job_may_name_the_engine_and_json_is_one_object(here, aggopt):
    (here / "job.toml").write_text(f'{JOB}[engine]\nname = "local"\nblock = 40\n')
    _, told, _ = aggopt("mask", "in", "job.toml", "--out", "out", "--json")
    stated = json.loads(told)
    assert stated["files"] == {"folder": "out", "private": "out.private"}
    assert (stated["blocks"], stated["audit"]["holds"]) == (2, True)


REFUSED = {
    "--overwrite is for a table in memory": ["--engine", "local", "--overwrite"],
    "--report is for a table": ["--engine", "local", "--report", "report.html"],
    "--private is for a table in memory": ["--engine", "local", "--private", "in"],
    "No engine is called 'spark'": ["--engine", "spark"],
    "[engine] jobs does nothing where name = 'memory'": ["--jobs", "2"],
    "[engine] workers does nothing where name = 'local'": [
        *("--engine", "local", "--workers", "2")
    ],
}


@pytest.mark.parametrize("said", REFUSED)
def test_options_that_would_do_nothing_are_refused(here, aggopt, said):
    words = ["mask", "in", "job.toml", "--out", "out", *REFUSED[said]]
    code, _, errors = aggopt(*words)
    assert code == 2
    assert said in " ".join(errors.split())
    assert not (here / "out").exists()
