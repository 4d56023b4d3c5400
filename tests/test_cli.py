"""The command, as a user runs it: what it prints, leaves behind and returns."""

import json
import sys

import pandas as pd
import pytest
from tables import people, smallest

from aggopt import cli, pipeline
from aggopt import job as job_module

JOB = """
[roles]
identifier = ["name"]
quasi-identifier = ["age", "income"]
confidential = ["illness"]
other = ["note"]
[privacy]
k = 4
[aggregation]
method = "p3m"
solver = "uno"
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with a table and a job, as working directory."""
    monkeypatch.chdir(tmp_path)
    people().to_csv("people.csv", index=False)
    (tmp_path / "job.toml").write_text(JOB)
    return tmp_path


@pytest.fixture
def aggopt(monkeypatch, capsys):
    """Run the command; return exit code, standard output and standard error."""

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["aggopt", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        out, err = capsys.readouterr()
        return ended.value.code or 0, out, err

    return run


MASK = ("mask", "people.csv", "job.toml", "--out", "masked.csv")


def test_mask_writes_an_audited_release(here, aggopt):
    code, out, err = aggopt(*MASK)
    assert (code, err) == (0, "")
    assert "k = 4 holds: 40 records" in out
    assert "cvxpy:uno" in out
    assert smallest(pd.read_csv("masked.csv")) >= 4
    names = {path.name for path in here.iterdir()}
    assert names == {
        "people.csv",
        "job.toml",
        "masked.csv",
        "masked.manifest.json",
        "masked.private.csv",
    }


def test_mask_as_json(here, aggopt):
    code, out, _ = aggopt(*MASK, "--json")
    stated = json.loads(out)
    assert code == 0
    assert stated["files"]["table"] == "masked.csv"
    assert stated["audit"]["smallest"] >= 4
    assert stated["certificates"]["income"]["bound"] is None


def test_assess_finds_what_mask_measured(here, aggopt):
    _, out, _ = aggopt(*MASK, "--json")
    masked = json.loads(out)["measures"]
    code, out, _ = aggopt("assess", "people.csv", "masked.csv", "job.toml", "--json")
    again = json.loads(out)
    assert code == 0
    assert again["audit"]["holds"] is True
    for measure in ("il", "dld", "sdid", "pil", "sl"):
        assert again["measures"][measure] == pytest.approx(masked[measure])


def test_assess_prints_for_people(here, aggopt):
    aggopt(*MASK)
    code, out, _ = aggopt("assess", "people.csv", "masked.csv", "job.toml")
    assert code == 0
    assert "k = 4 holds" in out
    assert "PIL" in out


def test_assess_of_an_unmasked_table_says_that_the_promise_fails(here, aggopt):
    people().drop(columns="name").to_csv("copy.csv", index=False)
    words = ("assess", "people.csv", "copy.csv", "job.toml", "--same-order")
    code, out, _ = aggopt(*words)
    assert code == 1
    assert "k = 4 DOES NOT HOLD" in out
    code, out, _ = aggopt(*words, "--json")
    assert code == 1
    assert json.loads(out)["measures"]["dld"] == 1


def test_assess_reports_an_identifier_that_is_left(here, aggopt):
    people().assign(age=1, income=2.0).to_csv("copy.csv", index=False)
    code, out, _ = aggopt(
        "assess", "people.csv", "copy.csv", "job.toml", "--same-order", "--json"
    )
    assert code == 1
    assert json.loads(out)["audit"]["identifiers"] == ["name"]


def test_assess_without_the_key_cannot_tell_who_is_who(here, aggopt):
    aggopt(*MASK)
    (here / "masked.private.csv").unlink()
    code, _, err = aggopt("assess", "people.csv", "masked.csv", "job.toml")
    assert code == 2
    assert "--same-order" in err


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("masked.private.csv", "group,released_record\n0,0\n", "is not the key"),
        ("masked.private.csv", "nonsense", "is not the key"),
        ("masked.manifest.json", '{"output": {"sha256": "0"}}', "is not the file that"),
        ("masked.manifest.json", "nonsense", "is not the file that"),
    ],
)
def test_assess_refuses_files_that_do_not_belong_together(
    here, aggopt, name, text, message
):
    aggopt(*MASK)
    (here / name).write_text(text)
    code, _, err = aggopt("assess", "people.csv", "masked.csv", "job.toml")
    assert code == 2
    assert message in err


def test_assess_refuses_tables_of_different_length(here, aggopt):
    people(7).to_csv("other.csv", index=False)
    code, _, err = aggopt("assess", "people.csv", "other.csv", "job.toml")
    assert code == 2
    assert "40 records and other.csv 7" in err


def test_a_broken_promise_has_exit_code_1_and_writes_nothing(here, aggopt, monkeypatch):
    monkeypatch.setattr(pipeline.partition, "mdav", lambda X, k, **_: X[:, 0].argsort())
    code, _, err = aggopt(*MASK[:3], "--out", "m.csv")
    assert code == 1
    assert "k = 4 was promised" in err
    assert not (here / "m.csv").exists()


REFUSED = {
    ("mask", "none.csv", "job.toml", "--out", "m.csv"): "There is no file none.csv",
    ("mask", "people.csv", "none.toml", "--out", "m.csv"): "none.toml cannot be read",
    ("mask", "people.csv", "job.toml", "--out", "m.txt"): "neither .csv nor .parquet",
    ("mask", "people.csv", "job.toml", "--out", "no/m.csv"): "no folder no",
    ("mask", "people.csv", "job.toml", "--out", "people.csv"): "would be overwritten",
    (
        "mask", "people.csv", "job.toml", "--out", "people.csv", "--overwrite"
    ): "OUT is the table itself",
    ("init", "people.csv", "--out", "n.toml", "--separator", ";;"): "separator is ';;'",
    ("init", "none.csv", "--out", "n.toml"): "There is no file none.csv",
    ("init", "people.csv"): "job.toml is there already",
}  # fmt: skip


@pytest.mark.parametrize("words", REFUSED)
def test_bad_input_has_exit_code_2_and_a_way_out(here, aggopt, words):
    before = (here / "people.csv").read_bytes()
    code, out, err = aggopt(*words)
    assert (code, out) == (2, "")
    assert REFUSED[words] in err
    assert "To fix:" in err
    assert (here / "people.csv").read_bytes() == before


def test_refusals_as_json(here, aggopt):
    code, out, _ = aggopt("assess", "none.csv", "x.csv", "job.toml", "--json")
    assert code == 2
    assert json.loads(out) == {
        "error": "There is no file none.csv.",
        "fix": "check the path.",
        "exit": 2,
    }


def test_init_lists_the_columns_and_leaves_the_roles_to_the_user(here, aggopt):
    code, out, _ = aggopt("init", "people.csv", "--out", "new.toml")
    assert code == 0
    assert "aggopt mask people.csv new.toml" in out
    text = (here / "new.toml").read_text()
    assert '#   "name"  (40 different)' in text
    assert "Person" not in text
    code, _, err = aggopt("mask", "people.csv", "new.toml", "--out", "m.csv")
    assert code == 2
    assert "quasi-identifier" in err


def test_an_edited_template_is_a_job(here, aggopt):
    aggopt("init", "people.csv", "--out", "new.toml")
    text = (here / "new.toml").read_text()
    roles = {
        "identifier": "name",
        "quasi-identifier": "age",
        "confidential": "illness",
        "other": "note",
    }
    for role, column in roles.items():
        text = text.replace(f"\n{role} = []", f'\n{role} = ["{column}"]')
    (here / "new.toml").write_text(text)
    assert job_module.Job.read("new.toml").privacy.k == 5
    code, _, err = aggopt("mask", "people.csv", "new.toml", "--out", "m.csv")
    assert code == 2
    assert "No role is declared for 'income'" in err


def test_solvers_says_what_is_here_and_how_to_get_the_rest(aggopt):
    code, out, _ = aggopt("solvers", "--json")
    table = json.loads(out)
    assert code == 0
    assert table["cvxpy:uno"]["installed"] is True
    assert table["cvxpy:uno"]["takes"] == ["NLP"]
    assert "coinor-libipopt-dev" in table["cvxpy:ipopt"]["install"]
    code, out, _ = aggopt("solvers")
    assert "cvxpy:highs" in out


def test_demo_masks_patients_and_leaves_three_files_and_a_picture(here, aggopt):
    code, out, _ = aggopt("demo", "--folder", "shown")
    assert code == 0
    assert "k = 5 holds: 442 records" in out
    assert smallest(pd.read_csv("shown/patients.csv"), ("age", "sex", "bmi", "bp")) >= 5
    assert (here / "shown/original-against-masked.png").read_bytes()[:4] == b"\x89PNG"
    assert (here / "shown/patients.manifest.json").exists()


def test_a_defect_shows_its_place_and_not_its_message(here, aggopt, monkeypatch):
    def defect(*_, **__):
        raise KeyError("Ms Secret")

    monkeypatch.setattr(pipeline, "audit", defect)
    code, out, err = aggopt(*MASK)
    assert code == 2
    assert "Ms Secret" not in out + err
    assert "KeyError at test_cli.py" in err


@pytest.mark.parametrize("words", [("--help",), ("mask", "--help")])
def test_help_teaches(aggopt, words):
    code, out, _ = aggopt(*words)
    assert code == 0
    assert "aggopt init" in out or "manifest" in out
