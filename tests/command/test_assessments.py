"""The commands that look at written releases: what they print and return."""

import json

import pytest
from tables import people

import aggopt
from aggopt.command import cli
from aggopt.errors import AggoptError

JOB = """
[roles]
identifier = ["name"]
quasi-identifier = ["age", "income"]
confidential = ["illness"]
other = ["note", "w"]
[privacy]
k = 4
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table with weights and a release of it."""
    folder = tmp_path_factory.mktemp("released")
    people().assign(w=[2.0, 3.0] * 20).to_csv(folder / "people.csv", index=False)
    (folder / "job.toml").write_text(JOB)
    aggopt.mask(folder / "people.csv", folder / "job.toml").write(folder / "masked.csv")
    return folder


@pytest.fixture
def printed(folder, monkeypatch, capsys):
    """Run a command there; return its exit code and what it printed."""
    monkeypatch.chdir(folder)

    def run(*words):
        code = cli.app(list(words), standalone_mode=False)
        return code or 0, capsys.readouterr().out

    return run


LOOK = ("people.csv", "masked.csv", "job.toml")


def test_risk_is_printed_before_and_after(printed) -> None:
    code, out = printed("risk", *LOOK, "--weight", "w", "--unit", "note")
    assert code == 0
    assert "original" in out
    assert "released" in out
    rows = {line.split("  ")[0].strip("│ "): line for line in out.splitlines()}
    for name in (
        "individual risk, largest",
        "records re-identified, expected",
        "household risk, largest",
        "units re-identified, expected",
        "records special by up to 3 attributes (SUDA)",
        "a unique match is right (DIS)",
        "linked one to one",
        "values within 0.05 standard deviations",
        "'illness' guessed from the group",
        "groups in which one record has more than 70.00 % of the weight",
    ):
        assert any(row.startswith(name) for row in rows), name
    assert out.rstrip().endswith("No record is published unchanged.")


def test_risk_is_asked_for_by_options_or_by_the_job(printed, folder) -> None:
    _, plain = printed("risk", *LOOK, "--json")
    found = json.loads(plain)["risk"]
    assert set(found) == {"population", "individual", "suda", "attribution"}
    assert found["suda"]["attributes"] == 3
    assert list(found["attribution"]) == ["illness"]
    asked = folder / "asked.toml"
    asked.write_text(f'{JOB}[risk]\nweight = "w"\ntarget = ["note"]\nsuda = 1\n')
    _, said = printed("risk", *LOOK[:2], "asked.toml", "--json")
    found = json.loads(said)["risk"]
    assert found["population"] == 100
    assert found["suda"]["attributes"] == 1
    assert list(found["attribution"]) == ["note"]
    more = ("--suda", "2", "--target", "illness, note", "--unit", "note")
    _, over = printed("risk", *LOOK[:2], "asked.toml", "--json", *more)
    found = json.loads(over)["risk"]
    assert found["suda"]["attributes"] == 2
    assert list(found["attribution"]) == ["illness", "note"]
    assert found["household"]["units"] == 4


def test_a_name_that_cannot_act_is_refused(printed) -> None:
    with pytest.raises(AggoptError, match="not masked is called 'age'"):
        printed("risk", *LOOK, "--weight", "age")


def test_a_release_that_breaks_what_is_asked_is_measured_with_exit_code_1(
    printed, folder
) -> None:
    (folder / "wider.toml").write_text(JOB.replace("k = 4", "k = 20"))
    code, out = printed("risk", "people.csv", "masked.csv", "wider.toml")
    assert code == 1
    assert "k = 20 DOES NOT HOLD" in out
