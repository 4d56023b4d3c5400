"""l and t on the command line."""

import json

import pandas as pd
import pytest
from command.test_cli import JOB, here  # noqa: F401

from aggopt import job as job_module

PROMISING = (
    JOB.split("[aggregation]")[0]
    + """
l = 2
t = 0.3
distance = "equal"
repair = "merge"
"""
)
WORDS = ("mask", "people.csv", "job.toml", "--out", "masked.csv")


@pytest.fixture
def promising(here):  # noqa: F811
    (here / "job.toml").write_text(PROMISING)
    return here


def test_mask_says_what_holds(promising, aggopt):
    code, out, err = aggopt(*WORDS)
    assert (code, err) == (0, "")
    assert "distinct l >= 2 holds for 'illness': the worst group" in out
    assert "t (equal) <= 0.3 holds for 'illness': the worst group" in out
    code, out, _ = aggopt("assess", "people.csv", "masked.csv", "job.toml")
    assert code == 0
    assert "t (equal) <= 0.3 holds" in out


def test_assess_finds_a_promise_that_does_not_hold(promising, aggopt):
    aggopt(*WORDS)
    strict = PROMISING.replace("t = 0.3", "t = 0.01")
    (promising / "job.toml").write_text(strict)
    words = ("assess", "people.csv", "masked.csv", "job.toml")
    code, out, _ = aggopt(*words)
    assert code == 1
    assert "t (equal) <= 0.01 DOES NOT HOLD for 'illness'" in out
    code, out, _ = aggopt(*words, "--json")
    found = json.loads(out)["audit"]
    assert (code, found["holds"]) == (1, False)
    assert [promise["holds"] for promise in found["promises"]] == [True, False]


def test_a_broken_promise_ends_with_1_and_leaves_nothing(
    promising, aggopt, monkeypatch
):
    from aggopt.repair import merge_until_satisfied as _merge_until_satisfied

    monkeypatch.setattr(
        _merge_until_satisfied,
        "merge_until_satisfied",
        lambda X, labels, *_, **__: labels,
    )
    code, _, err = aggopt(*WORDS)
    assert code == 1
    assert "DOES NOT HOLD for 'illness': the worst group, of" in err
    assert "nothing was written" in err
    assert {path.name for path in promising.iterdir()} == {"people.csv", "job.toml"}


P3M = '[aggregation]\nmethod = "p3m"\nsolver = "uno"\n'
COMPARE = ("compare-solvers", "people.csv", "job.toml", "--solvers", "uno", "--json")
GRID = ("--alpha", "0.5", "--delta", "0.1", "--jobs", "1", "--overwrite")


def test_what_is_only_tried_is_audited_too(promising, aggopt, monkeypatch):
    from aggopt.repair import merge_until_satisfied as _merge_until_satisfied

    (promising / "job.toml").write_text(PROMISING + P3M)
    for holds in (True, False):
        code, out, _ = aggopt(*COMPARE)
        assert (code, json.loads(out)["cvxpy:uno"]["holds"]) == (0, holds)
        code, out, _ = aggopt("sweep", "people.csv", "job.toml", *GRID)
        assert code == 0
        assert pd.read_csv(promising / "sweep.csv")["holds"].tolist() == [holds]
        assert ("yes" in out.split(), "NO" in out.split(), "* 1" in out) == (
            holds,
            not holds,
            holds,
        )
        assert ("yes" in aggopt(*COMPARE[:-1])[1].split()) == holds
        monkeypatch.setattr(
            _merge_until_satisfied,
            "merge_until_satisfied",
            lambda X, labels, *_, **__: labels,
        )


def test_a_job_that_only_hopes_ends_with_2(promising, aggopt):
    hoping = PROMISING.replace('repair = "merge"', "")
    (promising / "job.toml").write_text(hoping + '\n[partition]\nmethod = "mdav"\n')
    code, _, err = aggopt(*WORDS)
    assert code == 2
    assert "does not guarantee l and t" in err


def test_a_recommended_search_gets_a_repair(promising, aggopt):
    (promising / "job.toml").write_text(PROMISING.replace('repair = "merge"', ""))
    code, out, _ = aggopt(*WORDS)
    assert code == 0
    assert "distinct l >= 2 holds for 'illness'" in out
    notes = json.loads((promising / "masked.manifest.json").read_text())["notes"]
    assert any('by repair = "search"' in note for note in notes)


def test_promises_stand_ready_in_the_template(here, aggopt):  # noqa: F811
    aggopt("init", "people.csv", "--out", "new.toml")
    text = (here / "new.toml").read_text()
    section = text.split("[privacy]\n")[1].split("[partition]")[0]
    names = ("l", "diversity", "t", "distance", "repair", "levels", "missing")
    ways = tuple(f"# {name} = " for name in names)
    lines = [
        line[2:] if line.startswith((*ways, "# [privacy")) else line
        for line in section.splitlines()
    ]
    ready = "\n".join(lines).replace(".NAME", ".illness")
    roles = PROMISING.split("[privacy]")[0]
    (here / "new.toml").write_text(f"{roles}[privacy]\n{ready}")
    asked = job_module.Job.read("new.toml").privacy
    assert (asked.k, asked.l, asked.t, asked.repair.method) == (5, 3, 0.15, "merge")
    assert asked.confidential["illness"].levels == 20
    commented = [line[2:] for line in section.splitlines() if "order = " in line]
    commented += [line[2:] for line in section.splitlines() if "tree = " in line]
    import tomllib

    assert len(tomllib.loads("\n".join(commented))) == 2
    assert pd.read_csv(here / "people.csv").shape[0] == 40
