"""Confidential columns of a folder that cannot be compared as the job asks."""

import pandas as pd
import pytest
from command.test_engines import JOB
from folders import masked, persons, put
from refusals import refused

from aggopt.command.check_parts import check_folder
from aggopt.engine.mask import replace_engine_keys
from aggopt.errors import TableError

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


def test_each_file_that_differs_is_an_obstacle_by_name(tmp_path):
    other = persons(60).assign(age=0.5)
    found = looked(tmp_path, persons(60), other, persons(60), other)
    (obstacle,) = found.obstacles
    assert obstacle.problem.endswith(
        "in-1.parquet, in-3.parquet has double of 'age' for int64."
    )
