"""Every command that reads a job runs the code that it names only if told to."""

import json

import pytest
from tables import ROLES_AND_K, people

CODE = """
from pathlib import Path
Path(__file__).with_name("ran").touch()
import numpy as np

def split(X, k, *, reverse=False):
    rank = np.argsort(np.argsort(-X[:, 0] if reverse else X[:, 0]))
    return np.minimum(rank // k, len(X) // k - 1)
"""
JOB = f"""{ROLES_AND_K}[partition]
method = "mine.py:split"
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with a table, a job and its code, as working directory."""
    monkeypatch.chdir(tmp_path)
    people().to_csv("people.csv", index=False)
    (tmp_path / "job.toml").write_text(JOB)
    (tmp_path / "mine.py").write_text(CODE)
    return tmp_path


TRUST = ("--trust", "mine.py")
MASK = ("mask", "people.csv", "job.toml", "--out", "masked.csv")
REPEAT = ("repeat", "masked.manifest.json", "people.csv", "--out", "again.csv")
ASSESS = ("assess", "people.csv", "masked.csv", "job.toml")
CHECK = ("check", "people.csv", "job.toml")
COMPARE = ("compare-solvers", "people.csv", "job.toml")
SWEEP = ("sweep", "people.csv", "job.toml", "--alpha", "0.5", "--delta", "0.1")


@pytest.mark.parametrize("words", [MASK, CHECK, COMPARE, SWEEP])
def test_without_trust_a_command_ends_with_2_and_runs_nothing(
    here, aggopt, words
) -> None:
    code, out, err = aggopt(*words)
    assert code == 2
    said = " ".join((out + err).split())
    assert "names code, mine.py" in said
    assert "--trust" in said
    assert "no role" not in said
    left = {path.name for path in here.iterdir()}
    assert left == {"people.csv", "job.toml", "mine.py"}


def test_with_trust_a_release_is_made_repeated_and_read_again(here, aggopt) -> None:
    assert aggopt(*CHECK, *TRUST)[0] == 0
    assert not (here / "masked.csv").exists()
    code, _, err = aggopt(*MASK, *TRUST)
    assert (code, err) == (0, "")
    assert (here / "ran").exists()
    (here / "ran").unlink()
    stated = json.loads((here / "masked.manifest.json").read_text())
    assert stated["code"][0]["file"] == "mine.py"
    for words in (REPEAT, ASSESS):
        code, out, err = aggopt(*words)
        assert code == 2
        assert "mine.py" in out + err
        assert not (here / "ran").exists()
        assert aggopt(*words, *TRUST)[0] == 0
    assert (here / "again.csv").read_bytes() == (here / "masked.csv").read_bytes()


def test_the_error_of_such_code_reaches_no_json(here, aggopt) -> None:
    (here / "mine.py").write_text("def split(X, k):\n    return {}[X[0, 0]]\n")
    code, out, err = aggopt(*MASK, *TRUST, "--json")
    said = json.loads(out)
    assert (code, said["exit"], err) == (2, 2, "")
    assert "split fails with a KeyError in line 2 of mine.py" in said["error"]
    assert str(people()["age"][0]) not in said["error"]


def test_a_trusted_file_that_is_not_there_is_refused(here, aggopt) -> None:
    code, _, err = aggopt(*MASK, "--trust", "nowhere.py")
    assert code == 2
    assert "There is no file nowhere.py" in err


MOVED = """
def moved(X, labels, *, by=0.0):
    import numpy as np
    sums = [np.bincount(labels, x) / np.bincount(labels) for x in X.T]
    return np.transpose(sums) + by
"""


def test_a_sweep_goes_through_settings_of_code(here, aggopt) -> None:
    (here / "mine.py").write_text(MOVED)
    named = '"mdav"\n[aggregation]\nmethod = "mine.py:moved"'
    (here / "job.toml").write_text(JOB.replace('"mine.py:split"', named))
    words = ("sweep", "people.csv", "job.toml", *TRUST, "--jobs", "1")
    code, out, err = aggopt(*words, "--over", "by=0,2.5")
    assert (code, err) == (0, "")
    assert " by " in out
    lines = (here / "sweep.csv").read_text().splitlines()
    assert [line.partition(",")[0] for line in lines] == ["settings.by", "0.0", "2.5"]
    assert (here / "sweep.png").exists()
    code, _, err = aggopt(*words, "--over", "by")
    assert (code, "write NAME=VALUES" in err) == (2, True)
    code, _, err = aggopt(*words, "--over", "bye=3", "--overwrite")
    assert (code, "did you mean 'by'" in err) == (2, True)
