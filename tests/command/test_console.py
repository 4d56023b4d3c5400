"""What is printed holds no control characters, whatever columns are called."""

import json
import re

import pytest
from tables import people

from aggopt.command import console

HOSTILE = {
    "age": "age\x1b[2J\x1b]0;title\x07",
    "income": "in\u202ecome\x9b31m",
    "illness": "ill\x7f\x08ness",
    "name": "na\u2028me",
}
CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with a table of such names, and its job."""
    monkeypatch.chdir(tmp_path)
    people().rename(columns=HOSTILE).to_csv("people.csv", index=False)
    names = {name: json.dumps(hostile) for name, hostile in HOSTILE.items()}
    (tmp_path / "job.toml").write_text(
        f"[roles]\nidentifier = [{names['name']}]\nquasi-identifier = "
        f"[{names['age']}, {names['income']}]\nconfidential = [{names['illness']}]\n"
        'other = ["note"]\n[privacy]\nk = 3\n[aggregation]\nmethod = "p3m"\n'
    )
    return tmp_path


COMMANDS = [
    ("init", "people.csv", "--out", "new.toml"),
    ("check", "people.csv", "job.toml"),
    ("mask", "people.csv", "job.toml", "--out", "masked.csv"),
    ("assess", "people.csv", "masked.csv", "job.toml"),
    ("risk", "people.csv", "masked.csv", "job.toml"),
    ("utility", "people.csv", "masked.csv", "job.toml"),
    ("compare-solvers", "people.csv", "job.toml", "--solver", "slots"),
    ("mask", "people.csv", "none\x1b[2J.toml", "--out", "more.csv"),
]


def test_names_with_escape_sequences_are_printed_as_text(here, aggopt):
    for command in COMMANDS:
        _, out, err = aggopt(*command)
        assert not CONTROL.search(out), command
        assert not CONTROL.search(err), command
    assert "\\x1b[2J.toml" in err


def test_a_row_of_a_table_keeps_its_width():
    with console.out.capture() as printed:
        rows = [("a\x1bb", "1"), ("plain", "2")]
        console.print_table(("name", "figure"), rows, right=[1])
    assert "a\\x1bb" in printed.get()
    assert len({len(line) for line in printed.get().splitlines()}) == 1
