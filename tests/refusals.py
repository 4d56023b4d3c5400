"""Refusals: tested by class and by the names at fault; the wording is in messages.txt.

Each room has one `messages.txt`: the whole message of every refusal of its tests.
`pytest --rewrite-messages PATHS` writes anew those of the tests that run, and the diff
shows what has changed.
"""

import os
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest

from aggopt.errors import AggoptError

TESTS = Path(__file__).parent
TEMPORARY: list[Path] = []  # folders of the tests of this session
REWRITTEN: dict[Path, dict[str, str]] | None = None  # by option --rewrite-messages
_repeated: Counter[str] = Counter()


@cache
def read_messages(path: Path) -> dict[str, str]:
    """Return the message of each refusal of a room."""
    messages, keys, lines = {}, [], []
    for line in path.read_text("utf-8").splitlines() if path.exists() else ():
        if line.startswith("## "):
            keys, lines = keys if not lines else [], []
            keys.append(line.removeprefix("## "))
        elif line or lines:
            lines.append(line)
            messages |= dict.fromkeys(keys, "\n".join(lines).rstrip("\n"))
    return messages


def write_messages() -> None:
    """Write the messages of the tests that ran, next to those of the others.

    Refusals with one message stand together.
    """
    for path, rewritten in (REWRITTEN or {}).items():
        ran = {key.split("[")[0].split(" ")[0] for key in rewritten}
        messages = {
            key: message
            for key, message in read_messages(path).items()
            if key.split("[")[0].split(" ")[0] not in ran and is_of_a_test(path, key)
        } | rewritten
        entries: dict[str, str] = {}
        for key in sorted(messages):
            entries[messages[key]] = entries.get(messages[key], "") + f"## {key}\n"
        text = "\n".join(f"{keys}{message}\n" for message, keys in entries.items())
        path.write_text(text, "utf-8")
    read_messages.cache_clear()


def is_of_a_test(path: Path, key: str) -> bool:
    """Whether the test of an entry exists."""
    file, name = re.split(r"::|\[| ", key)[:2]
    test = path.parent / file
    return test.exists() and f"def {name}(" in test.read_text("utf-8")


def find_entry() -> tuple[Path, str]:
    """Return the file of the room of this test, and the name of its next refusal."""
    test, _, _ = os.environ["PYTEST_CURRENT_TEST"].rpartition(" ")
    file, _, name = test.partition("::")
    *room, file = Path(file.rpartition("tests/")[2]).parts
    key = "::".join(["/".join([*room[1:], file]), name])
    _repeated[test] += 1
    if _repeated[test] > 1:
        key = f"{key} {_repeated[test]}"
    return TESTS.joinpath(*room[:1], "messages.txt"), key


def omit_machine(said: str) -> str:
    """Return a message without folders, versions and solvers of this machine."""
    for folder in TEMPORARY:
        said = re.sub(rf"{re.escape(str(folder))}/[^/\s:']+", "TMP", said)
    said = re.sub(r"\bline \d+ of test_", "line N of test_", said)
    said = re.sub(r"\(now [\d.]+\)", "(now VERSION)", said)
    solvers = (
        r"(choose one of|The known names are) [\w:, ]*(;[^.;]*)?; not installed: [^.]*"
    )
    return re.sub(solvers, r"\1 SOLVERS\2", said)


@contextmanager
def refused(
    kind: type[AggoptError] | tuple[type[AggoptError], ...], *names: object
) -> Iterator[pytest.ExceptionInfo[AggoptError]]:
    """Expect an error of a class that names these, with the message of the room."""
    with pytest.raises(kind) as error:
        yield error
    said = f"{type(error.value).__name__}: {error.value}"
    assert [name for name in names if str(name) not in said] == [], said
    said = omit_machine(said)
    path, key = find_entry()
    if REWRITTEN is None:
        expected = read_messages(path).get(key)
        assert said == expected, "to accept the message: pytest --rewrite-messages"
    else:
        REWRITTEN.setdefault(path, {})[key] = said
