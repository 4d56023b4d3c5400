"""Each message of a room's messages.txt is that of a test, and can be written anew."""

from pathlib import Path

import pytest
import refusals
from refusals import refused

from aggopt.errors import JobError, TableError

FILES = sorted(refusals.TESTS.glob("**/messages.txt"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.parent.name)
def test_each_message_is_of_a_test(path):
    messages = refusals.read_messages(path)
    assert [key for key in messages if not refusals.is_of_a_test(path, key)] == []
    assert all("\nTo fix: " in message for message in messages.values())


def refuse(problem):
    raise JobError(problem, fix="write another.")


def test_a_refusal_has_its_class_its_names_and_its_message(monkeypatch, tmp_path):
    monkeypatch.setattr(refusals, "REWRITTEN", None)
    with pytest.raises(JobError), refused(TableError):
        refuse("'a' is wrong.")
    with pytest.raises(AssertionError, match="'a' is wrong"), refused(JobError, "'b'"):
        refuse("'a' is wrong.")
    for name in ("test_a[x y]", "test_b"):
        monkeypatch.setenv(
            "PYTEST_CURRENT_TEST", f"tests/room/test_a.py::{name} (call)"
        )
        with pytest.raises(AssertionError, match="to accept"), refused(JobError, "'a'"):
            refuse("'a' is wrong.")
    monkeypatch.setattr(refusals, "TESTS", tmp_path)
    monkeypatch.setattr(refusals, "REWRITTEN", {})
    (tmp_path / "room").mkdir()
    (tmp_path / "room" / "test_a.py").write_text("def test_a():\n")
    for problem in ("'a' is wrong.", f"{refusals.TEMPORARY[0]}/a0/a.csv is wrong."):
        with refused(JobError):
            refuse(problem)
    refusals.write_messages()
    written = refusals.read_messages(Path(tmp_path, "room", "messages.txt"))
    assert [message.split("\n")[0] for message in written.values()] == [
        "JobError: 'a' is wrong.",
        "JobError: TMP/a.csv is wrong.",
    ]
