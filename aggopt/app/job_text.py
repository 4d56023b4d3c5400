"""The text of a job, changed key by key; all that no form shows stays as it is."""

import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError

from aggopt.errors import JobError

QUASI_IDENTIFIER = "quasi-identifier"
COMMAND = "use the command line: aggopt mask."


def shorten(text: str) -> str:
    """Return the job of a proposal without its manual and without empty lists."""
    sections = {
        name: {key: value for key, value in section.items() if value not in ([], {})}
        for name, section in read_sections(text).items()
    }
    return tomlkit.dumps({name: keys for name, keys in sections.items() if keys})


def read_sections(text: str) -> dict[str, Any]:
    """Return the sections of a job's text as plain values.

    Raises
    ------
    JobError
        It is not TOML; the message quotes nothing of it.
    """
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        raise JobError(
            "The job is no valid TOML.", fix="correct it in an editor, and open it."
        ) from None


def read_section(text: str, name: str) -> Mapping[str, Any]:
    """Return a section of a job's text as plain values; empty if it is missing."""
    section: Mapping[str, Any] = _get_table(read_sections(text), name)
    return section


def read_roles(text: str) -> dict[str, str]:
    """Return the role of each column that has one, by the column's name."""
    return {
        str(name): role
        for role, names in read_section(text, "roles").items()
        if isinstance(names, list)
        for name in names
    }


def _get_table(parent: Any, name: str) -> Any:
    """Return a table in another; an empty one in place of anything else."""
    table = parent.get(name)
    return table if isinstance(table, Mapping) else {}


def replace_roles(text: str, roles: Mapping[str, str]) -> str:
    """Return the job with these roles, by the column's name; "" is undecided.

    The types of columns that are no quasi-identifiers any more are removed.
    """
    before = read_roles(text)
    lists: dict[str, list[str]] = {role: [] for role in read_section(text, "roles")}
    for name, role in roles.items():
        if role:
            lists.setdefault(role, []).append(name)
    text = replace_keys(
        text, ["roles"], {role: names or None for role, names in lists.items()}
    )
    removed = {
        name: None
        for name, role in before.items()
        if role == QUASI_IDENTIFIER != roles.get(name)
    }
    return replace_keys(text, ["attributes"], removed)


def replace_keys(text: str, path: Sequence[str], keys: Mapping[str, Any]) -> str:
    r"""Return the job with keys of a section replaced; None removes a key.

    `path` are the names of the section and of those that it is in.  A section that has
    no key left is removed.  All else stays, comments too.

    >>> replace_keys("", ["privacy"], {"k": 5})
    '[privacy]\nk = 5\n'
    """
    try:
        document: Any = tomlkit.parse(text)
    except TOMLKitError:
        read_sections(text)
        raise
    parents = [document]
    for name in path:
        parents.append(parents[-1].get(name) or tomlkit.table())
        if not isinstance(parents[-1], Mapping):
            raise JobError(f"[{name}] of the job is no section.", fix="correct it.")
    section = parents[-1]
    before = dict(section)
    for key, value in keys.items():
        if value is None:
            section.pop(key, None)
        elif section.get(key) != value:
            section[key] = value
    if dict(section) == before:
        return text
    for parent, name, table in reversed(
        list(zip(parents[:-1], path, parents[1:], strict=True))
    ):
        if not table:
            parent.pop(name, None)
        elif name not in parent:
            parent[name] = table
    return tomlkit.dumps(document)


def place_files(text: str, find_path: Callable[[str], str]) -> str:
    """Return the job with the path of each file of a tree, as a function finds it."""
    treated = _get_table(read_section(text, "privacy"), "confidential")
    for path, section in (
        (["attributes"], read_section(text, "attributes")),
        (["privacy", "confidential"], treated),
    ):
        for name in section:
            tree = _get_table(section, name).get("tree")
            if isinstance(tree, str):
                text = replace_keys(text, [*path, name], {"tree": find_path(tree)})
    return text


def find_refusal(text: str) -> JobError | None:
    """Return why the page shows a job and does not run it; None if it runs it."""
    sections = read_sections(text)
    named = next(_iterate_code(sections), None)
    if named is not None:
        return JobError(
            f"The job names code: {named!r}. The page runs none.",
            fix="use the command line with --trust.",
        )
    earlier = {"keep_groups", "earlier"} & set(_get_table(sections, "partition"))
    if earlier:
        return JobError(
            f"The job keeps the groups of an earlier release ({min(earlier)}).",
            fix=COMMAND,
        )
    if _get_table(sections, "engine").get("name", "memory") != "memory":
        return JobError(
            "The job names an engine, and the page masks one file in memory.",
            fix=COMMAND,
        )
    return None


def _iterate_code(value: Any) -> Iterator[str]:
    """Yield the names of code in the values of a job: FILE.py, or FILE.py:NAME."""
    if isinstance(value, str) and (value.endswith(".py") or ".py:" in value):
        yield value
    elif isinstance(value, Mapping):
        for name, entry in value.items():
            if name not in ("roles", "attributes"):
                yield from _iterate_code(entry)
    elif isinstance(value, list):
        for entry in value:
            yield from _iterate_code(entry)


def write_private(path: Path, text: str) -> Path:
    """Write a file that only its owner can read, and return its path."""
    path.unlink(missing_ok=True)
    path.touch(mode=0o600, exist_ok=False)
    path.write_text(text, encoding="utf-8")
    return path
