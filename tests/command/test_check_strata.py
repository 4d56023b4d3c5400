"""What `aggopt check` says of strata, alone and beside what else is wrong."""

import tomlkit
from stratified import ROLES, residents

import aggopt
from aggopt.command.check import check_table
from aggopt.command.collect_errors import find_obstacles
from aggopt.command.draft import propose_job
from aggopt.data.readers.read import read_as_text

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
