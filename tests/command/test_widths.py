"""What fits into a terminal: no word and no number is cut."""

import re

import pytest
from tables import people

from aggopt.solvers import SOLVERS

JOB = """
[roles]
quasi-identifier = ["age", "income"]
other = ["name", "illness", "note"]
[privacy]
k = 3
[partition]
method = "mdav"
"""
CHOOSE = ("choose", "people.csv", "job.toml", "--out", "c.html", "--jobs", "1")


@pytest.fixture
def lab(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    people(40).to_csv("people.csv", index=False)
    (tmp_path / "job.toml").write_text(JOB)
    return tmp_path


@pytest.mark.parametrize("columns", [80, 140])
def test_solvers_have_their_names_in_full(aggopt, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    code, out, _ = aggopt("solvers")
    assert code == 0
    table = out.split("lagrangian:")[0]
    assert set(SOLVERS) <= set(table.split())
    assert "\N{HORIZONTAL ELLIPSIS}" not in table
    assert max(map(len, table.splitlines())) <= columns


@pytest.mark.parametrize("columns", [80, 140])
def test_a_choice_shows_k_of_each_point(aggopt, lab, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    axes = ("--k", "3,5,10", "--keep", "variance,covariance")
    code, out, _ = aggopt(*CHOOSE, *axes)
    assert code == 0
    assert "\N{HORIZONTAL ELLIPSIS}" not in out
    rows = [line.split() for line in out.splitlines() if "variance  " in line]
    for k in ("3", "5", "10"):
        assert sum(k in row for row in rows) >= 2
    assert max(map(len, out.splitlines())) <= columns


def test_lines_end_between_words(aggopt, lab, monkeypatch):
    _, whole, _ = aggopt("mask", "people.csv", "job.toml", "--out", "a.csv")
    monkeypatch.setenv("COLUMNS", "80")
    code, out, _ = aggopt("mask", "people.csv", "job.toml", "--out", "b.csv")
    assert code == 0
    assert max(map(len, out.splitlines())) <= 80
    verdict = whole.splitlines()[0]
    assert " ".join(out.split()).startswith(" ".join(verdict.split()))


def test_help_has_its_paragraphs_as_wide_as_the_terminal(aggopt, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    _, out, _ = aggopt("choose", "--help")
    assert "the job of each point;" in " ".join(out.split())
    assert not any(line.strip() == "the" for line in out.splitlines())


def test_help_indents_what_continues_an_exit_code_and_has_no_opposite_options(
    aggopt, monkeypatch
):
    monkeypatch.setenv("COLUMNS", "80")
    _, out, _ = aggopt("--help")
    codes = out.split("Exit codes:")[1].split("Options")[0].splitlines()
    assert all(re.match(r" {1,5}\d+ | {5}\S|[\s─╭]*$", line) for line in codes)
    assert "--no-overwrite" not in aggopt("mask", "--help")[1]


def test_a_reason_of_several_failures_is_printed_once(aggopt, lab, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    (lab / "job.toml").write_text(f"{JOB}[aggregation]\nmethod = 'p3m'\n")
    code, out, _ = aggopt(*CHOOSE, "--k", "30", "--method", "mdav,vmdav")
    assert code == 1
    said = " ".join(out.split())
    assert said.count("one value cannot keep the variance") == 1
    assert "point 1 (method = mdav, k = 30), point 2 (method = vmdav, k = 30)" in said


def test_an_experiment_fits_and_says_why_cells_failed(aggopt, lab, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    sections = JOB.replace('[privacy]\nk = 3\n[partition]\nmethod = "mdav"', "")
    grid = '[grid]\nk = [3, 30]\npartition = ["mdav"]\naggregation = ["p3m"]\n'
    (lab / "grid.toml").write_text(f'tables = ["people.csv"]\n{sections}{grid}')
    code, out, _ = aggopt("experiment", "grid.toml", "--out", "rows.csv")
    assert code == 1
    assert max(map(len, out.splitlines())) <= 80
    said = " ".join(out.split())
    assert "people 3 mdav p3m age optimal" in said
    assert "people 30 mdav p3m failed" in said
    assert said.count("one value cannot keep the variance") == 1
    assert "InfeasibleInputError" not in said


def test_one_blank_line_is_between_tables(aggopt, lab):
    code, out, _ = aggopt("risk", "people.csv", "job.toml")
    assert code == 0
    assert "Risk of the original\n" in out
    assert "\n\nIf others know fewer attributes (records)\n" in out
    assert "\n\n\n" not in out
