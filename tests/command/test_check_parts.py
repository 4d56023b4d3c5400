"""Confidential columns of a folder that cannot be compared as the job asks."""

import pandas as pd
import pytest
import tomlkit
from command.test_engines import JOB
from folders import masked, persons, put
from refusals import refused
from stratified import ROLES, residents

import aggopt
from aggopt.data.readers.read import read_as_text
from aggopt.engine.mask import replace_engine_keys
from aggopt.errors import JobError, TableError
from aggopt.inspection.check import check_table
from aggopt.inspection.check_parts import check_folder
from aggopt.inspection.collect_errors import find_obstacles
from aggopt.inspection.draft import propose_job

CLOSE = JOB + 't = 0.4\nrepair = "merge"\n'
OTHERS = {
    "text": (["flu", "none"] * 30, CLOSE),
    "text of some file": (["1"] * 59 + ["none"], CLOSE),
    "categories": (pd.Categorical(["flu", "none"] * 30), CLOSE),
    "dates": (pd.date_range("2020-01-01", periods=60), CLOSE),
    "levels of text": (
        ["flu", "none"] * 30,
        JOB + 'l = 2\nrepair = "merge"\n[privacy.confidential.ill]\nlevels = 2\n',
    ),
}
COMPARABLE = {
    "text that spells numbers": (["1", "2.5"] * 30, CLOSE),
    "numbers": ([1, 2] * 30, CLOSE),
    "an order": (
        ["flu", "none"] * 30,
        CLOSE + '[privacy.confidential.ill]\norder = ["flu", "none"]\n',
    ),
    "equal or not": (["flu", "none"] * 30, CLOSE + 'distance = "equal"\n'),
}


def obstacles(folder, values, job):
    """Return what is in the way of a folder in which these are confidential."""
    put(folder / "in", persons(60).assign(ill=values))
    (folder / "job.toml").write_text(job)
    found = check_folder(folder / "in", folder / "job.toml", "local")
    return [each.problem for each in found.obstacles]


@pytest.mark.parametrize("what", OTHERS)
def test_what_is_no_number_where_numbers_are_compared_is_told(tmp_path, what):
    assert obstacles(tmp_path, *OTHERS[what]) == [
        "Confidential columns whose values are compared as numbers, and are none: "
        "'ill'; no order is given."
    ]


@pytest.mark.parametrize("what", COMPARABLE)
def test_what_can_be_compared_is_no_obstacle(tmp_path, what):
    assert obstacles(tmp_path, *COMPARABLE[what]) == []


def looked(folder, *tables, job=JOB):
    """Return what is found of a folder of these tables."""
    put(folder / "in", *tables)
    (folder / "job.toml").write_text(job)
    return check_folder(folder / "in", folder / "job.toml", "local")


def test_missing_values_are_counted_by_the_footers(tmp_path):
    table = persons(60).astype({"age": "Int64"})
    holed = table.assign(
        age=table["age"].mask(table.index < 7), note=table["note"].mask(table.index < 3)
    )
    found = looked(tmp_path, table, holed, holed)
    missing = {look.name: look.missing for look, _ in found.columns}
    assert missing == dict.fromkeys(table, 0) | {"age": 14, "note": 6}
    assert [(each.problem, each.column) for each in found.obstacles] == [
        ("'age': 14 values are missing, by what the files say.", "age")
    ]
    asked = replace_engine_keys(tmp_path / "job.toml", name="local")
    with refused(TableError, "must be complete"):
        masked(tmp_path / "in", asked, tmp_path / "out")


@pytest.mark.parametrize(
    "more",
    ['[missing]\npolicy = "patterns"\n', '[attributes.note]\nmissing = "own value"\n'],
)
def test_missing_values_that_the_job_allows_are_no_obstacle(tmp_path, more):
    asked = JOB.replace('"income"]', '"income", "note"]').replace(
        'other = ["note"]', ""
    )
    holed = persons(60).assign(note=["a", None] * 30)
    assert looked(tmp_path, holed, job=asked + more).obstacles == ()


PROMISED = JOB + 'l = 2\nrepair = "merge"\n'
BEFORE_WORK = {  # a column and its job, and what mask and check name of it
    "bounds of text": (
        {"age": ["30", "30+"] * 30},
        JOB + "[attributes.age]\nlower = 0\n",
        "of what is no number",
    ),
    "a whole category": (
        {"age": ["30", "30+"] * 30},
        JOB + "[attributes.age]\ninteger = true\n",
        "of what is no number",
    ),
    "bounds of truth values": (
        {"age": [True, False] * 30},
        JOB + "[attributes.age]\nlower = 0\n",
        "of what is no number",
    ),
    "bounds of dates": (
        {"age": pd.date_range("2020-01-01", periods=60)},
        JOB + "[attributes.age]\nlower = 0\n",
        "of what is no number",
    ),
    "a tree that is not published": (
        {"age": ["30", "30+"] * 30},
        JOB
        + '[aggregation.categories]\nmethod = "frequencies"\n[attributes.age]\n'
        + 'tree = {all = ["30", "30+"]}\npublish = "node"\n',
        "publish = 'node'",
    ),
    "a rare number": (
        {},
        JOB + '[attributes.age]\nrare = "avoid"\n',
        "is of categories",
    ),
    "a missing confidential value": (
        {"ill": ["flu", None] + ["flu", "none"] * 29},
        PROMISED,
        "'ill': 1 ",
    ),
    "missing strata": (
        {"note": ["a", None] + ["a", "b"] * 29},
        JOB.replace('other = ["note"]', 'stratum = ["note"]'),
        "'note'",
    ),
    "missing weights": (
        {"note": [1.0, None] + [1.0, 2.0] * 29},
        JOB.replace('other = ["note"]', 'weight = ["note"]'),
        "'note'",
    ),
}


@pytest.mark.parametrize("what", BEFORE_WORK)
def test_check_finds_what_mask_refuses_before_it_partitions(tmp_path, what):
    columns, job, named = BEFORE_WORK[what]
    found = looked(tmp_path, persons(60).assign(**columns), job=job)
    (obstacle,) = found.obstacles
    assert named in obstacle.problem
    asked = replace_engine_keys(tmp_path / "job.toml", name="local")
    with refused((TableError, JobError), named):
        masked(tmp_path / "in", asked, tmp_path / "out")


OWN_VALUE = PROMISED + '[privacy.confidential.ill]\nmissing = "own value"\n'


@pytest.mark.parametrize("job", [JOB, OWN_VALUE])
def test_confidential_values_that_are_not_counted_may_be_missing(job, tmp_path):
    holed = persons(60).assign(ill=["flu", None] * 30)
    assert looked(tmp_path, holed, job=job).obstacles == ()


def test_each_file_that_differs_is_an_obstacle_by_name(tmp_path):
    other = persons(60).assign(age=0.5)
    found = looked(tmp_path, persons(60), other, persons(60), other)
    (obstacle,) = found.obstacles
    assert obstacle.problem.endswith(
        "in-1.parquet, in-3.parquet has double of 'age' for int64."
    )


# --- what `aggopt check` says of strata, alone and beside what else is wrong


SMALL = "1 of 5 strata has fewer than k = 3 records, 2 records in all."


def found(folder, more, privacy=None, **sections):
    """Return the problems that check lists, and what mask refuses first."""
    residents(**more).to_csv(folder / "in.csv", index=False)
    asked = {"k": 3, **(privacy or {})}
    job = {"roles": ROLES, "privacy": asked, "partition": {"method": "mdav"}}
    (folder / "job.toml").write_text(tomlkit.dumps({**job, **sections}))
    read = aggopt.Job.read(folder / "job.toml")
    table = read_as_text(folder / "in.csv", read.input)
    return [each.problem for each in find_obstacles(folder / "in.csv", table, read)]


def test_strata_that_are_masked_are_no_obstacle(tmp_path):
    assert found(tmp_path, {}) == []
    assert found(tmp_path, {"m_f": 2}, strata={"small": "drop"}) == []


def test_small_strata_are_the_one_obstacle(tmp_path):
    assert found(tmp_path, {"m_f": 2}) == [SMALL]


def test_a_stratum_that_is_not_there_is_the_one_obstacle(tmp_path):
    roles = {**ROLES, "stratum": ["sex", "town"], "other": ["region"]}
    assert found(tmp_path, {}, roles=roles) == [
        "The roles name 'town', which the table does not have."
    ]


def test_small_strata_are_said_beside_what_else_is_wrong(tmp_path):
    problems = found(tmp_path, {"m_f": 2}, {"l": 2})
    assert len(problems) == 2
    assert SMALL in problems
    assert any("does not guarantee l" in problem for problem in problems)


def test_what_is_dropped_is_no_obstacle_beside_others(tmp_path):
    kept = {"method": "mean", "keep": "variance"}
    how = {"strata": {"small": "drop"}, "aggregation": kept}
    problems = found(tmp_path, {"m_f": 2}, {"l": 2}, **how)
    assert len(problems) == 1
    assert "does not guarantee l" in problems[0]


def test_the_role_is_shown_and_proposed_as_a_list(tmp_path):
    found(tmp_path, {})
    columns = check_table(tmp_path / "in.csv", tmp_path / "job.toml").columns
    assert [role for _, role in columns][:2] == ["stratum", "stratum"]
    text = propose_job(tmp_path / "in.csv", tmp_path / "new.toml").text
    assert "stratum = []" in text
    assert '# small = "refuse"' in text
