"""What fits into a terminal: no word and no number is cut."""

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
