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
    assert (
        "k = 4 holds on the masked attributes, but 9 of 80 records are unique" in told
    )
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
    "[engine] resume does nothing where name = 'memory'": ["--discard"],
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


def test_engine_settings_without_a_name_are_those_of_the_engine_that_is_named(
    here, aggopt
):
    (here / "job.toml").write_text(f"{JOB}[engine]\nblock = 40\n")
    words = ["mask", "in", "job.toml", "--out", "out"]
    code, _, errors = aggopt(*words)
    assert code == 2
    assert " ".join(errors.split()) == (
        "Error: [engine] block does nothing where name = 'memory'. To fix: name the "
        'engine that it is for, name = "local" under [engine] or --engine local; or '
        "leave it out."
    )
    code, told, _ = aggopt(*words, "--engine", "local", "--json")
    stated = json.loads(told)
    assert (code, stated["blocks"]) == (0, 2)
    assert stated["job"]["engine"]["block"] == 40


CHECKED = ["check", "in/*.parquet", "job.toml"]


def test_a_pattern_is_checked_by_what_its_files_say(here, aggopt):
    code, told, _ = aggopt(*CHECKED, "--engine", "local")
    assert code == 0
    lines = told.splitlines()
    assert lines[0] == "80 records, 6 columns"
    assert lines[2].split() == ["'name'", "identifier", "text"]
    assert lines[3].split() == ["'age'", "quasi-identifier", "whole", "numbers"]
    assert lines[-2].startswith("Note: In 2 files, of which no record was read")
    assert lines[-1] == "Nothing stands in the way: aggopt mask would begin."


def test_a_pattern_is_checked_by_the_engine_of_the_job(here, aggopt):
    (here / "job.toml").write_text(f'{JOB}[engine]\nname = "local"\n')
    assert aggopt("check", "in/in-0.parquet", "job.toml")[0] == 0
    _, told, _ = aggopt("check", "people.csv", "job.toml", "--engine", "memory")
    assert "Obstacle 1: There is no file people.csv." in told


def test_all_that_an_engine_would_refuse_is_listed_at_once(here, aggopt):
    wrong = JOB.replace('other = ["note"]', "").replace("k = 4", "k = 90")
    (here / "job.toml").write_text(f"{wrong}[output]\nshuffle = false\n")
    code, told, _ = aggopt(*CHECKED, "--json")
    found = json.loads(told)
    assert (code, found["ready"], found["records"]) == (2, False, 80)
    problems = [each["problem"] for each in found["obstacles"]]
    assert problems == [
        "A folder is masked by an engine, and none is named.",
        "[output] shuffle or seed is given: an engine that works block by block does "
        "not do that.",
        "No role is declared for 'note'.",
        "k = 90, but there are only 80 records.",
    ]


def test_a_pattern_is_checked_by_settings_of_an_engine_that_is_not_named(here, aggopt):
    (here / "job.toml").write_text(f"{JOB}[engine]\nblock = 40\n")
    code, told, _ = aggopt(*CHECKED, "--json")
    found = json.loads(told)
    problems = [each["problem"] for each in found["obstacles"]]
    assert (code, problems) == (
        2,
        ["A folder is masked by an engine, and none is named."],
    )
    assert found["columns"][1]["role"] == "quasi-identifier"


def test_a_file_is_checked_by_a_job_with_settings_of_an_engine(here, aggopt):
    persons(60).to_csv("people.csv", index=False)
    (here / "job.toml").write_text(f"{JOB}[engine]\nblock = 40\n")
    code, told, _ = aggopt("check", "people.csv", "job.toml", "--json")
    found = json.loads(told)
    problems = [each["problem"] for each in found["obstacles"]]
    assert (code, problems) == (
        2,
        ["[engine] block does nothing where name = 'memory'."],
    )
    assert found["columns"][1]["role"] == "quasi-identifier"


@pytest.mark.parametrize(
    "command", ["assess", "risk", "utility"], ids=["assess", "risk", "utility"]
)
def test_what_looks_at_a_release_takes_a_job_without_the_name_of_an_engine(
    here, aggopt, command
):
    persons(60).to_csv("people.csv", index=False)
    code, _, errors = aggopt("mask", "people.csv", "job.toml", "--out", "masked.csv")
    assert code == 0, errors
    (here / "job.toml").write_text(f"{JOB}[engine]\nblock = 40\n")
    code, _, errors = aggopt(command, "people.csv", "masked.csv", "job.toml")
    assert code == 0, errors


def test_parts_that_cannot_be_read_are_an_obstacle(here, aggopt):
    code, told, _ = aggopt("check", "none/*.parquet", "job.toml", "--engine", "local")
    assert code == 2
    assert "Obstacle 1: No file is called none/*.parquet." in told


@pytest.mark.parametrize(
    ("words", "fix"),
    [
        pytest.param(["init", "in"], "look at one of them", id="init"),
        pytest.param(
            ["mask", "in/*.parquet", "job.toml", "--out", "out"], "--engine", id="mask"
        ),
        pytest.param(["choose", "in", "job.toml"], "name one file", id="choose"),
        pytest.param(
            ["compare", "in", "out.csv"], "`aggopt report` counts", id="compare"
        ),
    ],
)
def test_what_reads_one_file_refuses_parts_and_says_what_to_do(
    here, aggopt, words, fix
):
    code, _, errors = aggopt(*words)
    assert code == 2
    assert (
        f"'{words[1]}' is a folder or pattern of files; this command reads one file."
        in errors
    )
    assert fix in errors.replace("\n", " ")


def test_a_folder_is_not_repeated_by_the_command_which_says_how_it_is(here, aggopt):
    code, _, errors = aggopt("repeat", "manifest.json", "in", "--out", "again.csv")
    assert code == 2
    assert "'in' is a folder or pattern of files" in errors
    assert 'aggopt.mask(folder, job, out="again", secret=...)' in errors
