"""Confidential columns of a folder that cannot be compared as the job asks."""

import pandas as pd
import pytest
from command.test_engines import JOB
from folders import persons, put

from aggopt.command.check_parts import checked_parts

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
    found = checked_parts(folder / "in", folder / "job.toml", "local")
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
