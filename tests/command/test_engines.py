"""The command that masks a folder by an engine."""

import json
import tomllib

import pytest
from folders import QUASI, persons, put, read

import aggopt as aggopt_
from aggopt.core import memory
from aggopt.engine.mask import replace_engine_keys

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
    assert "Masked table   out\nFor you alone  out.private " in told
    assert "local search in blocks" in told
    assert "Risk: 25.00 % for the record most at risk, 22.50 % on average" in told
    assert "  none     none  " in told  # bound and gap of groups
    assert "Note: Groups were made in 1 block of about 80 records." in told
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
    "--ddi is for a table in memory": ["--engine", "local", "--ddi"],
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
    assert lines[-3].startswith("Note: In 2 files, of which no record was read")
    assert lines[-2].startswith("A run needs about 36")
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


@pytest.mark.parametrize("table", ["in", "in/*.parquet"])
def test_a_job_is_written_for_a_folder_and_its_next_steps_work(here, aggopt, table):
    code, told, errors = aggopt("init", table, "--out", "new.toml")
    assert code == 0, errors
    steps = [line.split() for line in told.splitlines() if line.startswith("    ")]
    quoted = f"'{table}'" if "*" in table else table
    assert steps == [
        ["aggopt", "check", quoted, "new.toml"],
        ["aggopt", "mask", quoted, "new.toml", "--out", "masked"],
    ]
    made = (here / "new.toml").read_text()  # which asks for the role of two columns
    decided = made.replace("confidential = []", 'confidential = ["income", "ill"]')
    (here / "new.toml").write_text(decided)
    code, _, errors = aggopt("check", table, "new.toml")
    assert code == 0, errors
    code, told, errors = aggopt("mask", table, "new.toml", "--out", "masked")
    assert code == 0, errors
    assert len(read(here / "masked")) == 80


def test_a_job_for_a_folder_is_that_of_the_same_table_in_one_file(here, aggopt):
    read(here / "in").to_parquet("whole.parquet", index=False)
    for table in ("in", "whole.parquet"):
        assert aggopt("init", table, "--out", f"{table}.toml")[0] == 0
    jobs = [
        tomllib.loads((here / f"{table}.toml").read_text())
        for table in ("in", "whole.parquet")
    ]
    assert jobs[0].pop("engine") == {"name": "local"}
    assert jobs[0] == jobs[1]


def test_a_share_of_the_groups_is_told_within_one_block(here):
    seen = []
    asked = replace_engine_keys(here / "job.toml", name="local")
    aggopt_.mask(
        "in", asked, out="out", progress=lambda step, share: seen.append((step, share))
    )
    shares = [share for step, share in seen if step == "group"]
    assert any(0 < share < 1 for share in shares)


CATEGORY = JOB.replace('"income"]', '"income", "ward"]') + '[engine]\nname = "local"\n'


def with_wards(here, rare=1):
    """Add a column of ten names to the folder, and some that one person has."""
    for number, n in enumerate((60, 20)):
        ward = [f"w{i % 10}" for i in range(n)]
        ward[: rare * (1 - number)] = [f"rare {i}" for i in range(rare * (1 - number))]
        table = persons(n, seed=number).assign(ward=ward)
        table.to_parquet(here / "in" / f"in-{number}.parquet", index=False)
    (here / "job.toml").write_text(CATEGORY)


def test_values_of_categories_are_counted_and_noted(here, aggopt):
    with_wards(here)
    code, told, _ = aggopt("check", "in", "job.toml")
    assert code == 0
    assert "text, 11 different" in told
    rare = "Note: 'ward': 1 of 11 values is shared by fewer than k = 4 records."
    assert rare in told
    assert "the values of 'ward' were counted" in told
    needs = json.loads(aggopt("check", "in", "job.toml", "--json")[1])["needs"]
    assert needs["processes"] == 1
    assert needs["process_bytes"] > needs["disk_bytes"] > 0
    assert needs["processor_seconds"] > 0


def test_a_category_of_mostly_rare_values_is_an_obstacle_of_check_and_mask(
    here, aggopt
):
    with_wards(here, rare=50)
    code, told, _ = aggopt("check", "in", "job.toml", "--json")
    (problem,) = [each["problem"] for each in json.loads(told)["obstacles"]]
    assert code == 2
    code, _, errors = aggopt("mask", "in", "job.toml", "--out", "out")
    assert code == 2
    assert problem in " ".join(errors.split())


def test_more_values_than_blocks_have_room_for_are_an_obstacle(here, aggopt):
    for number in range(2):
        table = persons(700, seed=number)
        ward = [f"{number}-{i}" for i in range(700)]
        table.assign(ward=ward).to_parquet(here / "in" / f"in-{number}.parquet")
    (here / "job.toml").write_text(CATEGORY)
    code, told, _ = aggopt("check", "in", "job.toml", "--json")
    problems = [each["problem"] for each in json.loads(told)["obstacles"]]
    assert code == 2
    assert problems == [
        "Column 'ward': There are more than 1000 different values, and each is a "
        "coordinate of every record of a block."
    ]


def test_a_run_that_does_not_fit_is_an_obstacle_with_a_way_out(
    here, aggopt, monkeypatch
):
    with_wards(here)
    monkeypatch.setattr(memory, "find_available_memory", lambda: 500 << 20)
    assert aggopt("check", "in", "job.toml")[0] == 0
    (here / "job.toml").write_text(f"{CATEGORY}jobs = 2\n")
    code, told, _ = aggopt("check", "in", "job.toml")
    assert code == 3
    assert "To fix: set jobs = 1 under [engine], which fits." in told
